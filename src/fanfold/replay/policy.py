"""Policies by their names: what `open` takes as a strategy or a preset, several strategies joined by `+`, and ours."""

from __future__ import annotations

from typing import Any

from fanfold.config.naming import ASKING, STRATEGIES, preset_named, strategies_named
from fanfold.core.budget import Budget
from fanfold.core.errors import BadSetting, unknown
from fanfold.plugins import names
from fanfold.replay.player import TARGET, TRIGGER, Everything, SessionPlayer
from fanfold.replay.shown import Policy
from fanfold.systems.presets import PRESETS

OWN: dict[str, Any] = {
    "default": None,
    "auto": {"name": "auto", "refs": True},
    "thrifty": {"name": "auto", "thrift": 1.0},
}
"""What is not simply the strategy of that name: what a session does when told nothing, the same in any folder, and the
same as cheap as can be."""


def policy(name: str) -> Policy:
    """The policy of this name; `none` sends everything."""
    if name == "none":
        return Everything
    _check(name)
    if name in PRESETS:
        return lambda trace, window: SessionPlayer(trace, window, None, **_preset(name, window))
    chosen = OWN[name] if name in OWN else name.split("+")
    made = None if chosen is None else strategies_named(chosen)
    return lambda trace, window: SessionPlayer(trace, window, made)


def _check(name: str) -> None:
    """Refuse what nobody knows, and what cannot be replayed."""
    for part in name.split("+"):
        if part in ASKING:
            raise BadSetting(
                f"{part!r} asks a model, and a replay has none to ask. Code can give it one: "
                "`play(trace, name, window, policy)` takes a policy that opens a `SessionPlayer(…, summarizer=…)`."
            )
        known = (*STRATEGIES, *names("strategies"))
        alone = () if "+" in name else (*OWN, *PRESETS)
        if part not in known and part not in alone:
            offered = dict.fromkeys(one for one in ("none", *OWN, *known, *PRESETS) if one not in ASKING)
            raise unknown("policy", part, list(offered))


def _preset(name: str, window: int) -> dict[str, Any]:
    budget = Budget(window=window, reserve=0, trigger=TRIGGER, target=TARGET)
    return {"preset": name, "budget": preset_named(name).budget(budget)}
