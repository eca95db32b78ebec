"""What a disk may hold after the power went: all that was synced, and of the rest any sectors or none."""

import random
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SECTOR_BYTES: Final = 512
_HEAD: Final = struct.Struct("<cH")
_BODY: Final = struct.Struct("<QI")


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that the process did: `W` wrote, `T` truncated, `S` waited for the disk, `U` removed."""

    what: str
    path: str
    offset: int
    data: bytes


def read_log(path: Path) -> list[Record]:
    """Read what power_log.c wrote."""
    return list(_records(path.read_bytes()))


def _records(log: bytes) -> Iterator[Record]:
    at = 0
    while at < len(log):
        what, path_bytes = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        path = log[at : at + path_bytes].decode()
        at += path_bytes
        offset, size = _BODY.unpack_from(log, at)
        at += _BODY.size
        yield Record(what.decode(), path, offset, log[at : at + size])
        at += size


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[Record] = field(default_factory=list)


class Disk:
    """The files of one folder, as far as the disk has promised to keep them. Owner: one trial.

    A model of a disk that keeps the order of nothing between two syncs and loses or keeps each
    sector by itself. It takes a sync at its word, as a disk that lies is beyond any software, and a
    file that was removed stays so.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._files: dict[str, _File] = defaultdict(_File)
        for record in records:
            if record.what == "U":
                self._files.pop(record.path, None)
                continue
            file = self._files[record.path]
            if record.what != "S":
                file.unsynced.append(record)
                continue
            for earlier in file.unsynced:
                _apply(file.durable, earlier)
            file.unsynced.clear()

    def after_power_loss(self, folder: Path, chance: random.Random) -> None:
        """Write into `folder` what one such loss may leave."""
        for path, file in self._files.items():
            if path.endswith("-shm"):
                continue  # memory that is shared, not data
            content = bytearray(file.durable)
            kept = chance.choice((0.0, 0.5, 0.9, 1.0))
            for record in file.unsynced:
                for part in _sectors(record):
                    if chance.random() < kept:
                        _apply(content, part)
            (folder / path).write_bytes(content)


def _sectors(record: Record) -> Iterator[Record]:
    """The parts of a write that a disk keeps or loses as a whole."""
    if record.what == "T":
        yield record
        return
    end = record.offset + len(record.data)
    start = record.offset
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        data = record.data[start - record.offset : stop - record.offset]
        yield Record("W", record.path, start, data)
        start = stop


def _apply(content: bytearray, record: Record) -> None:
    if record.what == "T":
        if record.offset < len(content):
            del content[record.offset :]
        else:
            content.extend(bytes(record.offset - len(content)))
        return
    if record.offset > len(content):
        content.extend(bytes(record.offset - len(content)))
    content[record.offset : record.offset + len(record.data)] = record.data
