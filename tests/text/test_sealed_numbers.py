"""A number that is handed out sealed says nothing, opens for nobody else, and cannot be made up."""

from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.text.sealed_numbers import SECRET_BYTES, opened, sealed

SECRET = bytes(range(SECRET_BYTES))
NUMBERS = st.integers(0, (1 << 63) - 1)


@given(number=NUMBERS, purpose=st.text(max_size=20))
def test_whoever_has_the_secret_opens_it_for_its_purpose_alone(number: int, purpose: str) -> None:
    seal = sealed(SECRET, purpose, number)

    assert opened(SECRET, purpose, seal) == number
    assert opened(SECRET, purpose + "!", seal) is None
    assert opened(SECRET[::-1], purpose, seal) is None


@given(number=NUMBERS, bit=st.integers(0, 20 * 8 - 1))
def test_one_changed_bit_opens_nothing(number: int, bit: int) -> None:
    seal = bytearray(sealed(SECRET, "jobs", number))
    seal[bit // 8] ^= 1 << bit % 8

    assert opened(SECRET, "jobs", bytes(seal)) is None


@given(seal=st.binary(max_size=40))
def test_what_was_made_up_opens_nothing(seal: bytes) -> None:
    assert opened(SECRET, "jobs", seal) is None


def test_neighbours_have_nothing_in_common() -> None:
    one, next_one = sealed(SECRET, "jobs", 1), sealed(SECRET, "jobs", 2)

    differing = sum((a ^ b).bit_count() for a, b in zip(one, next_one, strict=True))
    assert len(one) == 20
    assert 40 < differing < 120
