"""Which session a history belongs to: the one that shares most of it, from the start. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.dialects.detect import dialect_of
from fanfold.dialects.dialect import Dialect, decode
from fanfold.dialects.registry import dialect_named
from fanfold.stores.prefix import hash_number, prefixes
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


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows of the session that is meant, for where several fit."""

    hint: str | None = None
    """Its name."""
    labels: Mapping[str, str] = {}
    """What it was labelled with, such as the client's own id."""
    model: str | None = None


def recognize(
    store: Store, tenant: str, transcript: Any, dialect: str | None = None, *, known: Meant
) -> Found:
    """Find the session that shares the most of a history, from its start."""
    frame, messages, params = decode(_dialect(transcript, dialect), transcript)
    numbers = [hash_number(prefix) for prefix in prefixes(messages)]
    tracks = _longest(store, tenant, numbers)
    if not tracks:
        return Found(session=None, tenant=tenant, matched=0, messages=len(numbers), at_head=False)
    best = _prefer(tracks, known, frame.words, known.model or params.get("model"))
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


def _prefer(tracks: list[Track], known: Meant, system: str, model: str | None) -> list[Track]:
    """Those that fit best. A test that none passes says nothing: prompts and models may change in a session."""

    def equal_labels(track: Track) -> int:
        labels = track.summary.labels if track.summary else {}
        return sum(labels.get(name) == text for name, text in known.labels.items())

    most = max(map(equal_labels, tracks))
    tests: tuple[Callable[[Track], bool], ...] = (
        lambda track: track.session == known.hint,
        lambda track: equal_labels(track) == most,
        lambda track: track.summary is not None and track.summary.system == system,
        lambda track: track.summary is not None and track.summary.model == model,
        lambda track: track.head,
    )
    for test in tests:
        tracks = [track for track in tracks if test(track)] or tracks
    return tracks
