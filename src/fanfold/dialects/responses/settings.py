"""The parameters of the Responses API, in nobody's words and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.http.parameters import (
    Fields,
    ReplyFormat,
    ReplySettings,
    ToolChoice,
    effort_of,
    given,
    read_effort,
    read_schema,
    texts,
    unplaced,
)
from fanfold.dialects.registry import Body


def read_settings(params: Mapping[str, Any]) -> tuple[ReplySettings, list[str]]:
    """What the parameters say, and the names of those that mean nothing to other providers."""
    fields = Fields(params)
    fields.drop("model", "stream", "stream_options")
    thinks = Fields(fields.take("reasoning", dict) or {}, "reasoning.")
    effort, summary = thinks.take("effort", str), thinks.take("summary", str)
    told = Fields(fields.take("text", dict) or {}, "text.")
    settings = ReplySettings(
        limit=fields.take("max_output_tokens", int),
        temperature=fields.take("temperature", float),
        top_p=fields.take("top_p", float),
        choice=read_choice(fields.take("tool_choice", str) or fields.take("tool_choice", dict)),
        parallel=fields.take("parallel_tool_calls", bool),
        effort=read_effort(effort),
        thoughts=True if summary else None,
        format=_read_format(told.take("format", dict)),
    )
    return settings, [*fields.left, *thinks.left, *told.left]


def read_choice(choice: Any) -> ToolChoice | None:
    """Which tools may be called; one that only the provider has is no choice elsewhere."""
    match choice:
        case "auto" | "none":
            return ToolChoice(choice)
        case "required":
            return ToolChoice("any")
        case {"type": "function" | "custom", "name": str(name)}:
            return ToolChoice("any", (name,))
        case {"type": "allowed_tools", "tools": list(tools), **rest}:
            names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
            return ToolChoice("any" if rest.get("mode") == "required" else "auto", texts(names))
    return None


def _read_format(form: Body | None) -> ReplyFormat | None:
    match form:
        case {"type": "json_object"}:
            return ReplyFormat()
        case {"type": "json_schema", "schema": dict(schema), **rest}:
            return read_schema(schema, rest)
    return None


def write_settings(settings: ReplySettings) -> tuple[dict[str, Any], list[str]]:
    """The parameters that say the same, and what has no place here; the limit is written by the dialect."""
    effort = effort_of(settings)
    thinks = given(
        effort="xhigh" if effort == "max" else effort, summary="auto" if settings.thoughts else None
    )
    written = given(
        temperature=settings.temperature,
        top_p=settings.top_p,
        tool_choice=write_choice(settings.choice) if settings.choice else None,
        parallel_tool_calls=settings.parallel,
        reasoning=thinks or None,
        text={"format": _write_format(settings.format)} if settings.format else None,
    )
    names = ("top_k", "stops", "seed", "frequency_penalty", "presence_penalty", "replies")
    return written, unplaced(settings, *names)


def write_choice(choice: ToolChoice) -> Any:
    """Which tools may be called, as this dialect says it."""
    if not choice.names or choice.mode == "none":
        return "required" if choice.mode == "any" else choice.mode
    named = [{"type": "function", "name": name} for name in choice.names]
    if choice.mode == "any" and len(named) == 1:
        return named[0]
    return {"type": "allowed_tools", "mode": "required" if choice.mode == "any" else "auto", "tools": named}


def _write_format(form: ReplyFormat) -> Body:
    if form.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", **given(name=form.name or "reply", schema=form.schema, strict=form.strict)}
