"""Schemas: which fields a declared state has, and whether a value is of the declared kind.

What was never said is absent. So no field is required, and each one that is there must be of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fanfold.core.errors import AskFailed

Schema = type | dict[str, Any]
State = dict[str, Any]
_WORDS = frozenset(("type", "properties", "additionalProperties", "$ref", "allOf", "anyOf", "oneOf"))
"""Words by one of which a JSON schema is known; without any, a dict names fields and their kinds."""
_DEEPEST = 40


def is_schema(schema: object) -> bool:
    """Whether it declares fields: a msgspec struct, a pydantic model, a JSON schema, or kinds by name."""
    if isinstance(schema, dict):
        return bool(_WORDS & schema.keys()) or (bool(schema) and all(map(_is_kind, schema.values())))
    return isinstance(schema, type) and (
        issubclass(schema, msgspec.Struct) or hasattr(schema, "model_validate")
    )


def schema_of(schema: Schema) -> dict[str, Any]:
    """The JSON schema of a struct, a pydantic model, or of itself."""
    if isinstance(schema, dict):
        return schema
    if issubclass(schema, msgspec.Struct):
        return msgspec.json.schema(schema)
    made: dict[str, Any] = schema.model_json_schema()  # type: ignore[attr-defined]
    return made


def checked(schema: Schema, state: State) -> State:
    """The declared fields of a state; `AskFailed` where one is not of its kind."""
    said = {key: value for key, value in state.items() if value is not None}
    if isinstance(schema, dict):
        return _checked_by_schema(schema, said)
    if issubclass(schema, msgspec.Struct):
        return _checked_by_struct(schema, said)
    return _checked_by_model(schema, said)


def _checked_by_struct(schema: type[msgspec.Struct], state: State) -> State:
    found = {}
    for field in msgspec.structs.fields(schema):
        key = field.encode_name
        try:
            if key in state:
                found[key] = msgspec.to_builtins(msgspec.convert(state[key], field.type, strict=False))
        except msgspec.ValidationError as error:
            raise _unfit(f"{key}: {error}") from error
    return found


def _checked_by_model(schema: Any, state: State) -> State:
    declared = schema_of(schema).get("properties", {})
    said = {key: value for key, value in state.items() if key in declared}
    try:
        schema.model_validate(said)
    except ValueError as error:  # pydantic's own is one; it is not imported here
        wrong = [one for one in getattr(error, "errors", list)() if not _never_said(one)]
        if wrong or not hasattr(error, "errors"):
            raise _unfit(str(error)) from error
    return said


def _never_said(error: Mapping[str, Any]) -> bool:
    return error.get("type") == "missing" and len(error.get("loc", ())) == 1


def _checked_by_schema(schema: dict[str, Any], state: State) -> State:
    whole = _resolved(schema, schema) if _WORDS & schema.keys() else {"properties": schema}
    declared: Mapping[str, Any] = whole.get("properties", {})
    other = whole.get("additionalProperties", not declared)
    kinds = {key: declared.get(key, other) for key in state}
    for key, value in state.items():
        if key in declared and not _fits(value, _spelled(kinds[key]), schema):
            raise _unfit(f"{key} is no {_named(kinds[key])}")
    return {key: value for key, value in state.items() if _fits(value, _spelled(kinds[key]), schema)}


def _unfit(why: str) -> AskFailed:
    return AskFailed(f"the state does not fit its schema: {why}")


def _fits(value: object, schema: Any, root: dict[str, Any], depth: int = 0) -> bool:
    """Whether a value is of the kind a JSON schema wants; words that are not known here want nothing."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema is not False
    wanted = _resolved(schema, root)

    def inner(value: object, schema: Any) -> bool:
        return _fits(value, schema, root, depth + 1)

    return all(test(value, wanted[word], inner) for word, test in _TESTS.items() if word in wanted)


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema, looked up where it only refers to another of the same document."""
    for _ in range(_DEEPEST):
        if not isinstance(schema.get("$ref"), str):
            break
        found: Any = root
        for step in schema["$ref"].removeprefix("#").strip("/").split("/"):
            found = found.get(step) if isinstance(found, dict) and step else found
        schema = found if isinstance(found, dict) and found is not root else {}
    return schema


Inner = Callable[[object, Any], bool]
_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    ),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _of_kind(value: object, wanted: Any, inner: Inner) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    return any(_KINDS[name](value) if name in _KINDS else True for name in map(str, names))


def _items(value: object, wanted: Any, inner: Inner) -> bool:
    return not isinstance(value, list) or all(inner(one, wanted) for one in value)


def _properties(value: object, wanted: Any, inner: Inner) -> bool:
    if not isinstance(value, dict) or not isinstance(wanted, dict):
        return True
    return all(inner(value[key], kind) for key, kind in wanted.items() if value.get(key) is not None)


def _any_of(value: object, wanted: Any, inner: Inner) -> bool:
    return not isinstance(wanted, list) or any(inner(value, one) for one in wanted)


_TESTS: dict[str, Callable[[object, Any, Inner], bool]] = {
    "type": _of_kind,
    "enum": lambda value, wanted, inner: not isinstance(wanted, list) or value in wanted,
    "const": lambda value, wanted, inner: value == wanted,
    "items": _items,
    "properties": _properties,
    "anyOf": _any_of,
    "oneOf": _any_of,
    "allOf": lambda value, wanted, inner: (
        not isinstance(wanted, list) or all(inner(value, w) for w in wanted)
    ),
}


def _is_kind(value: object) -> bool:
    return value in _KINDS if isinstance(value, str) else isinstance(value, dict)


def _spelled(kind: Any) -> Any:
    """A kind that is given by its name only, as a schema."""
    return {"type": kind} if isinstance(kind, str) else kind


def _named(kind: Any) -> str:
    wanted = kind if isinstance(kind, str) else kind.get("type") if isinstance(kind, dict) else None
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted or "value of its schema")
