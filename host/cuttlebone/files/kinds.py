"""The kind of a file, told from its first bytes: text, image, document or binary."""

import codecs
from typing import Final, Literal

from cuttlebone_abi import BinaryKind, DocumentKind, FileKind, ImageKind, TextKind

HEAD_BYTES: Final = 4096
"""How much of a file is looked at."""

_IMAGE_MAGICS: Final[tuple[tuple[bytes, Literal["png", "jpeg", "gif"]], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
)


def kind_of(head: bytes, *, whole: bool) -> FileKind:
    """Decide from `head`, the first HEAD_BYTES of a file; `whole` says that there is no more of it.

    A character that the end of `head` cuts is fine in text; one that the end of the file cuts is
    not, since a guest could not read it. UTF-8 may have NULs, but what has them is no text that
    anyone wrote: it is UTF-16 without a mark, an archive or a hole.
    """
    for magic, image in _IMAGE_MAGICS:
        if head.startswith(magic):
            return ImageKind(format=image)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ImageKind(format="webp")
    if head.startswith(b"%PDF-"):
        return DocumentKind()
    return TextKind() if _is_text(head, whole=whole) else BinaryKind()


def _is_text(head: bytes, *, whole: bool) -> bool:
    if b"\0" in head:
        return False
    try:
        codecs.utf_8_decode(head, "strict", whole)
    except UnicodeDecodeError:
        return False
    return True
