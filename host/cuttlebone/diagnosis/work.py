"""What jobs are done with: guest processes, specs, models."""

from collections.abc import Iterator
from typing import Final

from cuttlebone.diagnosis.diagnosis import Condition, Diagnosis, fine, mend, note
from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import Header, read_header
from cuttlebone.inference.loading import INSTALL, kv_bytes_each, kv_shape, missing_modules
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from cuttlebone.specs.catalog import Catalog, spec_files_in

_EXACT: Final = (
    "texts may depend on what runs beside them; raise kv_memory_bytes or lower context_tokens_max "
    "if they must not"
)
NO_TEMPLATE: Final = (
    "blocks can only give it whole prompts, with `raw`: `infer` of messages is refused"
)


def guests(wanted: Isolation, sandbox: Sandbox) -> Iterator[Diagnosis]:
    """Whether every layer around a guest holds."""
    area = "isolation"
    if wanted is Isolation.THREAD:
        advice = "leave `isolation: thread` out unless every block is trusted"
        yield note(area, "guests run in threads of the host", advice)
        return
    for layer, missing in sandbox.layers.items():
        if missing is None:
            yield fine(area, f"{layer} is on")
        else:
            yield Diagnosis(
                area,
                Condition.MEND if wanted is Isolation.REQUIRE else Condition.NOTE,
                f"{layer} is off: {missing}",
                "use a kernel that has it; a container may have to be allowed to use it",
            )


def specs(settings: Settings, sandbox: Sandbox) -> Iterator[Diagnosis]:
    """Whether every spec can be served, with its block and its model."""
    area = "specs"
    catalog = Catalog(
        lambda: spec_files_in(settings.specs), admit=sandbox.admit, limits_max=settings.limits_max
    )
    try:
        catalog.refresh()
    except OperatorError as error:
        yield mend(area, str(error), "give --specs FOLDER")
        return
    for name, loaded in catalog.specs().items():
        role = loaded.spec.model
        if role is None or role in settings.models:
            yield fine(area, f"{name} can be served")
        else:
            asked = f"{name} asks for the model `{role}`, which is not served"
            yield mend(area, asked, f"give --model {role}=FILE.gguf")
    for fault in catalog.faults().values():
        yield mend(area, fault, "mend the file; `cuttlebone spec check` tells more")
    if not catalog.specs() and not catalog.faults():
        yield note(area, f"there are none in {settings.specs}", "add a spec file")


def models(settings: Settings) -> Iterator[Diagnosis]:
    """Whether models can run in this process, and their files are some."""
    area = "models"
    if missing := missing_modules():
        what = f"no model can run in this process: {', '.join(missing)} is not installed"
        yield mend(area, what, INSTALL) if settings.models else note(area, what, INSTALL)
    files = {path.resolve() for path in settings.models.values()}
    kv_bytes_max = kv_bytes_each(settings, models=len(files))
    for role, path in settings.models.items():
        try:
            header = read_header(path)
            shape, context_tokens = kv_shape(header, settings, kv_bytes_max)
        except OperatorError as error:
            yield mend(area, f"{role}: {error}", "give another file, or mend the settings")
            continue
        if not _has_template(header):
            yield note(area, f"{role}: {path.name} has no chat template", NO_TEMPLATE)
        what = (
            f"{role}: {path.name}, {header.size_bytes >> 20} MiB, and "
            f"{shape.bytes_of(header, context_tokens) >> 20} MiB for {shape.generations_max} generations "
            f"at once (kv_layout {shape.layout})"
        )
        if shape.is_pool:
            yield note(area, f"{what}; exact: false", _EXACT)
        else:
            yield fine(area, what)


def roles_without_template(settings: Settings) -> list[str]:
    """Name the roles whose model file has no chat template; one that cannot be read is left out."""
    found = []
    for role, path in settings.models.items():
        try:
            if not _has_template(read_header(path)):
                found.append(role)
        except OperatorError:
            continue  # Why it cannot be read is said where it is loaded.
    return found


def _has_template(header: Header) -> bool:
    return "tokenizer.chat_template" in header.values
