"""Numbers that are handed out sealed: to whoever gets one it says nothing, and it cannot be made up."""

import hashlib
import hmac
from typing import Final

SECRET_BYTES: Final = 32
_TAG_BYTES: Final = 12
_NUMBER_BYTES: Final = 8


def sealed(secret: bytes, purpose: str, number: int) -> bytes:
    """Seal a number from 0 to 2^63 - 1. For another purpose, or under another secret, it opens nothing.

    The tag is a digest of what is sealed and masks it (a synthetic initialisation vector, as in RFC
    5297), so that no nonce has to be kept. The same number is sealed in the same way each time.
    """
    plain = number.to_bytes(_NUMBER_BYTES)
    tag = _digest(secret, "tag", purpose.encode() + b"\n" + plain)[:_TAG_BYTES]
    return tag + _masked(secret, tag, plain)


def opened(secret: bytes, purpose: str, seal: bytes) -> int | None:
    """The number in a seal; None if it was not made with this secret for this purpose."""
    tag, masked = seal[:_TAG_BYTES], seal[_TAG_BYTES:]
    if len(masked) != _NUMBER_BYTES:
        return None
    number = int.from_bytes(_masked(secret, tag, masked))
    return number if hmac.compare_digest(sealed(secret, purpose, number), seal) else None


def _masked(secret: bytes, tag: bytes, number: bytes) -> bytes:
    mask = _digest(secret, "mask", tag)
    return bytes(one ^ other for one, other in zip(number, mask, strict=False))


def _digest(secret: bytes, use: str, data: bytes) -> bytes:
    return hmac.digest(secret, use.encode() + b"\n" + data, hashlib.sha256)
