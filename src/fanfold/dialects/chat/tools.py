"""Tool definitions of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.dialects.openai import NAMING, freeform
from fanfold.dialects.registry import Body
from fanfold.dialects.tools import Form, Freeform, Function, Tool, built_in, function, given


def _declares(tool: Body) -> bool:
    match tool:
        case {"function": {"name": str()}} | {"custom": {"name": str()}}:
            return True
    return False


def _read(tool: Body) -> Iterator[Tool]:
    match tool:
        case {"type": "function", "function": {"name": str()} as inner}:
            yield function(inner, "parameters")
        case {"type": "custom", "custom": {"name": str()} as custom}:
            yield freeform(custom)
        case _:
            yield built_in(tool)


def _write(tool: Tool, name: str) -> Body | None:
    match tool:
        case Function(description=about, schema=schema, strict=strict):
            inner = given(name=name, description=about, parameters=schema, strict=strict)
            return {"type": "function", "function": inner}
        case Freeform(description=about, format=form):
            match form:
                case {"type": "grammar", **grammar}:
                    form = {"type": "grammar", "grammar": grammar}
            return {"type": "custom", "custom": given(name=name, description=about, format=form)}
    return None


FORM = Form(NAMING, declares=_declares, provides=lambda tool: False, read=_read, write=_write)
