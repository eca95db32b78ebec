"""Rounds of a model file in this process: how its speed changes with the number of generations at once."""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from cuttlebone.bench.throughput import Load, Throughput, measure, warm_up
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.endpoints.opening import endpoint_of_file
from cuttlebone.settings import Settings

ROLE: Final = "model"
"""The role of the only model here."""


def rounds(
    file: Path, settings: Settings, loads: Sequence[Load]
) -> Generator[tuple[Load, Throughput], None, None]:
    """Load a model as a host would, and measure one load after the other; raise OperatorError.

    The model is freed when the generator is closed.
    """
    with endpoint_of_file(file, settings, name=file.name) as endpoint:
        inference = EndpointInference(EndpointDirectory({ROLE: endpoint}))
        warm_up(inference, ROLE)
        for load in loads:
            yield load, measure(inference, ROLE, load)
