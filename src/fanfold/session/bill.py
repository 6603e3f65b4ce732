"""Billing: what the provider counted corrects what the meter counted, as far as that can be true."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fanfold.config.events import Disputed
from fanfold.config.telemetry import tell_bill
from fanfold.core.budget import BOUNDS
from fanfold.core.errors import BadBudget
from fanfold.core.message import Opaque, Thinking
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import Billed, Sent, TokenUsage
from fanfold.dialects.dialect import Reply, reply_limit
from fanfold.session.reduce import less, reduce
from fanfold.session.request import weigh_extra
from fanfold.session.state import State
from fanfold.tokens.learning import believable, learn, steeper

if TYPE_CHECKING:
    from fanfold.dialects.refusals import Refusal

_DISPUTE = "a bill"
"""How it is remembered that a bill was warned of."""


def learn_from_bill(state: State, reply: Reply, sent: Sent, entries: Sequence[str], version: int) -> None:
    """Learn from the bill of a request, if nothing else happened since and the bill can be true."""
    usage = record_bill(state, reply, sent)
    if usage is None:
        return
    if is_believable(state, sent, usage.prompt):
        state.warn_again(_DISPUTE)
        if sent.version == version:
            came = _weigh_reply(state, reply, usage, sum(map(state.projection.tokens_of, entries)))
            state.teach(learn(state.learned, sent.tokens, usage.prompt, reply=came))
    else:
        _dispute(state, sent, usage.prompt)


def record_bill(state: State, reply: Reply, sent: Sent) -> TokenUsage | None:
    """Record what was billed for a request; None if that is known already, or the request is not."""
    later = next((n for n, one in enumerate(reversed(state.log.sent)) if one == sent), None)
    if reply.usage is None or later is None:
        return None
    number = state.log.requests - 1 - later
    if number in state.log.bills:
        return None
    if reply.usage.prompt > 0:
        state.write(Billed(number, reply.usage, reply.missed))
        tell_bill(reply.usage, state.dialect.name, state.terms.model)
    return reply.usage


def is_believable(state: State, sent: Sent, tokens: int) -> bool:
    """Whether a provider can have counted so many tokens in a request."""
    least, most = _bounds(state, sent)
    return max(1, least) <= tokens <= most


def _bounds(state: State, sent: Sent) -> tuple[int, int]:
    return believable(sent.tokens, sent.guessed if state.gauge.exact else sent.tokens, sent.hidden)


def _dispute(state: State, sent: Sent, tokens: int) -> None:
    """Tell that a bill is not believed."""
    event = Disputed(sent.tokens, tokens, *_bounds(state, sent))
    state.tell((event,))
    state.warn(
        "the provider billed %s tokens for a request of %s by the meter %r; %s to %s can be true. The bill is not "
        "believed. If the provider is right, name its model or its meter: open(model=…, meter=…).",
        f"{event.billed:,}",
        f"{event.counted:,}",
        state.terms.meter.name,
        f"{event.least:,}",
        f"{event.most:,}",
        once=_DISPUTE,
    )


def _weigh_reply(state: State, reply: Reply, usage: TokenUsage, counted: int) -> tuple[int, int]:
    """A reply as counted and as billed, as far as that can be true: hidden thinking is as long as a reply can be."""
    # Reasoning costs something again only if the reply brought it along.
    parts = (part for message in reply.messages for part in message.parts)
    thinks = any(isinstance(part, Thinking | Opaque) for part in parts)
    limit = reply_limit(state.log.sent[-1].params)
    cost = usage.output if thinks else usage.output - usage.reasoning
    longest = state.terms.budget.reserving(limit).reply if thinks else 0
    return (counted, cost) if cost <= max(longest, BOUNDS[1] * counted) else (0, 0)


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
    if said is None or not state.log.sent:
        return False
    state.aftermath.refusals += 1
    if state.aftermath.refusals > MOST:
        return False
    sent, size = state.log.sent[-1], state.view().size
    extra, reply = weigh_extra(state, sent.context, sent.params), reply_limit(sent.params)
    try:
        _learn(state, said, sent, size)
        yield from reduce(state, state.view(), state.limits(reply), reply=reply, extra=extra)
    except BadBudget:  # the true limit leaves no room for the reply that was asked for
        return False
    view = state.view()
    smaller = view.size < size if said.kind == "bytes" else view.tokens + extra.tokens < sent.tokens
    return smaller and view.fits(less(state.limits(reply), extra))


def _learn(state: State, said: Refusal, sent: Sent, size: int) -> None:
    """Take the figures over; without any, assume that a tenth was too much."""
    tokens, most_bytes = state.most
    if said.kind == "bytes":
        allowed = said.limit if said.limit and said.limit < size else int(size * _LESS)
        return state.teach(state.learned, (tokens, min(allowed, most_bytes or allowed)))
    learned, ours = state.learned, state.limits().billed(sent.tokens)
    asked, most = said.asked or ours, _limit_said(state, said, reply_limit(sent.params))
    if said.asked and not is_believable(state, sent, said.asked):
        # A provider that counts as nobody does: the limit is so many times less as it counts more.
        most = None if most is None else int(most * max(ours / asked, _DEEPEST))
        asked = ours
    elif said.asked and sent.version == state.log.version:
        learned = learn(learned, sent.tokens, said.asked)
    if most is None or not said.asked or most >= asked:
        most = min(most or asked, int(asked * _LESS))
    most = max(1, min(most, tokens or most))
    return state.teach(steeper(learned) if learned.overhead > most / 2 else learned, (most, most_bytes))


def _limit_said(state: State, said: Refusal, reply: int | None) -> int | None:
    """How long a prompt may be by the provider's own figure, the reply taken off where it shares the window."""
    if said.limit is None:
        return None
    budget, spared = state.terms.budget.reserving(reply), 0
    if budget.shared and said.limit < budget.window:
        # Unless the caller says how long a reply may be, it is a share of the window that this server has.
        spared = replace(budget, window=said.limit).reply
    return max(said.limit - (spared if said.reserve is None else said.reserve), 1)
