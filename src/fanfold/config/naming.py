"""Things by their names: strategies, filters, scorers, presets, meters; built in, or from a plug-in.

In settings a thing is a name, or a table with its name and what it is made with: `{name = "elide", keep = 3}`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from fanfold import strategies
from fanfold.core.errors import BadSetting, unknown
from fanfold.core.plan import Strategy
from fanfold.outputs import filters
from fanfold.outputs.filters import Filter
from fanfold.plugins import Kind, names, plugin
from fanfold.strategies.importance import Scorer, score
from fanfold.systems import presets
from fanfold.systems.presets import Preset

Made = Callable[..., Any]

STRATEGIES: dict[str, Made] = {
    "auto": strategies.auto,
    "digest": strategies.digest,
    "drop_oldest": strategies.drop_oldest,
    "drop_thinking": strategies.drop_thinking,
    "elide": strategies.elide,
    "extract": strategies.extract,
    "importance": strategies.importance,
    "native": strategies.native,
    "rolling": strategies.rolling,
    "shorten_arguments": strategies.shorten_arguments,
    "shorten_outputs": strategies.shorten_outputs,
    "shorten_reads": strategies.shorten_reads,
    "shorten_repeats": strategies.shorten_repeats,
    "summarize": strategies.summarize,
    "truncate": strategies.truncate,
}
OLD_NAMES = {"window": "drop_oldest"}
"""What 0.1 called a strategy: settings files and sessions that name it so are still read."""
ASKING = frozenset({
    "codelia", "extract", "gemini_cli", "native", "openstarry_state", "openstarry_summary", "rolling", "roo_code",
    "summarize",
})  # fmt: skip
"""Strategies and presets that ask a model."""
FILTERS: dict[str, Made] = {"binary": filters.binary, "clip": filters.clip, "prune": filters.prune}
SCORERS: dict[str, Scorer] = {"miki": score}


def strategies_named(spec: Any) -> tuple[Strategy, ...]:
    """One strategy or several, from a name, a table, or a list of them; what is a strategy already stays."""
    return _make_all("strategies", STRATEGIES, spec)


def filters_named(spec: Any) -> tuple[Filter, ...]:
    """Filters, the same way."""
    return _make_all("filters", FILTERS, spec)


def preset_named(spec: Any) -> Preset:
    """A preset, from its name, or a table with figures that differ."""
    if isinstance(spec, Preset):
        return spec
    name, settings = _spec(spec, "a preset")
    if name not in presets.PRESETS:
        raise unknown("preset", name, presets.PRESETS)
    return _make(name, presets.PRESETS[name], settings)  # type: ignore[no-any-return]


def _make_all(kind: Kind, built_in: Mapping[str, Made], specs: Any) -> tuple[Any, ...]:
    """What one name or table, or several, stand for; what is a function already stays."""
    several, made = isinstance(specs, Sequence) and not isinstance(specs, str), []
    for spec in specs if several else [specs]:
        if not callable(spec):
            name, settings = _spec(spec, f"one of the {kind}")
            name = OLD_NAMES.get(name, name) if kind == "strategies" else name
            spec = _make(name, _find(kind, built_in, name), settings)
        made.append(spec)
    return tuple(made)


def _spec(spec: Any, what: str) -> tuple[str, dict[str, Any]]:
    """The name in a name or table, and the rest of the table."""
    if isinstance(spec, str):
        return spec, {}
    if isinstance(spec, Mapping) and isinstance(spec.get("name"), str):
        return spec["name"], {key: value for key, value in spec.items() if key != "name"}
    raise BadSetting(f'{what.capitalize()} is given by name, or as a table with a name: {{name = "…"}}.')


def _find(kind: Kind, built_in: Mapping[str, Any], name: str) -> Any:
    if name in built_in:
        return built_in[name]
    found = plugin(kind, name)
    if found is None:
        singular = {"strategies": "strategy", "filters": "filter", "scorers": "scorer"}[kind]
        raise unknown(singular, name, [*built_in, *names(kind)])
    return found


def _make(name: str, make: Made, settings: Mapping[str, Any]) -> Any:
    """What a maker makes of settings; one that it does not take, or not so, is named."""
    given = dict(settings)
    if isinstance(given.get("scorer"), str):
        given["scorer"] = _find("scorers", SCORERS, given["scorer"])
    _check(name, make, given)
    try:
        return make(**given)
    except TypeError as error:
        raise BadSetting(f"{name} cannot be made with these settings: {error}.") from error


def _check(name: str, make: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise `BadSetting` for the first argument that a maker of this name does not take, or not as it is."""
    taken = inspect.signature(make).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    try:
        kinds = get_type_hints(make)
    except Exception:  # the annotations of a plug-in may name what is not there
        kinds = {}
    for key, value in given.items():
        if key not in taken and not takes_any:
            raise unknown(f"setting of {name}", key, taken)
        if key in kinds:
            _check_kind(f"{key} of {name}", key, value, kinds[key])


def _check_kind(what: str, key: str, value: Any, kind: Any) -> None:
    words = list(_words(kind))
    if words and isinstance(value, str) and value not in words:
        raise BadSetting(str(unknown(what, value, words)), key)
    if get_origin(kind) is Callable and not callable(value):
        raise BadSetting(f"{what} is a function, or the name of one; not {value!r}.", key)
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise BadSetting(f"{what} is not of the right kind: {error}.", key) from error
    except TypeError:  # a type of which msgspec knows nothing: the maker has to look for itself
        return


def _words(kind: Any) -> Iterator[str]:
    """The words among which a type lets one choose; none where any text will do."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        yield from (part for part in parts if isinstance(part, str))
    elif str not in parts and type(None) in parts:
        for part in parts:
            yield from _words(part)
