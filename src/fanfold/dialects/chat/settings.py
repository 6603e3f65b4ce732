"""The parameters of Chat Completions, in nobody's words and back."""

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
    newer, older = fields.take("max_completion_tokens", int), fields.take("max_tokens", int)
    replies = fields.take("n", int)
    settings = ReplySettings(
        limit=newer if newer is not None else older,
        temperature=fields.take("temperature", float),
        top_p=fields.take("top_p", float),
        top_k=fields.take("top_k", int),
        stops=texts(fields.take("stop", str) or fields.take("stop", list)),
        seed=fields.take("seed", int),
        frequency_penalty=fields.take("frequency_penalty", float),
        presence_penalty=fields.take("presence_penalty", float),
        replies=None if replies == 1 else replies,
        choice=read_choice(fields.take("tool_choice", str) or fields.take("tool_choice", dict)),
        parallel=fields.take("parallel_tool_calls", bool),
        effort=read_effort(fields.take("reasoning_effort", str)),
        format=_read_format(fields.take("response_format", dict)),
    )
    return settings, fields.left


def read_choice(choice: Any) -> ToolChoice | None:
    """Which tools may be called."""
    match choice:
        case "auto" | "none":
            return ToolChoice(choice)
        case "required":
            return ToolChoice("any")
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice("any", (name,))
        case {"type": "custom", "custom": {"name": str(name)}}:
            return ToolChoice("any", (name,))
        case {"type": "allowed_tools", "allowed_tools": {"tools": list(tools), **rest}}:
            names = [tool.get("function", {}).get("name") for tool in tools if isinstance(tool, dict)]
            return ToolChoice("any" if rest.get("mode") == "required" else "auto", texts(names))
    return None


def _read_format(form: Body | None) -> ReplyFormat | None:
    match form:
        case {"type": "json_object"}:
            return ReplyFormat()
        case {"type": "json_schema", "json_schema": {"schema": dict(schema), **rest}}:
            return read_schema(schema, rest)
    return None


def write_settings(settings: ReplySettings) -> tuple[dict[str, Any], list[str]]:
    """The parameters that say the same, and what has no place here; the limit is written by the dialect."""
    effort = effort_of(settings)
    written = given(
        temperature=settings.temperature,
        top_p=settings.top_p,
        stop=list(settings.stops) or None,
        seed=settings.seed,
        frequency_penalty=settings.frequency_penalty,
        presence_penalty=settings.presence_penalty,
        n=settings.replies,
        tool_choice=write_choice(settings.choice) if settings.choice else None,
        parallel_tool_calls=settings.parallel,
        reasoning_effort="xhigh" if effort == "max" else effort,
        response_format=_write_format(settings.format) if settings.format else None,
    )
    return written, unplaced(settings, "top_k")


def write_choice(choice: ToolChoice) -> Any:
    """Which tools may be called, as this dialect says it."""
    if not choice.names or choice.mode == "none":
        return "required" if choice.mode == "any" else choice.mode
    named = [{"type": "function", "function": {"name": name}} for name in choice.names]
    if choice.mode == "any" and len(named) == 1:
        return named[0]
    allowed = {"mode": "required" if choice.mode == "any" else "auto", "tools": named}
    return {"type": "allowed_tools", "allowed_tools": allowed}


def _write_format(form: ReplyFormat) -> Body:
    if form.schema is None:
        return {"type": "json_object"}
    inner = given(name=form.name or "reply", schema=form.schema, strict=form.strict)
    return {"type": "json_schema", "json_schema": inner}
