"""Which session a history belongs to: the one that shares most of it, from the start. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanfold.core.prefix import number_of, prefixes
from fanfold.dialects.detect import dialect_of
from fanfold.dialects.dialect import Dialect, decode
from fanfold.dialects.registry import dialect_named
from fanfold.stores.store import Store, Track

_NEWEST = 64
"""So many of the longest prefixes are looked for first: a client mostly adds a few messages to what is recorded."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a history belongs to, as far as it can be told."""

    session: str | None
    """Its name; None where no session begins so. Of several, the best."""
    tenant: str
    matched: int
    """How many messages of the history are recorded there, from the start."""
    messages: int
    """How many messages the history has."""
    at_head: bool
    """Whether the session ends where the match does; if not, it went on otherwise."""
    candidates: tuple[str, ...] = ()
    """The sessions that fit equally well, the best first; more than one is a tie."""

    @property
    def tied(self) -> bool:
        """Whether other sessions fit as well."""
        return len(self.candidates) > 1


def recognize(store: Store, tenant: str, transcript: Any, *, dialect: str | None, hint: str | None) -> Found:
    """Find the session that shares the most of a history, from its start."""
    messages = decode(_dialect(transcript, dialect), transcript)[1]
    numbers = [number_of(prefix) for prefix in prefixes(messages)]
    tracks = _longest(store, tenant, numbers)
    if not tracks:
        return Found(session=None, tenant=tenant, matched=0, messages=len(numbers), at_head=False)
    best = _prefer(tracks, hint)
    # Results that repeat others add nothing to a prefix, so the last message with this one is meant.
    matched = len(numbers) - numbers[::-1].index(best[0].prefix)
    return Found(
        session=best[0].session,
        tenant=tenant,
        matched=matched,
        messages=len(numbers),
        at_head=best[0].head,
        candidates=tuple(track.session for track in best),
    )


def _dialect(transcript: Any, named: str | None) -> Dialect:
    return dialect_named(named or dialect_of(transcript))


def _longest(store: Store, tenant: str, numbers: Sequence[int]) -> list[Track]:
    """The sessions that came by the longest prefix: two questions at most, however many sessions there are."""
    longest_first = list(dict.fromkeys(reversed(numbers)))
    for some in (longest_first[:_NEWEST], longest_first[_NEWEST:]):
        tracks = store.tracks(tenant, some) if some else []
        if tracks:
            return tracks
    return []


def _prefer(tracks: list[Track], hint: str | None) -> list[Track]:
    """Those that fit best: the one that the caller means, else those that stand just there."""
    meant = [track for track in tracks if track.session == hint]
    return meant or [track for track in tracks if track.head] or tracks
