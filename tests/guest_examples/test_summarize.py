"""The example `summarize`, as committed, through a whole host with a scripted model."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from cuttlebone.assembly import open_host_with
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Job, Submission
from cuttlebone.sandbox import Guest, Sandbox
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import Completed, Envelope, Failed, Json, dump_json, load_json
from guest_examples.modules import ROOT, OpenGuest
from hosts import ended

EXAMPLE = ROOT / "guest-examples" / "c" / "summarize"
NOTE = "Extract the key point"
SUMMARY = "objective summary"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example, to which a test can add texts."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "summarize"))


RunExample = Callable[..., tuple[Envelope, list[Json]]]


@pytest.fixture
def run_example(folder: Path, sandbox: Sandbox) -> RunExample:
    """Runs a job of the example; returns its envelope and the progress that watchers saw."""

    def run(value: Json, answers: Mapping[str, str] | None = None) -> tuple[Envelope, list[Json]]:
        with _host(folder, sandbox, answers or {}) as host:
            job = ended(host, host.jobs.submit(Submission("summarize", value)))
            return _envelope(job), _progress(host, job)

    return run


@contextmanager
def _host(folder: Path, sandbox: Sandbox, answers: Mapping[str, str]) -> Iterator[Host]:
    endpoints = EndpointDirectory({"smollm2": ScriptedEndpoint(answers)})
    with open_host_with(Settings(specs=folder), sandbox, endpoints) as host:
        yield host


def _envelope(job: Job) -> Envelope:
    assert job.envelope is not None
    return job.envelope


def _progress(host: Host, job: Job) -> list[Json]:
    told: list[JobEvent] = []
    while page := host.jobs.events(job.key, after=told[-1].number if told else 0):
        told.extend(page)
    return [event.data for event in told if event.kind is EventKind.PROGRESS]


def result_of(envelope: Envelope) -> dict[str, Json]:
    assert isinstance(envelope, Completed), envelope
    assert isinstance(envelope.result, dict)
    return envelope.result


def failure_of(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed), envelope
    return envelope.error.code, envelope.error.message


def test_the_demo_text_is_summed_up_window_by_window(run_example: RunExample) -> None:
    length = (EXAMPLE / "texts" / "tide-mill.txt").stat().st_size

    envelope, progress = run_example(
        {"path": "texts/tide-mill.txt"},
        {NOTE: "The sea ground the flour of the village.", SUMMARY: "The mill is back at work."},
    )

    assert result_of(envelope) == {
        "summary": "The mill is back at work.",
        "windows": 4,
        "bytes": length,
    }
    windows, merge = progress[:-1], progress[-1]
    assert [window["window"] for window in windows] == [1, 2, 3, 4]
    assert [window["offset"] for window in windows][1:] == [
        window["offset"] + window["len"] for window in windows
    ][:-1]
    assert windows[-1]["offset"] + windows[-1]["len"] == length
    assert merge == {"merge": 1, "sentences": 4}


def test_a_generation_ends_with_its_first_sentence(run_example: RunExample, folder: Path) -> None:
    (folder / "texts" / "a.txt").write_text("A short text.")

    envelope, _ = run_example(
        {"path": "texts/a.txt"}, {NOTE: "Seven words are all that it takes. " + "More. " * 40}
    )

    assert result_of(envelope)["summary"] == "Seven words are all that it takes."
    assert envelope.usage.tokens_out == 7


def test_abbreviations_and_decimals_end_no_sentence(run_example: RunExample, folder: Path) -> None:
    (folder / "texts" / "a.txt").write_text("A short text.")
    sentence = "The teacher and her friend Mrs. I. Marlow counted 3.5 birds an hour."

    envelope, _ = run_example({"path": "texts/a.txt"}, {NOTE: f"{sentence} Then they went home."})

    assert result_of(envelope)["summary"] == sentence


def test_an_empty_file_has_an_empty_summary_and_costs_nothing(
    run_example: RunExample, folder: Path
) -> None:
    (folder / "texts" / "empty.txt").touch()

    envelope, progress = run_example({"path": "texts/empty.txt"})

    assert result_of(envelope) == {"summary": "", "windows": 0, "bytes": 0}
    assert (envelope.usage.tokens_in, envelope.usage.model, progress) == (0, "", [])


def test_a_file_of_white_space_has_an_empty_summary(run_example: RunExample, folder: Path) -> None:
    (folder / "texts" / "blank.txt").write_text(" \n" * 2_000)

    envelope, _ = run_example({"path": "texts/blank.txt"})

    assert result_of(envelope)["summary"] == ""
    assert envelope.usage.tokens_in == 0


def test_windows_cut_anywhere_lose_no_text_and_no_character(
    run_example: RunExample, folder: Path
) -> None:
    text = "é日😀" * 500  # no space to cut at: windows end wherever the host ends them
    (folder / "texts" / "dense.txt").write_text(text)

    envelope, progress = run_example({"path": "texts/dense.txt", "window": 256})

    assert result_of(envelope)["bytes"] == len(text.encode())
    assert sum(window["len"] for window in progress if "window" in window) == len(text.encode())
    assert all(window["len"] <= 256 for window in progress if "window" in window)


def test_a_long_file_is_merged_in_several_levels(run_example: RunExample, folder: Path) -> None:
    (folder / "texts" / "long.txt").write_text("This line is one of very many like it.\n" * 400)

    envelope, progress = run_example(
        {"path": "texts/long.txt", "window": 256},
        {NOTE: "Many lines say that there are many lines of this kind.", SUMMARY: "It is long."},
    )

    assert result_of(envelope)["summary"] == "It is long."
    levels = [level["sentences"] for level in progress if "merge" in level]
    assert len(levels) > 2
    assert all(after < before for before, after in pairwise(levels))


@pytest.mark.parametrize(
    ("name", "content"),
    [("image.txt", b"\x89PNG\r\n\x1a\n"), ("paper.txt", b"%PDF-1.7"), ("zeros.txt", b"\xff\xfe\0")],
)
def test_a_file_that_is_no_text_fails_with_code_and_name(
    run_example: RunExample, folder: Path, name: str, content: bytes
) -> None:
    (folder / "texts" / name).write_bytes(content * 10)

    code, message = failure_of(run_example({"path": f"texts/{name}"})[0])

    assert code == "not_text"
    assert f"cannot summarize texts/{name}" in message


def test_a_file_that_stops_being_text_fails_where_it_does(
    run_example: RunExample, folder: Path
) -> None:
    (folder / "texts" / "broken.txt").write_bytes(b"All is well here.\n" * 300 + b"\xff\xff")

    code, message = failure_of(run_example({"path": "texts/broken.txt"})[0])

    assert code == "not_text"
    assert "texts/broken.txt" in message
    assert "5400" in message


@pytest.mark.parametrize(
    ("path", "code"), [("/etc/hostname", "capability_denied"), ("texts/none.txt", "not_found")]
)
def test_a_file_that_cannot_be_opened_fails_with_the_code_of_the_host(
    run_example: RunExample, path: str, code: str
) -> None:
    found, message = failure_of(run_example({"path": path})[0])

    assert found == code
    assert f"cannot summarize {path}" in message


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "$.path"),
        ({"path": 1}, "$.path"),
        ({"path": "a", "window": 255}, "$.window"),
        ({"path": "a", "window": 65537}, "$.window"),
        ({"path": "a", "window": 300.5}, "$.window"),
    ],
)
def test_a_bad_input_is_refused_by_the_block_itself(
    open_guest: OpenGuest, value: Json, said: str
) -> None:
    command = load_json(open_summarize(open_guest).init(dump_json(value)))

    assert (command["cmd"], command["code"]) == ("fail", "invalid_input")
    assert said in command["message"]


def test_an_unknown_event_ends_the_job_with_a_reason(open_guest: OpenGuest) -> None:
    guest = open_summarize(open_guest)
    guest.init(b'{"path":"a"}')

    assert load_json(guest.step(b'{"event":"surprise"}'))["code"] == "unexpected_event"


def open_summarize(open_guest: OpenGuest) -> Guest:
    return open_guest((EXAMPLE / "summarize.wasm").read_bytes())
