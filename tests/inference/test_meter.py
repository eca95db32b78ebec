"""What a model's thread counts: of all generations, and of each."""

from cuttlebone.generation.outcome import FailedGeneration, Finished
from cuttlebone.inference.meter import Meter
from cuttlebone.testing import ScriptedModel
from inference.conftest import BOUND_S, ask, collect, serving


def test_tokens_and_endings_add_up() -> None:
    model = ScriptedModel({"story": "once upon a time"})
    model.fail_on("poison")
    with serving(model) as thread:
        first = collect(thread.submit(ask("a story that is worth a copy")))[1]
        again = collect(thread.submit(ask("a story that is worth a copy")))[1]
        assert isinstance(collect(thread.submit(ask("poison")))[1], FailedGeneration)
        figures = thread.figures
    assert isinstance(first, Finished)
    assert isinstance(again, Finished)
    assert (figures.finished, figures.failed, figures.cancelled) == (2, 1, 0)
    assert figures.tokens_out == first.tokens_out + again.tokens_out
    assert figures.tokens_cached >= again.tokens_cached > 0
    assert figures.tokens_in >= first.tokens_in + again.tokens_in
    assert figures.first_tokens == 2
    assert figures.batch_tokens >= figures.batches > 0


def test_a_cancelled_generation_is_counted_as_such() -> None:
    model = ScriptedModel()
    with serving(model) as thread:
        model.hold()
        generation = thread.submit(ask("x" * 2000))
        assert model.held.wait(BOUND_S)
        generation.cancel()
        model.release()
        collect(generation)
        collect(thread.submit(ask()))
        assert thread.figures.cancelled == 1


def test_what_runs_now_is_shown_while_it_runs() -> None:
    model = ScriptedModel(context_tokens=64, cells=64)
    with serving(model) as thread:
        model.hold()
        generations = [thread.submit(ask("x" * 20, job=str(job), tenant=str(job))) for job in "ab"]
        assert model.held.wait(BOUND_S)
        assert thread.figures.running == 1
        model.release()
        for generation in generations:
            collect(generation)


def test_a_batch_counts_by_the_share_of_its_tokens() -> None:
    meter = Meter()
    meter.batch(prefill_tokens=3, decode_tokens=1, took_s=4.0)
    assert (meter.prefill_s, meter.decode_s, meter.batches) == (3.0, 1.0, 1)


def test_the_times_of_a_generation_follow_one_another() -> None:
    with serving(ScriptedModel({"story": "once upon a time"})) as thread:
        generation = thread.submit(ask("story"))
        collect(generation)
        parts = generation.waited_s + generation.prefill_s + generation.decode_s
        assert min(generation.waited_s, generation.prefill_s, generation.decode_s) >= 0
        assert parts <= generation.age_s
