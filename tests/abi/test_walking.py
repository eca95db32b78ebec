"""Walking through a JSON value: everything once, in the order of the document."""

from itertools import islice

from cuttlebone_abi import Json
from cuttlebone_abi.walking import walk


def test_every_value_is_given_with_the_way_to_it_outer_before_inner() -> None:
    value: Json = {"a": [1, {"b": None}], "c": "x"}
    assert list(walk(value)) == [
        (value, ()),
        (value["a"], ("a",)),
        (1, ("a", 0)),
        ({"b": None}, ("a", 1)),
        (None, ("a", 1, "b")),
        ("x", ("c",)),
    ]


def test_no_nesting_exhausts_the_stack() -> None:
    value: Json = []
    value.append(value)
    assert [len(location) for _, location in islice(walk(value), 5000)] == list(range(5000))
