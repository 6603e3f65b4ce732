"""Tool definitions of Responses."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.dialects.openai import NAMING, freeform
from fanfold.dialects.tools import NOTHING, Body, Form, Freeform, Function, Tool, built_in, function, head

_BUILT_IN = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)


def _declares(tool: Body) -> bool:
    named = isinstance(tool.get("name"), str) and "input_schema" not in tool
    match tool:
        case {"type": "function"} | {"type": "custom", "format": _} if named:
            return True
        case {"type": "namespace", "tools": list()}:
            return True
    return False


def _provides(tool: Body) -> bool:
    kind = tool.get("type")
    return isinstance(kind, str) and kind in _BUILT_IN


def _read(tool: Body) -> Iterator[Tool]:
    match tool:
        case {"type": "function", "name": str()}:
            yield function(tool, "parameters")
        case {"type": "custom", "name": str()}:
            yield freeform(tool)
        case {"type": "namespace", "tools": list(inner)}:
            for one in inner:
                yield from _read(one)
        case _:
            yield built_in(tool)


def _write(tool: Tool, name: str) -> Body | None:
    """Responses is strict unless told otherwise; the other dialects are not."""
    match tool:
        case Function(schema=schema, strict=strict):
            parameters = {"parameters": NOTHING if schema is None else schema, "strict": bool(strict)}
            return {"type": "function", **head(tool, name), **parameters}
        case Freeform(format=form):
            return {"type": "custom", **head(tool, name), **({} if form is None else {"format": form})}
    return None


FORM = Form(NAMING, declares=_declares, provides=_provides, read=_read, write=_write)
