"""A host that is killed at random moments under load: nothing accepted is lost, nothing is paid twice.

`pytest tests/crash/test_kill.py --trials 100 --timeout 0` makes a hundred kills.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crash.history import violations
from crash.lives import Lives
from crash.load import Load
from cuttlebone_abi import Completed, Json

pytestmark = pytest.mark.e2e

KILLS_SHORT = 3
LIFE_S_MAX = 1.5
GENERATIONS = """
select jobs.input ->> 'name', journal.step from journal join jobs on jobs.number = journal.job
where journal.command = 'infer'
"""
LAST_EVENTS = """
select jobs.id, count(*), max(job_events.number), sum(kind = 'result'),
max(job_events.number) = max(case when kind = 'result' then job_events.number end)
from jobs join job_events on job_events.job = jobs.number group by jobs.id
"""
SEED = 20


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    made = Lives(tmp_path)
    yield made
    made.close()


def finished_generations(lives: Lives) -> set[str]:
    """What is paid for good: `name/round` of each generation in the journal."""
    steps: dict[str, list[int]] = {}
    for name, step in lives.query(GENERATIONS):
        steps.setdefault(str(name), []).append(int(str(step)))
    return {f"{name}/{number}" for name, each in steps.items() for number in range(len(each))}


def expected_result(value: Json) -> Json:
    if value["spec"] == "echo":
        return {"name": value["name"], "rounds": value["rounds"]}
    return ["a text", *["one two three four"] * value["rounds"]]


def expected_progress(value: Json) -> list[Json]:
    if value["spec"] == "echo":
        return [{"step": 1}]
    return [{"round": number} for number in range(value["rounds"])]


def test_nothing_is_lost_or_paid_twice_by_kills_at_random_moments(
    lives: Lives, trials: Callable[[int], int]
) -> None:
    chance, kills = random.Random(SEED), trials(KILLS_SHORT)
    paid_again: list[str] = []
    lives.start()
    with Load(lives.url, seed=SEED) as load:
        for _ in range(kills):
            finished, paid_before = finished_generations(lives), len(lives.paid_for())
            time.sleep(chance.uniform(0.05, LIFE_S_MAX))  # not a wait for anything: chance itself
            lives.end()
            paid_again += [name for name in lives.paid_for()[paid_before:] if name in finished]
            lives.start()
        finished, paid_before = finished_generations(lives), len(lives.paid_for())
        load.stop_submitting()
        load.read_to_the_end()
    lives.end()
    paid_again += [name for name in lives.paid_for()[paid_before:] if name in finished]

    assert load.troubles == []
    assert violations(load.history) == []
    assert len(load.history.accepted) > kills
    assert paid_again == []
    assert set(lives.paid_for()) == finished_generations(lives)
    assert_all_completed(load)
    assert_logs_are_whole(lives)
    assert_watchers_saw_everything_once(load)


def assert_all_completed(load: Load) -> None:
    ends = {one.job: one.envelope for one in load.history.readings if one.envelope is not None}
    for job, value in load.history.accepted.items():
        envelope = ends[job]
        assert isinstance(envelope, Completed), envelope
        assert envelope.result == expected_result(value)


def assert_logs_are_whole(lives: Lives) -> None:
    for job, events, last, results, result_is_last in lives.query(LAST_EVENTS):
        assert (events, results, result_is_last) == (last, 1, 1), job
    assert lives.query("select id from jobs where envelope is null") == []


def assert_watchers_saw_everything_once(load: Load) -> None:
    assert set(load.watched) == set(load.history.accepted)
    for job, events in load.watched.items():
        numbers = [event.number for event in events]
        assert numbers == list(range(1, len(events) + 1)), job
        told = [event.data for event in events if event.kind == "progress"]
        assert told == expected_progress(load.history.accepted[job]), job
