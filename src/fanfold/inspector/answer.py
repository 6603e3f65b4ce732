"""What a browser is answered: a status, a body, and headers that let nothing else happen on the page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec

from fanfold.text.json_text import write_json

Headers = list[tuple[bytes, bytes]]
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors "
)
"""No inline script, nothing from elsewhere."""
NOBODY, NOTEBOOK = "'none'", "http://localhost:* http://127.0.0.1:*"
"""Who may show the page in a frame: nobody, or a page of this machine such as a notebook."""
SAFE: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class HttpAnswer(msgspec.Struct, frozen=True):
    """An answer as a whole."""

    status: int
    body: bytes
    media: str = "application/json"
    headers: Headers = []

    def head(self, framed_by: str) -> Headers:
        """All headers; `framed_by` says who may show the page in a frame."""
        length = (b"content-length", str(len(self.body)).encode())
        return [*head(self.media, framed_by), length, *self.headers]


class HttpDownload(msgspec.Struct, frozen=True):
    """A file that is sent as it is read, whatever its length."""

    name: str
    first: bytes
    rest: Iterator[bytes]

    def head(self, framed_by: str) -> Headers:
        """All headers: the browser saves it under its name."""
        plain = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in self.name)
        saved = f'attachment; filename="{plain.encode("ascii", "replace").decode()}"'
        return [*head("application/x-ndjson", framed_by), (b"content-disposition", saved.encode())]


def head(media: str, framed_by: str) -> Headers:
    """The headers that every answer has."""
    policy = (b"content-security-policy", (_POLICY + framed_by).encode())
    return [(b"content-type", media.encode()), policy, *SAFE]


class Denied(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def answer_json(value: Any, status: int = 200) -> HttpAnswer:
    """A value as JSON."""
    return HttpAnswer(status, write_json(value))


class NextLink(msgspec.Struct, frozen=True):
    """How somebody whose link was used gets another one."""

    way: str = "End the inspector where it runs (Ctrl-C), and start it again. It prints a new link:"
    command: str = "fanfold inspect STORE"


def answer_used(renewal: NextLink) -> HttpAnswer:
    """What a browser shows of a link that was used."""
    way, command = escape(renewal.way), escape(renewal.command)
    return HttpAnswer(401, _USED.format(way=way, command=command).encode(), "text/html; charset=utf-8")


_USED = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>fanfold inspector: this link was used</title>
<link rel="icon" href="/inspector/icon.svg">
<link rel="stylesheet" href="/inspector/look.css">
<link rel="stylesheet" href="/inspector/style.css">
</head>
<body>
<main>
<h1>This link was used before</h1>
<p>A link opens the inspector once, in one browser.</p>
<p>{way}</p>
<pre>{command}</pre>
</main>
</body>
</html>
"""
