"""Settings beside the code: the environment, and the settings file.

preset = "roo_code"
profile = "careful"

[profiles]
careful = 60

[models."my-model"]
window = 200_000

What is said in code wins over the environment, and the environment over the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from fanfold.config.options import RENAMED, Options, value_of
from fanfold.config.settings_file import File, read_file, register
from fanfold.core.errors import BadInput, BadSetting, unknown
from fanfold.text.nearest import nearest
from fanfold.text.sizes import as_number, portion_of

PLAIN = ("store", "tenant", "summarizer", "summarizer_window", "volatile", "on_moved")
"""Settings that hold as if the code had said them, where it says nothing."""
CHOICES = ("preset", "strategy", "filters", "meter", "model", "dialect", "profile", "recall", "defer", *PLAIN)
FIGURES = ("window", "reserve", "trigger", "target", "gain", "max_bytes")
TABLES = ("budget", "profiles", "models", "serve")
IN_CODE = ("system", "tools", "labels", "fallback", "hooks", "on_edit", "clock")
"""What only code can say: what a conversation is about, and functions."""
_SWITCH = {"true": True, "false": False}
Wrong = Callable[..., BadSetting]
"""Makes the error for a mistake: from a message, and the keys that lead to it."""


def layers() -> tuple[Options, ...]:
    """What is set beside the code, the stronger first."""
    file = read_file()
    return (_environment_options(), _file_options(file) if file else Options())


def with_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """What code says, and what environment or file say about the plain options that it leaves out."""
    beside = {name: value for layer in reversed(layers()) for name, value in _plain(layer).items()}
    return {
        **beside,
        **{name: value for name, value in given.items() if value is not None or name not in beside},
    }


def _plain(layer: Options) -> dict[str, Any]:
    return {name: getattr(layer, name) for name in layer.said if name in PLAIN}


def _file_options(file: File) -> Options:
    register(file)
    said: dict[str, Any] = {}
    for key, value in file.content.items():
        name = RENAMED.get(key, key)  # files that were written for 0.1 are still read
        if name in CHOICES:
            said[name] = _value(file.wrong, key, name, value)
        elif key not in TABLES:
            raise file.wrong(_misplaced(key), key)
    figures = {key: _figure(file.wrong, key, value) for key, value in file.table("budget").items()}
    profiles = {key: _percent(file.wrong, key, value) for key, value in file.table("profiles").items()}
    window = figures.pop("window", None)
    return Options(
        **said, said=frozenset(said), window=window, figures=figures, profiles=profiles, wrong=file.wrong
    )


def _misplaced(key: str) -> str:
    """Why a key cannot stand where it stands in a file, and where it belongs."""
    if key in FIGURES:
        return f"{key} is a setting of the budget: write it below a line [budget]."
    if key in IN_CODE:
        return f"{key} can only be given in code: fanfold.open(…, {key}=…)."
    return str(unknown("setting", key, (*CHOICES, *TABLES)))


def _environment_options() -> Options:
    said: dict[str, Any] = {}
    figures: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if not variable.startswith("FANFOLD_") or not text:
            continue
        key = variable.removeprefix("FANFOLD_").lower()
        name = RENAMED.get(key, key)
        if name in CHOICES:
            several = name in ("strategy", "filters")
            value: Any = [part.strip() for part in text.split(",")] if several else text
            if name in ("defer", "recall", "volatile", "summarizer_window"):
                value = _SWITCH.get(text.lower(), text if name == "volatile" else _number(text))
            said[name] = _value(_wrong_variable, key, name, value)
        elif key in FIGURES:
            figures[key] = _figure(_wrong_variable, key, _number(text))
        elif near := nearest(key, (*CHOICES, *FIGURES), 0.8):
            raise BadSetting(f"There is no variable {variable}. Did you mean FANFOLD_{near.upper()}?")
    window = figures.pop("window", None)
    return Options(**said, said=frozenset(said), window=window, figures=figures, wrong=_wrong_variable)


def _wrong_variable(message: str, *keys: str, earlier: int = 0) -> BadSetting:
    """The error for a mistake in the environment, which has no tables: each figure of the budget is a variable."""
    name = keys[1] if keys[0] == "budget" else keys[0]
    return BadSetting(f"FANFOLD_{name.upper()}: {message}")


def _number(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _value(wrong: Wrong, key: str, name: str, value: Any) -> Any:
    """What a setting says; the error for a mistake says where it stands."""
    if value == "" and name in ("model", "profile"):
        raise wrong(f"{key} is a name, not ''.", key)
    try:
        return value_of(name, value)
    except BadInput as error:
        inner = error.key if isinstance(error, BadSetting) and error.key != name else None
        if inner is None:
            raise wrong(str(error), key) from error
        raise wrong(str(error), key, inner, earlier=_earlier(name, value, inner)) from error


def _earlier(name: str, value: Any, key: str) -> int:
    """How many tables of a list have this key before the one with the mistake."""
    having = 0
    for one in value if isinstance(value, list) else ():
        try:
            value_of(name, one)
        except BadInput:
            break
        having += isinstance(one, Mapping) and key in one
    return having


def _figure(wrong: Wrong, key: str, value: Any) -> Any:
    if key not in FIGURES:
        raise wrong(str(unknown("setting of a budget", key, FIGURES)), "budget", key)
    share, least = key in ("trigger", "target"), 0 if key in ("reserve", "gain") else 1
    told, value = value, portion_of(value) if share else as_number(value)
    number = isinstance(value, int | float if share else int) and not isinstance(value, bool)
    if not number or (value <= 0 if share else value < least):
        kind = "a share of the room, or tokens" if share else "a whole number" + " above zero" * least
        size = ", or a size such as 16k" * isinstance(told, str)
        raise wrong(f"{key} is {kind}{size}, not {told!r}.", "budget", key)
    return value


def _percent(wrong: Wrong, profile: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"The threshold of {profile!r} is a percentage, or -1 to inherit; not {value!r}."
        raise wrong(message, "profiles", profile)
    return value
