"""A session in a few figures: kept with what it writes, for lists of sessions. Nothing of its content is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fanfold.core.record import TokenUsage, Totals
from fanfold.stores.summary import Summary
from fanfold.tokens import models
from fanfold.tokens.usage import cost

if TYPE_CHECKING:
    from fanfold.session.state import State

ANY_WINDOW = 1 << 40
"""Where no limit is known, nothing is reduced."""


def summarize(state: State) -> Summary:
    """A session as it stands now."""
    log, totals = state.log, state.log.totals or Totals()
    opened = log.opened or state.terms.opened  # what is recorded: labels may have been erased
    limits, last = state.limits(), log.sent[-1] if log.sent else None
    said = log.times.get(log.head, 0.0) if log.head is not None else 0.0
    return Summary(
        model=state.terms.model,
        dialect=state.dialect.name,
        labels=opened.labels,
        parent=opened.parent or opened.labels.get("parent", ""),
        system=log.frame().words,
        messages=log.tree[log.head].depth + 1 if log.head is not None else 0,
        requests=log.requests,
        edits=log.edits,
        tokens=limits.billed(last.tokens) if last is not None else 0,
        room=limits.limit if limits.limit < ANY_WINDOW // 2 else 0,
        prompt=totals.prompt,
        cached=totals.cached,
        output=totals.output,
        cost=_estimate(_billed(totals), log.requests, state.terms.model, totals.asked_cost),
        unmanaged=_estimate(_unmanaged(totals, last.tokens if last else 0), log.requests, state.terms.model),
        seen=max(said, last.time if last is not None else 0.0),
    )


class _Tokens(NamedTuple):
    """Tokens of all requests: read afresh, from the cache, written to it, and generated."""

    afresh: int
    cached: int
    written: int
    output: int


def _billed(totals: Totals) -> _Tokens:
    afresh = max(0, totals.prompt - totals.cached - totals.written)
    return _Tokens(afresh, totals.cached, totals.written, totals.output)


def _unmanaged(totals: Totals, last: int) -> _Tokens:
    """What would have been billed for requests with everything in them.

    Each would only have grown at its end, so all but the newest part comes from the cache, where the provider has one.
    """
    scale = totals.prompt / totals.sent if totals.sent else 0.0
    end = int((last + max(0, totals.spared)) * scale)
    before = max(0, int(totals.whole * scale) - end)
    if not totals.cached:
        return _Tokens(before + end, 0, 0, totals.output)
    written = end if totals.written else 0
    return _Tokens(end - written, before, written, totals.output)


def _estimate(tokens: _Tokens, requests: int, model: str | None, more: float = 0.0) -> float | None:
    """What the requests cost, as if each had been the average one of the present model."""
    known = models.lookup(model) if model is not None else None
    if known is None or known.prices is None or not any(tokens[:3]):
        return None
    many = max(1, requests)
    usage = TokenUsage(
        input=tokens.afresh // many,
        output=tokens.output // many,
        cache_read=tokens.cached // many,
        cache_write=tokens.written // many,
    )
    return round(cost(usage, known) * many + more, 6)
