"""What only the real model can show: its vocabulary, its numbers, its constraints."""

import ctypes
import dataclasses
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.outcome import Finished
from cuttlebone.generation.request import GenerationRequest, Sampling, Turn
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama import LlamaModel, LlamaOptions, default_threads
from cuttlebone.inference.llama.loading import open_model, sha256_of
from cuttlebone.inference.model import DecodeFailed, Run, Slot, Token
from cuttlebone.inference.thread import InferenceThread
from inference.conftest import ask, collect, count

pytestmark = pytest.mark.model

SMALL = LlamaOptions(context_tokens_max=64, kv_shape=KvShape.streams(2), threads=1)
FIRST, SECOND, THIRD = Slot(0), Slot(1), Slot(2)
TEXT = "The quick brown fox jumps over the lazy dog, and then it goes home again. "


@pytest.fixture(autouse=True)
def _empty(llama: LlamaModel) -> None:
    for slot in (FIRST, SECOND, THIRD):
        llama.truncate(slot, 0)


def last_logits(model: LlamaModel, *runs: Run) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The logits after the first run."""
    rows = model.decode(runs)
    return model.logits(rows[0]).copy()


def test_control_tokens_in_content_are_plain_text(llama: LlamaModel) -> None:
    text = "<|im_start|>system"
    (control, _) = llama.tokenise(text, scaffold=True)
    assert control not in llama.tokenise(text, scaffold=False)
    spelled = b"".join(llama.piece(token) for token in llama.tokenise(text, scaffold=False))
    assert spelled.decode() == text


def test_control_tokens_have_no_text(llama: LlamaModel) -> None:
    (control,) = llama.tokenise("<|im_end|>", scaffold=True)
    assert (llama.piece(control), llama.ends_text(control)) == (b"", True)


def test_tokens_spell_the_text_that_they_were_made_of(llama: LlamaModel) -> None:
    text = "Grüße, 世界! 🦑\n\ttab \x00 end"
    assert b"".join(map(llama.piece, llama.tokenise(text, scaffold=False))).decode() == text


def test_a_sequence_has_the_same_numbers_in_company_in_chunks_and_after_a_copy(
    llama: LlamaModel,
) -> None:
    prompt = llama.tokenise(TEXT * 4, scaffold=False)
    other = llama.tokenise("Something else entirely, which is of another length.", scaffold=False)
    alone = last_logits(llama, Run(FIRST, 0, prompt, wants_logits=True))
    llama.copy(FIRST, SECOND, 40)
    copied = last_logits(llama, Run(SECOND, 40, prompt[40:], wants_logits=True))
    llama.truncate(FIRST, 0)
    for at in range(0, len(prompt), 20):
        chunked = last_logits(
            llama,
            Run(FIRST, at, prompt[at : at + 20], wants_logits=True),
            Run(THIRD, 0, other, wants_logits=True),
        )
        llama.truncate(THIRD, 0)
    assert np.array_equal(alone, copied)
    assert np.array_equal(alone, chunked)


@pytest.mark.parametrize(
    "run",
    [
        Run(Slot(64), 0, [Token(1)], wants_logits=True),
        Run(Slot(-1), 0, [Token(1)], wants_logits=True),
        Run(FIRST, 0, [Token(-1)], wants_logits=True),
        Run(FIRST, 0, [Token(1 << 30)], wants_logits=True),
        Run(FIRST, 1 << 20, [Token(1)], wants_logits=True),
        Run(FIRST, 0, [Token(1)] * 513, wants_logits=True),
        Run(FIRST, 0, [], wants_logits=True),
    ],
)
def test_what_would_end_the_process_never_reaches_llama_cpp(llama: LlamaModel, run: Run) -> None:
    with pytest.raises(DecodeFailed):
        llama.decode([run])


def llama_cpps_own(prompt: str) -> str:
    """A conversation of one turn by the template that is built into llama.cpp."""
    chat = (llama_cpp.llama_chat_message * 1)()
    chat[0].role, chat[0].content = b"user", prompt.encode()
    text = ctypes.create_string_buffer(4096)
    length = llama_cpp.llama_chat_apply_template(b"chatml", chat, 1, True, text, len(text))
    return text.raw[:length].decode()


@pytest.mark.parametrize("penalty", [None, 1.3])
def test_without_a_default_system_message_the_text_is_that_of_llama_cpps_own_template(
    demo_thread: InferenceThread, penalty: float | None
) -> None:
    prompt = "Name three animals."
    asked = dataclasses.replace(
        ask(prompt, max_tokens=24), sampling=Sampling(repeat_penalty=penalty)
    )
    bare = dataclasses.replace(asked, default_system=False)
    raw = dataclasses.replace(asked, turns=None, raw_prompt=llama_cpps_own(prompt))
    said, own, by_template = (collect(demo_thread.submit(one))[1] for one in (bare, raw, asked))

    assert isinstance(said, Finished)
    assert isinstance(own, Finished)
    assert (said.text, said.tokens_in) == (own.text, own.tokens_in)
    assert said.tokens_in < by_template.tokens_in


def test_a_repeat_penalty_looks_back_as_far_as_it_is_told(demo_thread: InferenceThread) -> None:
    request = ask("Count: one one one one one", max_tokens=24)
    plain, nowhere, far = (
        collect(demo_thread.submit(dataclasses.replace(request, sampling=sampling)))[1]
        for sampling in (
            Sampling(),
            Sampling(repeat_penalty=1.8, repeat_last=0),
            Sampling(repeat_penalty=1.8, repeat_last=64),
        )
    )
    assert isinstance(plain, Finished)
    assert isinstance(nowhere, Finished)
    assert isinstance(far, Finished)
    assert plain.text == nowhere.text != far.text


def test_a_repeat_penalty_changes_what_is_said(demo_thread: InferenceThread) -> None:
    request = ask("Count: one one one one one", max_tokens=24)
    plain = collect(demo_thread.submit(request))[1]
    varied = collect(
        demo_thread.submit(dataclasses.replace(request, sampling=Sampling(repeat_penalty=1.8)))
    )[1]
    assert isinstance(plain, Finished)
    assert isinstance(varied, Finished)
    assert plain.text != varied.text


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=2.0, top_k=1),
        Sampling(temperature=2.0, top_p=1e-6),
        Sampling(temperature=2.0, min_p=1.0),
    ],
)
def test_a_filter_that_leaves_one_token_makes_sampling_greedy(
    demo_thread: InferenceThread, sampling: Sampling
) -> None:
    request = ask("Tell me about foxes.", max_tokens=8)
    greedy = collect(demo_thread.submit(request))[1]
    filtered = collect(demo_thread.submit(dataclasses.replace(request, sampling=sampling)))[1]
    assert isinstance(greedy, Finished)
    assert isinstance(filtered, Finished)
    assert greedy.text == filtered.text


def test_loading_records_the_digest_of_the_file(
    demo_thread: InferenceThread, demo_model: Path
) -> None:
    collect(demo_thread.submit(ask(max_tokens=1)))
    assert demo_thread.info is not None
    assert demo_thread.info.sha256 == sha256_of(demo_model)


def test_a_file_is_tried_out_once(llama: LlamaModel, trial_folder: Path) -> None:
    assert [path.suffix for path in trial_folder.iterdir()] == [".json"]
    assert llama.info.sha256 is not None


def test_a_broken_model_file_is_refused_after_its_trial_and_harms_nobody(
    demo_model: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    data = bytearray(demo_model.read_bytes())
    at = data.index(b"llama.block_count")
    data[at + 17 + 4 : at + 17 + 8] = (1 << 30).to_bytes(4, "little")
    broken.write_bytes(data)
    with pytest.raises(OperatorError, match=r"broken\.gguf"):
        open_model(broken, SMALL, trials=tmp_path)


def test_a_closed_model_refuses_what_other_threads_still_ask(
    demo_model: Path, trial_folder: Path
) -> None:
    model = open_model(demo_model, SMALL, trials=trial_folder)
    model.close()
    model.close()
    with pytest.raises(CommandError, match="unloaded"):
        model.tokenise("hello", scaffold=False)


def test_threads_leave_a_core_where_there_are_several() -> None:
    assert default_threads() >= 1


def test_a_whole_conversation_fits_the_demo_models_template(demo_thread: InferenceThread) -> None:
    turns = (Turn("system", "Be brief."), Turn("user", "Hello"))
    request = GenerationRequest("job", "tenant", turns, None, 4)
    spelled = GenerationRequest(
        "job",
        "tenant",
        None,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
        "<|im_start|>assistant\n",
        4,
    )
    assert count(demo_thread, request) == count(demo_thread, spelled)
