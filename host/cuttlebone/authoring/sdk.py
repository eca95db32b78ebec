"""Where the SDKs are: in the package, or in the repository that an editable install runs from."""

from pathlib import Path

import cuttlebone
from cuttlebone.authoring.folder import Language
from cuttlebone.errors import OperatorError


def sdk_folder(language: Language) -> Path:
    """Return the folder of a language's SDK; raise OperatorError if this package has none."""
    package = Path(cuttlebone.__file__).parent
    for folder in (package / "sdk" / language, package.parents[1] / "abi" / "sdk" / language):
        if folder.is_dir():
            return folder
    raise OperatorError(f"the SDK for {language} is missing from {package}; install it again")
