"""When a conversation behind the gateway is reduced.

A client sends a request after each step, and its provider bills it at once. So what is about to be sent is known nearly
to the token: all but the newest step was billed before. A window that was given is used further than in sessions whose
bills may be missing. Reductions come less often then, and each breaks the provider's cache.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from fanfold.config.defaults import budget_for
from fanfold.config.settings import layers
from fanfold.core.budget import Budget
from fanfold.dialects.registry import DialectName

TRIGGER = 0.92
"""A share of the room: what is left of it is more than estimates of one step are off."""


def has_own_budget() -> bool:
    """Whether settings or the environment say when to reduce."""
    return any(layer.figures or layer.preset or layer.profile for layer in layers())


@lru_cache(maxsize=256)
def fuller_budget(model: str | None, window: int, dialect: DialectName) -> Budget:
    """The budget of a window, of which more is used than elsewhere."""
    return replace(budget_for(model, window, dialect), trigger=TRIGGER)
