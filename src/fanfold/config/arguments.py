"""What a function is called with by settings: each argument is one that it takes, and of the kind it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from fanfold.core.errors import BadSetting, unknown


def check(name: str, make: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise `BadSetting` for the first argument that a maker of this name does not take, or not as it is."""
    taken = inspect.signature(make).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    kinds = _kinds(make)
    for key, value in given.items():
        if key not in taken and not takes_any:
            raise unknown(f"setting of {name}", key, taken)
        if key in kinds:
            _check_kind(f"{key} of {name}", key, value, kinds[key])


def _kinds(make: Callable[..., Any]) -> Mapping[str, Any]:
    """The declared types of the arguments, as far as they can be found out."""
    try:
        return get_type_hints(make)
    except Exception:  # a stranger's annotations may name what is not there
        return {}


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
