"""Tool definitions of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.dialects.openai import NAMING, freeform
from fanfold.dialects.tools import Body, Form, Freeform, Function, Tool, built_in, function, head


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
        case Function(schema=schema, strict=strict):
            parameters = {} if schema is None else {"parameters": schema}
            rule = {} if strict is None else {"strict": strict}
            return {"type": "function", "function": {**head(tool, name), **parameters, **rule}}
        case Freeform(format={"type": "grammar", **grammar}):
            form = {"type": "grammar", "grammar": grammar}
            return {"type": "custom", "custom": {**head(tool, name), "format": form}}
        case Freeform(format=form):
            return {
                "type": "custom",
                "custom": {**head(tool, name), **({} if form is None else {"format": form})},
            }
    return None


FORM = Form(NAMING, declares=_declares, provides=lambda tool: False, read=_read, write=_write)
