"""Choosing tokens: llama.cpp's samplers over the logits of one run."""

import ctypes
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import llama_cpp
import numpy as np
import numpy.typing as npt

from cuttlebone.generation.request import Sampling
from cuttlebone.inference.llama.constrained import Allowed, Mask
from cuttlebone.inference.model import DecodeFailed, Token

if TYPE_CHECKING:
    from llama_cpp.llama_cpp import llama_sampler_p

Logits: TypeAlias = npt.NDArray[np.float32]
Read: TypeAlias = Callable[[int], Logits]
"""Gives the logits after a run of the last batch, by its index."""

_CANDIDATE: Final = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Candidates:
    """The array that llama.cpp's samplers work on. One a model: it is filled anew for each pick."""

    def __init__(self, vocabulary_tokens: int) -> None:
        self.vocabulary_tokens = vocabulary_tokens
        self._ids = np.arange(vocabulary_tokens, dtype=np.int32)
        self._data = np.zeros(vocabulary_tokens, _CANDIDATE)
        self._pointer = self._data.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))

    def choose(self, chain: "llama_sampler_p", logits: Logits, allowed: Allowed | None) -> Token:
        """Apply a chain that ends in a choice, to the allowed tokens only."""
        # Samplers sort and cut the array, so its ids have to be put back as well.
        ids = self._ids if allowed is None else self._ids[allowed]
        size = len(ids)
        self._data["id"][:size] = ids
        self._data["logit"][:size] = logits if allowed is None else logits[allowed]
        self._data["p"][:size] = 0
        array = llama_cpp.llama_token_data_array(self._pointer, size, -1, False)
        llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
        if not 0 <= array.selected < array.size:
            raise DecodeFailed("llama.cpp's samplers chose nothing")
        return Token(int(self._data["id"][array.selected]))


class Greedy:
    """The likeliest token, of equals the first: what llama.cpp's greedy sampler does, 20 times faster."""

    def __init__(self, read: Read, mask: Mask | None) -> None:
        self._read = read
        self._mask = mask

    def pick(self, index: int) -> Token:
        """Choose after one run."""
        logits = self._read(index)
        if self._mask is None:
            return likeliest(logits)
        token = likeliest(np.where(self._mask.allowed(), logits, -np.inf))
        self._mask.take(token)
        return token

    def close(self) -> None:
        """There is nothing to free."""


class Chain:
    """llama.cpp's samplers in their customary order. Owner: the sequence; freed by `close`."""

    def __init__(
        self, read: Read, candidates: Candidates, sampling: Sampling, mask: Mask | None
    ) -> None:
        self._read = read
        self._candidates = candidates
        self._mask = mask
        self._chain = _chain(sampling, candidates.vocabulary_tokens)
        self._closed = False

    def pick(self, index: int) -> Token:
        """Choose after one run, and remember the choice for the repeat penalty."""
        logits = self._read(index)
        likeliest(logits)  # a NaN in the middle would end the process
        allowed = self._mask.allowed() if self._mask is not None else None
        if allowed is not None and not allowed.any():
            raise DecodeFailed("the constraint allows no token")
        token = self._candidates.choose(self._chain, logits, allowed)
        llama_cpp.llama_sampler_accept(self._chain, token)
        if self._mask is not None:
            self._mask.take(token)
        return token

    def close(self) -> None:
        """Free the chain; a second time does nothing."""
        if not self._closed:
            self._closed = True
            llama_cpp.llama_sampler_free(self._chain)


def likeliest(logits: Logits) -> Token:
    """The first of the greatest logits; raises DecodeFailed if there is no finite one, or a NaN."""
    at = int(logits.argmax())  # a NaN counts as the greatest of all
    if not math.isfinite(logits[at]):
        raise DecodeFailed("the model gave no finite logits: its file is broken")
    return Token(at)


def _chain(sampling: Sampling, vocabulary_tokens: int) -> "llama_sampler_p":
    chain: llama_sampler_p = llama_cpp.llama_sampler_chain_init(
        llama_cpp.llama_sampler_chain_default_params()
    )
    links = []
    if sampling.repeat_penalty is not None:
        links.append(
            llama_cpp.llama_sampler_init_penalties(
                vocabulary_tokens, sampling.repeat_last, sampling.repeat_penalty, 0.0, 0.0
            )
        )
    if sampling.temperature == 0:
        links.append(llama_cpp.llama_sampler_init_greedy())
    else:
        if sampling.top_k is not None:
            links.append(llama_cpp.llama_sampler_init_top_k(int(sampling.top_k)))
        if sampling.top_p is not None:
            links.append(llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p is not None:
            links.append(llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1))
        links.append(llama_cpp.llama_sampler_init_temp(sampling.temperature))
        links.append(llama_cpp.llama_sampler_init_dist(sampling.seed))
    for link in links:
        llama_cpp.llama_sampler_chain_add(chain, link)
    return chain
