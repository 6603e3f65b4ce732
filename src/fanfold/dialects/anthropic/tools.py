"""Tool definitions of Anthropic."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.dialects.registry import Body
from fanfold.dialects.tools import NOTHING, Form, Function, Naming, Tool, built_in, function, given
from fanfold.text.patterns import pattern

NAMING = Naming("a-zA-Z0-9_-", 128)
_DATED = pattern(r".*_20\d{6}")
"""The types of tools that the provider has, such as `bash_20250124`."""


def _provides(tool: Body) -> bool:
    kind = tool.get("type")
    return isinstance(kind, str) and _DATED.fullmatch(kind) is not None


def _read(tool: Body) -> Iterator[Tool]:
    runs = tool.get("type") in (None, "custom") and isinstance(tool.get("name"), str)
    yield function(tool, "input_schema") if runs else built_in(tool)


def _write(tool: Tool, name: str) -> Body | None:
    if not isinstance(tool, Function):
        return None
    schema = {"type": "object", **tool.schema} if isinstance(tool.schema, dict) else NOTHING
    return given(name=name, description=tool.description, input_schema=schema, strict=tool.strict)


FORM = Form(
    NAMING,
    declares=lambda tool: "input_schema" in tool and isinstance(tool.get("name"), str),
    provides=_provides,
    read=_read,
    write=_write,
)
