"""The spec service: what a host can run, the blocks that it runs, and how new blocks come in."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from cuttlebone.service.answers import KnownBlock, KnownSpec
from cuttlebone.specs.block_registry import (
    BLOCK_BYTES_MAX,
    DIGEST_PREFIX,
    BlockRegistry,
    Upload,
    block_in_use,
    summary_of,
    too_large,
    unknown_block,
)
from cuttlebone.specs.catalog import Catalog
from cuttlebone.specs.loading import LoadedSpec


class SpecService:
    """Shows specs and blocks, takes blocks in and forgets them.

    Any thread may call it. A call may compile a block, or wait for somebody who compiles one.
    """

    def __init__(self, catalog: Catalog, blocks: BlockRegistry) -> None:
        self._catalog = catalog
        self._blocks = blocks

    def specs(self) -> Sequence[KnownSpec]:
        """The specs that are served now, by name; raise OperatorError without a folder of specs."""
        return [_known_spec(loaded) for loaded in self._served().values()]

    def spec(self, name: str) -> KnownSpec:
        """Return one spec; raise CallerError `unknown_spec` or `spec_unusable`, or OperatorError."""
        self._catalog.refresh()
        return _known_spec(self._catalog.get(name))

    def faults(self) -> Mapping[Path, str]:
        """What is wrong with the spec files that cannot be served, as they were looked at last."""
        return self._catalog.faults()

    def blocks(self) -> Sequence[KnownBlock]:
        """The blocks that were uploaded and those that specs run, by digest."""
        users: dict[str, list[str]] = {}
        found = {one.digest: (one, True) for one in self._blocks.all()}
        for name, loaded in self._served().items():
            found.setdefault(loaded.block.digest, (summary_of(loaded.block), False))
            users.setdefault(loaded.block.digest, []).append(name)
        return [
            KnownBlock(block, uploaded, tuple(users.get(digest, ())))
            for digest, (block, uploaded) in sorted(found.items())
        ]

    def block(self, digits: str) -> KnownBlock:
        """Return the block with that SHA-256; raise CallerError `unknown_block`."""
        served = [
            one for one in self._served().values() if one.block.digest == DIGEST_PREFIX + digits
        ]
        uploaded = self._blocks.find(digits)
        if uploaded is None and not served:
            raise unknown_block(digits)
        names = tuple(one.spec.name for one in served)
        return KnownBlock(uploaded or summary_of(served[0].block), uploaded is not None, names)

    def upload(self, digits: str, *, bytes_announced: int = 0) -> AbstractContextManager[Upload]:
        """Take in a block that has to have the SHA-256 `digits`, while the body runs.

        Raises CallerError `body_too_large` for one that announces itself as too long, and
        StoreUnavailable where there is no room for it.
        """
        if bytes_announced > BLOCK_BYTES_MAX:
            raise too_large()
        return self._blocks.upload(digits)

    def forget_block(self, digits: str) -> None:
        """Remove an upload that no spec names by its digest. Raises CallerError, StoreUnavailable.

        `block_in_use` with the names of the specs, also for a block that is no upload but a file of
        theirs; `unknown_block`.
        """
        known = self.block(digits)
        file = self._blocks.path(known.digest)
        users = self._catalog.naming(file) if known.uploaded else known.specs
        if users:
            raise block_in_use(digits, users, uploaded=known.uploaded)
        if not self._blocks.forget(digits):
            raise unknown_block(digits)

    def _served(self) -> Mapping[str, LoadedSpec]:
        self._catalog.refresh()
        return self._catalog.specs()


def _known_spec(loaded: LoadedSpec) -> KnownSpec:
    spec = loaded.spec
    return KnownSpec(
        name=spec.name,
        description=spec.description,
        model=spec.model,
        block=summary_of(loaded.block),
        input_schema=loaded.input_schema,
        output_schema=loaded.output_schema,
        limits=loaded.limits,
        read=spec.capabilities.read,
        follow_symlinks=spec.capabilities.follow_symlinks,
        data_policy=spec.data_policy,
    )
