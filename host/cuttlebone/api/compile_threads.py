"""Threads for requests that may have to compile, apart from those that all other requests share."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio.to_thread import run_sync
from fastapi import Request

from cuttlebone.api.app_state import state_of

P = ParamSpec("P")
T = TypeVar("T")


async def in_compile_thread(
    request: Request, act: Callable[P, T], *arguments: P.args, **named: P.kwargs
) -> T:
    """Run what may compile a block, or wait for somebody else who compiles one.

    Compiling takes up to a minute. In the threads of all requests a few dozen uploads would leave
    none to show a job; here they wait for each other.
    """
    limiter = state_of(request.app).compile_threads
    return await run_sync(lambda: act(*arguments, **named), limiter=limiter)
