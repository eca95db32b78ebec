"""What a file is, by its first bytes."""

import pytest

from cuttlebone.files.kinds import HEAD_BYTES, kind_of
from cuttlebone_abi import BinaryKind, DocumentKind, FileKind, ImageKind, TextKind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", TextKind()),
        (b"plain", TextKind()),
        ("späße €".encode(), TextKind()),
        (b"\xef\xbb\xbfmarked", TextKind()),
        (b"\x01\x1b\x7f", TextKind()),  # control characters are UTF-8
        (b"\x00\x01", BinaryKind()),
        (b"\x00" * 100, BinaryKind()),
        (b"text and a NUL\x00", BinaryKind()),
        ("no mark".encode("utf-16-le"), BinaryKind()),
        ("no mark".encode("utf-16-be"), BinaryKind()),
        ("no mark".encode("utf-32-le"), BinaryKind()),
        (b"%PDF-1.7\n\xff\xff", DocumentKind()),
        (b" %PDF-1.7", TextKind()),
        (b"\x89PNG\r\n\x1a\nrest", ImageKind(format="png")),
        (b"\xff\xd8\xff\xe0", ImageKind(format="jpeg")),
        (b"GIF87a", ImageKind(format="gif")),
        (b"GIF89a", ImageKind(format="gif")),
        (b"GIF88a", TextKind()),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", ImageKind(format="webp")),
        (b"RIFF\x10\x01\x01\x01WAVEfmt ", TextKind()),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", BinaryKind()),
        (b"\x89PN", BinaryKind()),
        (b"\xff\xfeU\x00", BinaryKind()),
        (b"latin-1 \xe9t\xe9", BinaryKind()),
        (b"cut by the end of the file \xe2\x82", BinaryKind()),
    ],
)
def test_a_whole_file_is_what_its_bytes_say(head: bytes, kind: FileKind) -> None:
    assert kind_of(head, whole=True) == kind


def test_a_character_cut_by_the_end_of_the_head_is_still_text() -> None:
    head = "€".encode().rjust(HEAD_BYTES + 1, b"a")[:HEAD_BYTES]
    assert kind_of(head, whole=False) == TextKind()


def test_a_nul_behind_the_head_is_not_looked_for() -> None:
    text = b"a" * HEAD_BYTES + b"\0"
    assert kind_of(text[:HEAD_BYTES], whole=False) == TextKind()
    assert kind_of(text[1 : HEAD_BYTES + 1], whole=False) == BinaryKind()


def test_an_invalid_byte_at_the_end_of_the_head_is_no_cut_character() -> None:
    assert kind_of(b"a" * (HEAD_BYTES - 1) + b"\xff", whole=False) == BinaryKind()
