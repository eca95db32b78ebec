"""The scheduler against a model of memory: nothing is lost, overbooked or evaluated twice."""

import random
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cuttlebone.inference.kv_cells import KvCells, KvRules
from cuttlebone.inference.model import Slot, Token
from cuttlebone.inference.prefill_pacer import PrefillPacer
from cuttlebone.inference.scheduler import Chunk, Copy, Scheduler
from cuttlebone.inference.turns import Demand, SequenceId

CELLS, SLOTS, BATCH = 24, 5, 8
POOL = KvRules(cells=CELLS, slots=SLOTS, generations_max=SLOTS, kept_cells_max=CELLS // 2)
STREAMS = KvRules(
    cells=16 * SLOTS,
    slots=SLOTS,
    generations_max=SLOTS,
    kept_cells_max=16 * SLOTS,
    stream_cells=16,
    chunk_tokens_min=2,
    copy_tokens_min=3,
)


def demand(
    prompt: str,
    *,
    tokens_max: int = 1,
    job: str = "job",
    tenant: str = "tenant",
    interactive: bool = False,
) -> Demand:
    """A demand whose prompt has a token for each character."""
    tokens = tuple(Token(ord(char)) for char in prompt)
    return Demand(job, tenant, interactive, tokens, tokens_max)


def scheduler(*, cells: int = CELLS, slots: int = SLOTS, kept: int = CELLS) -> Scheduler:
    """A small scheduler."""
    return planned_by(KvRules(cells=cells, slots=slots, generations_max=slots, kept_cells_max=kept))


def planned_by(rules: KvRules) -> Scheduler:
    """A scheduler of small batches."""
    return Scheduler(
        KvCells(rules), batch_tokens_max=BATCH, chunk_tokens_min=rules.chunk_tokens_min
    )


class SchedulerOnMemory(RuleBasedStateMachine):
    """Carries plans out on a dictionary of slots, in which shared cells are one object."""

    def __init__(self) -> None:
        super().__init__()
        self.kv_rules = POOL
        self.scheduler = planned_by(POOL)
        self.numbers = count(1)
        self.demands: dict[SequenceId, Demand] = {}
        self.slots: dict[SequenceId, Slot] = {}
        self.memory: dict[Slot, list[tuple[Token, object]]] = {
            Slot(number): [] for number in range(SLOTS)
        }
        self.generated: dict[SequenceId, int] = {}
        self.held: set[SequenceId] = set()

    @initialize(rules=st.sampled_from([POOL, STREAMS]))
    def shape(self, rules: KvRules) -> None:
        self.kv_rules, self.scheduler = rules, planned_by(rules)

    @rule(
        prompt=st.text("ab", min_size=1, max_size=10),
        tokens_max=st.integers(1, 6),
        job=st.sampled_from(["x", "y"]),
        tenant=st.sampled_from(["s", "t"]),
        interactive=st.booleans(),
    )
    def submit(
        self,
        prompt: str,
        tokens_max: int,
        job: str,
        tenant: str,
        *,
        interactive: bool,
    ) -> None:
        key = SequenceId(next(self.numbers))
        tokens = tuple(Token(ord(char)) for char in prompt)
        self.demands[key] = Demand(job, tenant, interactive, tokens, tokens_max)
        self.scheduler.submit(key, self.demands[key])

    @rule(budget=st.integers(1, 8))
    def tick(self, budget: int) -> None:
        while (admitted := self.scheduler.admit()) is not None:
            for slot in admitted.evicted:
                self.memory[slot] = []
            assert self.memory[admitted.slot] == []
            self.slots[admitted.sequence] = admitted.slot
        runnable = self.scheduler.runnable
        plan = self.scheduler.plan(budget)
        assert runnable == bool(plan.decode or plan.prefill)
        assert len(plan.decode) + sum(chunk.tokens for chunk in plan.prefill) <= BATCH
        for copy in plan.copies:
            self._copy(copy)
        for key in plan.decode:
            assert key not in self.held
            self._decode(key)
        for chunk in plan.prefill:
            self._prefill(chunk)

    @precondition(lambda self: self.demands)
    @rule(data=st.data(), spoiled=st.booleans())
    def end(self, data: st.DataObject, *, spoiled: bool) -> None:
        self._end(data.draw(st.sampled_from(sorted(self.demands))), spoiled=spoiled)

    @precondition(lambda self: self.generated)
    @rule(data=st.data())
    def hold(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.generated)))
        self.scheduler.hold(key)
        self.held.add(key)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.scheduler.resume(key)
        self.held.discard(key)

    @invariant()
    def memory_is_never_overbooked(self) -> None:
        cells = {id(cell) for memory in self.memory.values() for _, cell in memory}
        assert len(cells) <= self.kv_rules.cells
        if self.kv_rules.stream_cells is not None:
            assert max(map(len, self.memory.values())) <= self.kv_rules.stream_cells

    def teardown(self) -> None:
        """Whatever is accepted comes to its end."""
        for key in list(self.held):
            self.scheduler.resume(key)
        self.held.clear()
        for _ in range(2000):
            if not self.demands:
                return
            self.tick(BATCH)
        raise AssertionError(f"{len(self.demands)} sequences never end")

    def _copy(self, copy: Copy) -> None:
        copied = self.memory[copy.source][: copy.tokens]
        if self.kv_rules.stream_cells is not None:
            copied = [(token, object()) for token, _ in copied]
        left = len(self.demands[copy.sequence].prompt) - copy.tokens
        assert copy.tokens >= self.kv_rules.copy_tokens_min
        assert left >= self.kv_rules.chunk_tokens_min
        self.memory[copy.target] = copied

    def _prefill(self, chunk: Chunk) -> None:
        rest = len(self.demands[chunk.sequence].prompt) - chunk.position
        least = min(self.kv_rules.chunk_tokens_min, rest)
        assert chunk.tokens >= least
        assert rest - chunk.tokens == 0 or rest - chunk.tokens >= least
        prompt, memory = (
            self.demands[chunk.sequence].prompt,
            self.memory[self.slots[chunk.sequence]],
        )
        assert [token for token, _ in memory] == list(prompt[: chunk.position])
        end = chunk.position + chunk.tokens
        memory.extend((token, object()) for token in prompt[chunk.position : end])
        self.scheduler.evaluated(chunk.sequence, end)
        if end == len(prompt):
            self._sampled(chunk.sequence)

    def _decode(self, key: SequenceId) -> None:
        memory = self.memory[self.slots[key]]
        assert len(memory) == len(self.demands[key].prompt) + self.generated[key] - 1
        memory.append((Token(0), object()))
        self._sampled(key)

    def _sampled(self, key: SequenceId) -> None:
        self.generated[key] = self.generated.get(key, 0) + 1
        if self.generated[key] == self.demands[key].tokens_max:
            self._end(key)

    def _end(self, key: SequenceId, *, spoiled: bool = False) -> None:
        released = self.scheduler.remove(key, spoiled=spoiled)
        del self.demands[key]
        self.generated.pop(key, None)
        self.held.discard(key)
        slot = self.slots.pop(key, None)
        assert (released is None) == (slot is None)
        if released is not None:
            self.memory[released.slot] = self.memory[released.slot][: released.kept_tokens]
            for dropped in released.dropped:
                self.memory[dropped] = []


TestSchedulerOnMemory = SchedulerOnMemory.TestCase
TestSchedulerOnMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def begin(plans: Scheduler, *demands: Demand) -> list[SequenceId]:
    """Submit demands in order, and admit what fits."""
    keys = [SequenceId(number) for number in range(1, len(demands) + 1)]
    for key, wanted in zip(keys, demands, strict=True):
        plans.submit(key, wanted)
    admitted = []
    while (admission := plans.admit()) is not None:
        admitted.append(admission.sequence)
    return admitted


def test_what_does_not_fit_waits_and_nothing_overtakes_it() -> None:
    plans = scheduler()
    assert begin(
        plans,
        demand("a" * 10, tokens_max=10, job="x"),
        demand("b" * 10, tokens_max=10, job="y"),
        demand("c", job="z"),
    ) == [1]
    plans.remove(SequenceId(1))
    assert plans.admit() is not None


def test_interactive_generations_are_admitted_first() -> None:
    plans = scheduler(slots=2)
    assert begin(plans, demand("a"), demand("b"), demand("c", job="i", interactive=True)) == [3, 1]


def test_jobs_take_turns_however_many_generations_each_has() -> None:
    plans = scheduler(slots=4)
    many = [demand(char, job="many") for char in "abcdef"]
    assert begin(plans, *many, demand("x", job="one")) == [1, 7, 2, 3]


def test_the_last_place_is_for_a_tenant_that_has_none_and_has_asked_before() -> None:
    plans = scheduler(slots=3)
    many = [demand(char, job="many") for char in "abcd"]
    assert begin(plans, *many, demand("x", job="one", tenant="other")) == [1, 5, 2]
    plans.remove(SequenceId(5))
    assert plans.admit() is None
    plans.submit(SequenceId(6), demand("y", job="one", tenant="other"))
    admission = plans.admit()
    assert admission is not None
    assert admission.sequence == 6


def test_a_tenant_that_is_alone_has_every_place() -> None:
    assert begin(scheduler(), *[demand(char) for char in "abcdef"]) == [1, 2, 3, 4, 5]


def test_a_prompt_beside_many_of_another_tenant_has_every_other_batch() -> None:
    plans = scheduler()
    begin(
        plans,
        *[demand(char * 4, job=char) for char in "abc"],
        demand("z" * 4, job="z", tenant="other"),
    )
    served = []
    for _ in range(4):
        (chunk,) = plans.plan(1).prefill
        plans.evaluated(chunk.sequence, chunk.position + chunk.tokens)
        served.append(chunk.sequence)
    assert served == [1, 4, 2, 4]


def test_a_short_job_is_served_soon_beside_256_generations_of_another_tenant() -> None:
    """On a simulated machine: seconds until its first token, beside them and by itself."""
    short = demand("z" * 60, tokens_max=1, job="short", tenant="other")
    alone_s = seconds_until_served(short, [])
    crowd = [demand(chr(1000 + number) * 20, tokens_max=400) for number in range(256)]
    assert seconds_until_served(short, crowd) < 3 * alone_s


def seconds_until_served(wanted: Demand, crowd: list[Demand]) -> float:
    """How long a tenant that was there before waits for its first token when a crowd has come."""
    cells = KvCells(KvRules(16 * 512, slots=16, generations_max=16, kept_cells_max=0))
    machine = SimulatedMachine(Scheduler(cells, batch_tokens_max=512))
    earlier, served = SequenceId(0), SequenceId(1000)
    machine.plans.submit(earlier, wanted)
    machine.plans.admit()
    machine.plans.remove(earlier)
    for number, demanded in enumerate(crowd, start=1):
        machine.plans.submit(SequenceId(number), demanded)
    for _ in range(100):
        machine.batch()
    machine.plans.submit(served, wanted)
    machine.seconds = 0.0
    while served not in machine.generating:
        machine.batch()
    return machine.seconds


class SimulatedMachine:
    """Carries out plans at a fixed price of each batch and of each token; nothing ever ends."""

    def __init__(self, plans: Scheduler) -> None:
        self.plans = plans
        self.pacer = PrefillPacer()
        self.generating: set[SequenceId] = set()
        self.seconds = 0.0

    def batch(self) -> None:
        """Admit, plan, evaluate."""
        while self.plans.admit() is not None:
            pass
        budget = self.pacer.prefill_tokens(len(self.generating), self.plans.prompt_weight)
        plan = self.plans.plan(budget)
        for chunk in plan.prefill:
            self.plans.evaluated(chunk.sequence, chunk.position + chunk.tokens)
        prompts = sum(chunk.tokens for chunk in plan.prefill)
        took_s = 0.01 + 0.001 * len(plan.decode) + 0.002 * prompts
        self.pacer.took(len(plan.decode), prompts, took_s)
        self.generating = set(plan.decode)
        self.seconds += took_s


def test_decode_comes_before_prefill_and_long_prompts_are_cut_into_chunks() -> None:
    plans = scheduler()
    begin(plans, demand("a", tokens_max=3, job="x"), demand("b" * 12, job="y"))
    plans.evaluated(SequenceId(1), 1)
    plan = plans.plan(100)
    assert plan.decode == (1,)
    assert plan.prefill == (Chunk(SequenceId(2), 0, BATCH - 1),)


def test_prompts_of_several_jobs_are_prefilled_in_turn() -> None:
    plans = scheduler()
    begin(plans, demand("a" * 6, job="x"), demand("b" * 6, job="y"))
    served = []
    for _ in range(4):
        (chunk,) = plans.plan(3).prefill
        plans.evaluated(chunk.sequence, chunk.position + chunk.tokens)
        served.append(chunk.sequence)
    assert served == [1, 2, 1, 2]


def test_an_interactive_prompt_is_prefilled_before_others_and_so_is_what_it_waits_for() -> None:
    plans = scheduler()
    begin(plans, demand("b" * 6, job="x"), demand("a" * 6, job="y"))
    plans.submit(SequenceId(3), demand("a" * 8, job="z", interactive=True))
    assert plans.admit() is not None
    (chunk,) = plans.plan(3).prefill
    assert chunk.sequence == 2


def test_a_held_sequence_is_left_out_until_it_is_resumed() -> None:
    plans = scheduler()
    (key,) = begin(plans, demand("a", tokens_max=5))
    plans.evaluated(key, 1)
    plans.hold(key)
    assert not plans.runnable
    plans.resume(key)
    assert plans.plan(1).decode == (key,)


def test_kept_prompts_go_when_their_share_of_the_memory_is_full_oldest_first() -> None:
    plans = scheduler(kept=6)
    dropped: list[Slot] = []
    for number, char in enumerate("abc", start=1):
        key = SequenceId(number)
        plans.submit(key, demand(char * 3))
        admission = plans.admit()
        assert admission is not None
        plans.plan(3)
        plans.evaluated(key, 3)
        released = plans.remove(key)
        assert released is not None
        dropped.extend(released.dropped)
    assert len(dropped) == 1


@pytest.mark.parametrize("spoiled", [True, False])
def test_what_a_broken_sequence_holds_is_never_shared(*, spoiled: bool) -> None:
    plans = scheduler()
    (key,) = begin(plans, demand("aaaa"))
    plans.plan(4)
    plans.evaluated(key, 4)
    plans.remove(key, spoiled=spoiled)
    plans.submit(SequenceId(2), demand("aaab", job="next"))
    plans.admit()
    assert bool(plans.plan(4).copies) is not spoiled


def test_a_prompt_goes_on_however_few_of_its_tokens_fit_beside_generations() -> None:
    plans = planned_by(STREAMS)
    begin(plans, demand("a", tokens_max=9, job="x"), demand("b" * 7, job="y"))
    plans.evaluated(SequenceId(1), 1)
    chunks: list[Chunk] = []
    while not chunks or chunks[-1].position + chunks[-1].tokens < 7:
        for chunk in plans.plan(1).prefill:
            plans.evaluated(chunk.sequence, chunk.position + chunk.tokens)
            chunks.append(chunk)
    assert [chunk.tokens for chunk in chunks] == [2, 2, 3]


def test_in_streams_no_more_run_than_there_are_streams_and_kept_prompts_make_room() -> None:
    plans = planned_by(STREAMS)
    assert len(begin(plans, *(demand(char * 10, job=char) for char in "abcdef"))) == SLOTS
    plans.plan(BATCH)
    plans.evaluated(SequenceId(1), 10)
    plans.remove(SequenceId(1))
    assert plans.kept_prompts == 1
    admitted = plans.admit()
    assert admitted is not None
    assert (admitted.evicted, plans.kept_prompts) == ((admitted.slot,), 0)


def test_streams_that_run_lie_side_by_side_and_the_last_kept_prompts_stay() -> None:
    rules = replace(STREAMS, slots=16, generations_max=16, cells=16 * 16, kept_cells_max=16 * 16)
    cells, chance, running, rows = KvCells(rules), random.Random(8), list[Slot](), list[int]()
    for number in range(300):
        while len(running) < 8:
            admission = cells.admit("tenant", [Token(number), Token(len(running))] * 4, 1)
            assert admission is not None
            assert not set(admission.evicted) & set(cells.kept[-1:])
            admission.tenancy.evaluated = 8
            running.append(admission.tenancy.slot)
        rows.append(sum(slot - 1 not in running for slot in running))
        cells.release(running.pop(chance.randrange(8)))
    # By the age of kept prompts alone it would be four and a half.
    assert sum(rows) / len(rows) < 3.5


def test_generations_max_bounds_those_that_run_in_a_pool() -> None:
    plans = planned_by(replace(POOL, generations_max=2))
    assert begin(plans, demand("a"), demand("b"), demand("c")) == [1, 2]
