"""The API against its own OpenAPI document: requests made from it, valid and not, all checks."""

import unittest
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import CheckFunction, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)

from api.hosted import SCRIPTS, served
from cuttlebone.access import Authenticator, TokenFile, TokenScope
from cuttlebone.settings import Settings
from cuttlebone_abi import Json

SEED = 20_260_131
EXAMPLES = 12
"""Requests of each kind to each operation."""
CHAINS = 10
BATCH = "POST /v1/jobs/batch"
SELECTIVE = {"POST /v1/jobs/cancel", "POST /v1/jobs/forget"}
UPLOAD = "PUT /v1/blocks/{sha256}"
KEY = "idempotency-key"
ONCE = settings(
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)

Schema = schemathesis.BaseSchema
Operation = APIOperation[Any, Any, Any, Any]
Case = schemathesis.Case[Any]

schemathesis.serializer.alias("application/wasm", "application/octet-stream")
schemathesis.serializer.alias("application/x-ndjson", "text/plain")


@schemathesis.hook("before_call")
def of_a_spec_that_is_served(
    _context: schemathesis.HookContext, case: Case, _sent: dict[str, Any]
) -> None:
    """Let a submission name a spec of the host, or most would get no further than that."""
    if isinstance(case.body, dict) and isinstance(case.body.get("spec"), str):
        case.body["spec"] = "echo"
        # No schema can say which hosts an operator allows to be called.
        if isinstance(case.body.get("callback_url"), str):
            del case.body["callback_url"]


def of_what_there_is(_context: schemathesis.HookContext, query: Json) -> Json:
    """Leave out what no schema can say: which cursors a listing gave, whose jobs there are, and which keys go together.

    A wait takes no status, and a job has one value of a label.
    """
    unfit = {"cursor", "tenant"} | ({"wait"} if "status" in (query or {}) else set())
    kept = {name: one for name, one in (query or {}).items() if name not in unfit}
    if isinstance(kept.get("label"), list):
        kept["label"] = list({str(one).partition("=")[0]: one for one in kept["label"]}.values())
    return kept


def with_no_key(_context: schemathesis.HookContext, headers: Json) -> Json:
    """Leave out the idempotency key: short ones come twice, and no schema says what that means."""
    return {name: value for name, value in (headers or {}).items() if name.lower() != KEY}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Schema]:
    """The document of a host that asks for a token."""
    folder = tmp_path_factory.mktemp("schemathesis")
    tokens = TokenFile(folder / "state")
    secret = tokens.add("tester", tenant="local", scopes=frozenset(TokenScope))
    with served(
        folder,
        SCRIPTS,
        authenticator=Authenticator(tokens),
        body_bytes_max=Settings().body_bytes_max,
        token_requests_per_s_max=100_000,
    ) as api:
        url = f"{api.server.url}/openapi.json"
        schema = schemathesis.openapi.from_url(url)
        schema.config.update(headers={"Authorization": f"Bearer {secret}"})
        schema.hook("map_headers")(with_no_key)
        schema.hook("map_query")(of_what_there_is)
        yield schema


@pytest.mark.parametrize("mode", GenerationMode)
def test_no_request_made_from_the_document_finds_a_fault(
    described: Schema, mode: GenerationMode
) -> None:
    found = [one.ok() for one in described.get_all_operations() if isinstance(one, Ok)]
    assert len(found) > 15
    for operation in found:
        with suppress(Unsatisfiable):  # some take nothing that could be wrong
            ask(operation, mode)


def test_no_chain_of_requests_along_the_links_finds_a_fault(described: Schema) -> None:
    chained = described
    for one in (UPLOAD, *SELECTIVE):
        method, _, path = one.partition(" ")
        chained = chained.exclude(method=method, path=path)
    machine = chained.as_state_machine()
    TestCase = seed(SEED)(machine.TestCase)  # noqa: N806  # a class
    TestCase.settings = settings(ONCE, max_examples=CHAINS, stateful_step_count=6)

    outcome = unittest.TestResult()
    TestCase("runTest").run(outcome)

    faults = "\n".join(text for _, text in (*outcome.errors, *outcome.failures))
    assert not faults, faults


def ask(operation: Operation, mode: GenerationMode) -> None:
    """Make requests to one operation and hold each answer to all checks."""

    @seed(SEED)
    @settings(ONCE, max_examples=EXAMPLES)
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case: Case) -> None:
        # Hardly any bytes are a block, and one digest fits them; and some key has to say which jobs.
        unfit: list[CheckFunction] = (
            [positive_data_acceptance] if case.operation.label in {UPLOAD, *SELECTIVE} else []
        )
        if case.operation.label == BATCH:
            unfit.append(negative_data_rejection)  # any bytes are lines, each refused by itself
        case.call_and_validate(excluded_checks=unfit)

    each()
