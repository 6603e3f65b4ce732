"""Names on Gemini's wire: fields are spelled in camel case or in snake case, functions by a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DIALECT = "gemini"


def camel(key: str) -> str:
    """A field's name in camel case, in whichever case it came."""
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), key)


def snake(key: str) -> str:
    """A field's name in snake case, in whichever case it came."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


_SNAKE = {
    name: snake(name)
    for name in (
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "mimeType",
        "fileUri",
        "thoughtSignature",
        "systemInstruction",
        "generationConfig",
        "maxOutputTokens",
        "finishReason",
        "finishMessage",
        "promptFeedback",
        "blockReason",
        "usageMetadata",
        "willContinue",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "numberValue",
        "boolValue",
        "nullValue",
    )
}


def get_field(body: Mapping[str, Any], name: str) -> Any:
    """What stands under a field's name, in camel case or in snake case."""
    value = body.get(name)
    return body.get(_SNAKE[name]) if value is None else value


def spelling(body: Mapping[str, Any], name: str) -> str:
    """How a field is spelled here; in camel case if it is not here."""
    return _SNAKE[name] if _SNAKE[name] in body and name not in body else name


def without(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The object without some fields, however they are spelled."""
    gone = {*names, *(_SNAKE.get(name, name) for name in names)}
    return {key: value for key, value in body.items() if key not in gone}


def made_up(id: str, name: str) -> bool:
    """Whether a call's id was made from its name, because there was none on the wire."""
    return not id or id == name or (id.startswith(f"{name}#") and id[len(name) + 1 :].isdecimal())


class Ordinals:
    """Ids for calls that have none: the function's name, then name#2, name#3 within one message."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: set[str] | None = None

    def id(self, given: object, name: str) -> str:
        """The id on the wire, or the next one made from the name."""
        taken = self._taken = self._taken or set()
        if isinstance(given, str) and given:
            taken.add(given)
            return given
        id, number = name, 1
        while id in taken:
            number += 1
            id = f"{name}#{number}"
        taken.add(id)
        return id
