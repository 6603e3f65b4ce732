"""Importance: the newest always stay, of the older ones the most important, in time order (systems.md C1, C2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil

import msgspec

from fanfold.budget import Budget
from fanfold.errors import BadSetting
from fanfold.message import Image, Message, Result, reading
from fanfold.patterns import pattern
from fanfold.plan import Plan, Strategy
from fanfold.strategies.first import first_request, without
from fanfold.view import Block, Span, View

Scorer = Callable[[Message], float]
_ERROR = pattern(r"\b(error|exception|failed|failure|traceback|fatal)\b|エラー|失敗|例外", re.IGNORECASE)
_DONE = pattern(r"\b(done|completed|finished)\b|完了|終了", re.IGNORECASE)
_PLAN = pattern(r"\b(plan|planning|think)\b|計画|方針", re.IGNORECASE)
DUMPS = ("elementsJson", "webElements")


def score(message: Message) -> float:
    """How much a message matters: errors, completion and plans more, dumps that can be fetched again less (C1)."""
    text = reading(message)[:20_000]
    total = 0.5
    total += 0.3 if any(result.error for result in message.results) or _ERROR.search(text) else 0
    total += 0.3 if _DONE.search(text) else 0
    total += 0.2 if message.role == "assistant" and _PLAN.search(text) else 0
    total += 0.1 if _pictures(message) else 0
    total -= 0.1 if any(name in text for name in DUMPS) or _dumped(message) else 0
    return total


def importance(*, most: int = 24, newest: float = 0.4, scorer: Scorer = score) -> Important:
    """Keep at most so many messages: the newest share of them always, then the most important older blocks.

    The user's first request stays while it takes no more than a tenth of the room; a longer one is quoted. Every
    request looks whether there are more; a quarter leaves then, so that the prompt cache keeps hitting for a while.
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

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "importance"

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Drop the least important of the older blocks, until so many messages and tokens are left."""
        if _visible(view) > self.most or view.tokens > budget.goal:
            yield from self._cut(view, budget, self.most, view.tokens - budget.goal)

    def due(self, view: View, budget: Budget) -> bool:
        """Whether there are too many messages, and some may leave."""
        return _visible(view) > self.most and bool(self._leaving(view, budget, self.most, 0))

    @property
    def trim(self) -> Strategy:
        """What looks at the number of messages only."""

        def importance(view: View, budget: Budget) -> Plan:
            yield from self._cut(view, budget, self.most - self.most // 4, 0)

        return importance

    def _cut(self, view: View, budget: Budget, most: int, excess: int) -> Plan:
        leaving = self._leaving(view, budget, most, excess)
        if leaving:
            old = Span(tuple(row for block in leaving for row in block.rows))
            yield without(old, view, budget.room // 10)

    def _leaving(self, view: View, budget: Budget, most: int, excess: int) -> list[Block]:
        """The older blocks that have no place among the most important ones."""
        tail = {row.id for row in view.rows[-ceil(self.newest * self.most) :]}
        first = first_request(view, budget)
        tail |= {first.id} if first else set()
        old = [block for block in view.offered if not any(row.id in tail for row in block.rows)]
        rows, tokens = sum(len(block.rows) for block in old), sum(block.tokens for block in old)
        return _least(old, self.scorer, most - (_visible(view) - rows), tokens - max(0, excess))


def _visible(view: View) -> int:
    return sum(row.kind != "note" for row in view.rows)


def _least(blocks: list[Block], scorer: Scorer, messages: int, tokens: int) -> list[Block]:
    """The blocks that have no place among the most important ones, in time order."""
    ranked = sorted(enumerate(blocks), key=lambda pair: (-_block_score(pair[1], scorer), -pair[0]))
    kept: set[int] = set()
    for number, block in ranked:
        if len(block.rows) <= messages and block.tokens <= tokens:
            kept.add(number)
            messages -= len(block.rows)
            tokens -= block.tokens
    return [block for number, block in enumerate(blocks) if number not in kept]


def _block_score(block: Block, scorer: Scorer) -> float:
    return max(scorer(message) for message in block.messages) if block.messages else 0.0


def _pictures(message: Message) -> bool:
    inner = [part for result in message.results for part in result.parts]
    return any(isinstance(part, Image) for part in (*message.parts, *inner))


def _dumped(message: Message) -> bool:
    return any(isinstance(part, Result) and part.name in DUMPS for part in message.parts)
