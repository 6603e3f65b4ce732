"""Tool definitions: read in the form of any dialect, written in that of another, and the rules on them.

What the caller runs itself carries over: name, description, schema, strictness. What only one provider can run (its
web search, its shell) is left out elsewhere, and said so. Tools of the dialect that is spoken stay as they came.
The form of a tool tells its dialect, whatever dialect it was given in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fanfold.core.record import Frame
from fanfold.dialects.registry import DIALECTS, Body, form
from fanfold.dialects.rules import Breaches, Params

NOTHING = {"type": "object", "properties": {}}
"""The schema of a function that takes nothing, where one has to be given."""
BARE = "bare"
"""No dialect's own: a declaration alone, with its name, and its schema if it takes anything."""
_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema")
_BARE_FIELDS = frozenset({"type", "name", "description", "strict", "cache_control", *_SCHEMAS})
"""Fields of a declaration of a function that takes nothing; those of a schema have no value there."""


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


class Naming:
    """What a provider's functions may be called."""

    def __init__(self, signs: str, most: int, first: str | None = None) -> None:
        self._name = re.compile(f"[{first or signs}][{signs}]{{0,{most - 1}}}")
        self._odd = re.compile(f"[^{signs}]")
        self._most = most
        self._matches = lru_cache(maxsize=512)(self._name.fullmatch)

    def allows(self, name: object) -> bool:
        """Whether a function may be called so."""
        return isinstance(name, str) and self._matches(name) is not None

    def fit(self, name: str) -> str:
        """The name in signs that are taken: a good one stays as it is, the same always becomes the same."""
        if self.allows(name):
            return name
        signs = self._odd.sub("_", name) or "unnamed"
        return (signs if self.allows(signs[:1]) else f"_{signs}")[: self._most]


class Form(NamedTuple):
    """How a dialect reads and writes tool definitions."""

    naming: Naming
    declares: Callable[[Body], bool]
    """Whether a tool that the caller runs is defined in this form."""
    provides: Callable[[Body], bool]
    """Whether only this dialect's provider has the tool."""
    read: Callable[[Body], Iterator[Tool]]
    write: Callable[[Tool, str], Body | None]
    """A tool under a name that the dialect takes; None where it has no form for it."""
    around: str | None = None
    """The field of one object in which all functions stand together."""
    strict: bool = True
    """Whether it can be said that a schema is to be kept to strictly."""


def shape(tool: Any) -> str | None:
    """The dialect in whose form a tool is defined, or `BARE`; None where its form tells nothing."""
    return (_declaring(tool) or _providing(tool)) if isinstance(tool, Mapping) else None


def _declaring(tool: Body) -> str | None:
    """The form of a tool that the caller runs."""
    found = next((name for name in DIALECTS if form(name).declares(tool)), None)
    if found is not None or not isinstance(tool.get("name"), str) or tool.get("type") is not None:
        return found
    takes_nothing = tool.keys() <= _BARE_FIELDS and all(tool.get(key) is None for key in _SCHEMAS)
    return BARE if takes_nothing or _has_schema(tool) else None


def _providing(tool: Body) -> str | None:
    """The dialect of a tool that only its provider runs."""
    return next((name for name in DIALECTS if form(name).provides(tool)), None)


def _has_schema(tool: Body) -> bool:
    return any(isinstance(tool.get(key), dict) for key in _SCHEMAS)


def _is_foreign(tool: Any, dialect: str) -> bool:
    """Whether a tool is to be written anew for this dialect.

    Many hosts speak OpenAI's dialects and have tools of their own: what only a provider can run is left to them there,
    unless it is certain that it is Anthropic's or Google's.
    """
    if not isinstance(tool, Mapping):
        return False
    declared = _declaring(tool)
    if declared is not None:
        return declared != dialect
    provided = _providing(tool)
    return provided is not None and provided.partition(".")[0] != dialect.partition(".")[0]


def function_names(frame: Frame, dialect: str) -> list[str]:
    """The names of a frame's functions, whatever form each is in; one whose form tells nothing is of this dialect."""
    return [tool.name for tool in functions(frame.tools, dialect) if not isinstance(tool, BuiltIn)]


def functions(bodies: Iterable[Any], dialect: str) -> list[Tool]:
    """Tools as they are defined in any form; one whose form tells nothing is of this dialect."""
    return list(_read(bodies, dialect))


def translate(frame: Frame, dialect: str) -> tuple[Frame, tuple[str, ...]]:
    """The frame with its tools as a dialect writes them, and what has no place there."""
    if frame.dialect == dialect or frame.dialect not in DIALECTS or dialect not in DIALECTS:
        return frame, ()
    tools, left_out = write(_read(frame.tools, frame.dialect), dialect)
    return replace(frame, tools=tools, dialect=dialect), left_out


def localize(frame: Frame, dialect: str) -> tuple[Frame, tuple[str, ...]]:
    """The frame as a request in this dialect takes it: tools that were given in the form of another are written anew.

    They stand behind those that came in this dialect's own form, which stay as they came.
    """
    frame, left_out = translate(frame, dialect)
    if not frame.tools or dialect not in DIALECTS:
        return frame, left_out
    others = [body for body in frame.tools if _is_foreign(body, dialect)]
    if not others:
        return frame, left_out
    own = tuple(body for body in frame.tools if not _is_foreign(body, dialect))
    taken = frozenset(function_names(replace(frame, tools=own), dialect))
    tools, more = write(_read(others, dialect), dialect, taken)
    return replace(frame, tools=(*own, *tools)), (*left_out, *more)


def _read(bodies: Iterable[Any], dialect: str) -> Iterator[Tool]:
    for body in bodies:
        found = shape(body) or dialect
        if found != BARE:
            yield from form(found).read(body)
        elif "inputSchema" in body:  # a tool of an MCP server
            yield function(body, "inputSchema")
        elif _has_schema(body):  # a declaration as Gemini has it, without what stands around it
            yield from form("gemini").read({"functionDeclarations": [body]})
        else:
            yield function({**body, "parameters": NOTHING}, "parameters")


def write(
    tools: Iterable[Tool], dialect: str, taken: Container[str] = ()
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Tools as a dialect writes them, and what of them has no place there; no name is given twice."""
    target = form(dialect)
    bodies: dict[str, Any] = {}
    left_out: list[str] = []
    for tool in tools:
        name = target.naming.fit(tool.name)
        body = None if name in bodies or name in taken else target.write(tool, name)
        if body is not None:
            bodies[name] = body
        left_out += [f"tool {tool.name}: {reason}" for reason in _reasons(tool, name, body, dialect)]
    written = tuple(bodies.values())
    wrapped = ({target.around: list(written)},) if target.around and written else written
    return wrapped, tuple(left_out)


def _reasons(tool: Tool, name: str, body: Any, dialect: str) -> Iterator[str]:
    match tool:
        case BuiltIn():
            yield "left out, only its own provider has it"
        case _ if body is None:
            yield f"left out, there is no form for it in {dialect}, or there is another of its name"
        case Function(strict=strict, more=more):
            lost = (*more, "strict") if strict and not form(dialect).strict else more
            yield from (f"{field} has no place in {dialect}" for field in lost)
    if body is not None and name != tool.name:
        yield f"it is called {name} in {dialect}"


def function(body: Body, schema: str) -> Function:
    """A function from its definition, with what it takes under this name."""
    said = {key for key, value in body.items() if value is not None}
    return Function(
        name=str(body.get("name") or ""),
        description=body.get("description"),
        schema=body.get(schema),
        strict=body.get("strict"),
        more=tuple(sorted(said - {"type", "name", "description", schema, "strict", "cache_control"})),
    )


def built_in(tool: Body) -> BuiltIn:
    """A tool that only its provider has, by the best name there is."""
    return BuiltIn(str(tool.get("name") or tool.get("type") or "unnamed"))


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


ToolRule = Callable[[Frame, str, Params], Breaches]
"""A rule on tools: only the caller can repair what breaks it, so none is repaired here."""
MOST = 128
"""How many tools OpenAI takes."""


def well_named(frame: Frame, dialect: str, params: Params) -> Breaches:
    """A function is called as its provider permits."""
    odd = [name for name in function_names(frame, dialect) if not form(dialect).naming.allows(name)]
    if odd:
        yield "tools", f"names that the provider does not take: {', '.join(map(repr, odd[:5]))}"


def told_apart(frame: Frame, dialect: str, params: Params) -> Breaches:
    """No two functions have the same name."""
    twice = [name for name, count in Counter(function_names(frame, dialect)).items() if count > 1]
    if twice:
        yield "tools", f"offered twice: {', '.join(map(repr, twice[:5]))}"


def few(frame: Frame, dialect: str, params: Params) -> Breaches:
    """A request offers at most 128 tools."""
    if len(frame.tools) > MOST:
        yield "tools", f"{len(frame.tools)} are offered, {MOST} are taken"


def chosen_tool(params: Params) -> str | None:
    """The function that a request forces the model to call, in the words of any dialect."""
    match params.get("tool_choice"):
        case {"type": "function", "function": {"name": str(name)}}:
            return name
        case {"type": "function" | "tool", "name": str(name)}:
            return name
    return None


def chosen_from(frame: Frame, dialect: str, params: Params) -> Breaches:
    """A tool is chosen only where there are some."""
    if params.get("tool_choice") is not None and not frame.tools:
        yield "tool_choice", "it is given, and no tool is offered"
