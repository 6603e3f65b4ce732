"""What a browser is answered: a status, a body, and headers that let nothing else happen on the page."""

from __future__ import annotations

from typing import Any

import msgspec

from fanfold.dialects.weigh import sendable

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
        policy = (b"content-security-policy", (_POLICY + framed_by).encode())
        return [(b"content-type", self.media.encode()), length, policy, *SAFE, *self.headers]


class Denied(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def write_json(value: Any) -> bytes:
    """A value as the commands print it with `--json`, in one line."""
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    return msgspec.json.encode(sendable(plain))


def answer_json(value: Any, status: int = 200) -> HttpAnswer:
    """A value as JSON."""
    return HttpAnswer(status, write_json(value))
