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


_FIELDS = (
    "functionCall", "functionResponse", "inlineData", "fileData", "mimeType", "fileUri", "thoughtSignature",
    "systemInstruction", "generationConfig", "maxOutputTokens", "finishReason", "finishMessage", "promptFeedback",
    "blockReason", "usageMetadata", "willContinue", "partialArgs", "jsonPath", "stringValue", "numberValue",
    "boolValue", "nullValue",
)  # fmt: skip
_SNAKE = {name: snake(name) for name in _FIELDS}


def get_field(body: Any, name: str) -> Any:
    """What stands under a field's name, in camel case or in snake case; nothing in what is no object."""
    if not isinstance(body, dict):
        return None
    value = body.get(name)
    return body.get(_SNAKE[name]) if value is None else value


def get_object(body: Any, name: str) -> dict[str, Any] | None:
    """The object that stands under a field's name, if there is one."""
    found = get_field(body, name)
    return found if isinstance(found, dict) else None


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
        self._taken: set[str] = set()

    def id(self, given: object, name: str) -> str:
        """The id on the wire, or the next one made from the name."""
        is_given = isinstance(given, str) and given != ""
        id, number = str(given) if is_given else name, 1
        while id in self._taken and not is_given:
            number += 1
            id = f"{name}#{number}"
        self._taken.add(id)
        return id
