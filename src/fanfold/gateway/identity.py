"""Which conversation a request belongs to.

A client that names its session is believed, within its tenant: the session's name is made from that id, from the id of
a sub-agent, and from the first message, because clients answer several conversations under one id. Any other client is
recognised by its history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.dialects.http.events import wire_bytes
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import dialect_named
from fanfold.gateway.headers import Headers, get
from fanfold.stores.prefix import prefixes

_HEADERS = (
    (b"x-fanfold-session", "named", None),
    (b"x-claude-code-session-id", "claude", b"x-claude-code-agent-id"),
    (b"thread-id", "codex", None),
    (b"session-id", "codex", None),
    (b"x-session-id", "session", None),
    (b"x-session-affinity", "session", None),
)
"""Where clients name their sessions, whose id that is, and where the id of a sub-agent stands."""
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_TEXT = ("utf-8", "surrogatepass")
_ROOT = re.compile(r"-[0-9a-f]{8}")
_LONGEST = 80


class Identity(msgspec.Struct, frozen=True):
    """What a request says about its conversation."""

    claim: str | None
    """What the client calls it; None where it does not say."""
    root: str
    """A hash of the first message."""

    @property
    def name(self) -> str:
        """The name of a session that begins with this request."""
        return f"{self.claim or 'chat'}-{self.root[:8]}"

    def owns(self, session: str) -> bool:
        """Whether a session was named after this claim, and not after a longer one that begins so."""
        return self.claim is not None and _ROOT.fullmatch(session.removeprefix(self.claim)) is not None


def identify(headers: Headers, request: HttpRequest) -> Identity:
    """What a request says about its conversation."""
    return Identity(claim_of(headers, request.body), _root(request))


def claim_of(headers: Headers, body: Mapping[str, Any]) -> str | None:
    """What a client calls its session, if it says so."""
    given = {name for name, _ in headers}
    for header, client, agent in _HEADERS:
        if header in given and (told := get(headers, header)):
            inner = get(headers, agent) if agent else None
            return _clean(client, told, *([inner] if inner else []))
    told = _in_metadata(body)
    return _clean("claude", told) if told else None


def _clean(*words: str) -> str:
    return "-".join(map(_clean_word, words))


def _clean_word(word: str) -> str:
    """A word as it may stand in a name; where that is not all of it, a hash tells it from others like it."""
    plain = _ODD.sub("_", word)[:_LONGEST]
    return plain if plain == word else f"{plain}.{blake2b(word.encode(*_TEXT), digest_size=4).hexdigest()}"


def _in_metadata(body: Mapping[str, Any]) -> str | None:
    """Claude Code says it in `metadata.user_id`, as JSON or behind `_session_`."""
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user, str):
        return None
    if user.startswith("{"):
        try:
            told = json.loads(user)
        except ValueError:
            return None
        id = told.get("session_id") if isinstance(told, dict) else None
        return id if isinstance(id, str) else None
    return user.partition("_session_")[2] or None


def _root(request: HttpRequest) -> str:
    dialect = dialect_named(request.dialect)
    messages = dialect.split(request.body).messages
    read = [dialect.message(body, "messages[0]") for body in messages[:1]]
    return next(prefixes(read), "0" * 32)


def find_seen(seen: Mapping[str, tuple[int, str]], messages: list[Any]) -> tuple[str | None, tuple[int, str]]:
    """The session whose last request this one goes on from, if any, and how to know this one by: its length and hash.

    One message alone says too little.
    """
    found, at, hashing = None, 0, blake2b(digest_size=16)
    for name, (count, mark) in sorted(seen.items(), key=lambda one: one[1][0]):
        if 1 < count < len(messages):
            hashing.update(_listed(messages[at:count]))
            at, found = count, name if hashing.hexdigest() == mark else found
    hashing.update(_listed(messages[at:]))
    return found, (len(messages), hashing.hexdigest())


def _listed(messages: list[Any]) -> bytes:
    """Messages as they were sent, each with a comma behind it: wherever a list is cut, its pieces make the whole."""
    return wire_bytes(messages)[1:-1] + b"," if messages else b""
