"""The rules on tools: how many there are, what they are called, and that there are some to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.record import Frame
from fanfold.core.view import Violation
from fanfold.dialects.definitions import FORMS, called

MOST = 128
"""How many tools OpenAI takes."""
ToolRule = Callable[[Frame, str, Mapping[str, Any]], Iterator[Violation]]


def well_named(frame: Frame, dialect: str, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A function is called as its provider permits."""
    odd = [name for name in called(frame, dialect) if not FORMS[dialect].naming.allows(name)]
    if odd:
        names = ", ".join(map(repr, odd[:5]))
        yield Violation("well_named", "tools", f"names that the provider does not take: {names}")


def told_apart(frame: Frame, dialect: str, params: Mapping[str, Any]) -> Iterator[Violation]:
    """No two functions have the same name."""
    twice = [name for name, count in Counter(called(frame, dialect)).items() if count > 1]
    if twice:
        yield Violation("told_apart", "tools", f"offered twice: {', '.join(map(repr, twice[:5]))}")


def few(frame: Frame, dialect: str, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A request offers at most 128 tools."""
    if len(frame.tools) > MOST:
        yield Violation("few", "tools", f"{len(frame.tools)} are offered, {MOST} are taken")


def chosen_from(frame: Frame, dialect: str, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A tool is chosen only where there are some."""
    if params.get("tool_choice") is not None and not frame.tools:
        yield Violation("chosen_from", "tool_choice", "it is given, and no tool is offered")


CHAT: tuple[ToolRule, ...] = (well_named, few, chosen_from)
RESPONSES: tuple[ToolRule, ...] = (well_named, few)
ANTHROPIC: tuple[ToolRule, ...] = (well_named, told_apart, chosen_from)
GEMINI: tuple[ToolRule, ...] = (well_named, told_apart)


def broken(
    frame: Frame, dialect: str, params: Mapping[str, Any], rules: Sequence[ToolRule]
) -> list[Violation]:
    """All that is wrong with the tools of a request."""
    return [violation for rule in rules for violation in rule(frame, dialect, params)]
