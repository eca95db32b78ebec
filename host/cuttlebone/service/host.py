"""A host that runs, as everybody sees it who asks something of it."""

from dataclasses import dataclass

from cuttlebone.service.host_status import HostStatus
from cuttlebone.service.job_service import JobService
from cuttlebone.service.spec_service import SpecService
from cuttlebone.settings import Settings


@dataclass(frozen=True, slots=True)
class Host:
    """A host that runs. Any thread may ask any part of it."""

    jobs: JobService
    specs: SpecService
    status: HostStatus
    settings: Settings
