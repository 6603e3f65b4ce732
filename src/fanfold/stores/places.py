"""Places: to which tenant, kind and id, or number, something that is kept belongs. A seal or a checksum says so too."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

LINES = 1 << 32
"""Room for the lines of a session in an SQLite file; a line's key is the session's number times this, plus its own."""


def as_bytes(name: str) -> bytes:
    """A name or an id as it is kept: any text can be one, a lone surrogate or a NUL in it too."""
    return name.encode("utf-8", "surrogatepass")


def place(kind: str, *names: str) -> bytes:
    """A place; no two have the same bytes, whatever the names are."""
    kept = [as_bytes(name) for name in (kind, *names)]
    return repr([len(name) for name in kept]).encode() + b"".join(kept)


@lru_cache(64)
def _tenant_place(tenant: str) -> bytes:
    return place("entry", tenant)


def entry_place(tenant: str, id: str, parent: str | None) -> bytes:
    """Where an entry belongs. Ids hold no line break, so none is taken for two."""
    return _tenant_place(tenant) + f"{id}\n{parent or ''}".encode("utf-8", "surrogatepass")


@lru_cache(256)
def session_place(tenant: str, session: str) -> bytes:
    """Where the records of a session belong; `numbered` gives each its own."""
    return place("record", tenant, session)


def numbered(session: bytes, seq: int) -> bytes:
    """The place of one record."""
    return session + seq.to_bytes(8, "big")


def checkpoint_place(tenant: str, session: str, seq: int) -> bytes:
    """Where a checkpoint belongs."""
    return numbered(place("checkpoint", tenant, session), seq)


def proof_place(tenant: str, id: str, size: int) -> bytes:
    """Where the proof of a blob belongs."""
    return numbered(place("blob", tenant, id), size)


def name_sum(*names: str) -> bytes:
    """A short hash of names, by which a tenant or a session is found whose name is damaged."""
    return sha256(place("name", *names)).digest()[:8]
