"""The one spec that a person means by a file or a folder, and the model that it asks for."""

from pathlib import Path

from cuttlebone.errors import OperatorError
from cuttlebone.specs.catalog import spec_files_in
from cuttlebone.specs.spec import SPEC_BYTES_MAX
from cuttlebone.text.lined_documents import read_lined


def one_spec_file(path: Path) -> Path:
    """Give a file as it is, and of a folder its only spec file; raise OperatorError."""
    if not path.is_dir():
        return path
    files = [file for file in spec_files_in(path) if _is_spec(file)]
    if not files:
        raise OperatorError(f"there is no spec in {path}")
    if len(files) > 1:
        named = ", ".join(file.name for file in files)
        raise OperatorError(f"{path} has {len(files)} specs, {named}: name one of them")
    return files[0]


def model_asked(file: Path) -> str | None:
    """The role of the model that a spec file asks for; None also if the file is no spec."""
    match read_lined(file, bytes_max=SPEC_BYTES_MAX).value:
        case {"model": str(role)}:
            return role
        case _:
            return None


def _is_spec(file: Path) -> bool:
    """Whether a file states a block, as every spec does, and documents of other tools do not."""
    try:
        value = read_lined(file, bytes_max=SPEC_BYTES_MAX).value
    except OperatorError:
        return True  # What cannot be read is said where it is loaded.
    return isinstance(value, dict) and "block" in value
