"""The parameters of a request that mean the same to several providers, in nobody's words.

Each dialect reads them from its own parameters and writes them as its own (`settings.py` in its folder). What one of
them does not know, or has no place for, is named, so that the client can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

Effort = Literal["none", "minimal", "low", "medium", "high", "max"]
BUDGETS: dict[Effort, int] = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 24_576, "max": 32_768}
"""How many tokens of reasoning an effort stands for, where a provider wants a number."""
T = TypeVar("T")


class ToolChoice(msgspec.Struct, frozen=True):
    """Whether tools may, must or must not be called, and which."""

    mode: Literal["auto", "any", "none"] = "auto"
    names: tuple[str, ...] = ()
    """The only tools that may be called; none named stands for all."""


class ReplyFormat(msgspec.Struct, frozen=True):
    """The reply is to be JSON."""

    schema: Any = None
    """A JSON Schema; None for any object."""
    name: str | None = None
    strict: bool | None = None


class ReplySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says beside its messages and its tools; None where it says nothing."""

    limit: int | None = None
    """The most tokens of the reply."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stops: tuple[str, ...] = ()
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    replies: int | None = None
    """How many replies are wanted, if it is not one."""
    choice: ToolChoice | None = None
    parallel: bool | None = None
    """Whether one reply may have several calls."""
    effort: Effort | None = None
    """How much the model is to think."""
    budget: int | None = None
    """The same as a number of tokens."""
    thoughts: bool | None = None
    """Whether the model's reasoning is to be told."""
    format: ReplyFormat | None = None


class Fields:
    """Parameters that are taken one by one; what nobody took is left."""

    def __init__(self, params: Mapping[str, Any], where: str = "") -> None:
        self._left = {key: value for key, value in params.items() if value is not None}
        self._where = where

    def take(self, name: str, kind: type[T]) -> T | None:
        """The parameter of this name, if it is of this kind; a whole number is a number, too."""
        value = self._left.get(name)
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            return None
        del self._left[name]
        return value

    def drop(self, *names: str) -> None:
        """Take parameters that mean nothing elsewhere."""
        for name in names:
            self._left.pop(name, None)

    @property
    def left(self) -> list[str]:
        """The names of what was not taken."""
        return [f"{self._where}{name}" for name in self._left]


def texts(value: object) -> tuple[str, ...]:
    """One text, or those of a list."""
    if isinstance(value, str):
        return (value,)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def read_schema(schema: Any, beside: Mapping[Any, Any]) -> ReplyFormat:
    """A JSON Schema with the name and the strictness that stand beside it."""
    name, strict = beside.get("name"), beside.get("strict")
    return ReplyFormat(
        schema, name if isinstance(name, str) else None, strict if isinstance(strict, bool) else None
    )


_EFFORTS: dict[str, Effort] = {
    "none": "none", "off": "none", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high",
    "xhigh": "max", "max": "max",
}  # fmt: skip


def read_effort(word: str | None) -> Effort | None:
    """An effort, in any provider's word."""
    return _EFFORTS.get((word or "").lower())


def effort_of(settings: ReplySettings) -> Effort | None:
    """The effort that is asked for, in a word."""
    if settings.effort is not None or settings.budget is None:
        return settings.effort
    if settings.budget <= 0:
        return "none" if settings.budget == 0 else None
    return next(
        (word for word, most in BUDGETS.items() if settings.budget <= most and word != "minimal"), "max"
    )


def budget_of(settings: ReplySettings) -> int | None:
    """The effort that is asked for, in tokens; 0 for none."""
    if settings.budget is not None or settings.effort is None:
        return settings.budget
    return BUDGETS.get(settings.effort, 0)


def given(**values: Any) -> dict[str, Any]:
    """The parameters that have a value."""
    return {name: value for name, value in values.items() if value is not None and value != ()}


def unplaced(settings: ReplySettings, *names: str) -> list[str]:
    """Which of these settings say something; a dialect names here what it has no place for."""
    return [name for name in names if getattr(settings, name) not in (None, ())]
