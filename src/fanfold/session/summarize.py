"""A session in a few figures: kept with what it writes, for lists of sessions. Nothing of its content is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanfold.core.ids import digest
from fanfold.core.message import Message
from fanfold.core.record import TokenUsage, Totals
from fanfold.stores.summary import Summary
from fanfold.tokens import models
from fanfold.tokens.usage import cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fanfold.session.state import State


def summarize(state: State) -> Summary:
    """A session as it stands now."""
    log, opened, totals = state.log, state.terms.opened, state.log.totals or Totals()
    limits, last = state.limits(), log.sent[-1] if log.sent else None
    said = log.times.get(log.head, 0.0) if log.head is not None else 0.0
    return Summary(
        model=state.terms.model,
        dialect=state.dialect.name,
        labels=opened.labels,
        parent=opened.parent or opened.labels.get("parent", ""),
        system=hash_system(log.frame().system),
        messages=log.tree[log.head].depth + 1 if log.head is not None else 0,
        requests=log.requests,
        edits=log.edits,
        tokens=limits.billed(last.tokens) if last is not None else 0,
        room=limits.limit,
        prompt=totals.prompt,
        cached=totals.cached,
        output=totals.output,
        cost=_estimate(totals, log.requests, state.terms.model),
        seen=max(said, last.time if last is not None else 0.0),
    )


def hash_system(system: Iterable[Message]) -> str:
    """A hash of the words of a system prompt; empty where there are none."""
    words = "\n".join(message.text for message in system)
    return digest(words.encode("utf-8", "surrogatepass")) if words else ""


def _estimate(totals: Totals, requests: int, model: str | None) -> float | None:
    """What the requests cost, as if each had been the average one of the present model."""
    known = models.lookup(model) if model is not None else None
    if known is None or known.prices is None or not totals.prompt:
        return None
    many = max(1, requests)
    usage = TokenUsage(
        input=max(0, totals.prompt - totals.cached - totals.written) // many,
        output=totals.output // many,
        cache_read=totals.cached // many,
        cache_write=totals.written // many,
    )
    return round(cost(usage, known) * many + totals.asked_cost, 6)
