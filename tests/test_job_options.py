"""How limits of specs, hosts and submissions come together."""

from cuttlebone.job_options import LIMITS_MAX, MEBIBYTE, Limits


def test_a_submission_lowers_only_what_it_states() -> None:
    assert Limits(steps=5).narrowed(Limits(handles=2)) == Limits(steps=5, handles=2)


def test_a_limit_is_never_raised() -> None:
    assert Limits(steps=5).narrowed(Limits(steps=50)).steps == 5
    assert Limits(window_bytes=1 << 40).bounded(LIMITS_MAX).window_bytes == 64 * MEBIBYTE


def test_a_window_is_never_wider_than_the_memory_that_has_to_hold_it() -> None:
    small = Limits(memory_bytes=MEBIBYTE)

    assert small.bounded(LIMITS_MAX).window_bytes == MEBIBYTE
    assert Limits().narrowed(small).window_bytes == MEBIBYTE
    assert Limits().bounded(LIMITS_MAX).window_bytes == 16 * MEBIBYTE
