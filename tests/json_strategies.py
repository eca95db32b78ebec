"""Hypothesis strategies for JSON values: any, and such as come close to a certain document."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(),
    st.sampled_from(
        [0, 1, -1, 2**16, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400, 10**2000]
    ),
    st.floats(),
)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.text(), st.text(alphabet="\ud800\udfff\x00\naé٣")
)


def json_values(words: Sequence[str] = (), keys: Sequence[str] = ()) -> st.SearchStrategy[Any]:
    """Any JSON value, and what nearly is one; `words` and `keys` of a document come up often."""
    scalars = SCALARS | st.sampled_from(words) if words else SCALARS
    names = st.text() | st.sampled_from(keys) if keys else st.text()
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(names, inner, max_size=6)
            | st.dictionaries(st.integers(), inner, max_size=1)
            | st.tuples(inner)
        ),
        max_leaves=20,
    )
