"""When the provider says "too long": learn the true limit, reduce, and say whether to try again."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from fanfold.core.errors import BadBudget
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import Sent
from fanfold.dialects.dialect import reply_limit
from fanfold.session.bill import is_believable
from fanfold.session.reduce import reduce, spared
from fanfold.session.request import weight_of
from fanfold.session.state import State

if TYPE_CHECKING:
    from fanfold.dialects.refusals import Refusal

MOST = 6
"""So often in a row a refusal is followed by another try."""

_LESS = 0.9
"""What is left of a request that was refused without figures."""

_DEEPEST = 0.1
"""However many tokens a refusal speaks of, its limit becomes no less than this share."""


def refused(state: State, error: object) -> Generator[Ask, Answer, bool]:
    """Whether the request is worth another try, now that it is smaller than the one refused."""
    from fanfold.dialects.refusals import refusal  # late: many patterns, and most requests are not refused

    said = refusal(error)
    if said is None or not state.log.sent or state.refusals >= MOST:
        return False
    state.refusals += 1
    sent, size = state.log.sent[-1], state.view().size
    extra, reply = weight_of(state, sent.context, sent.params), reply_limit(sent.params)
    try:
        _learn(state, said, sent, size)
        yield from reduce(state, max_tokens=reply, spare=extra)
    except BadBudget:  # the true limit leaves no room for the reply that was asked for
        return False
    view = state.view()
    smaller = view.size < size if said.kind == "bytes" else view.tokens + extra.tokens < sent.tokens
    return smaller and view.fits(spared(state.limits(reply), extra))


def _learn(state: State, said: Refusal, sent: Sent, size: int) -> None:
    """Take the figures over; without any, assume that a tenth was too much."""
    tokens, most_bytes = state.most
    if said.kind == "bytes":
        allowed = said.limit if said.limit and said.limit < size else int(size * _LESS)
        state.most = (tokens, min(allowed, most_bytes or allowed))
        return state.teach(state.learned)
    learned, ours = state.learned, state.limits().billed(sent.tokens)
    asked, most = said.asked or ours, _allowed(state, said, reply_limit(sent.params))
    if said.asked and not is_believable(state, sent, said.asked):
        most, asked = _in_our_tokens(most, asked, ours), ours
    elif said.asked and sent.version == state.log.version:
        learned = learned.billed(sent.tokens, said.asked)
    if most is None or not said.asked or most >= asked:
        most = min(most or asked, int(asked * _LESS))
    most = max(1, min(most, tokens or most))
    state.most = (most, most_bytes)
    return state.teach(learned.steeper() if learned.overhead > most / 2 else learned)


def _in_our_tokens(most: int | None, asked: int, ours: int) -> int | None:
    """A limit by the figures of a provider that counts as nobody does: so many times less as it counts more."""
    return None if most is None else int(most * max(ours / asked, _DEEPEST))


def _allowed(state: State, said: Refusal, reply: int | None) -> int | None:
    """How long a prompt may be by the provider's own figure, the reply taken off where it shares the window."""
    if said.limit is None:
        return None
    budget = state.terms.budget.reserving(reply)
    spared = budget.reply if budget.shared and said.limit < budget.window else 0
    return max(said.limit - (spared if said.reserve is None else said.reserve), 1)
