"""How many prompt tokens a batch may have, learnt from how long batches take: pure arithmetic."""

from typing import Final

from cuttlebone.inference.batch_costs import BatchCosts

BATCH_S_MAX: Final = 0.12
"""How long a batch may take in any case: a newcomer waits for its end, and a cancel that cannot end one."""
GAP_S_MAX: Final = 0.45
"""Prompts make a batch beside generations no longer than this, or than `GAP_BATCHES`.

A generation is promised its next token in a second: half of it is for what the machine does meanwhile.
"""
GAP_BATCHES: Final = 2.1
"""The same in batches without prompt tokens, where even those take long; promised are three."""
LONGER: Final = 2.0
"""Within these bounds prompts lengthen a batch by so many times what it takes without them."""
LONGER_ABORTABLE: Final = 5.0
"""The same where a cancel ends a batch half-way."""
ALONE_LONGER: Final = 5.0
"""A batch of prompts alone may take so many times its fixed cost: a fifth of it is overhead then."""
ALONE_LONGER_ABORTABLE: Final = 20.0
"""The same where a cancel ends a batch half-way. Not more: who comes now waits for its end."""
PROMPT_TOKENS_MIN: Final = 32
"""Of a batch while nothing is generated; also while nothing is known."""
CHUNK_TOKENS_MIN: Final = 2
"""Of a batch in which prompts have all the time that they may have, however dear a token is."""
WORTHWHILE: Final = 5.0
"""A call for a prompt is put off until it has so many times its fixed cost to do, or all that it may have."""
UNSEEN_MAX: Final = 16
"""After so many batches of generations and prompts one has no prompts.

What a batch takes without prompts is what all bounds are multiples of, and no other batch shows it.
"""
DECODE_BONUS: Final = 0.5
"""What generations have of a batch's time beyond an equal share: decode goes before prefill."""
PROMPTS_AT_LEAST: Final = 0.85
"""Of the time of those that generate, however many: who is late to generate costs everybody batches."""


class PrefillPacer:
    """Bounds a batch by what batches cost: in time beside generations, in overhead while there are none.

    A prompt that has a call of its own pays for reading the weights again. So its time beside
    generations is saved up (`_owed_s`) until a call is worthwhile. Owned by the inference thread.
    """

    def __init__(self, *, prompts_apart: bool = False, abortable: bool = False) -> None:
        """`prompts_apart`: prompts have calls of their own; `abortable`: a cancel ends a batch half-way."""
        self._prompts_apart = prompts_apart
        self._longer = LONGER_ABORTABLE if abortable else LONGER
        self._alone_longer = ALONE_LONGER_ABORTABLE if abortable else ALONE_LONGER
        self._batch_costs = BatchCosts()
        self._unseen = 0
        """Batches of generations and prompts since the last one of generations alone."""
        self._owed_s = 0.0
        """What the prompts of earlier batches had no whole token for, or no worthwhile call."""

    def took(self, decoding: int, prefill_tokens: int, seconds: float, *, prompts: int = 1) -> None:
        """Learn from one batch, whose prompt tokens are of so many prompts."""
        calls = bool(decoding) + (prompts if prefill_tokens else 0) if self._prompts_apart else 1
        self._batch_costs.took(calls, decoding, prefill_tokens, seconds)
        if decoding:
            self._unseen = self._unseen + 1 if prefill_tokens else 0

    def prefill_tokens(self, decoding: int, prompt_weight: float) -> int:
        """Prompt tokens for a batch with one token for each of `decoding` generations.

        Together the prompts weigh as much as `prompt_weight` of the generations, and those have half
        a one more, so that many prompts are not kept waiting by the first that is ready. However many
        generate, prompts have nearly half of the time: generations keep half of their speed. Beside
        generations that may be no token in one batch and some in the next. How many fit into a
        batch at all is for others to say.
        """
        costs = self._batch_costs.costs
        if costs is None:
            return PROMPT_TOKENS_MIN
        if not decoding:
            self._owed_s = 0.0
            room_s = max(BATCH_S_MAX - costs.fixed_s, costs.fixed_s * self._alone_longer)
            return max(PROMPT_TOKENS_MIN, int(room_s / costs.each_prompt_s))
        alone_s = costs.fixed_s + costs.each_decode_s * decoding
        call_s = costs.fixed_s if self._prompts_apart else 0.0
        room_s = self._room_s(alone_s, call_s)
        share = max(prompt_weight / (decoding + DECODE_BONUS), PROMPTS_AT_LEAST)
        due_s = min(self._owed_s + alone_s * share, room_s)
        self._owed_s = due_s
        if self._unseen >= UNSEEN_MAX or due_s < min(call_s * (1 + WORTHWHILE), room_s):
            return 0
        tokens = int((due_s - call_s) / costs.each_prompt_s)
        if due_s == room_s:  # more is never due, so that less would be nothing for ever
            tokens = max(tokens, CHUNK_TOKENS_MIN)
        if tokens:
            self._owed_s = max(due_s - call_s - tokens * costs.each_prompt_s, 0.0)
        return tokens

    @property
    def prompt_costs_tokens(self) -> int:
        """What the call of each further prompt in a batch costs, in prompt tokens."""
        costs = self._batch_costs.costs
        if costs is None or not self._prompts_apart:
            return 0
        return int(costs.fixed_s / costs.each_prompt_s)

    def _room_s(self, alone_s: float, call_s: float) -> float:
        """What prompts may add to a batch that takes `alone_s` without them."""
        longest_s = max(BATCH_S_MAX, alone_s * (1 + self._longer), alone_s + 2 * call_s)
        return min(longest_s, max(GAP_S_MAX, (alone_s + call_s) * GAP_BATCHES)) - alone_s
