"""Which URLs may be called back."""

from ipaddress import ip_address

import pytest

from cuttlebone.callbacks.policy import (
    URL_CHARS_MAX,
    CallbackPolicy,
    Target,
    address_fault,
)
from cuttlebone.errors import CallerError, OperatorError, ProblemCode

POLICY = CallbackPolicy(
    ["hooks.example.org", "other.example.org:8443", "127.0.0.1:9000", "[::1]:9000"]
)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://hooks.example.org/a?b=c", Target("https", "hooks.example.org", 443, "/a?b=c")),
        ("HTTPS://HOOKS.example.org:443", Target("https", "hooks.example.org", 443, "/")),
        ("https://other.example.org:8443/", Target("https", "other.example.org", 8443, "/")),
        ("http://127.0.0.1:9000/end", Target("http", "127.0.0.1", 9000, "/end")),
        ("http://[::1]:9000/", Target("http", "::1", 9000, "/")),
    ],
)
def test_a_host_that_is_listed_may_be_called(url: str, target: Target) -> None:
    assert POLICY.target(url) == target


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://hooks.example.org:8443/", "is not among the hosts"),
        ("https://other.example.org/", "is not among the hosts"),
        ("https://hooks.example.org.evil.test/", "is not among the hosts"),
        ("https://evil.test/#hooks.example.org", "neither a user nor a fragment"),
        ("https://hooks.example.org@evil.test/", "neither a user nor a fragment"),
        ("https://user:word@hooks.example.org/", "neither a user nor a fragment"),
        ("http://hooks.example.org/", "only a loopback address is called over http"),
        ("http://127.0.0.1:9001/", "is not among the hosts"),
        ("http://2130706433:9000/", "is not among the hosts"),
        ("http://127.0.0.1:09000/", "should be 1 to 65535, without leading zeros"),
        ("https://hooks.example.org:0443/", "should be 1 to 65535, without leading zeros"),
        ("https://hooks.example.org:0443?a", "should be 1 to 65535, without leading zeros"),
        ("https://hooks.example.org:/", "should be 1 to 65535, without leading zeros"),
        ("http://[::1]:09000", "should be 1 to 65535, without leading zeros"),
        ("ftp://hooks.example.org/", "should begin with https"),
        ("hooks.example.org/a", "should begin with https"),
        ("https:///a", "should begin with https"),
        ("https://hooks.example.org/\r\nX-Evil: 1", "printable ASCII"),
        ("https://hööks.example.org/", "printable ASCII"),
        ("https://[::1", "is no URL"),
        ("https://hooks.example.org/" + "a" * URL_CHARS_MAX, "printable ASCII"),
        ("", "printable ASCII"),
    ],
)
def test_any_other_url_is_refused_with_a_pointer(url: str, reason: str) -> None:
    with pytest.raises(CallerError, match="/callback_url: ") as caught:
        POLICY.target(url)
    assert caught.value.code is ProblemCode.INVALID_BODY
    assert caught.value.faults[0].pointer == "/callback_url"
    assert reason in caught.value.message


def test_without_a_list_nothing_may_be_called() -> None:
    with pytest.raises(CallerError, match="callback_hosts"):
        CallbackPolicy(()).target("https://hooks.example.org/")


@pytest.mark.parametrize(
    "entry",
    ["https://a.org", "a.org/", "a.org:0", "a.org:0443", "a.org:", "a.org:70000", "", "a b"],
)
def test_an_entry_that_is_no_host_is_the_operators_to_mend(entry: str) -> None:
    with pytest.raises(OperatorError, match="callback_hosts"):
        CallbackPolicy([entry])


@pytest.mark.parametrize(
    ("url_host", "scheme", "found", "fit"),
    [
        ("hooks.example.org", "https", "203.0.113.7", True),
        ("hooks.example.org", "https", "10.1.2.3", True),
        ("hooks.example.org", "https", "127.0.0.1", False),
        ("hooks.example.org", "https", "::ffff:127.0.0.1", False),
        ("hooks.example.org", "https", "169.254.169.254", False),
        ("hooks.example.org", "https", "fe80::1", False),
        ("hooks.example.org", "https", "0.0.0.0", False),
        ("hooks.example.org", "https", "224.0.0.1", False),
        ("localhost", "https", "127.0.0.1", True),
        ("169.254.1.1", "https", "169.254.1.1", True),
        ("localhost", "http", "::1", True),
        ("localhost", "http", "203.0.113.7", False),
    ],
)
def test_a_name_must_not_lead_to_this_machine_unless_it_says_so(
    url_host: str, scheme: str, found: str, *, fit: bool
) -> None:
    fault = address_fault(Target(scheme, url_host, 443, "/"), ip_address(found))
    assert (fault is None) is fit


def test_the_host_header_leaves_out_the_usual_port() -> None:
    assert Target("https", "a.org", 443, "/").authority == "a.org"
    assert Target("https", "::1", 8443, "/").authority == "[::1]:8443"
