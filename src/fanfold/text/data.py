"""What kind of data something is, by its first bytes: one definition of text, for what is shown, read and searched."""

from __future__ import annotations

import re

SAMPLE = 8_192
"""So many bytes tell what kind of data it is."""
TINY = 64
"""Data of fewer bytes is shown as text, whatever it is: a note about it would be longer."""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x00asm", "application/wasm"),
)
_CONTROL = bytes({*range(7), *range(14, 27), *range(28, 32)})
PLAIN = frozenset(range(128)).difference(_CONTROL)
"""The bytes of plain text: data that has no others is never binary."""
_HIGH_CONTROL, _HIGH = bytes(range(0x80, 0xA0)), bytes(range(0x80, 0x100))
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_ESCAPED, _CUT = re.compile("[\udc80-\udcff]"), re.compile("[\udc80-\udcff]{1,3}\\Z")
_HTML = re.compile(rb"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)

_JSON = re.compile(
    rb"""\s*(?:\{\s*(?:"|\}\s*\Z)|\[(?:\s*\[)*\s*(?:"|\{\s*["}]|\]\s*(?:[\],]|\Z)|"""
    rb"""(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*(?:,|\]\s*(?:[\],]|\Z))))"""
)
"""An object or a list, as far as its first name or value: a line of a log may begin with a bracket, too."""


def magic(head: bytes) -> str | None:
    """The kind of file that begins so, if it is a known one."""
    if head[:4] == b"RIFF" and head[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if head[8:12] == b"WEBP" else "audio/wav"
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head[:2] == b"BM" and head[6:10] != b"\0\0\0\0":
        return None
    return next((media for mark, media in _MAGIC if head.startswith(mark)), None)


def is_binary(data: bytes) -> bool:
    """Whether something that begins so is no text: a known kind of file, many control characters, far from UTF-8."""
    head = data[:SAMPLE]
    controls = len(head) - len(head.translate(None, _CONTROL))
    if not controls and head.isascii():
        return False
    strange = _strange(head)
    if (strange or b"\0" in head) and magic(head):
        return True
    if (controls + strange) * 10 <= len(head):
        return False
    return controls * 10 > len(head) or not _is_latin(head)


def _strange(head: bytes) -> int:
    """How many bytes are no UTF-8, the end aside, where a character may have been cut; lone surrogates are text."""
    if head.isascii():
        return 0
    text = _SURROGATE.sub(b"?", head).decode("utf-8", "surrogateescape")
    return len(_ESCAPED.findall(_CUT.sub("", text)))


def _is_latin(head: bytes) -> bool:
    """Whether it may be text of one byte a character that can mostly be read: it has no control characters at all."""
    plain = head.translate(None, _CONTROL + _HIGH_CONTROL)
    return len(plain) == len(head) and len(head.translate(None, _HIGH)) * 3 >= len(head)


def is_text(media: str, size: int) -> bool:
    """Whether data of this media type and size is shown, read and searched as lines of text."""
    return size < TINY or media.startswith(("text/", "application/json"))


def media_of(data: bytes) -> str:
    """The media type of something that begins so."""
    head = data[:SAMPLE]
    if is_binary(head):
        return magic(head) or "application/octet-stream"
    if _HTML.match(head):
        return "text/html"
    return "application/json" if _JSON.match(head) else "text/plain"
