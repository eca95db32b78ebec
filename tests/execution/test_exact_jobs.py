"""The same jobs in two orders, through a whole host with a real model: each says the same."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.endpoints.opening import directory_of
from cuttlebone.job.job import Submission
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Completed, Json
from hosts import ended, scripted_host

BOUND_S = scaled(300.0)
WORDS = ("river", "stone", "market", "winter", "letter", "garden", "clock", "bread", "paper")


def say(_guest: ScriptedGuest, value: Json) -> Commands:
    """Ask the model for what the input says, and give its text back."""
    answer = yield {"cmd": "infer", "prompt": value, "max_tokens": 8}
    yield {"cmd": "done", "result": answer}


def texts(host: Host, prompts: Sequence[str]) -> dict[str, str]:
    """Submit a job for each prompt, all at once; what each says."""
    jobs = {prompt: host.jobs.submit(Submission(spec="say", input=prompt)) for prompt in prompts}
    said = {}
    for prompt, job in jobs.items():
        done = ended(host, job, BOUND_S)
        assert isinstance(done.envelope, Completed), done.envelope
        assert done.accounting is not None
        assert done.accounting.exact
        said[prompt] = done.envelope.result["text"]
    return said


@pytest.mark.model
@pytest.mark.timeout(0)
def test_jobs_say_the_same_in_two_orders(
    demo_model: Path, tmp_path: Path, trials: Callable[[int], int]
) -> None:
    chance = random.Random(16)
    beginning = " ".join(chance.choices(WORDS, k=20))
    prompts = [
        f"{beginning if chance.random() < 0.5 else ''} {number} "
        + " ".join(chance.choices(WORDS, k=chance.randint(5, 50)))
        for number in range(trials(16))
    ]
    models = Settings(models={"main": demo_model}, cache=tmp_path / "cache", context_tokens_max=512)
    with scripted_host(
        tmp_path, {"say": say}, endpoints=directory_of(models), more="model: main"
    ) as host:
        first = texts(host, prompts)
        second = texts(host, chance.sample(prompts, len(prompts)))
    assert first == second
