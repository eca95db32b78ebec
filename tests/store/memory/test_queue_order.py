"""The line of the store in memory: sorted whatever comes and goes, and cheap to ask."""

from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.job.job import JobKey
from cuttlebone.store.memory.queue_order import Place, QueueOrder

PLACES = st.lists(
    st.builds(
        lambda rank, number, tenant: (rank, number, JobKey(tenant, str(number))),
        st.integers(0, 5),
        st.integers(0, 99),
        st.sampled_from("abc"),
    ),
    unique_by=lambda place: place[1],
)


@given(places=PLACES, gone=st.sets(st.integers(0, 99)), passed_over=st.sets(st.sampled_from("abc")))
def test_it_is_what_a_sorted_list_is(
    places: list[Place], gone: set[int], passed_over: set[str]
) -> None:
    order = QueueOrder()
    for place in places:
        order.add(place)
    for place in places:
        if place[1] in gone:
            order.remove(place)

    line = sorted(place for place in places if place[1] not in gone)
    allowed = [key for _, _, key in line if key.tenant not in passed_over]
    assert len(order) == len(line)
    for tenant in "abc":
        own = [place for place in line if place[2].tenant == tenant]
        assert [order.before(place) for place in own] == list(range(len(own)))
    assert order.first(passed_over) == (allowed[0] if allowed else None)
    assert all(
        order.waiting(tenant) == sum(key.tenant == tenant for _, _, key in line) for tenant in "abc"
    )
