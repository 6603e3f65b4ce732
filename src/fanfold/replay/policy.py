"""Policies: ways to choose what a model sees, replayed side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanfold import strategies
from fanfold.plan import Strategy
from fanfold.replay.player import Everything, SessionPlayer
from fanfold.replay.shown import Policy
from fanfold.spelling import unknown

NAMED: dict[str, Callable[[], Sequence[Strategy] | None]] = {
    "default": lambda: None,
    "auto": lambda: [strategies.auto(refs=True)],
    "window": lambda: [strategies.window()],
    "elide": lambda: [strategies.elide(), strategies.window()],
    "digest": lambda: [strategies.digest()],
    "elide+digest": lambda: [strategies.elide(), strategies.digest(refs=True)],
    "truncate": lambda: [strategies.truncate()],
    "importance": lambda: [strategies.importance()],
}
"""Policies by name; `none` sends everything."""


def policy(name: str) -> Policy:
    """The policy of this name."""
    if name == "none":
        return Everything
    if name not in NAMED:
        raise unknown("policy", name, ("none", *NAMED))
    return lambda trace, window: SessionPlayer(trace, window, NAMED[name]())
