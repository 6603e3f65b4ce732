"""The two forms of a request: a REST body, and the keyword arguments of google-genai."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Text, Wire
from fanfold.dialects.dialect import GEMINI_LIMIT, SplitRequest, plain
from fanfold.dialects.gemini.names import DIALECT, snake, spelling
from fanfold.dialects.gemini.read import is_bare, parts_of, read
from fanfold.dialects.gemini.write import is_own, write

FORM = "gemini.form"
"""The parameter that remembers where a request had its system prompt and tools; it is never sent."""
_REST = frozenset(
    name
    for field in ("generationConfig", "systemInstruction", "toolConfig", "safetySettings", "cachedContent")
    for name in (field, snake(field))
)
"""Fields that only a REST body has beside its contents."""


def split(request: Any) -> SplitRequest:
    """Take a request, or a bare list of contents, apart."""
    if not isinstance(request, Mapping):
        return SplitRequest((), _contents(request)[0], (), {})
    if "contents" not in request:
        raise BadMessage("A transcript is a list of contents, or a request with `contents` in it.")
    messages, single = _contents(request["contents"])
    params = {key: value for key, value in request.items() if key != "contents"}
    config = _settings(params.get("config"))
    place = params if config is None else config
    form: dict[str, Any] = {"single": True} if single else {}
    system, tools = _system(place, form), _tools(place, form)
    if config is not None:
        params["config"] = config
    if form:
        rest = config is None and bool(system or tools or not _REST.isdisjoint(params))
        params[FORM] = {**form, "rest": rest}
    return SplitRequest(system, messages, tools, params)


def _contents(contents: Any) -> tuple[Sequence[Any], bool]:
    """The contents as a list, and whether there was one alone outside of any list."""
    if isinstance(contents, list | tuple):
        return contents, False
    if isinstance(contents, str | Mapping) or hasattr(contents, "model_dump"):
        return [contents], True
    raise BadMessage("A transcript is a list of contents, or a request with `contents` in it.")


def _settings(config: Any) -> dict[str, Any] | None:
    if isinstance(config, Mapping):
        return dict(config)
    return plain(config, "config") if hasattr(config, "model_dump") else None


def _system(place: dict[str, Any], form: dict[str, Any]) -> tuple[Any, ...]:
    key = spelling(place, "systemInstruction")
    system = place.get(key)
    spoken = tuple(system) if isinstance(system, list | tuple) else (system,)
    if not system or not all(isinstance(body, str) or _is_object(body) for body in spoken):
        return ()
    form["system"] = key
    form["listed"] = isinstance(system, list | tuple)
    del place[key]
    return spoken


def _tools(place: dict[str, Any], form: dict[str, Any]) -> tuple[Any, ...]:
    tools = place.get("tools")
    if not isinstance(tools, list | tuple) or not tools or not all(map(_is_object, tools)):
        return ()
    form["tools"] = True
    del place["tools"]
    return tuple(tools)


def _is_object(value: Any) -> bool:
    """Whether a value may be a content or a tool; what can be neither stays where it is."""
    return not isinstance(value, str | int | float | list | None)


def read_system(body: Any, where: str) -> Message:
    """One piece of a system prompt: a text, a part or a content."""
    body = plain(body, where)
    if isinstance(body, str):
        return Message("system", (Text(body),))
    if not isinstance(body, dict):
        raise BadMessage(f"{where} is {type(body).__name__}; a system prompt is a text or a content.")
    return Message("system", read(parts_of(body)), Wire(DIALECT, body))


def assemble(
    system: Sequence[Message], tools: Mapping[str, Any], contents: list[Any], params: Mapping[str, Any]
) -> dict[str, Any]:
    """The request in the form it came in; a fresh one as keyword arguments for the SDK."""
    form = params.get(FORM) or {}
    request = {key: value for key, value in params.items() if key not in (FORM, GEMINI_LIMIT)}
    rest = form.get("rest", not _REST.isdisjoint(request))
    request["contents"] = contents[0] if form.get("single") and len(contents) == 1 else contents
    place = request if rest else dict(_settings(request.get("config")) or {})
    if system:
        key = form.get("system") or ("systemInstruction" if rest else "system_instruction")
        place[key] = _instruction(system, form, rest=rest)
    place |= tools
    if params.get(GEMINI_LIMIT) is not None:
        _set_limit(place, params[GEMINI_LIMIT], rest=rest)
    if not rest and (place or "config" in request):
        request["config"] = place if place else request["config"]
    return request


def _instruction(system: Sequence[Message], form: Mapping[str, Any], *, rest: bool) -> Any:
    """A system prompt as it came, or as one text or one content."""
    own = [message.wire.body if message.wire and is_own(message) else None for message in system]
    if "system" in form:
        bodies = [message.wire.body if message.wire else message.text for message in system]
        return bodies if form.get("listed") else bodies[0]
    if len(own) == 1 and own[0] is not None and not is_bare(own[0]):
        return own[0]
    texts = all(isinstance(part, Text) for message in system for part in message.parts)
    if texts and not rest:
        return "\n\n".join(message.text for message in system)
    contents = (write(message) if body is None else [body] for message, body in zip(system, own, strict=True))
    return {"parts": [part for written in contents for body in written for part in parts_of(body)]}


def _set_limit(place: dict[str, Any], tokens: int, *, rest: bool) -> None:
    if not rest:
        place["maxOutputTokens" if "maxOutputTokens" in place else "max_output_tokens"] = tokens
        return
    key = spelling(place, "generationConfig")
    given = place.get(key)
    settings = given if isinstance(given, Mapping) else {}
    place[key] = {**settings, spelling(settings, "maxOutputTokens"): tokens}
