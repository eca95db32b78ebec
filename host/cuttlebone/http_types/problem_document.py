"""A refusal of the HTTP API, as a problem document (RFC 9457)."""

from pydantic import Field

from cuttlebone.errors import ProblemCode
from cuttlebone.http_types.resource import OrNewer, Resource


class FieldProblem(Resource):
    """One place in the body that is wrong."""

    pointer: str = Field(description="JSON Pointer (RFC 6901) into the body; empty is all of it.")
    message: str


class Problem(Resource):
    """A request that was refused. Nothing was changed."""

    type: str = Field(description="A URI for `code`. It names the problem and leads nowhere.")
    title: str = Field(description="What all problems of this code have in common.")
    status: int
    detail: str = Field(description="What is wrong this time, and what to do.")
    code: OrNewer[ProblemCode]
    instance: str = Field(description="The path that was asked for.")
    errors: list[FieldProblem] = Field(
        default_factory=list, description="Where the body is wrong, if it is."
    )
