"""Hooks: what a caller may watch, and refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from fanfold.config.events import Event
from fanfold.core.edit import Decision
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Outcome, Trigger
from fanfold.tokens.pressure import Pressure


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Functions that a session calls; every one is optional."""

    before_edit: Callable[[Sequence[Decision], Trigger], bool | None] | None = None
    """Told what is about to be recorded; returning False refuses it."""
    after_edit: Callable[[Outcome], object] | None = None
    """Told how a reduction ended, with tokens before and after."""
    on_pressure: Callable[[Pressure], object] | None = None
    """Told when a request reaches the trigger, before anything is reduced."""
    on_event: Callable[[Event], object] | None = None
    """Told what a user interface shows: `Reducing`, then `Condensed` or `Truncated` for each cut, then `Reduced`;
    `FilterFailed`; and `Disputed`."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            told = getattr(self, name)
            if told is not None and not callable(told):
                raise BadSetting(f"{name} is a function, not {told!r}.", name)
