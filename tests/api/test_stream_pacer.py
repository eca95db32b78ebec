"""How much streams may take together, on a clock that the loop of the test makes up."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

import pytest

from cuttlebone.api.stream_pacer import (
    BURST_S,
    SECONDS_A_BYTE,
    SECONDS_A_WRITE,
    TICK_S,
    StreamPacer,
)

T = TypeVar("T")
Given = TypeVarTuple("Given")


class MadeUpTime(asyncio.SelectorEventLoop):
    """A loop whose clock goes on to the next timer at once. Owned by one test."""

    def __init__(self) -> None:
        self._now_s = 1_000.0
        super().__init__()

    def time(self) -> float:
        return self._now_s

    def call_at(
        self,
        when: float,
        callback: Callable[[*Given], object],
        *args: *Given,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        self.call_soon(self._go_on_to, when)
        return handle

    def _go_on_to(self, moment_s: float) -> None:
        self._now_s = max(self._now_s, moment_s)


def run(act: Coroutine[Any, Any, T]) -> T:
    with closing(MadeUpTime()) as loop:
        return loop.run_until_complete(act)


async def took_s(pacer: StreamPacer, turns: int, size_bytes: int) -> float:
    clock = asyncio.get_running_loop().time
    began_s = clock()
    for _ in range(turns):
        await pacer.turn(size_bytes)
    return clock() - began_s


@pytest.mark.parametrize(("turns", "size_bytes"), [(20_000, 50), (2_000, 64 << 10)])
def test_over_a_while_streams_take_their_share_of_the_time(turns: int, size_bytes: int) -> None:
    spent_s = turns * (SECONDS_A_WRITE + size_bytes * SECONDS_A_BYTE)

    found_s = run(took_s(StreamPacer(share=0.1), turns, size_bytes))

    assert found_s == pytest.approx((spent_s - BURST_S) / 0.1, rel=0.05)


def test_a_few_readers_never_wait() -> None:
    turns = int(BURST_S / SECONDS_A_WRITE) - 1

    assert run(took_s(StreamPacer(), turns, 50)) == 0


def test_what_was_not_taken_is_given_once_and_no_more() -> None:
    async def twice() -> tuple[float, float]:
        pacer, clock = StreamPacer(share=0.1), asyncio.get_running_loop().time
        await took_s(pacer, 1_000, 50)
        await asyncio.sleep(3600)
        began_s = clock()
        first = await took_s(pacer, 150, 50)
        await took_s(pacer, 1_000, 50)
        return first, clock() - began_s

    first, all_of_them = run(twice())

    assert first == 0
    assert all_of_them > (1_000 * SECONDS_A_WRITE) / 0.1 * 0.9


def test_those_who_wait_go_on_together() -> None:
    async def moments() -> list[float]:
        pacer, loop = StreamPacer(share=0.1), asyncio.get_running_loop()

        async def one() -> float:
            await pacer.turn(50)
            return loop.time()

        return await asyncio.gather(*(one() for _ in range(1_000)))

    found = run(moments())

    assert found == sorted(found)
    waited = {moment for moment in found if moment != found[0]}
    assert all(moment / TICK_S == pytest.approx(round(moment / TICK_S)) for moment in waited)
    assert len(waited) <= 1_000 * SECONDS_A_WRITE * 1.1 / 0.1 / TICK_S


def test_who_goes_while_it_waits_leaves_no_timer() -> None:
    async def timers() -> int:
        pacer = StreamPacer(share=0.001)
        await pacer.turn(1 << 20)
        waiting = [asyncio.ensure_future(pacer.turn(1 << 20)) for _ in range(50)]
        await asyncio.sleep(0)
        for one in waiting:
            one.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        return sum(isinstance(one, asyncio.CancelledError) for one in ended)

    assert run(timers()) > 0
