"""Tool definitions: read in the form of any dialect, written in that of another.

What the caller runs itself carries over: name, description, schema, strictness. What only one provider can run (its
web search, its shell) is left out elsewhere, and said so. Tools of the dialect that is spoken stay as they came.
The form of a tool tells its dialect (`shapes.py`), whatever dialect it was given in.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fanfold.core.record import Frame
from fanfold.dialects import names as dialects
from fanfold.dialects.naming import ANTHROPIC, GEMINI, OPENAI, Naming
from fanfold.dialects.schemas import camel, json_schema
from fanfold.dialects.shapes import BARE, has_schema, is_foreign, shape

Body = Mapping[str, Any]
_NOTHING = {"type": "object", "properties": {}}
"""The schema of a function that takes nothing, where one has to be given."""


class Function(msgspec.Struct, frozen=True):
    """A tool that the caller runs."""

    name: str
    description: str | None = None
    schema: Any = None
    """What it takes, as JSON Schema; None where it takes nothing."""
    strict: bool | None = None
    more: tuple[str, ...] = ()
    """What else was said of it, in words that only its own provider knows."""


class Freeform(msgspec.Struct, frozen=True):
    """A tool that takes plain text, which only OpenAI's models can call."""

    name: str
    description: str | None = None
    format: Any = None


class BuiltIn(msgspec.Struct, frozen=True):
    """A tool that only its provider has."""

    name: str


Tool = Function | Freeform | BuiltIn


def called(frame: Frame, dialect: str) -> list[str]:
    """The names of a frame's functions, whatever form each is in; one whose form tells nothing is of this dialect."""
    found = (tool for body in frame.tools for tool in _read(body, shape(body) or dialect))
    return [tool.name for tool in found if not isinstance(tool, BuiltIn)]


def translated(frame: Frame, dialect: str) -> tuple[Frame, tuple[str, ...]]:
    """The frame with its tools as a dialect writes them, and what has no place there."""
    if frame.dialect == dialect or frame.dialect not in FORMS or dialect not in FORMS:
        return frame, ()
    found = [tool for body in frame.tools for tool in _read(body, shape(body) or frame.dialect)]
    tools, left_out = written(found, dialect)
    return replace(frame, tools=tools, dialect=dialect), left_out


def spoken(frame: Frame, dialect: str) -> tuple[Frame, tuple[str, ...]]:
    """The frame as a request in this dialect takes it: tools that were given in the form of another are written anew.

    They stand behind those that came in this dialect's own form, which stay as they came.
    """
    frame, left_out = translated(frame, dialect)
    foreign = [is_foreign(body, dialect) for body in frame.tools] if dialect in FORMS else []
    if not any(foreign):
        return frame, left_out
    own = tuple(body for body, other in zip(frame.tools, foreign, strict=True) if not other)
    taken = frozenset(called(replace(frame, tools=own), dialect))
    others = (body for body, other in zip(frame.tools, foreign, strict=True) if other)
    found = [tool for body in others for tool in _read(body, shape(body) or dialect)]
    tools, more = written(found, dialect, taken)
    return replace(frame, tools=(*own, *tools)), (*left_out, *more)


def _read(body: Body, form: str) -> Iterator[Tool]:
    return _read_bare(body) if form == BARE else FORMS[form].read(body)


def written(
    tools: Iterable[Tool], dialect: str, taken: Container[str] = ()
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Tools as a dialect writes them, and what of them has no place there; no name is given twice."""
    form = FORMS[dialect]
    bodies: dict[str, Any] = {}
    left_out: list[str] = []
    for tool in tools:
        name = form.naming.fitted(tool.name)
        body = None if name in bodies or name in taken else form.write(tool, name)
        if body is not None:
            bodies[name] = body
        left_out += [f"tool {tool.name}: {reason}" for reason in _reasons(tool, name, body, dialect)]
    wrapped = ({form.around: list(bodies.values())},) if form.around and bodies else tuple(bodies.values())
    return wrapped, tuple(left_out)


def _reasons(tool: Tool, name: str, body: Any, dialect: str) -> Iterator[str]:
    match tool:
        case BuiltIn():
            yield "left out, only its own provider has it"
        case _ if body is None:
            yield f"left out, there is no form for it in {dialect}, or there is another of its name"
        case Function(strict=strict, more=more):
            lost = (*more, "strict") if strict and not FORMS[dialect].strict else more
            yield from (f"{field} has no place in {dialect}" for field in lost)
    if body is not None and name != tool.name:
        yield f"it is called {name} in {dialect}"


def _read_chat(tool: Body) -> Iterator[Tool]:
    match tool:
        case {"type": "function", "function": {"name": str()} as function}:
            yield _function(function, "parameters")
        case {"type": "custom", "custom": {"name": str()} as custom}:
            yield _freeform(custom)
        case _:
            yield _built_in(tool)


def _read_responses(tool: Body) -> Iterator[Tool]:
    match tool:
        case {"type": "function", "name": str()}:
            yield _function(tool, "parameters")
        case {"type": "custom", "name": str()}:
            yield _freeform(tool)
        case {"type": "namespace", "tools": list(inner)}:
            for one in inner:
                yield from _read_responses(one)
        case _:
            yield _built_in(tool)


def _read_anthropic(tool: Body) -> Iterator[Tool]:
    if tool.get("type") in (None, "custom") and isinstance(tool.get("name"), str):
        yield _function(tool, "input_schema")
    else:
        yield _built_in(tool)


def _read_bare(tool: Body) -> Iterator[Tool]:
    """A declaration without anything around it: of a function as Gemini has it, or of a tool of an MCP server."""
    if "inputSchema" in tool:
        yield _function(tool, "inputSchema")
    elif has_schema(tool):
        yield from _read_gemini({"functionDeclarations": [tool]})
    else:
        yield _function({**tool, "parameters": _NOTHING}, "parameters")


def _read_gemini(tool: Body) -> Iterator[Tool]:
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
            yield _function(about, "parameters")


def _function(body: Body, schema: str) -> Function:
    said = {key for key, value in body.items() if value is not None}
    more = said - {"type", "name", "description", schema, "strict", "cache_control"}
    return Function(
        str(body.get("name") or ""),
        body.get("description"),
        body.get(schema),
        body.get("strict"),
        tuple(sorted(more)),
    )


def _freeform(body: Body) -> Freeform:
    return Freeform(str(body["name"]), body.get("description"), _flat(body.get("format")))


def _built_in(tool: Body) -> BuiltIn:
    return BuiltIn(str(tool.get("name") or tool.get("type") or "unnamed"))


def _write_chat(tool: Tool, name: str) -> Body | None:
    match tool:
        case Function(schema=schema, strict=strict):
            parameters = {} if schema is None else {"parameters": schema}
            rule = {} if strict is None else {"strict": strict}
            return {"type": "function", "function": {**_head(tool, name), **parameters, **rule}}
        case Freeform(format=form):
            shape = {} if form is None else {"format": _nested(form)}
            return {"type": "custom", "custom": {**_head(tool, name), **shape}}
        case _:
            return None


def _write_responses(tool: Tool, name: str) -> Body | None:
    """Responses are strict unless told otherwise; the other dialects are not."""
    match tool:
        case Function(schema=schema, strict=strict):
            parameters = {"parameters": _NOTHING if schema is None else schema, "strict": bool(strict)}
            return {"type": "function", **_head(tool, name), **parameters}
        case Freeform(format=form):
            return {"type": "custom", **_head(tool, name), **({} if form is None else {"format": form})}
        case _:
            return None


def _write_anthropic(tool: Tool, name: str) -> Body | None:
    if not isinstance(tool, Function):
        return None
    schema = {"type": "object", **tool.schema} if isinstance(tool.schema, dict) else _NOTHING
    rule = {} if tool.strict is None else {"strict": tool.strict}
    return {**_head(tool, name), "input_schema": schema, **rule}


def _write_gemini(tool: Tool, name: str) -> Body | None:
    """As JSON Schema: Gemini's own `parameters` know only some of its words."""
    if not isinstance(tool, Function):
        return None
    takes = isinstance(tool.schema, dict) and tool.schema.keys() - {"type", "additionalProperties"}
    empty = not takes or tool.schema.get("properties") == {}
    return {**_head(tool, name), **({} if empty else {"parametersJsonSchema": tool.schema})}


def _head(tool: Function | Freeform, name: str) -> dict[str, Any]:
    return {"name": name, **({} if tool.description is None else {"description": tool.description})}


def _flat(form: Any) -> Any:
    """A grammar as Responses write it."""
    match form:
        case {"type": "grammar", "grammar": dict(grammar)}:
            return {"type": "grammar", **grammar}
    return form


def _nested(form: Any) -> Any:
    """A grammar as Chat Completions write it."""
    match form:
        case {"type": "grammar", **grammar}:
            return {"type": "grammar", "grammar": grammar}
    return form


class Form(NamedTuple):
    """How a dialect reads and writes tools."""

    read: Callable[[Body], Iterator[Tool]]
    write: Callable[[Tool, str], Body | None]
    naming: Naming
    around: str | None = None
    """The field of one object in which all functions stand together."""
    strict: bool = True
    """Whether it can be said that a schema is to be kept to strictly."""


FORMS: dict[str, Form] = {
    dialects.CHAT: Form(_read_chat, _write_chat, OPENAI),
    dialects.RESPONSES: Form(_read_responses, _write_responses, OPENAI),
    dialects.ANTHROPIC: Form(_read_anthropic, _write_anthropic, ANTHROPIC),
    dialects.GEMINI: Form(_read_gemini, _write_gemini, GEMINI, around="functionDeclarations", strict=False),
}
