"""A session in a few figures: kept with what it writes, for lists of sessions. Nothing of its content is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanfold.core.record import Move, Sent, TokenUsage, Totals
from fanfold.session.client_marks import caches_without_fanfold
from fanfold.stores.summary import Summary
from fanfold.tokens import models
from fanfold.tokens.usage import bill_everything, cost

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
        tokens=_tokens_now(state, last),
        room=limits.limit if limits.limit < ANY_WINDOW // 2 else 0,
        prompt=totals.prompt,
        cached=totals.cached,
        output=totals.output,
        cost=_estimate(_billed(totals, log.requests), log.requests, state.terms.model, totals.asked_cost),
        over=totals.over,
        unmanaged=_estimate(_unmanaged(state, totals, last), log.requests, state.terms.model),
        seen=max(said, last.time if last is not None else 0.0),
    )


def _tokens_now(state: State, last: Sent | None) -> int:
    """What the model would see now, in tokens; as of the last request where messages came since that nobody looked at.

    A verb that only records must not lay out a view: that takes longer, and a meter may fail.
    """
    limits, behind = state.limits(), state.projection.behind
    unseen = any(isinstance(record, Move) for record in state.log.records[-behind:]) if behind else False
    if state.log.head is None or unseen:
        return limits.billed(last.tokens) if last is not None else 0
    return limits.billed(state.view().tokens)


def _billed(totals: Totals, requests: int) -> TokenUsage:
    """The average bill; those of all requests together may be more than any request can have."""
    many = max(1, requests)
    return TokenUsage(
        input=max(0, totals.prompt - totals.cached - totals.written) // many,
        output=totals.output // many,
        cache_read=totals.cached // many,
        cache_write=totals.written // many,
    )


def _unmanaged(state: State, totals: Totals, last: Sent | None) -> TokenUsage:
    """The average bill of requests with everything in them: together they have so much new as the last one is long."""
    if last is None or not totals.sent or not totals.prompt:
        return TokenUsage()
    many, scale = max(1, state.log.requests), totals.prompt / totals.sent
    end = last.whole or last.tokens + max(0, totals.spared)
    before = max(0, totals.whole - end)
    billed = _billed(totals, state.log.requests)
    return bill_everything(
        int(totals.whole * scale / many),
        int(before * scale / many),
        billed,
        caches=bool(totals.cached or totals.written) and caches_without_fanfold(state),
    )


def _estimate(usage: TokenUsage, requests: int, model: str | None, more: float = 0.0) -> float | None:
    """What so many requests cost at the prices of the present model; `more` was spent beside them."""
    known = models.lookup(model) if model is not None and usage.prompt else None
    if known is None or known.prices is None:
        return None
    return round(cost(usage, known) * max(1, requests) + more, 6)
