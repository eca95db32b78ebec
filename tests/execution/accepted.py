"""What jobs of a store were accepted for, where no test cares."""

from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.job_options import Limits
from cuttlebone.specs.catalog import Catalog
from cuttlebone.specs.loading import load_document
from cuttlebone.store.jobs import JobStore
from cuttlebone.testing import ScriptedSandbox


def without_specs(jobs: JobStore) -> AcceptedSpecs:
    """The specs of a host that serves none."""
    admit = ScriptedSandbox({}).admit
    catalog = Catalog(list, admit=admit, limits_max=Limits())
    return AcceptedSpecs(catalog, jobs, lambda document: load_document(document, admit=admit))
