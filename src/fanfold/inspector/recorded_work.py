"""What really happened in a session, as a trial compares it: its requests, bills and edits."""

from __future__ import annotations

from fanfold.core.record import TokenUsage
from fanfold.inspector.desk import Seat
from fanfold.replay.recorded import RecordedRequest, RecordedWork, Recorder
from fanfold.session.past import PastRequest
from fanfold.session.stored import places_in_history, places_of, summary_of
from fanfold.tokens.models import lookup
from fanfold.tokens.usage import cost

_MOST = 500
"""Requests that are looked at one by one. Each view is laid out from the start: more take too long for a click."""


def recorded_work(seat: Seat) -> RecordedWork | None:
    """The requests of a session on the way to where it stands; None where none is known, or too many to look at."""
    chat = seat.chat
    at, recorder, found = places_in_history(chat), Recorder(), list[RecordedRequest]()
    past = chat.requests()
    for one in past if len(past) <= _MOST else ():
        sent, view = chat.sent(one.number)
        if sent.tip in at:
            tokens = one.usage.prompt if one.usage else view.tokens
            made = recorder.take(view, at[sent.tip] + 1, tokens, edits=len(one.edits), refused=one.refused)
            found.append(made)
    if not found:
        return None
    figures, billed = summary_of(chat), [one for one in past if one.usage is not None]
    return RecordedWork(
        messages=len(at),
        requests=tuple(found),
        blocks=tuple(recorder.blocks),
        outputs={ref: at[entry] for ref, entry in places_of(chat).items() if entry in at},
        prompt=figures.prompt,
        cached=figures.cached,
        counted=sum(one.tokens for one in billed),
        dollars=figures.cost,
        unmanaged=figures.unmanaged,
        replies=_price_replies(billed, figures.model),
    )


def _price_replies(billed: list[PastRequest], model: str | None) -> float:
    known = lookup(model) if model else None
    if known is None or known.prices is None:
        return 0.0
    replies = (TokenUsage(output=one.usage.output) for one in billed if one.usage is not None)
    return sum(cost(one, known) for one in replies)
