"""What options are of: each is one that is known, and of the kind it takes, before anything is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fanfold.config.hooks import Hooks
from fanfold.core.errors import BadSetting, unknown
from fanfold.core.plan import name_of


class Kind(NamedTuple):
    """What an option takes, as a test and in words."""

    takes: Callable[[Any], bool]
    words: str


def check_options(given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `BadSetting` for the first option that nobody knows, or that is of the wrong kind."""
    names = tuple(known)
    for name, value in given.items():
        if name in RENAMED:
            raise BadSetting(f"The option `{name}` is called `{RENAMED[name]}` now.", name)
        if name not in names:
            raise unknown("option", name, names)
        kind = KINDS.get(name)
        if kind is not None and not kind.takes(value):
            raise BadSetting(f"{name} is {kind.words}, not {repr(value)[:80]}.", name)


def check_taking(function: object, *names: str, what: str) -> None:
    """Raise `BadSetting` for a function that cannot be called as it will be: one that makes such a function, say."""
    import inspect  # late: most sessions are given nothing of their own

    try:
        inspect.signature(function).bind(*names)  # type: ignore[arg-type]
    except TypeError:
        name = name_of(function)
        raise BadSetting(
            f"{what} is called with ({', '.join(names)}), and {name} cannot be. "
            f"If {name} makes one, give what it makes: {name}(…)."
        ) from None
    except ValueError:  # it does not say what it takes
        return


def _or_none(takes: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or takes(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_system(value: Any) -> bool:
    return isinstance(value, str) or _is_list(value)


def _is_store(value: Any) -> bool:
    return isinstance(value, str) or (
        callable(getattr(value, "tenant", None)) and not isinstance(value, type)
    )


def _is_list_of_functions(value: Any) -> bool:
    return isinstance(value, Sequence) and _is_list(value) and all(map(callable, value))


def _is_hooks(value: Any) -> bool:
    return isinstance(value, Hooks)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_asked(value: Any) -> bool:
    return callable(value) or hasattr(value, "complete")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


RENAMED = {"ask": "summarizer", "ask_window": "summarizer_window", "passes": "filters"}
"""What options were called in 0.1."""
KINDS = {
    "model": Kind(_or_none(_is_text), "the name of one, such as gpt-5.2"),
    "dialect": Kind(_or_none(_is_text), "the name of one, such as openai.chat"),
    "to": Kind(_is_text, "the name of a dialect, such as anthropic"),
    "system": Kind(_or_none(_is_system), "a text, or a list of messages"),
    "tools": Kind(_or_none(_is_list), "a list"),
    "store": Kind(_or_none(_is_store), "one, or its name such as sqlite:agent.db"),
    "profile": Kind(_or_none(_is_text), "the name of one in the settings file"),
    "fallback": Kind(_is_list_of_functions, "a list of functions `(view, budget) -> edits`"),
    "recall": Kind(_or_none(_is_bool), "True or False"),
    "summarizer": Kind(_or_none(_is_asked), "a model or a function of a question"),
    "summarizer_window": Kind(_or_none(_is_size), "a whole number of tokens, at least 1"),
    "hooks": Kind(_or_none(_is_hooks), "a fanfold.Hooks, such as Hooks(after_edit=…)"),
    "on_edit": Kind(_or_none(callable), "a function of an Outcome"),
    "clock": Kind(callable, "a function that gives seconds"),
}
"""The kinds of options whose values are not looked at elsewhere: by the budget, the meter, or whoever finds a name."""
