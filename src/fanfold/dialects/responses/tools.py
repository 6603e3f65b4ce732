"""Tool definitions of Responses."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.dialects.openai import NAMING, freeform
from fanfold.dialects.registry import Body
from fanfold.dialects.tools import NOTHING, Form, Freeform, Function, Tool, built_in, function, given

_BUILT_IN = (
    "apply_patch", "code_interpreter", "computer_use_preview", "file_search", "image_generation", "local_shell",
    "mcp", "shell", "tool_search", "web_search", "web_search_preview",
)  # fmt: skip


def _declares(tool: Body) -> bool:
    named = isinstance(tool.get("name"), str) and "input_schema" not in tool
    match tool:
        case {"type": "function"} | {"type": "custom", "format": _} if named:
            return True
        case {"type": "namespace", "tools": list()}:
            return True
    return False


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
        case Function(description=about, schema=schema, strict=strict):
            takes = {"parameters": NOTHING if schema is None else schema, "strict": bool(strict)}
            return {"type": "function", **given(name=name, description=about), **takes}
        case Freeform(description=about, format=form):
            return {"type": "custom", **given(name=name, description=about, format=form)}
    return None


FORM = Form(
    NAMING, declares=_declares, provides=lambda tool: tool.get("type") in _BUILT_IN, read=_read, write=_write
)
