"""The host itself, as the HTTP API shows it: its models, whether it is alive and ready."""

from pydantic import Field

from cuttlebone.http_types.resource import Resource


class ModelResource(Resource):
    """A model that the host serves."""

    role: str
    state: str = Field(
        description="`unloaded`, `loading`, `ready`, `failed` or `stopped`; others may come."
    )
    progress: float | None = Field(
        None,
        description="The part of the load that is done, 0 to 1, while the state is `loading`; else null.",
    )
    reason: str | None = Field(None, description="Why it failed.")
    file: str
    context_tokens: int | None = Field(None, description="Null until the model is loaded.")
    generations_max: int | None = Field(
        None, description="Generations at once, others wait. Null until the model is loaded."
    )
    exact: bool | None = Field(
        None,
        description="Whether the text of a generation is the same whatever runs beside it. "
        "Null until the model is loaded.",
    )


class ModelList(Resource):
    """All models, by role."""

    models: list[ModelResource]


class Health(Resource):
    """The host is alive."""

    status: str
    version: str


class ReadinessResource(Resource):
    """Whether the host can serve all that it is set up to serve."""

    ready: bool
    reasons: list[str] = Field(default_factory=list, description="Why it is not ready.")
    isolation: dict[str, str] = Field(
        default_factory=dict,
        description="Each layer around a guest: `on`, or `off` and why. See docs/security.md.",
    )
