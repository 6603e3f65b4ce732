"""Importance: the newest always stay, of the older ones the most important, in time order (systems.md C1, C2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import ceil

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call, Image, Message, Part, Result, Text, text_of
from fanfold.core.plan import Plan
from fanfold.core.view import Block, Row, Span, View
from fanfold.strategies.handover.first import first_request, room_to_quote, without
from fanfold.text.patterns import pattern

Scorer = Callable[[Message], float]
_ERROR = pattern(r"\b(error|exception|failed|failure|traceback|fatal)\b|エラー|失敗|例外", re.IGNORECASE)
_DONE = pattern(r"\b(done|completed|finished)\b|完了|終了", re.IGNORECASE)
DONE, THINK, PLANNING = "done", "think", "planning"
"""The tool that ends a task, and the tool with which a model thinks, in the phase that counts."""
DUMPS = ("elementsJson", "webElements")
_SHORT = "[{:,} messages left out]"
"""What stands in the place of messages so short that the usual marker would cost more than they do."""


def score(message: Message) -> float:
    """How much a message matters: errors, completion and plans more, dumps that can be fetched again less (C1).

    A plan is a call of `think` in the phase `planning`, a dump is a result; a call or a word about one is neither.
    It serves agents of any kind, so it knows more words of failure and completion than `systems.importance`, which does
    what Miki's document says; and only whole words count ("terror" is no error).
    """
    text = "\n".join(text_of(part) for part in message.parts if isinstance(part, Text | Result))[:20_000]
    total = 0.5
    total += 0.3 if any(result.error for result in message.results) or _ERROR.search(text) else 0
    total += 0.3 if _DONE.search(text) or DONE in _tools(message) else 0
    total += 0.2 if any(map(_is_planning, message.calls)) else 0
    total += 0.1 if _pictures(message) else 0
    total -= 0.1 if any(result.name in DUMPS for result in message.results) else 0
    return round(total, 10)


def _tools(message: Message) -> set[str | None]:
    """The tools that are called or answer here."""
    return {call.name for call in message.calls} | {result.name for result in message.results}


def _is_planning(call: Call) -> bool:
    try:
        return call.name == THINK and call.args.get("phase") == PLANNING
    except BadArguments:  # whatever the model wrote, it named no phase
        return False


def importance(*, most: int = 24, newest: float = 0.4, scorer: Scorer = score) -> Important:
    """Keep at most so many messages: the newest share of them always, then the most important older blocks.

    The user's first request stays while it takes no more than a tenth of the room; a longer one is quoted. Every
    request looks whether there are more, notes and the marker counted; a quarter leaves then, so that the prompt cache
    keeps hitting for a while. What the model has not seen yet stays, however many messages it is.
    """
    if most < 4 or not 0 < newest <= 0.75:
        raise BadSetting(
            "importance keeps at least 4 messages, and up to three quarters of them as the newest."
        )
    return Important(most, newest, scorer)


class Important(msgspec.Struct, frozen=True):
    """The strategy that `importance` makes."""

    most: int
    newest: float
    scorer: Scorer
    trims: bool = False
    """Whether it looks at the number of messages only."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "importance"

    @property
    def binding(self) -> bool:
        """The number of messages is a limit: what keeps it need not save much."""
        return True

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Drop the least important of the older blocks, until so many messages and tokens are left."""
        if self.trims:
            yield from self._cut(view, budget, self.most - self.most // 4, 0)
        elif _messages(view.rows) > self.most or view.tokens > budget.goal:
            yield from self._cut(view, budget, self.most - 1, view.tokens - budget.goal)

    def due(self, view: View, budget: Budget) -> bool:
        """Whether there are too many messages, and some may leave."""
        return _messages(view.rows) > self.most and bool(self._older(view, budget))

    @property
    def trim(self) -> Important:
        """What looks at the number of messages only."""
        return msgspec.structs.replace(self, trims=True)

    def _cut(self, view: View, budget: Budget, most: int, excess: int) -> Plan:
        """Drop what has no place; where that saves nothing and there are too many, all older ones, with fewer words."""
        older = self._older(view, budget)
        others = _messages(view.rows) - sum(_messages(block.rows) for block in older)
        tokens = sum(block.tokens for block in older) - max(0, excess)
        leaving = _span(_least(older, self.scorer, most - others, tokens))
        if not leaving.rows:
            return
        first = first_request(view, budget)
        newer = [block for block in view.offered if block not in older and first not in block.rows]
        view = yield without(leaving, view, room_to_quote(budget))
        while view.refused and _messages(view.rows) > self.most:
            every = _span(older)
            view = yield Fold(every.covers, _SHORT.format(every.count))
            if not view.refused or not newer:
                return
            older = [*older, newer.pop(0)]  # the limit counts for more than the newest share

    def _older(self, view: View, budget: Budget) -> list[Block]:
        """The blocks on offer before the newest messages, without the first request."""
        tail = {row.id for row in view.rows[-ceil(self.newest * self.most) :]}
        first = first_request(view, budget)
        tail |= {first.id} if first else set()
        return [block for block in view.offered if not any(row.id in tail for row in block.rows)]


def _messages(rows: Iterable[Row]) -> int:
    """How many messages are sent of these rows, notes too."""
    return sum(len(row.messages) for row in rows)


def _span(blocks: Iterable[Block]) -> Span:
    return Span(tuple(row for block in blocks for row in block.rows))


def _least(blocks: list[Block], scorer: Scorer, messages: int, tokens: int) -> list[Block]:
    """The blocks that have no place among the most important ones, in time order."""
    ranked = sorted(enumerate(blocks), key=lambda pair: (_worth(pair[1], scorer), pair[0]), reverse=True)
    kept: set[int] = set()
    for number, block in ranked:
        if _messages(block.rows) <= messages and block.tokens <= tokens:
            kept.add(number)
            messages -= _messages(block.rows)
            tokens -= block.tokens
    return [block for number, block in enumerate(blocks) if number not in kept]


def _worth(block: Block, scorer: Scorer) -> tuple[float, float]:
    """What the most important message of a block is worth; of equal ones, the block that is worth more on the whole."""
    scores = [scorer(message) for message in _named(block)] or [0.0]
    return max(scores), sum(scores) / len(scores)


def _named(block: Block) -> Iterator[Message]:
    """The messages of a block; a result says which tool it is of, where only the call does."""
    names = {call.id: call.name for message in block.messages for call in message.calls}
    for message in block.messages:
        if any(result.name is None and result.call in names for result in message.results):
            parts = (_with_name(part, names) for part in message.parts)
            message = msgspec.structs.replace(message, parts=tuple(parts))
        yield message


def _with_name(part: Part, names: Mapping[str, str]) -> Part:
    if isinstance(part, Result) and part.name is None:
        return msgspec.structs.replace(part, name=names.get(part.call))
    return part


def _pictures(message: Message) -> bool:
    inner = [part for result in message.results for part in result.parts]
    return any(isinstance(part, Image) for part in (*message.parts, *inner))
