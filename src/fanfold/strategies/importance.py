"""Importance: the newest always stay, of the older ones the most important, in time order (systems.md C1, C2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil

from fanfold.budget import Budget
from fanfold.message import Image, Message, Result, reading
from fanfold.plan import Plan, Strategy
from fanfold.strategies.first import first_request, without
from fanfold.view import Block, Span, View

Scorer = Callable[[Message], float]
_ERROR = re.compile(r"\b(error|exception|failed|failure|traceback|fatal)\b|エラー|失敗|例外", re.IGNORECASE)
_DONE = re.compile(r"\b(done|completed|finished)\b|完了|終了", re.IGNORECASE)
_PLAN = re.compile(r"\b(plan|planning|think)\b|計画|方針", re.IGNORECASE)
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


def importance(*, most: int = 24, newest: float = 0.4, scorer: Scorer = score) -> Strategy:
    """Keep at most so many messages: the newest share of them always, then the most important older blocks.

    The user's first request stays while it takes no more than a tenth of the room; a longer one is quoted.
    """

    def importance(view: View, budget: Budget) -> Plan:
        visible = sum(row.kind != "note" for row in view.rows)
        if visible <= most and view.tokens <= budget.goal:
            return
        kept = ceil(newest * most)
        tail = {row.id for row in view.rows[-kept:]}
        first = first_request(view, budget.room // 10)
        tail |= {first.id} if first else set()
        old = [block for block in view.offered if not any(row.id in tail for row in block.rows)]
        spare = most - (visible - sum(len(block.rows) for block in old))
        room = budget.goal - (view.tokens - sum(block.tokens for block in old))
        leaving = _least(old, scorer, spare, room)
        if leaving:
            yield without(Span(tuple(row for block in leaving for row in block.rows)), view, budget)

    return importance


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
