"""What pictures, pages and sounds cost, by each provider's published rule."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Callable
from math import ceil

Size = tuple[int, int]
Rule = Callable[[Size | None], int]
"""From width and height to tokens; None: the size is not known, so the dearest usual case."""

_HEAD = 128 * 1024
"""Characters of base64 that are read for a picture's size: a JPEG may begin with a thumbnail."""

_PAGE_BYTES = 60_000
"""Bytes of a page where a PDF hides how many it has."""


def tiles(start: int, each: int) -> Rule:
    """OpenAI's tiles of 512 pixels, of a picture scaled to 2048 and then to 768 on the short side."""

    def rule(size: Size | None) -> int:
        if size is None:
            return start + each * 8
        width, height = _within(size, 2048)
        down = min(1.0, 768 / max(1, min(width, height)))
        return start + each * ceil(width * down / 512) * ceil(height * down / 512)

    return rule


def patches(factor: float = 1.0, most: int = 1536) -> Rule:
    """OpenAI's patches of 32 pixels, times the model's factor."""

    def rule(size: Size | None) -> int:
        count = most if size is None else min(most, ceil(size[0] / 32) * ceil(size[1] / 32))
        return ceil(count * factor)

    return rule


def area(size: Size | None) -> int:
    """Anthropic up to 4.6: width × height / 750, of a picture scaled to 1568 pixels, 1,600 at most."""
    if size is None:
        return 1_600
    width, height = _within(size, 1568)
    return min(1_600, max(1, ceil(width * height / 750)))


def small_patches(size: Size | None) -> int:
    """Anthropic from 4.7 on: patches of 28 pixels, of a picture scaled to 2576 pixels, 4,784 at most."""
    if size is None:
        return 4_784
    width, height = _within(size, 2576)
    return min(4_784, ceil(width / 28) * ceil(height / 28))


def crops(size: Size | None) -> int:
    """Gemini up to 2.5: 258 for a small picture, else for each crop of at most 768 pixels."""
    if size is None:
        return 258 * 6
    if max(size) <= 384:
        return 258
    unit = min(768, max(256, min(size) // 1.5))
    return 258 * ceil(size[0] / unit) * ceil(size[1] / unit)


def flat(tokens: int) -> Rule:
    """The same for every picture (Gemini from 3 on: 1,120)."""
    return lambda size: tokens


def _within(size: Size, longest: int) -> tuple[float, float]:
    down = min(1.0, longest / max(1, *size))
    return size[0] * down, size[1] * down


def picture_size(data: str | None) -> Size | None:
    """Width and height of a PNG, JPEG, GIF or WebP in base64, from its first bytes."""
    head = _decode(data[:_HEAD]) if data else b""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _pair(head, 16, 4, "big")
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair(head, 6, 2, "little")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    return _jpeg(head) if head.startswith(b"\xff\xd8") else None


def _pair(head: bytes, at: int, width: int, order: str) -> Size | None:
    if len(head) < at + 2 * width:
        return None
    first, second = head[at : at + width], head[at + width : at + 2 * width]
    return _sane(int.from_bytes(first, order), int.from_bytes(second, order))  # type: ignore[arg-type]


def _sane(width: int, height: int) -> Size | None:
    return (width, height) if width > 0 and height > 0 else None


def _webp(head: bytes) -> Size | None:
    if len(head) < 30:
        return None
    if head[12:16] == b"VP8X":
        return (
            int.from_bytes(head[24:27], "little") + 1,
            int.from_bytes(head[27:30], "little") + 1,
        )
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
    return _sane(width, height)


def _jpeg(head: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        mark = head[at + 1]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            return _sane(
                int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
            )
        at += 2 + max(2, int.from_bytes(head[at + 2 : at + 4], "big"))
    return None


def pages_of(data: str | None) -> int:
    """How many pages a PDF in base64 has; where it hides them, what its size suggests."""
    whole = _decode(data) if data else b""
    seen = len(re.findall(rb"/Type\s*/Page(?![a-zA-Z])", whole))
    told = max((int(count) for count in re.findall(rb"/Count\s+(\d{1,5})\b", whole)), default=0)
    return max(seen, told) or max(1, ceil(len(whole) / _PAGE_BYTES))


def seconds_of(data: str, media: str) -> float:
    """How long a sound in base64 plays: a WAV says so, others are taken for thin speech of 32 kbit a second."""
    head = _decode(data[:64])
    size = len(data) * 0.75
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE" and len(head) >= 32:
        return size / max(1, int.from_bytes(head[28:32], "little"))
    return size / (4_000 if "video" not in media else 60_000)


def _decode(data: str) -> bytes:
    """The bytes of base64, as far as it is any."""
    data = data.partition(";base64,")[2] or data
    try:
        return a2b_base64(data[: len(data) // 4 * 4])
    except (Error, ValueError):
        return b""
