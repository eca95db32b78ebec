"""One event of a job's stream, as a client has it."""

from pydantic import BaseModel, ConfigDict

from cuttlebone_abi import Json


class StreamEvent(BaseModel):
    """One event of a job's stream."""

    model_config = ConfigDict(frozen=True)

    number: int | None
    """Its place in the event log, from 1; None for what is not in the log, such as a snapshot."""
    kind: str
    """`snapshot`, `status`, `progress`, `token`, `result`, `gap`; others may come, leave those aside."""
    data: Json
