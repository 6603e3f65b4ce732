"""Mistakes in a table of settings: names that nobody knows, values of another kind. No value is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, get_args, get_origin

import msgspec

from fanfold.core.errors import unknown
from fanfold.text.sizes import SIZED

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text in quotes",
    tuple: "a list of texts in quotes",
    dict: "a table",
}


class Mistake(msgspec.Struct, frozen=True):
    """Something that is wrong, and the keys that lead to it."""

    place: tuple[str, ...]
    sentence: str


def misread(told: Mapping[str, Any], kind: type[msgspec.Struct], place: tuple[str, ...]) -> Iterator[Mistake]:
    """What is wrong in a table as it was written, which stands in this place."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    head = f"[{'.'.join(place)}]"
    for name, value in told.items():
        if name not in fields:
            yield Mistake((*place, name), str(unknown(f"setting of {head}", name, tuple(fields))))
        else:
            yield from _misread_value(value, fields[name].type, (*place, name))
    for name, field in fields.items():
        if field.required and name not in told:
            yield Mistake(place, f"{head} has no {name}: add one.")


def _misread_value(value: Any, kind: Any, place: tuple[str, ...]) -> Iterator[Mistake]:
    if get_origin(kind) is dict and isinstance(value, Mapping):
        inner = get_args(kind)[1]
        for name, one in value.items():
            yield from _misread_value(one, inner, (*place, name))
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        yield from misread(value, kind, place)
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            size = ', or a size such as "16k"' * (place[-1] in SIZED)
            yield Mistake(place, f"{place[-1]} is {_in_words(kind)}{size}.")


def _in_words(kind: Any) -> str:
    """What a value has to be."""
    kinds = [one for one in get_args(kind) if one is not NoneType]
    if kinds and all(isinstance(one, str) for one in kinds):
        return " or ".join(f'"{one}"' for one in kinds)
    found = kinds[0] if kinds and get_origin(kind) not in (dict, tuple) else get_origin(kind) or kind
    return _WORDS.get(found, "a table")
