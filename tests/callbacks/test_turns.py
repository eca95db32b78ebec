"""Whose delivery is sent next."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis.strategies import integers, lists

from cuttlebone.callbacks.turns import AT_ONCE_MAX, OF_ONE_AT_ONCE_MAX, SHARED, next_turns
from cuttlebone.job.delivery import Delivery, DeliveryState, Topic
from store.stores import START, key


def due(*receivers: str) -> list[Delivery]:
    """One delivery to each, the longest due first."""
    return [
        Delivery(f"{number}", key("a"), Topic.CALLBACK, DeliveryState.PENDING, START, START, name)
        for number, name in enumerate(receivers)
    ]


def sent_to(chosen: list[Delivery]) -> str:
    return "".join(one.receiver for one in chosen)


def test_receivers_take_turns() -> None:
    assert sent_to(list(next_turns(due("a", "a", "a", "b", "c", "b"), []))) == "abcaba"


def test_one_receiver_has_a_few_places() -> None:
    waiting = due(*"a" * 9)
    chosen = next_turns(waiting, waiting[:1])

    assert list(chosen) == waiting[1:OF_ONE_AT_ONCE_MAX]


def test_what_is_under_way_is_not_sent_again() -> None:
    waiting = due("a", "b")
    assert list(next_turns(waiting, waiting)) == []


def test_the_last_places_are_for_receivers_that_have_none() -> None:
    taken = due(*(f"slow-{number}" for number in range(SHARED)))
    more = due("slow-0", "new", "slow-1")
    waiting = [replace(one, id=f"later-{one.id}") for one in more]

    assert [one.receiver for one in next_turns(waiting, taken)] == ["new"]


@given(wanted=lists(integers(0, 99), max_size=300), under_way=integers(0, AT_ONCE_MAX))
def test_no_bound_is_passed_and_no_receiver_without_a_place_waits_in_vain(
    wanted: list[int], under_way: int
) -> None:
    waiting = due(*map(str, wanted))
    sending = list(next_turns(waiting, []))[:under_way]
    chosen = list(next_turns(waiting, sending))

    busy = Counter(one.receiver for one in (*sending, *chosen))
    assert len(sending) + len(chosen) <= AT_ONCE_MAX
    assert max(busy.values(), default=0) <= OF_ONE_AT_ONCE_MAX
    if len(sending) + len(chosen) < AT_ONCE_MAX:
        assert busy.keys() == {one.receiver for one in waiting}
