"""From a request to the tokens of its prompt, with every bound checked before native code sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cuttlebone.errors import CommandError
from cuttlebone.generation.request import CompileTerms, GenerationRequest, Turn
from cuttlebone.generation.sampling_bounds import sampling_faults
from cuttlebone.inference.chat import ChatTemplate
from cuttlebone.inference.model import CompiledConstraint, Model, Token
from cuttlebone.inference.prompt_part import Part
from cuttlebone_abi import ErrorCode

PROMPT_BYTES_PER_CONTEXT_TOKEN_MAX: Final = 16
"""Tokenising cannot be interrupted, and takes seconds for megabytes of spaces."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the inference thread needs to begin."""

    prompt: tuple[Token, ...]
    constraint: CompiledConstraint | None
    max_tokens: int
    """Tokens to generate, at most: what was asked for, or the room that the prompt leaves."""


class PromptMaker:
    """Makes prompts for one model. Immutable; used by the submitting threads."""

    def __init__(self, model: Model) -> None:
        """Compile the model's chat template; raises OperatorError if that is impossible."""
        self._model = model
        self._bytes_max = model.info.context_tokens * PROMPT_BYTES_PER_CONTEXT_TOKEN_MAX
        self._template = (
            ChatTemplate(model.template, begin_text=model.begin_text, end_text=model.end_text)
            if model.template is not None
            else None
        )

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and answer of one generation may have together."""
        return self._model.info.context_tokens

    def prepare(self, request: GenerationRequest) -> Prepared:
        """Do what can be done ahead; raises CommandError if the request cannot be served.

        Whatever makes a prompt also raises JobError once nobody wants it.
        """
        prompt = self.tokens(request)
        terms = CompileTerms(request.compile_ms, request.check_wanted)
        constraint = self._model.compile(request.constraint, terms) if request.constraint else None
        return Prepared(
            prompt, constraint, min(request.max_tokens, self.context_tokens - len(prompt))
        )

    def tokens(self, request: GenerationRequest) -> tuple[Token, ...]:
        """The prompt of a request; raises CommandError if it makes none, or one that leaves no room."""
        self._check_bytes(request)
        tokens = self._tokenise(request)
        if not tokens:
            raise CommandError(
                ErrorCode.INVALID_ARGUMENT, "the prompt is empty: there is nothing to go on from"
            )
        if len(tokens) >= self.context_tokens:
            raise CommandError(
                ErrorCode.CONTEXT_OVERFLOW,
                f"the prompt has {len(tokens)} tokens and leaves no room for an answer in the "
                f"{self.context_tokens} tokens of the model's context",
            )
        return tuple(tokens)

    def count(self, request: GenerationRequest) -> int:
        """How many tokens the prompt of a request has, whether or not it would fit."""
        self._check_bytes(request)
        return len(self._tokenise(request))

    def count_text(self, text: str) -> int:
        """How many tokens plain text has, without a template."""
        self._check_size([text])
        return len(self._model.tokenise(text, scaffold=False))

    def _check_bytes(self, request: GenerationRequest) -> None:
        self._check_size(
            [turn.content for turn in request.turns or ()] + [request.raw_prompt or ""]
        )

    def _check_size(self, texts: Sequence[str]) -> None:
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        if size > self._bytes_max:
            raise CommandError(
                ErrorCode.LIMIT_EXCEEDED,
                f"the prompt has {size} bytes; at most {self._bytes_max} "
                f"({PROMPT_BYTES_PER_CONTEXT_TOKEN_MAX} for each token of the context) are read",
            )

    def _parts(self, request: GenerationRequest) -> Sequence[Part]:
        if request.raw_prompt is not None:
            return [Part(request.raw_prompt, scaffold=True)]
        turns = request.turns or ()
        if self._template is not None:
            return self._template.render(
                turns, default_system=request.default_system, check_wanted=request.check_wanted
            )
        match turns:
            case (Turn(role="user", content=content),):
                return [Part(content, scaffold=False)]
            case _:
                raise CommandError(
                    ErrorCode.UNSUPPORTED,
                    "this model has no chat template: give one `prompt` instead of `messages`",
                )

    def _tokenise(self, request: GenerationRequest) -> list[Token]:
        tokens: list[Token] = []
        for part in self._parts(request):
            request.check_wanted()
            tokens += self._model.tokenise(part.text, scaffold=part.scaffold)
        begin = self._model.begins_with
        # Most templates spell the beginning themselves; a second one would spoil the answer.
        return [begin, *tokens] if begin is not None and tokens[:1] != [begin] else tokens


def check_numbers(request: GenerationRequest) -> None:
    """Raise CommandError (invalid_argument) for numbers that make no sense, before any work."""
    faults = [
        message
        for fails, message in (
            ((request.turns is None) == (request.raw_prompt is None), "give turns or a raw prompt"),
            (request.turns == (), "a conversation needs at least one message"),
            (request.max_tokens < 1, f"max_tokens is {request.max_tokens}; at least 1 is needed"),
            ("" in request.stop, "a stop string must not be empty"),
        )
        if fails
    ] + sampling_faults(request.sampling)
    if faults:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, "; ".join(faults))
