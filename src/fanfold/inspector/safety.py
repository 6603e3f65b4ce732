"""Who may look: a token that is used once becomes a cookie, and names the tenants that its holder may see.

A page of another site can make a browser send requests here, and cannot read the answers. So that it cannot change
anything either, a write needs a header that no other site can send without asking first, and nobody answers that
question here.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from urllib.parse import SplitResult, urlsplit

import msgspec

from fanfold.inspector.answer import Denied, Headers

PREFIX = "/inspector/"
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
WRITING = b"x-fanfold-inspector"
"""The header that every write brings."""
VISITING = b"x-fanfold-visitor"
"""The header in which a framed page brings its secret: a browser keeps a strict cookie from a frame of another site."""
MOST_BODY = 1 << 20
_MOST_TOKENS = 100
"""So many links wait for somebody to open them; an older one does not work any more."""


class Grant(msgspec.Struct, frozen=True):
    """What the holder of a token may see."""

    tenants: tuple[str, ...]
    health: bool = False
    """Whether figures of the whole gateway are shown, all tenants together."""


class Access:
    """The tokens that are not used yet, and the visitors that came in by one."""

    def __init__(self, tokens: Mapping[str, Collection[str]], hosts: Collection[str] = ()) -> None:
        self._tokens = {_hash(token): Grant(tuple(tenants)) for token, tenants in tokens.items()}
        self._visitors: dict[bytes, Grant] = {}
        self._hosts = LOOPBACK.union(name.lower() for name in hosts)
        self.cookie = f"fanfold-{secrets.token_hex(4)}"
        """Cookies are shared by all ports of a host, so each inspector has a name of its own."""

    def add(self, grant: Grant) -> str:
        """A new token for somebody who may see this."""
        token = new_token()
        self._tokens[_hash(token)] = grant
        while len(self._tokens) > _MOST_TOKENS:
            self._tokens.pop(next(iter(self._tokens)))
        return token

    def grant(self, token: str) -> Grant:
        """What the holder of a token that is not used yet may see."""
        return self._tokens[_hash(token)]

    def close(self) -> None:
        """No token and no cookie opens anything any more."""
        self._tokens.clear()
        self._visitors.clear()

    def enter(self, token: str, *, secure: bool = False) -> Headers:
        """Use a token up; returns the header with the cookie that it becomes."""
        secret = self.admit(token)
        cookie = f"{self.cookie}={secret}; Path=/; HttpOnly; SameSite=Strict{'; Secure' * secure}"
        return [(b"set-cookie", cookie.encode())]

    def admit(self, token: str) -> str:
        """Use a token up; returns the secret that it becomes."""
        grant = self._tokens.pop(_hash(token), None)
        if grant is None:
            raise Denied(401, "This link was used before. Ask for a new one, or start the inspector again.")
        secret = secrets.token_urlsafe(32)
        self._visitors[_hash(secret)] = grant
        return secret

    def find(self, headers: Headers) -> Grant:
        """What whoever asks may see."""
        # By hand: other programs on this host have cookies too, and `SimpleCookie` gives up at one it cannot read.
        pairs = (pair.strip().partition("=") for pair in (get(headers, b"cookie") or "").split(";"))
        cookie = next((value for name, _, value in pairs if name == self.cookie), "")
        secret = cookie or get(headers, VISITING)
        found = self._visitors.get(_hash(secret)) if secret else None
        if found is None:
            raise Denied(401, "Open the inspector by the link that was printed when it was started.")
        return found

    def check_host(self, headers: Headers) -> None:
        """Refuse a name that is not ours: a foreign name may be made to point here (DNS rebinding)."""
        name = _split(f"//{get(headers, b'host') or ''}").hostname or ""
        if name.lower() not in self._hosts:
            raise Denied(421, "The inspector is not called by this name.")

    def check_write(self, headers: Headers) -> None:
        """Refuse a write that another site may have sent."""
        if get(headers, WRITING) is None:
            raise Denied(403, "A write needs the header X-Fanfold-Inspector.")
        if (get(headers, b"content-type") or "").partition(";")[0].strip() != "application/json":
            raise Denied(415, "A write is JSON.")
        if get(headers, b"sec-fetch-site") not in (None, "same-origin"):
            raise Denied(403, "A write comes from the page itself.")
        origin = get(headers, b"origin")
        if origin is not None and _split(origin).netloc != get(headers, b"host"):
            raise Denied(403, "A write comes from the page itself.")


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def get(headers: Headers, name: bytes) -> str | None:
    """The value of a header."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)


def _split(address: str) -> SplitResult:
    """The parts of an address; of none that can be read, nothing."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _hash(secret: str) -> bytes:
    """Looking up a hash tells nobody by its timing how much of a secret was right."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
