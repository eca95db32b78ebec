"""An event sink for jobs of which nobody is to be told anything."""

from cuttlebone_abi import Json


class Deaf:
    """An event sink that expects nothing."""

    def progress(self, value: Json) -> None:
        raise AssertionError(f"nobody emits here, but {value} came")

    def token(self, text: str) -> None:
        raise AssertionError(f"pieces of many generations would mix, but {text} came")

    def waiting(self, cause: str) -> None:
        raise AssertionError(f"the model is there, but a job waited for {cause}")
