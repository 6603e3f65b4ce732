"""Things by their names: strategies, filters, scorers, presets, meters; built in, or from a plug-in.

In settings a thing is a name, or a table with its name and what it is made with: `{name = "elide", keep = 3}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanfold import strategies
from fanfold.config.arguments import check
from fanfold.core.errors import BadSetting, unknown
from fanfold.core.plan import Strategy
from fanfold.outputs import filters
from fanfold.outputs.filters import Filter
from fanfold.plugins import Kind, names, plugin
from fanfold.strategies.importance import Scorer, score
from fanfold.systems import presets
from fanfold.systems.presets import Preset
from fanfold.tokens import meter
from fanfold.tokens.meter import Meter

Made = Callable[..., Any]

STRATEGIES: dict[str, Made] = {
    "auto": strategies.auto,
    "digest": strategies.digest,
    "drop_oldest": strategies.drop_oldest,
    "elide": strategies.elide,
    "extract": strategies.extract,
    "importance": strategies.importance,
    "native": strategies.native,
    "rolling": strategies.rolling,
    "summarize": strategies.summarize,
    "truncate": strategies.truncate,
}
OLD_NAMES = {"window": "drop_oldest"}
"""What 0.1 called a strategy: settings files and sessions that name it so are still read."""
ASKING = frozenset(
    {
        "codelia",
        "extract",
        "gemini_cli",
        "native",
        "openstarry_state",
        "openstarry_summary",
        "rolling",
        "roo_code",
        "summarize",
    }
)
"""Strategies and presets that ask a model."""
FILTERS: dict[str, Made] = {"binary": filters.binary, "clip": filters.clip, "prune": filters.prune}
SCORERS: dict[str, Scorer] = {"miki": score}


def strategies_named(spec: Any) -> tuple[Strategy, ...]:
    """One strategy or several, from a name, a table, or a list of them; what is a strategy already stays."""
    return tuple(_made("strategies", STRATEGIES, one) for one in _listed(spec))


def filters_named(spec: Any) -> tuple[Filter, ...]:
    """Filters, the same way."""
    return tuple(_made("filters", FILTERS, one) for one in _listed(spec))


def preset_named(spec: Any) -> Preset:
    """A preset, from its name, or a table with figures that differ."""
    if isinstance(spec, Preset):
        return spec
    name, settings = _spec(spec, "a preset")
    if name not in presets.PRESETS:
        raise unknown("preset", name, presets.PRESETS)
    return _called(name, presets.PRESETS[name], settings)  # type: ignore[no-any-return]


def meter_named(spec: Any) -> Meter:
    """A meter, from its name."""
    if not isinstance(spec, str):
        raise BadSetting(f"A meter is called by its name, not by {type(spec).__name__}.")
    return meter.named(spec)


def scorer_named(name: str) -> Scorer:
    """A scorer, from its name."""
    return _found("scorers", SCORERS, name)  # type: ignore[no-any-return]


def _listed(spec: Any) -> Sequence[Any]:
    return list(spec) if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]


def _made(kind: Kind, built_in: Mapping[str, Made], spec: Any) -> Any:
    if callable(spec):
        return spec
    name, settings = _spec(spec, f"one of the {kind}")
    name = OLD_NAMES.get(name, name)
    return _called(name, _found(kind, built_in, name), settings)


def _spec(spec: Any, what: str) -> tuple[str, dict[str, Any]]:
    """The name in a name or table, and the rest of the table."""
    if isinstance(spec, str):
        return spec, {}
    if isinstance(spec, Mapping) and isinstance(spec.get("name"), str):
        return spec["name"], {key: value for key, value in spec.items() if key != "name"}
    raise BadSetting(f'{what.capitalize()} is given by name, or as a table with a name: {{name = "…"}}.')


def _found(kind: Kind, built_in: Mapping[str, Any], name: str) -> Any:
    if name in built_in:
        return built_in[name]
    found = plugin(kind, name)
    if found is None:
        singular = {"strategies": "strategy", "filters": "filter", "scorers": "scorer"}[kind]
        raise unknown(singular, name, [*built_in, *names(kind)])
    return found


def _called(name: str, make: Made, settings: Mapping[str, Any]) -> Any:
    """What a maker makes of settings; one that it does not take, or not so, is named."""
    given = dict(settings)
    if isinstance(given.get("scorer"), str):
        given["scorer"] = scorer_named(given["scorer"])
    check(name, make, given)
    try:
        return make(**given)
    except TypeError as error:
        raise BadSetting(f"{name} cannot be made with these settings: {error}.") from error
