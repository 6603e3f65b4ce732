"""The parameters of Anthropic Messages, in nobody's words and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.http.parameters import (
    Fields,
    ReplyFormat,
    ReplySettings,
    ToolChoice,
    budget_of,
    given,
    read_effort,
    texts,
    unplaced,
)
from fanfold.dialects.rules import Body

_LEAST_BUDGET = 1_024
_HOTTEST = 1.0


def read_settings(params: Mapping[str, Any]) -> tuple[ReplySettings, list[str]]:
    """What the parameters say, and the names of those that mean nothing to other providers."""
    fields = Fields(params)
    fields.drop("model", "stream", "betas")
    chosen = fields.take("tool_choice", dict) or {}
    single = chosen.get("disable_parallel_tool_use")
    told = Fields(fields.take("output_config", dict) or {}, "output_config.")
    thinking = fields.take("thinking", dict) or {}
    budget = thinking.get("budget_tokens") if thinking.get("type") == "enabled" else None
    effort = "none" if thinking.get("type") == "disabled" else told.take("effort", str)
    if thinking.get("type") == "adaptive" and effort is None:
        effort = "high"  # what the provider does unless told otherwise
    settings = ReplySettings(
        limit=fields.take("max_tokens", int),
        temperature=fields.take("temperature", float),
        top_p=fields.take("top_p", float),
        top_k=fields.take("top_k", int),
        stops=texts(fields.take("stop_sequences", list)),
        choice=read_choice(chosen),
        parallel=not single if isinstance(single, bool) else None,
        effort=read_effort(effort),
        budget=budget if isinstance(budget, int) else None,
        thoughts=True if thinking.get("type") in ("enabled", "adaptive") else None,
        format=_read_format(told.take("format", dict) or fields.take("output_format", dict)),
    )
    return settings, [*fields.left, *told.left]


def read_choice(choice: Mapping[str, Any]) -> ToolChoice | None:
    """Which tools may be called."""
    match choice:
        case {"type": "auto" | "any" | "none" as mode}:
            return ToolChoice(mode)
        case {"type": "tool", "name": str(name)}:
            return ToolChoice("any", (name,))
    return None


def _read_format(form: Mapping[str, Any] | None) -> ReplyFormat | None:
    match form:
        case {"type": "json_schema", "schema": dict(schema)}:
            return ReplyFormat(schema)
    return None


def write_settings(settings: ReplySettings) -> tuple[dict[str, Any], list[str]]:
    """The parameters that say the same, and what has no place here; the limit is written by the dialect.

    Anthropic refuses a temperature beside thinking or `top_p`, thinking with a forced tool, and more than 1.0 of heat.
    """
    lost = unplaced(settings, "seed", "frequency_penalty", "presence_penalty", "replies")
    budget, forced = budget_of(settings), settings.choice is not None and settings.choice.mode == "any"
    if forced and budget:
        lost.append("effort")
    thinks = bool(budget) and not forced
    heat, top_p, top_k = settings.temperature, settings.top_p, settings.top_k
    if thinks:
        lost += unplaced(settings, "temperature", "top_p", "top_k")
        heat = top_p = top_k = None
    elif heat is not None and heat > _HOTTEST:
        heat, lost = _HOTTEST, [*lost, "temperature"]
    if heat is not None and top_p is not None:
        top_p, lost = None, [*lost, "top_p"]
    schema = settings.format.schema if settings.format else None
    if settings.format and schema is None:
        lost.append("format")
    choice, unsaid = _write_choice(settings)
    written = given(
        temperature=heat,
        top_p=top_p,
        top_k=top_k,
        stop_sequences=list(settings.stops) or None,
        tool_choice=choice,
        thinking={"type": "enabled", "budget_tokens": max(budget or 0, _LEAST_BUDGET)} if thinks else None,
        output_config={"format": {"type": "json_schema", "schema": schema}} if schema is not None else None,
    )
    return written, [*lost, *unsaid]


def _write_choice(settings: ReplySettings) -> tuple[Body | None, list[str]]:
    """Which tools may be called: any, none, or one by its name; among several nobody can choose here."""
    choice, parallel = settings.choice, settings.parallel
    single = {"disable_parallel_tool_use": True} if parallel is False else {}
    if choice is None:
        return ({"type": "auto", **single} if single else None), []
    if choice.mode == "none":
        return {"type": "none"}, []
    if choice.mode == "any" and len(choice.names) == 1:
        return {"type": "tool", "name": choice.names[0], **single}, []
    return {"type": choice.mode, **single}, (["tool_choice.allowed_tools"] if choice.names else [])
