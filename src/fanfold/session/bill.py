"""Billing: what the provider counted corrects what the meter counted, as far as that can be true."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.config.events import Disputed
from fanfold.core.learning import BOUNDS, believable
from fanfold.core.message import Message, Opaque, Thinking
from fanfold.core.record import Billed, Sent
from fanfold.core.usage import TokenUsage
from fanfold.dialects.dialect import Reply, reply_limit
from fanfold.session.state import State
from fanfold.session.warn import believe_bills, warn_of_bill


def billed(state: State, reply: Reply, entries: Sequence[str], version: int) -> None:
    """Learn from the bill of the last request, if nothing else happened since and the bill can be true."""
    number, sent, usage = state.log.requests - 1, state.log.sent[-1], reply.usage
    if usage is None or number in state.log.bills:
        return
    if usage.prompt > 0:
        state.write(Billed(number, usage))
    if is_believable(state, sent, usage.prompt):
        believe_bills(state)
        if sent.version == version:
            came = _came(state, reply, usage, sum(map(state.projection.weighed, entries)))
            state.teach(state.learned.billed(sent.tokens, usage.prompt, reply=came))
    else:
        _dispute(state, sent, usage.prompt)


def is_believable(state: State, sent: Sent, tokens: int) -> bool:
    """Whether a provider can have counted so many tokens in a request."""
    least, most = _bounds(state, sent)
    return max(1, least) <= tokens <= most


def _bounds(state: State, sent: Sent) -> tuple[int, int]:
    return believable(sent.tokens, sent.guessed if state.gauge.exact else sent.tokens, sent.hidden)


def _dispute(state: State, sent: Sent, tokens: int) -> None:
    """Tell that a bill is not believed."""
    event = Disputed(sent.tokens, tokens, *_bounds(state, sent))
    state.tell(event)
    warn_of_bill(state, event)


def _came(state: State, reply: Reply, usage: TokenUsage, counted: int) -> tuple[int, int]:
    """A reply as counted and as billed, as far as that can be true: hidden thinking is as long as a reply can be."""
    cost, sent = _cost_again(reply.messages, usage), state.log.sent[-1]
    longest = state.terms.budget.reserving(reply_limit(sent.params)).reply if _thinks(reply.messages) else 0
    return (counted, cost) if cost <= max(longest, BOUNDS[1] * counted) else (0, 0)


def _cost_again(messages: Sequence[Message], usage: TokenUsage) -> int:
    """What a reply will cost when it is sent again: reasoning only if the reply brought it along."""
    return usage.output if _thinks(messages) else usage.output - usage.reasoning


def _thinks(messages: Sequence[Message]) -> bool:
    return any(isinstance(part, Thinking | Opaque) for message in messages for part in message.parts)
