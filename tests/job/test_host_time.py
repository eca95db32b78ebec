"""A clock that goes on evenly."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis.strategies import floats, integers, lists, tuples

from cuttlebone.job.host_time import HostTime, SteadyClock, since_boot_s

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Hands:
    """A wall clock and a count of seconds, both as a test sets them."""

    def __init__(self) -> None:
        self.wall_moment = NOON
        self.seconds = 1_000.0

    def wall(self) -> datetime:
        return self.wall_moment

    def elapsed_s(self) -> float:
        return self.seconds


@given(lists(tuples(integers(-7_200, 7_200), floats(0, 100)), max_size=20))
def test_it_never_goes_back_and_shows_what_has_passed(steps: list[tuple[int, float]]) -> None:
    hands = Hands()
    clock = SteadyClock(hands.wall, hands.elapsed_s)
    seen = [clock()]
    for jump_s, passed_s in steps:
        hands.wall_moment += timedelta(seconds=jump_s)
        hands.seconds += passed_s
        seen.append(clock())

    assert seen == sorted(seen)
    assert abs((seen[-1] - NOON).total_seconds() - (hands.seconds - 1_000.0)) < 0.001


def test_it_begins_with_the_wall() -> None:
    hands = Hands()
    time = HostTime.of(hands.wall, hands.elapsed_s)
    hands.wall_moment += timedelta(hours=1)

    assert time.clock() == NOON
    assert time.wall() == NOON + timedelta(hours=1)


def test_the_count_of_a_machine_goes_on() -> None:
    before = since_boot_s()
    assert since_boot_s() >= before > 0
