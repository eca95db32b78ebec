"""Jobs recorded by a host with a scripted block, and their replays."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from cuttlebone.execution.replay.replay import Replay, replay
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.files import Grants
from cuttlebone.job.job import Submission
from cuttlebone.job.recorded_job import RecordedJob, read_recorded_job
from cuttlebone.job_options import Recording
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, Script, ScriptedGuest, ScriptedModel
from cuttlebone_abi import Json, Signature
from hosts import ended, scripted_host, serving

MORE = "model: small\ncapabilities: {read: [./texts]}"
TEXT = "a secret of the sea"
BLOCK_SHA256 = hashlib.sha256(b"block").hexdigest()
"""Of the file that names the script."""


def block(_guest: ScriptedGuest, value: Json) -> Commands:
    """Read a file, report, ask the model, close the file, try what is not offered, end."""
    opened = yield {"cmd": "open", "path": "texts/a.txt"}
    read = yield {"cmd": "slice", "handle": 1, "offset": 0, "len": opened["len"]}
    yield {"cmd": "emit", "progress": {"read": len(read["text"])}}
    said = yield {"cmd": "infer", "prompt": "count", "max_tokens": 20}
    yield {"cmd": "close", "handle": 1}
    refused = yield {"cmd": "embed", "texts": [], "on_error": "event"}
    yield {"cmd": "done", "result": [value, said["text"], refused["code"]]}


def record(
    folder: Path,
    script: Script = block,
    *,
    recording: Recording | None = None,
    on_token: Callable[[str], bool] | None = None,
    more: str = MORE,
    state: Path | None = None,
    journal_bytes_max: int = 1 << 20,
) -> RecordedJob:
    """Run a script as a real job and return what was recorded, by way of its document."""
    endpoints = serving("small", ScriptedModel({"count": "one two three"}))
    with scripted_host(
        folder,
        {"block": script},
        endpoints=endpoints,
        more=more,
        on_token=on_token,
        state=state,
        journal_bytes_max=journal_bytes_max,
    ) as host:
        job = host.jobs.submit(Submission("block", {"n": 2**70}, record=recording))
        ended(host, job)
        return read_recorded_job(b"".join(host.jobs.journal(job.key)), "the document")


def again(
    recorded: RecordedJob,
    script: Script = block,
    *,
    on_token: Callable[[str], bool] | None = None,
    grants: Grants | None = None,
    watchdog: Watchdog | None = None,
    block_sha256: str = BLOCK_SHA256,
) -> Replay:
    guest = ScriptedGuest(script, on_token=on_token)
    return replay(
        guest,
        recorded,
        IoSchemas(Signature()),
        grants,
        block_sha256=block_sha256,
        watchdog=watchdog,
    )


def again_with_files(recorded: RecordedJob, folder: Path, script: Script = block) -> Replay:
    with Grants.resolve(folder, ["./texts"]) as grants:
        return again(recorded, script, grants=grants)


def changed(**replaced: Json) -> Script:
    """The block with another command in place of the one with that `cmd`."""

    def script(guest: ScriptedGuest, value: Json) -> Commands:
        commands = block(guest, value)
        command = next(commands)
        while True:
            assert isinstance(command, dict)
            event = yield replaced.get(command["cmd"], command)
            command = commands.send(event)

    return script
