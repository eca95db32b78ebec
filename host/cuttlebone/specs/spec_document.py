"""A spec as it took effect, as one document: all that shapes its jobs, and a digest to tell it by."""

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from cuttlebone.job_options import Limits, Recording
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.specs.spec import Capabilities, Spec
from cuttlebone_abi import Json


class SpecDocument(BaseModel):
    """What jobs are accepted for. The description is no part of it: it shapes none of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    format: Literal[1] = 1
    name: str
    folder: str
    """Where the relative paths of block and grants begin."""
    block: str
    """As written: a path, or `sha256:<hex>`."""
    block_sha256: str
    """Of what that led to."""
    model: str | None
    infer: InferDefaults
    capabilities: Capabilities
    """As written."""
    input: dict[str, Any] | bool
    """The JSON Schema itself, wherever it was read."""
    output: dict[str, Any] | bool
    limits: Limits
    """Defaults, spec and server maximum together."""
    record: Recording
    data_policy: Literal["local_only", "any"]

    @classmethod
    def of(
        cls,
        spec: Spec,
        folder: Path,
        *,
        block_sha256: str,
        schemas: tuple[Json, Json],
        limits: Limits,
    ) -> Self:
        """Put together what `spec` and the files that it names come to; `schemas` are input and output."""
        return cls(
            name=spec.name,
            folder=str(folder),
            block=spec.block,
            block_sha256=block_sha256,
            model=spec.model,
            infer=spec.infer,
            capabilities=spec.capabilities,
            input=schemas[0],
            output=schemas[1],
            limits=limits,
            record=spec.record,
            data_policy=spec.data_policy,
        )

    @classmethod
    def read(cls, written: bytes) -> Self:
        """The inverse of `written`; raise ValueError."""
        return cls.model_validate(json.loads(written))

    def written(self) -> bytes:
        """The document in its one form: keys in order, so that equal specs have equal digests.

        Not `dump_json`: a schema in YAML may have infinite numbers, which the contract has not.
        """
        whole = self.model_dump(mode="json")
        return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()

    def spec(self) -> Spec:
        """A spec file that comes to this document, if its block is still the same."""
        return Spec(
            name=self.name,
            description=f"What jobs of {self.name} were accepted for earlier.",
            block=self.block,
            model=self.model,
            capabilities=self.capabilities,
            input=self.input,
            output=self.output,
            infer=self.infer,
            limits=self.limits,
            record=self.record,
            data_policy=self.data_policy,
        )
