"""The parameters of Gemini, in nobody's words and back. They are read from a REST body or from an SDK's `config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.gemini.forms import FORM
from fanfold.dialects.gemini.names import camel
from fanfold.dialects.gemini.tools import json_schema
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

_JSON = "application/json"
_MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "any", "NONE": "none"}


def read_settings(params: Mapping[str, Any]) -> tuple[ReplySettings, list[str]]:
    """What the parameters say, and the names of those that mean nothing to other providers."""
    beside = Fields({camel(key): value for key, value in params.items()})
    beside.drop("model", camel(FORM))
    config = beside.take("config", dict) or beside.take("generationConfig", dict) or {}
    fields = Fields({camel(key): value for key, value in config.items()}, "generationConfig.")
    calling = fields.take("toolConfig", dict) or beside.take("toolConfig", dict)
    thinks = _camel(fields.take("thinkingConfig", dict))
    budget, replies, mime = (
        thinks.get("thinkingBudget"),
        fields.take("candidateCount", int),
        fields.take("responseMimeType", str),
    )
    own, other = fields.take("responseSchema", dict), fields.take("responseJsonSchema", dict)
    schema = other if other is not None else json_schema(own) if own is not None else None
    settings = ReplySettings(
        limit=fields.take("maxOutputTokens", int),
        temperature=fields.take("temperature", float),
        top_p=fields.take("topP", float),
        top_k=_whole(fields.take("topK", float)),
        stops=texts(fields.take("stopSequences", list)),
        seed=fields.take("seed", int),
        frequency_penalty=fields.take("frequencyPenalty", float),
        presence_penalty=fields.take("presencePenalty", float),
        replies=None if replies == 1 else replies,
        choice=read_choice(calling),
        effort=read_effort(str(thinks.get("thinkingLevel") or "")),
        budget=budget if isinstance(budget, int) and budget >= 0 else None,
        thoughts=True if thinks.get("includeThoughts") is True else None,
        format=ReplyFormat(schema) if schema is not None or mime == _JSON else None,
    )
    return settings, [*beside.left, *fields.left]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _camel(body: Mapping[str, Any] | None) -> dict[str, Any]:
    return {camel(key): value for key, value in (body or {}).items()}


def read_choice(config: Mapping[str, Any] | None) -> ToolChoice | None:
    """Which tools may be called."""
    calling = _camel(config).get("functionCallingConfig")
    found = _camel(calling) if isinstance(calling, dict) else {}
    mode = _MODES.get(str(found.get("mode")).upper())
    if mode is None:
        return None
    names = texts(found.get("allowedFunctionNames"))
    return ToolChoice(mode, names if mode == "any" else ())  # type: ignore[arg-type]


def write_settings(settings: ReplySettings) -> tuple[dict[str, Any], list[str]]:
    """The parameters that say the same, as a REST body has them, and what has no place here."""
    lost = unplaced(settings, "parallel") if settings.parallel is False else []
    thinks = given(thinkingBudget=budget_of(settings), includeThoughts=settings.thoughts)
    form = settings.format
    config = given(
        temperature=settings.temperature,
        topP=settings.top_p,
        topK=settings.top_k,
        stopSequences=list(settings.stops) or None,
        seed=settings.seed,
        frequencyPenalty=settings.frequency_penalty,
        presencePenalty=settings.presence_penalty,
        candidateCount=settings.replies,
        thinkingConfig=thinks or None,
        responseMimeType=_JSON if form else None,
        responseJsonSchema=form.schema if form else None,
    )
    written: dict[str, Any] = {"generationConfig": config}
    if settings.choice is not None:
        written["toolConfig"], unsaid = _write_choice(settings.choice)
        lost += unsaid
    return written, lost


def _write_choice(choice: ToolChoice) -> tuple[dict[str, Any], list[str]]:
    named = bool(choice.names) and choice.mode == "any"
    only = {"allowedFunctionNames": list(choice.names)} if named else {}
    lost = ["tool_choice.allowed_tools"] if choice.names and choice.mode == "auto" else []
    return {"functionCallingConfig": {"mode": choice.mode.upper(), **only}}, lost
