"""Tool definitions of Gemini, which has words of its own for schemas; all others take JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanfold.dialects.gemini.names import camel
from fanfold.dialects.registry import Body
from fanfold.dialects.tools import BuiltIn, Form, Function, Naming, Tool, function, given

NAMING = Naming("a-zA-Z0-9_.:-", 64, first="a-zA-Z_")
_BUILT_IN = (
    "codeExecution", "computerUse", "fileSearch", "googleMaps", "googleSearch", "googleSearchRetrieval",
    "retrieval", "urlContext",
)  # fmt: skip
_COUNTS = {f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")}


def _declares(tool: Body) -> bool:
    match tool:
        case {"functionDeclarations": list()} | {"function_declarations": list()}:
            return True
    return False


def _provides(tool: Body) -> bool:
    known = all(camel(key) in _BUILT_IN for key in tool)
    return known and bool(tool) and not isinstance(tool.get("type"), str)


def _read(tool: Body) -> Iterator[Tool]:
    for key, value in tool.items():
        if camel(key) != "functionDeclarations":
            yield BuiltIn(key)
            continue
        for declared in value if isinstance(value, list) else ():
            if not isinstance(declared, Mapping):
                continue
            about = {camel(field): said for field, said in declared.items()}
            if about.get("parameters") is not None:
                about["parameters"] = json_schema(about["parameters"])
            else:
                about["parameters"] = about.pop("parametersJsonSchema", None)
            yield function(about, "parameters")


def _write(tool: Tool, name: str) -> Body | None:
    """As JSON Schema: Gemini's own `parameters` know only some of its words."""
    if not isinstance(tool, Function):
        return None
    takes = isinstance(tool.schema, dict) and tool.schema.keys() - {"type", "additionalProperties"}
    schema = None if not takes or tool.schema.get("properties") == {} else tool.schema
    return given(name=name, description=tool.description, parametersJsonSchema=schema)


FORM = Form(
    NAMING,
    declares=_declares,
    provides=_provides,
    read=_read,
    write=_write,
    around="functionDeclarations",
    strict=False,
)


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
