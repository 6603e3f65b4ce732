"""Schemas of what a function takes: Gemini has words of its own for them, all others take JSON Schema."""

from __future__ import annotations

import re
from typing import Any

_COUNTS = {f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")}


def json_schema(schema: Any) -> Any:
    """A schema in Gemini's words as JSON Schema: small letters, null as a type, counts as numbers."""
    if not isinstance(schema, dict):
        return schema
    found = {camel(key): value for key, value in schema.items() if value is not None}
    nullable = found.pop("nullable", False)
    found.pop("propertyOrdering", None)
    found = {key: _keyword(key, value) for key, value in found.items()}
    if nullable and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
        found |= {"enum": [*found["enum"], None]} if isinstance(found.get("enum"), list) else {}
    return found


def _keyword(key: str, value: Any) -> Any:
    match key, value:
        case "type", str(name):
            return name.lower()
        case (("properties" | "$defs" | "defs"), dict()):
            return {name: json_schema(inner) for name, inner in value.items()}
        case (("anyOf" | "prefixItems"), list()):
            return [json_schema(inner) for inner in value]
        case (("items" | "additionalProperties"), dict()):
            return json_schema(value)
        case _, str() if key in _COUNTS and value.isdecimal():
            return int(value)
        case _:
            return value


def camel(key: str) -> str:
    """A field's name in camel case, in whichever case it came."""
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), key)


def snake(key: str) -> str:
    """A field's name in snake case, in whichever case it came."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
