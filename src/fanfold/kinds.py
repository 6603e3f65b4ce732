"""What kind of data something is, by its first bytes."""

from __future__ import annotations

import re

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
_HTML = re.compile(rb"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)


def magic(head: bytes) -> str | None:
    """The kind of file that begins so, if it is a known one."""
    if head[:4] == b"RIFF" and head[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if head[8:12] == b"WEBP" else "audio/wav"
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head[:2] == b"BM" and head[6:10] != b"\0\0\0\0":
        return None
    return next((media for mark, media in _MAGIC if head.startswith(mark)), None)


def is_binary(head: bytes) -> bool:
    """Whether these first bytes of something are no text: control characters, or far from UTF-8."""
    if b"\0" in head or (_not_utf8(head) and magic(head)):
        return True
    controls = len(head) - len(head.translate(None, _CONTROL))
    return (controls + _strange(head)) * 10 > len(head)


def _strange(head: bytes) -> int:
    """How many places are no UTF-8, the end aside, where a character may have been cut."""
    return 0 if head.isascii() else head.decode("utf-8", "replace").rstrip("\ufffd").count("\ufffd")


def _not_utf8(head: bytes) -> bool:
    if head.isascii():
        return False
    try:
        head[: max(0, len(head) - 4)].decode()
    except UnicodeDecodeError:
        return True
    return False


def is_readable(media: str) -> bool:
    """Whether data of this media type can be read as lines."""
    return media.startswith(("text/", "application/json"))


def media_of(head: bytes) -> str:
    """The media type of something that begins so."""
    if is_binary(head):
        return magic(head) or "application/octet-stream"
    if _HTML.match(head):
        return "text/html"
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        return "application/json"
    return "text/plain"
