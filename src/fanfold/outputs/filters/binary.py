"""Binary: data that is no text for a reader becomes a note; the data itself is kept."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any

from fanfold.core.edit import REF
from fanfold.outputs.filters.filter import Filter, shortens
from fanfold.outputs.notices import BASE64, BASE64_LEFT_OUT, BINARY
from fanfold.text.data import PLAIN, SAMPLE, is_binary, is_text, magic, media_of
from fanfold.text.patterns import pattern

_SIGNS_OF_BASE64 = frozenset(b"+/_-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_TABLE = bytes(43 if one in _SIGNS_OF_BASE64 else 32 if one in PLAIN else 0 for one in range(256))
"""Signs of base64 as `+`, what else a text is made of as a space, all other bytes as 0."""
_ROW, _ODD = b"+" * 60, b"\0"

LEAST = 512
"""Shorter runs of base64 may be hashes, keys or names, and stay."""
_SIGNS = r"[A-Za-z0-9+/_-]"
_BREAK = r"(?:\r?\n|\\r\\n|\\n)"
_RUN = pattern(
    r"(?:data:([\w.+-]+/[\w.+-]+)?[\w=;.+-]*;base64,|(?<![A-Za-z0-9+/_-]))"
    rf"({_SIGNS}{{60,}}(?:{_BREAK}{_SIGNS}{{60,}})*(?:{_BREAK}{_SIGNS}{{1,76}}(?==))?={{0,2}})"
)


def binary(least: int = LEAST) -> Filter:
    """Replace binary data, and runs of base64 of at least `least` characters, by a note with the reference."""

    @shortens
    def binary(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        data = text.encode("utf-8", "surrogatepass")
        told = data.translate(
            _TABLE
        )  # a glance: nearly all outputs are plain text without long rows of signs
        if _ODD in told[:SAMPLE] and is_binary(data[:SAMPLE]):
            media = media_of(data)
            return None if is_text(media, len(data)) else note(media, len(data))
        if len(text) < least or _ROW not in told:
            return None
        shown = _RUN.sub(lambda run: _note_run(run, least), text)
        if shown == text:
            return None
        return f"{shown}\n{BASE64_LEFT_OUT.format(ref=REF)}"

    return binary


def note(media: str, size: int) -> str:
    """What stands in the place of binary data."""
    return BINARY.format(media=media, size=size, ref=REF)


def _note_run(run: re.Match[str], least: int) -> str:
    media, data = run.group(1), run.group(2)
    if len(run.group()) < least or not (media or _is_base64(data)):
        return run.group()
    start = _decode(data[:64])
    return BASE64.format(media=media or magic(start) or "unknown kind", size=len(data) * 3 // 4)


def _is_base64(data: str) -> bool:
    """Whether a run of characters is encoded data rather than a long word, a path or digits."""
    sample = data[:4096]
    kinds = (str.isupper, str.islower, str.isdigit)
    if magic(_decode(data[:64])):
        return True
    shares = [sum(map(kind, sample)) / len(sample) for kind in kinds]
    return min(shares) > 0.03 and len(set(sample)) >= 40


def _decode(data: str) -> bytes:
    plain = re.sub(r"\s", "", data).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return b64decode(plain[: len(plain) // 4 * 4])
    except (Error, ValueError):
        return b""
