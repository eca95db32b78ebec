"""Specs and the blocks that they run, as the HTTP API shows them."""

from pydantic import Field

from cuttlebone.http_types.resource import Resource
from cuttlebone.job_options import Limits
from cuttlebone_abi import Json


class SignatureResource(Resource):
    """What a block declares to take and to give."""

    input: str
    output: str


class BlockLinks(Resource):
    """Where a block is, as an absolute path."""

    self: str


class BlockResource(Resource):
    """A block that this host knows."""

    digest: str = Field(description="What a spec names it by: `sha256:` and 64 digits.")
    size_bytes: int
    abi_version: int
    signature: SignatureResource
    uploaded: bool = Field(False, description="False: it is a file that a spec names.")
    specs: list[str] = Field(default_factory=list, description="Names of the specs that run it.")
    links: BlockLinks


class BlockList(Resource):
    """All blocks, by digest."""

    blocks: list[BlockResource]


class SpecBlock(Resource):
    """The block that a spec runs."""

    digest: str
    size_bytes: int
    abi_version: int


class GrantsResource(Resource):
    """What the jobs of a spec may reach."""

    read: list[str] = Field(
        default_factory=list, description="Files and folders, as written in the spec."
    )
    follow_symlinks: bool = False


class SpecLinks(Resource):
    """Where the rest of a spec is, as absolute paths."""

    self: str
    jobs: str


class SpecResource(Resource):
    """A spec that can be submitted."""

    name: str
    description: str
    model: str | None = Field(None, description="Role of the model; null: the jobs do not infer.")
    block: SpecBlock
    signature: SignatureResource
    input_schema: Json = Field(
        True, description="JSON Schema of the input; true accepts everything."
    )
    output_schema: Json = Field(True, description="JSON Schema of the result.")
    limits: Limits = Field(description="What one job may use: spec and host together.")
    grants: GrantsResource
    data_policy: str
    links: SpecLinks


class UnusableSpec(Resource):
    """A spec file with a fault. It serves nothing until it is mended."""

    file: str
    fault: str


class SpecList(Resource):
    """All specs, by name."""

    specs: list[SpecResource]
    unusable: list[UnusableSpec] = Field(default_factory=list)
