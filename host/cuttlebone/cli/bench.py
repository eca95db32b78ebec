"""`cuttlebone bench`: how fast this machine serves."""

from functools import partial
from typing import Annotated

import typer

from cuttlebone.bench.throughput import Load, Throughput, measure
from cuttlebone.cli.host_options import settings_with
from cuttlebone.cli.models import DEMO_MODEL, model_file
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.inference.llama import load_model
from cuttlebone.inference.thread import InferenceThread
from cuttlebone_abi import Json

app = typer.Typer(help="Measure how fast this machine serves.")


@app.callback()
def _noun() -> None:
    """Keep `infer` a command of its own, although it is the only one."""


@app.command(epilog="Example: cuttlebone bench infer --model demo --concurrency 1,4,16")
def infer(
    *,
    model: Annotated[
        str,
        typer.Option("--model", "-m", metavar="FILE.gguf", help="A model file, or `demo`."),
    ] = DEMO_MODEL,
    concurrency: Annotated[
        str, typer.Option(metavar="N,…", help="Generations at once, one round for each number.")
    ] = "1,4,16",
    prompt_words: Annotated[
        int, typer.Option(min=1, help="Words of each prompt; about as many tokens.")
    ] = 64,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to generate, at most.")] = 64,
    as_json: JsonFlag = False,
) -> None:
    """Measure tokens a second of a model, for so many generations at once."""
    numbers = _numbers(concurrency)
    with reporting(as_json=as_json):
        thread = InferenceThread(partial(load_model, model_file(model), settings_with()))
        thread.start()
        try:
            rounds = [
                (load, measure(thread, load))
                for load in (Load(number, prompt_words, max_tokens) for number in numbers)
            ]
        finally:
            thread.stop()
    if as_json:
        write_json({"rounds": [_round(*one) for one in rounds]}, pretty=False)
        return
    write_line(f"{'at once':>8} {'tokens/s':>9} {'each':>7} {'first token':>12}")
    for load, found in rounds:
        each = found.tokens_per_s / load.concurrency
        first = f"{found.first_token_s:.2f} s"
        write_line(f"{load.concurrency:>8} {found.tokens_per_s:>9.1f} {each:>7.1f} {first:>12}")


def _numbers(stated: str) -> list[int]:
    words = stated.split(",")
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= 1024 for word in words):
        raise typer.BadParameter("numbers from 1 to 1024 with commas between, such as 1,4,16")
    return [int(word) for word in words]


def _round(load: Load, found: Throughput) -> dict[str, Json]:
    return {
        "concurrency": load.concurrency,
        "prompt_words": load.prompt_words,
        "max_tokens": load.max_tokens,
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "seconds": found.seconds,
        "tokens_per_s": found.tokens_per_s,
        "first_token_s": found.first_token_s,
    }
