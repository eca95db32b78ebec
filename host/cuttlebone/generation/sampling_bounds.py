"""What the numbers of a `Sampling` may be, wherever one is stated: in a command, in a spec, over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cuttlebone.generation.request import Sampling


@dataclass(frozen=True, slots=True)
class Bound:
    """The range of one number."""

    least: int
    most: int
    above: bool = False
    """Whether `least` itself is out of range."""
    whole: bool = False

    def admits(self, value: float) -> bool:
        """Tell whether a value is in range; NaN is in none."""
        if not self.least <= value <= self.most or (self.above and value == self.least):
            return False
        return not self.whole or value == int(value)

    @property
    def words(self) -> str:
        """The range, to follow `should be`."""
        kind = "a whole number, " if self.whole else ""
        return f"{kind}{'above' if self.above else 'at least'} {self.least} and at most {self.most}"


SAMPLING_BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {
        "temperature": Bound(0, 100),
        "top_p": Bound(0, 1, above=True),
        "top_k": Bound(1, (1 << 31) - 1, whole=True),
        "min_p": Bound(0, 1),
        "repeat_penalty": Bound(0, 100, above=True),
        "repeat_last": Bound(0, 1 << 20, whole=True),
        "seed": Bound(0, (1 << 32) - 1, whole=True),
    }
)


def sampling_faults(sampling: Sampling) -> list[str]:
    """Name each number of a sampling that is out of its range."""
    stated = {name: getattr(sampling, name) for name in SAMPLING_BOUNDS}
    return [
        f"{name} is {value}; it should be {bound.words}"
        for name, bound in SAMPLING_BOUNDS.items()
        if (value := stated[name]) is not None and not bound.admits(value)
    ]
