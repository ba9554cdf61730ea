"""Reads the size of a picture from its first bytes, so that nothing has to be decoded."""

import binascii

_HEAD = 65_536
"""Characters of base64 in which the size stands, whatever comes before it."""
_SHORT_HEAD = 64
_FRAMES = frozenset((0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))
"""Marks of a JPEG that stand before its size."""


def picture_size(encoded: str) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG in base64; None when the header cannot be read."""
    head = _bytes(encoded[:_SHORT_HEAD])
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return _big(head[16:20]), _big(head[20:24])
    if head.startswith(b"GIF8") and len(head) >= 10:
        return _little(head[6:8]), _little(head[8:10])
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    return _jpeg(_bytes(encoded[:_HEAD])) if head.startswith(b"\xff\xd8") else None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 ":
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
        case b"VP8L":
            packed = _little(head[21:25])
            return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _FRAMES:
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        at += 2 + _big(data[at + 2 : at + 4])
    return None


def _bytes(encoded: str) -> bytes:
    try:
        return binascii.a2b_base64(encoded[: len(encoded) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
