"""Addresses and ports, told by their strict text."""

import pytest

from cuttlebone.text.addresses import address, in_url, is_loopback, port


@pytest.mark.parametrize(
    ("text", "url_host"),
    [
        ("localhost", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.255.255.254", "127.255.255.254"),
        ("127.0.0.0", "127.0.0.0"),
        ("::1", "[::1]"),
        ("0:0:0:0:0:0:0:1", "[::1]"),
        ("0000:0000:0000:0000:0000:0000:0000:0001", "[::1]"),
        ("::0.0.0.1", "[::1]"),
    ],
)
def test_these_are_loopback(text: str, url_host: str) -> None:
    found = address(text)
    assert found is not None
    assert is_loopback(found)
    assert in_url(found) == url_host


@pytest.mark.parametrize(
    "text",
    [
        "126.255.255.255",
        "128.0.0.1",
        "0.0.0.0",
        "::",
        "::2",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "fe80::1",
    ],
)
def test_these_are_addresses_beyond_loopback(text: str) -> None:
    found = address(text)
    assert found is not None
    assert not is_loopback(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Localhost",
        "localhost.",
        "localhost\n",
        "127.1",
        "127.0.0.01",
        "0127.0.0.1",
        "127.0.0.1 ",
        "127.0.0.1\n",
        "127.0.0.1:80",
        "127.0.0.256",
        "\uff1127.0.0.1",
        "127.0.0.\u0661",
        "2130706433",
        "0x7f000001",
        "::1%lo",
        "::1%",
        "[::1]",
        "::1/128",
        "::1\n",
        "::00001",
        "127.0.0.1/8",
        "example.org",
        "\ud800",
    ],
)
def test_these_are_no_addresses(text: str) -> None:
    assert address(text) is None


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("8420", 8420), ("65535", 65_535)])
def test_these_are_ports(text: str, number: int) -> None:
    assert port(text) == number


@pytest.mark.parametrize(
    "text", ["", "0", "08710", "65536", "99999", "100000", "+80", "-1", "8_0", "80 ", "٨٠", "0x50"]
)
def test_these_are_no_ports(text: str) -> None:
    assert port(text) is None
