"""Plain JSON as it travels, and the few questions every API asks of it."""

import json
from collections.abc import Iterator
from typing import Any

Wire = dict[str, Any]


def canonical(value: Any) -> str:
    """The value as compact JSON in the order it was written, so that moved keys are another text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def objects(value: Any) -> list[Wire]:
    """The objects of a list; anything else is no list of objects and yields none."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def section(value: Any, key: str) -> Wire:
    """The object under a key; an empty one where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def spelled(value: Wire, key: str) -> Any:
    """What stands under a key in camel case or in snake case: Gemini reads both."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    return value.get(key, value.get(snake))


def camel(key: str) -> str:
    """A key in camel case, however it came."""
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def without(value: Wire, *keys: str) -> Wire:
    """The object without some keys."""
    return {key: item for key, item in value.items() if key not in keys}


def pieces(text: str, most: int = 4) -> list[str]:
    """The text in up to `most` pieces of about the same length, as a stream would bring it."""
    size = max(1, -(-len(text) // most))
    return [text[start : start + size] for start in range(0, len(text), size)]


def with_places(value: Any) -> Iterator[tuple[int, Wire]]:
    """The objects of a list with their places."""
    yield from enumerate(objects(value))


def a_kind(value: Any) -> str:
    """What JSON calls the value, with its article, as OpenAI's errors do."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def references(body: Wire) -> Iterator[str]:
    """The tools that Anthropic's messages refer to, in the results of calls and of its own search."""
    for message in objects(body.get("messages")):
        for block in objects(message.get("content")):
            content = block.get("content")
            inner = content.get("tool_references") if isinstance(content, dict) else content
            yield from (
                str(one.get("tool_name")) for one in objects(inner) if one.get("type") == "tool_reference"
            )
