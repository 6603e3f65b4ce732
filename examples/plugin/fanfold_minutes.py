"""A plug-in with one thing of each kind. Installed beside fanfold, each is found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold import Budget, Fold, Message, View, ask
from fanfold.core.plan import Plan, Strategy
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.outputs.filters import Filter
from fanfold.stores.memory import Memory


def minutes(*, keep: float = 0.3, style: str = "decisions, open items") -> Strategy:
    """A strategy: everything but the newest share becomes minutes. `strategy = {name = "minutes", keep = 0.2}`"""

    def minutes(view: View, budget: Budget) -> Plan:
        first = [row for row in view.rows if row.is_request][:1]
        old = view.oldest(leaving=int(budget.room * keep), but=first)
        if len(old.rows) < 2:
            return
        text = yield from ask(old.messages, f"Write minutes: {style}.")
        yield Fold(old.covers, text)

    return minutes


def first_lines(*, number: int = 20) -> Filter:
    """A filter: only the first lines of an output are shown; `{ref}` becomes its reference."""

    def first_lines(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        lines = text.splitlines()
        if len(lines) <= number:
            return None
        return "\n".join([*lines[:number], f"[{len(lines) - number} lines more as ref={{ref}}]"])

    return first_lines


def loud(message: Message) -> float:
    """A scorer: whoever shouts matters. `strategy = {name = "importance", scorer = "loud"}`"""
    return message.text.count("!") / (len(message.text) + 1)


_jars: dict[str, Memory] = {}


def jar(place: str) -> Memory:
    """A store: one in memory for each name, as long as the process lives. `store="jar:kitchen"`"""
    return _jars.setdefault(place, Memory())


class HouseChat(OpenAIChat):
    """A dialect: Chat Completions as the house's own gateway wants them, `turns` instead of `messages`."""

    field = "turns"

    def encode(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The request, with its messages under another name."""
        request = dict(super().encode(*args, **kwargs))
        return {self.field: request.pop("messages"), **request}
