"""What a session is opened with: one frozen value, and the one place that checks it.

Code, the settings file, the environment and what a session remembers are each an `Options`; `choice` merges them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Literal, ParamSpec, TypeVar, get_args

import msgspec

from fanfold.asking.model import AskableModel, is_client
from fanfold.config.defaults import meter_for
from fanfold.config.events import Hooks
from fanfold.core.budget import Budget, whole_number
from fanfold.core.errors import BadInput, BadSetting, unknown
from fanfold.core.plan import Strategy, name_of
from fanfold.outputs.filters import Filter
from fanfold.strategies.fallbacks import FALLBACKS
from fanfold.systems.presets import Preset
from fanfold.text.plain import copy_plain, plain_text
from fanfold.text.sizes import as_number
from fanfold.tokens.meter import Meter

P = ParamSpec("P")
T = TypeVar("T")
OnMoved = Literal["raise", "reapply", "branch"]
RENAMED = {"ask": "summarizer", "ask_window": "summarizer_window", "passes": "filters"}
"""What options were called in 0.1."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one place says about a session: None where it says nothing. `fanfold.open` describes each option."""

    model: str | None = None
    dialect: str | None = None
    window: int | None = None
    budget: Budget | None = None
    system: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    store: Any = None
    tenant: str = "default"
    labels: Mapping[str, str] | None = None
    preset: Preset | None = None
    profile: str | None = None
    strategy: tuple[Strategy, ...] | None = None
    named: tuple[Any, ...] | None = None
    """The strategy as it can be remembered, by names; empty where it is a function, or is made with one."""
    coded: str = ""
    """What such a function is called."""
    fallback: tuple[Strategy, ...] = FALLBACKS
    filters: tuple[Filter, ...] | None = None
    recall: bool | None = None
    defer: float | None = None
    volatile: tuple[str, ...] | bool | None = None
    meter: Meter | None = None
    summarizer: Any = None
    summarizer_window: int | None = None
    hooks: Hooks = Hooks()
    on_moved: OnMoved = "raise"
    clock: Callable[[], float] = time.time
    figures: Mapping[str, float] = {}
    """Figures of a budget, from settings only: `reserve`, `trigger`, `target`, `gain`, `max_bytes`."""
    profiles: Mapping[str, float] = {}
    """The threshold of each profile in percent, from the settings file only."""
    said: frozenset[str] = frozenset()
    """From settings only: which options are named there."""
    wrong: Callable[..., BadSetting] = lambda message, *keys: BadSetting(message)
    """Makes the error for a mistake at a key: it says in which line of which file, or in which variable."""


def naming_unknown_options(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `BadSetting`, which names the nearest, where a function does not take an option; not a TypeError."""
    from inspect import signature  # late: only modules that define such functions need it

    known = [name for name, one in signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        check_names(options, known)
        return function(*args, **options)

    return call


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Raise `BadSetting` for the first option that nobody knows."""
    for name in given:
        if name in RENAMED:
            raise BadSetting(f"The option `{name}` is called `{RENAMED[name]}` now.", name)
        if name not in known and "budget" in known and name in Budget.__struct_fields__:
            raise BadSetting(
                f"There is no option {name!r}: it is a part of the budget. "
                f"Write `budget=fanfold.Budget(window=…, {name}=…)`.",
                name,
            )
        if name not in known:
            raise unknown("option", name, known)


def options_of(given: Mapping[str, Any]) -> Options:
    """Check what code says. `BadSetting` names the first option that cannot be used, and says what it takes."""
    if given.get("window") is not None and given.get("budget") is not None:
        raise BadSetting("Give `window=` or `budget=`, not both: a budget has a window of its own.")
    made = {name: value_of(name, value) for name, value in given.items()}
    if made.get("strategy") is not None:
        made["named"] = _names_of(given["strategy"])
        made["coded"] = "" if made["named"] else " + ".join(map(name_of, made["strategy"]))
    on_edit, hooks = made.pop("on_edit", None), made.pop("hooks", None) or Hooks()
    if on_edit is not None:
        hooks = msgspec.structs.replace(hooks, after_edit=on_edit)
    return Options(hooks=hooks, **made)


def value_of(name: str, value: Any) -> Any:
    """One option, checked, and made where it is given by name. `BadSetting` says what it takes."""
    if value is None and name not in NEVER_NONE:
        return () if name in ("system", "tools") else None
    takes, words = KINDS.get(name, (None, ""))
    if takes is not None and not takes(value):
        raise BadSetting(f"{name} is {words}, not {repr(value)[:80]}.", name)
    make = MAKERS.get(name)
    return plain_text(value) if make is None else make(value)


def check_name(name: object) -> str:
    """The name of a session; `BadInput` for what is none."""
    if name is None or name == "":
        raise BadInput("A session needs a name.")
    if not isinstance(name, str):
        raise BadInput(f"A session's name is a text, not {repr(name)[:80]}.")
    return plain_text(name)


def check_taking(function: object, *names: str, what: str) -> None:
    """Raise `BadSetting` for a function that cannot be called as it will be: one that makes such a function, say."""
    import inspect  # late: most sessions are given nothing of their own

    try:
        inspect.signature(function).bind(*names)  # type: ignore[arg-type]
    except TypeError:
        name, given = name_of(function), ", ".join(names)
        way = f"Let it take them: `def {name}({given})`."
        if _is_factory(function, names):
            way = f"If {name} makes one, give what it makes: {name}(…)."
        raise BadSetting(f"{what} is called with ({given}), and {name} cannot be. {way}") from None
    except ValueError:  # a function of C may not say what it takes
        return


def _is_factory(function: object, names: tuple[str, ...]) -> bool:
    """Whether it may make such a function: it asks for nothing of what such a function is given, nor for anything."""
    import inspect  # late: most sessions are given nothing of their own

    asked = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    placed = [one for one in asked if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return not any(one.name in names or one.default is one.empty for one in placed)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_store(value: Any) -> bool:
    return _is_text(value) or (callable(getattr(value, "tenant", None)) and not isinstance(value, type))


def _is_summarizer(value: Any) -> bool:
    if _is_text(value):
        return bool(value.strip())
    return callable(value) or isinstance(value, AskableModel) or is_client(value)


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (_is_text, "the name of one, such as gpt-5.2"),
    "dialect": (_is_text, "the name of one, such as openai.chat"),
    "to": (_is_text, "the name of a dialect, such as anthropic"),
    "budget": (lambda value: isinstance(value, Budget), "a fanfold.Budget"),
    "system": (lambda value: _is_text(value) or _is_list(value), "a text, or a list of messages"),
    "tools": (_is_list, "a list"),
    "store": (_is_store, "one, or its name such as sqlite:agent.db"),
    "tenant": (_is_text, "a name"),
    "labels": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values()))),
        "a dict from names to texts",
    ),
    "profile": (_is_text, "the name of one in the settings file"),
    "fallback": (
        lambda value: isinstance(value, Sequence) and _is_list(value) and all(map(callable, value)),
        "a list of functions `(view, budget) -> edits`",
    ),
    "recall": (lambda value: isinstance(value, bool), "True or False"),
    "defer": (
        lambda value: isinstance(value, bool) or (isinstance(value, int | float) and -1 <= value < 1),
        "True, False, or the share of the window that the schemas of tools may take, such as 0.1",
    ),
    "volatile": (
        lambda value: isinstance(value, bool | str) or (_is_list(value) and all(map(_is_text, value))),
        "a text that stands in the lines that change, a list of such texts, True or False",
    ),
    "summarizer": (
        _is_summarizer,
        "the name of a model, a client of its SDK, a Model, or a function of a question",
    ),
    "summarizer_window": (
        lambda value: isinstance(size := as_number(value), int) and not isinstance(value, bool) and size >= 1,
        "a whole number of tokens, at least 1, or a size such as 16k",
    ),
    "hooks": (lambda value: isinstance(value, Hooks), "a fanfold.Hooks, such as Hooks(after_edit=…)"),
    "on_edit": (callable, "a function of an Outcome"),
    "on_moved": (lambda value: value in get_args(OnMoved), f"one of {', '.join(get_args(OnMoved))}"),
    "clock": (callable, "a function that returns seconds"),
}
"""What an option takes, as a test and in words; a window is checked as its budget checks it."""
NEVER_NONE = frozenset(("tenant", "fallback", "on_moved", "clock"))


def _functions(value: Any, what: str, kind: str, *takes: str, result: str) -> tuple[Any, ...]:
    """One thing or several, each a function, a name, or a table with a name."""
    single = callable(value) or isinstance(value, str | Mapping) or not isinstance(value, Iterable)
    found = (value,) if single else tuple(value)
    for one in found:
        if callable(one):
            check_taking(one, *takes, what=what)
        elif not isinstance(one, str | Mapping):
            raise BadSetting(
                f"{what} is a function `({', '.join(takes)}) -> {result}`, or is given by name, or as a table with a "
                f'name: {{name = "…"}}; not {one!r}.'
            )
    if all(map(callable, found)):
        return found
    from fanfold.config import naming  # late: most programs give functions

    return naming.strategies_named(found) if kind == "strategies" else naming.filters_named(found)


def _fallbacks(value: Sequence[Strategy]) -> tuple[Strategy, ...]:
    for fallback in value:
        check_taking(fallback, "view", "budget", what="A fallback")
    return tuple(value)


def _preset(value: Any) -> Preset:
    from fanfold.config.naming import preset_named  # late: most programs choose the parts themselves

    return preset_named(value)


def _summarizer(value: Any) -> Any:
    if callable(value) and not isinstance(value, AskableModel):
        check_taking(value, "question", what="A function to ask")
    return plain_text(value)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "window": partial(whole_number, "window"),
    "summarizer_window": as_number,
    "system": lambda value: (plain_text(value),) if isinstance(value, str) else tuple(value),
    "tools": tuple,
    "labels": lambda value: {plain_text(name): plain_text(text) for name, text in value.items()},
    "preset": _preset,
    "strategy": lambda value: _functions(value, "A strategy", "strategies", "view", "budget", result="edits"),
    "fallback": _fallbacks,
    "filters": lambda value: _functions(
        value, "A filter", "filters", "text", "tool", "arguments", result="text | None"
    ),
    "meter": lambda value: meter_for(value, None),
    "volatile": lambda value: (
        value if isinstance(value, bool) else (value,) if isinstance(value, str) else tuple(value)
    ),
    "defer": lambda value: (0.0 if value else -1.0) if isinstance(value, bool) else float(value),
    "summarizer": _summarizer,
}
"""Options that are more than a plain value."""


def _names_of(strategy: Any) -> tuple[Any, ...]:
    """Strategies by their names, to be remembered; nothing where one of them is a function, or is made with one."""
    listed = (strategy,) if isinstance(strategy, str | Mapping) or callable(strategy) else tuple(strategy)
    if any(map(callable, listed)):
        return ()
    try:
        return tuple(one if isinstance(one, str) else copy_plain(dict(one)) for one in listed)
    except (TypeError, ValueError, OverflowError):
        return ()
