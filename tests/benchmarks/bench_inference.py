"""What the engine costs beside bare llama.cpp loops, and what sharing and fairness give.

Run: python tests/benchmarks/bench_inference.py [--quick] [--json]

Every ratio compares two figures of the same run, measured in turn, round by round.
"""

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bare_llama import Bare, Locked, silence
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.generation.outcome import FailedGeneration, Piece
from cuttlebone.generation.request import GenerationRequest, Turn
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.llama import LlamaOptions
from cuttlebone.inference.llama.loading import tried_options
from cuttlebone.inference.sequence import BatchLimits
from report import Row, at_most, run_benchmark
from served_engine import BOUND_S, demo_model, served

STORIES = [f"Story {number}. Once upon a time, there was" for number in range(16)]
SHORT_TOKENS = 40
WORDS = "the sea was calm and the wind was warm while the ship went on to the next island and "


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything; `quick` takes fewer rounds, tokens and jobs."""
    silence()
    path = demo_model()
    trials = Path.home() / ".cache" / "cuttlebone" / "models"
    options, _ = tried_options(path, LlamaOptions(), trials=trials)
    rows = [*speed(path, options, quick=quick)]
    with served(path, options) as engine:
        rows += beside_prefill(engine.endpoint, words=120 if quick else 1_800)
        rows.append(cancel_p99(engine.endpoint, times=3 if quick else 40))
    rows.append(shared_prefix(path, options, quick=quick))
    return rows


def speed(path: Path, options: LlamaOptions, *, quick: bool) -> Sequence[Row]:
    """Tokens per second through the whole path, beside bare loops and a locked `Llama`."""
    rounds, tokens, single_tokens = (2, 32, 32) if quick else (9, 64, 64)
    bare, locked = Bare(path, options), Locked(path, options)
    figures: dict[str, list[float]] = {}
    with served(path, options) as engine:
        contests = [
            ("bare_16", bare.tokens_per_s, STORIES, tokens),
            ("batch_16", engine.tokens_per_s, STORIES, tokens),
            ("bare_1", bare.tokens_per_s, STORIES[:1], single_tokens),
            ("single", engine.tokens_per_s, STORIES[:1], single_tokens),
        ]
        for number in range(rounds):
            # Each is first as often as the other: a machine that slows down favours neither.
            for name, run, prompts, count in contests if number % 2 else reversed(contests):
                figures.setdefault(name, []).append(run(prompts, count))
    few = STORIES[:2] if quick else STORIES  # it serves one after another
    figures["locked"] = [locked.tokens_per_s(few, tokens) for _ in range(1 if quick else 3)]
    locked.close()
    median = {name: statistics.median(values) for name, values in figures.items()}
    paired = {
        "batch_16": statistics.median(ratios(figures["batch_16"], figures["bare_16"])),
        "single": statistics.median(ratios(figures["single"], figures["bare_1"])),
    }
    return (
        Row("bare_16", median["bare_16"], "tokens/s"),
        Row("bare_1", median["bare_1"], "tokens/s"),
        Row("locked_16", median["locked"], "tokens/s"),
        compared("batch16_vs_bare", median["batch_16"], "bare_16", paired["batch_16"], 0.95),
        compared("single_vs_bare", median["single"], "bare_1", paired["single"], 0.95),
        compared(
            "batch16_vs_locked",
            median["batch_16"],
            "locked_16",
            median["batch_16"] / median["locked"],
            1.8,
        ),
    )


def shared_prefix(path: Path, options: LlamaOptions, *, quick: bool) -> Row:
    """Seconds until all jobs with one instruction are done, with and without sharing it."""
    jobs, words = (8, 100) if quick else (16, 400)
    seconds = {}
    for shares in (True, False):
        limits = BatchLimits(shares_prefixes=shares)
        with served(path, options, limits) as engine:
            common = instruction(words)
            begun_s = time.perf_counter()
            generations = [
                engine.endpoint.submit(request(f"{common} {number}", max_tokens=4, job=str(number)))
                for number in range(jobs)
            ]
            for generation in generations:
                drain(generation)
            seconds[shares] = time.perf_counter() - begun_s
    ratio = seconds[False] / seconds[True]
    return Row(
        "shared_prefix", seconds[True], "s", "not shared", ratio, "≥ 4 times faster", ratio >= 4
    )


def beside_prefill(endpoint: Endpoint, *, words: int) -> Sequence[Row]:
    """Tokens per second of one job, alone and while another one's long prompt is evaluated."""
    alone = gaps(endpoint, until=lambda taken: taken >= SHORT_TOKENS)
    beside: list[float] = []
    begun = threading.Event()
    long: list[Generation] = []

    def decode() -> None:
        beside.extend(
            gaps(
                endpoint,
                until=lambda taken: begin(taken, begun) and bool(long) and long[0].tokens_out > 0,
            )
        )

    worker = threading.Thread(target=decode)
    worker.start()
    if not begun.wait(BOUND_S):
        raise AssertionError("the first job never began")
    long.append(endpoint.submit(request(instruction(words), max_tokens=1, job="long")))
    worker.join(BOUND_S)
    if worker.is_alive():
        raise AssertionError(f"the long prompt was not evaluated within {BOUND_S:g} s")
    during = beside[5:]
    speeds = [len(found) / sum(found) for found in (during, alone)]
    ratio = speeds[0] / speeds[1]
    return (
        Row("alone", speeds[1], "tokens/s"),
        Row("beside_prefill", speeds[0], "tokens/s", "alone", ratio, "≥ 0.5", ratio >= 0.5),
        at_most("beside_prefill_longest_gap", max(during), "s", 1.0),
    )


def begin(taken: int, begun: threading.Event) -> bool:
    """Let the long prompt come after five tokens."""
    if taken >= 5:
        begun.set()
    return taken >= 5


def gaps(endpoint: Endpoint, *, until: Callable[[int], bool]) -> list[float]:
    """Seconds between the pieces of short generations, one after another, which `until` ends.

    Short, as each token costs more than the one before: one long generation would be compared with
    its own beginning.
    """
    found: list[float] = []
    stop = False
    while not stop:
        generation = endpoint.submit(
            request(STORIES[0], max_tokens=SHORT_TOKENS, job="decoding", asks_verdict=True)
        )
        generation.next(BOUND_S)
        generation.verdict(stop=False)
        last_s = time.perf_counter()
        while isinstance(generation.next(BOUND_S), Piece):
            now_s = time.perf_counter()
            found.append(now_s - last_s)
            last_s = now_s
            stop = until(len(found))
            generation.verdict(stop)
    return found


def cancel_p99(endpoint: Endpoint, *, times: int) -> Row:
    """Milliseconds from a cancel to the end of the generation, in each phase, the machine busy."""
    company = [
        endpoint.submit(request(STORIES[number], max_tokens=1_000, job=f"company {number}"))
        for number in range(4)
    ]
    found = [
        cancel_ms(endpoint, prompt, asks_verdict=asks_verdict, pieces=pieces)
        for _ in range(times)
        for prompt, asks_verdict, pieces in (
            (instruction(700), False, 0),  # in prefill
            (STORIES[5], False, 2),  # in decode
            (STORIES[6], True, 1),  # waiting for a verdict
        )
    ]
    for generation in company:
        generation.cancel()
    found.sort()
    return at_most("cancel_p99_ms", found[int(len(found) * 0.99)], "ms", 200)


def cancel_ms(endpoint: Endpoint, prompt: str, *, asks_verdict: bool, pieces: int) -> float:
    """Cancel one generation once it has given so many pieces, or is in prefill."""
    generation = endpoint.submit(
        request(prompt, max_tokens=200, job="cancelled", asks_verdict=asks_verdict)
    )
    for _ in range(pieces):
        generation.next(BOUND_S)
    while not generation.tokens_in:
        time.sleep(0.001)
    begun_s = time.perf_counter()
    generation.cancel()
    drain(generation)
    return 1e3 * (time.perf_counter() - begun_s)


def request(
    prompt: str, *, max_tokens: int, job: str, asks_verdict: bool = False
) -> GenerationRequest:
    """A request of one tenant."""
    return GenerationRequest(
        job, "tenant", (Turn("user", prompt),), None, max_tokens, asks_verdict=asks_verdict
    )


def instruction(words: int) -> str:
    """A prompt of about as many tokens as words, unlike any other."""
    text = (WORDS * (words // 17 + 1)).split()[:words]
    return f"{time.perf_counter_ns()} " + " ".join(text)


def drain(generation: Generation) -> None:
    """Take everything until the end."""
    while isinstance(outcome := generation.next(BOUND_S), Piece):
        pass
    if outcome is None or (
        isinstance(outcome, FailedGeneration) and outcome.code.value != "cancelled"
    ):
        raise AssertionError(f"a generation did not end well: {outcome}")


def ratios(these: Sequence[float], those: Sequence[float]) -> list[float]:
    """Round by round, so that a busy minute of the machine is in both."""
    return [this / that for this, that in zip(these, those, strict=True)]


def compared(name: str, value: float, against: str, ratio: float, bound: float) -> Row:
    """A speed that should reach a share of another one."""
    return Row(name, value, "tokens/s", against, ratio, f"≥ {bound:g}", ratio >= bound)


if __name__ == "__main__":
    run_benchmark("inference", measure)
