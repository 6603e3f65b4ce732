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
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from fanfold.config.settings_file import File, read_file
from fanfold.core.errors import BadInput, BadSetting, unknown
from fanfold.core.plan import Strategy
from fanfold.outputs.filters import Filter
from fanfold.text.nearest import nearest
from fanfold.tokens import models
from fanfold.tokens.meter import Meter
from fanfold.tokens.models import Model

if TYPE_CHECKING:
    from fanfold.systems.presets import Preset

CHOICES = ("preset", "strategy", "filters", "meter", "model", "profile")
OLD_NAMES = {"passes": "filters"}
"""What 0.1 called a setting: files and environments written for it are still read."""
FIGURES = ("window", "reserve", "trigger", "target", "gain", "max_bytes")
TABLES = ("budget", "profiles", "models")
SEVERAL = ("strategy", "filters")
Wrong = Callable[..., BadSetting]
"""Makes the error for a mistake: from a message, and the keys that lead to it."""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one place says: the code, the environment or the file."""

    preset: Preset | None = None
    strategy: tuple[Strategy, ...] | None = None
    filters: tuple[Filter, ...] | None = None
    meter: Meter | None = None
    model: str | None = None
    profile: str | None = None
    budget: Mapping[str, Any] = {}
    profiles: Mapping[str, float] = {}
    wrong: Wrong = lambda message, *keys: BadSetting(message)


def layers() -> tuple[Layer, ...]:
    """What is set beside the code, the stronger first."""
    file = read_file()
    return (_environment(), _written(file) if file else Layer())


def _written(file: File) -> Layer:
    _register(file)
    said: dict[str, Any] = {}
    for key, value in file.content.items():
        name = OLD_NAMES.get(key, key)
        if name in CHOICES:
            said[name] = _chosen(partial(_wrong_at, file, key), name, value)
        elif key not in TABLES:
            raise file.wrong(str(unknown("setting", key, (*CHOICES, *TABLES))), key)
    return Layer(
        **said,
        budget={key: _figure(file.wrong, key, value) for key, value in file.table("budget").items()},
        profiles={key: _percent(file.wrong, key, value) for key, value in file.table("profiles").items()},
        wrong=file.wrong,
    )


def _wrong_at(file: File, key: str, message: str, name: str, *keys: str, earlier: int = 0) -> BadSetting:
    """The error for a mistake in a setting, which the file may call by its old name."""
    return file.wrong(message, key, *keys, earlier=earlier)


def _environment() -> Layer:
    said: dict[str, Any] = {}
    budget: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if not variable.startswith("FANFOLD_") or not text:
            continue
        key = variable.removeprefix("FANFOLD_").lower()
        key = OLD_NAMES.get(key, key)
        if key in CHOICES:
            value = [name.strip() for name in text.split(",")] if key in SEVERAL else text
            said[key] = _chosen(_wrong_variable, key, value)
        elif key in FIGURES:
            budget[key] = _figure(_wrong_variable, key, _number(text))
        elif near := nearest(key, (*CHOICES, *FIGURES), 0.8):
            raise BadSetting(f"There is no variable {variable}. Did you mean FANFOLD_{near.upper()}?")
    return Layer(**said, budget=budget, wrong=_wrong_variable)


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


def _chosen(wrong: Wrong, key: str, value: Any) -> Any:
    """What a setting chooses; a mistake is told with its place."""
    from fanfold.config import naming  # late: most programs say everything in code

    chosen: dict[str, Callable[[Any], Any]] = {
        "preset": naming.preset_named,
        "strategy": naming.strategies_named,
        "filters": naming.filters_named,
        "meter": naming.meter_named,
    }
    choose: Callable[[Any], Any] = chosen.get(key, _word)
    try:
        return choose(value)
    except BadInput as error:
        named = error.key if isinstance(error, BadSetting) else None
        if named is None:
            raise wrong(str(error), key) from error
        raise wrong(str(error), key, named, earlier=_earlier(choose, value, named)) from error


def _earlier(choose: Callable[[Any], Any], value: Any, key: str) -> int:
    """How many tables of a list have this key before the one that cannot be chosen."""
    having = 0
    for one in value if isinstance(value, list) else ():
        try:
            choose(one)
        except BadInput:
            break
        having += isinstance(one, Mapping) and key in one
    return having


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting(f"This is a name, not {value!r}.")
    return value


def _figure(wrong: Wrong, key: str, value: Any) -> float:
    if key not in FIGURES:
        raise wrong(str(unknown("setting of a budget", key, FIGURES)), "budget", key)
    share, least = key in ("trigger", "target"), 0 if key in ("reserve", "gain") else 1
    number = isinstance(value, int | float if share else int) and not isinstance(value, bool)
    if not number or (value <= 0 if share else value < least):
        kind = "a share of the room, or tokens" if share else "a whole number" + " above nought" * least
        raise wrong(f"{key} is {kind}, not {value!r}.", "budget", key)
    return value  # type: ignore[no-any-return]


def _percent(wrong: Wrong, profile: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"The threshold of {profile!r} is a percentage, or -1 to inherit; not {value!r}."
        raise wrong(message, "profiles", profile)
    return value


def find_model(name: str) -> Model:
    """What is known about a model: from the settings file, from code, or from the table; else `UnknownModel`."""
    register_models()
    return models.find(name)


def register_models() -> None:
    """Make the models of the settings file known; they go before the table."""
    file = read_file()
    if file is not None:
        _register(file)


def _register(file: File) -> None:
    for name, fields in file.table("models").items():
        model = _model(file, name, fields)
        if models.lookup(name) != model:
            models.register(model)


def _model(file: File, name: str, fields: Any) -> Model:
    known = [field for field in Model.__struct_fields__ if field != "name"]
    if not isinstance(fields, Mapping):
        raise file.wrong(f'"{name}" is a table: [models."{name}"].', "models", name)
    for field in fields:
        if field not in known:
            raise file.wrong(str(unknown("setting of a model", field, known)), "models", name, field)
    try:
        return msgspec.convert({"name": name, **fields}, Model)
    except ValueError as error:
        found = re.search(r"at `\$\.(\w+)`", str(error))
        message = f'[models."{name}"]: {str(error).rstrip(".")}.'
        raise file.wrong(message, "models", name, *(found.groups() if found else ())) from error
