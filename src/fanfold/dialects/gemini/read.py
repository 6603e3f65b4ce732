"""Reading Gemini's contents: one content is one message, one part is one part."""

from __future__ import annotations

from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking, Wire
from fanfold.dialects.dialect import plain
from fanfold.dialects.gemini.names import DIALECT, Ordinals, get_field, snake
from fanfold.dialects.gemini.partial import assemble
from fanfold.dialects.gemini.tools import NAMING
from fanfold.text.json_text import to_json

_ROLES = (None, "user", "model", "function", "tool")


def message(body: Any, where: str = "content") -> Message:
    """Read one content; a bare text or a bare part, as the SDK takes them, is a content too."""
    body = plain(body, where)
    if isinstance(body, str):
        return Message("user", (Text(body),), Wire(DIALECT, body))
    if not isinstance(body, dict):
        raise BadMessage(
            f"{where} is {type(body).__name__}, not a content: give a dict with role and parts, or a text."
        )
    role, parts = body.get("role"), read(parts_of(body))
    if role not in _ROLES:
        raise BadMessage(f"{where} has the role {role!r}; known roles are user and model.")
    answers = bool(parts) and all(type(part) is Result for part in parts)
    speaks = role == "model" or (is_bare(body) and isinstance(parts[0], Call))
    return Message("assistant" if speaks else "tool" if answers else "user", parts, Wire(DIALECT, body))


def is_bare(body: Any) -> bool:
    """Whether a content is a text or a part without a content around it."""
    return isinstance(body, str) or ("parts" not in body and any(key in DATA for key in body))


def parts_of(body: dict[str, Any]) -> list[Any]:
    """The wire parts of a content; one part alone needs no list."""
    parts = body.get("parts")
    if isinstance(parts, list):
        return parts
    if parts is None:
        return [body] if is_bare(body) else []
    return [parts]


def read(parts: list[Any]) -> tuple[Part, ...]:
    """Every wire part as a part, in order."""
    ids = (Ordinals(), Ordinals())
    return tuple([_part(part, ids) for part in parts])


def _part(body: Any, ids: tuple[Ordinals, Ordinals]) -> Part:
    kind = kind_of(body)
    value = None if kind is None else body[kind]
    if kind == "text" and isinstance(value, str):
        signature = get_field(body, "thoughtSignature") if len(body) > 1 else None
        signed = signature if isinstance(signature, str) else None
        thinks = body.get("thought") is True or (signed and not value)
        return Thinking(value, signed) if thinks else Text(value)
    found: Part | None = None
    if kind in ("functionCall", "function_call") and isinstance(value, dict):
        found = _call(value, ids[0])
    elif kind in ("functionResponse", "function_response") and isinstance(value, dict):
        found = _result(value, ids[1])
    elif kind is not None:
        found = _media(kind, value)
    return found or Opaque(DIALECT, body)


def kind_of(part: Any) -> str | None:
    """The field in which a part carries its data; None if there is not exactly one."""
    if not isinstance(part, dict):
        return None
    found = None
    for key, value in part.items():
        if key in DATA and value is not None:
            if found is not None:
                return None
            found = key
    return found


def _call(call: dict[str, Any], ids: Ordinals) -> Call | None:
    name = call.get("name")
    if not isinstance(name, str):
        return None
    args = call.get("args")
    pieces = get_field(call, "partialArgs") if args is None and len(call) > 1 else None
    args = args if pieces is None else assemble(pieces)
    return Call(ids.id(call.get("id"), name), name, "{}" if args is None else to_json(args))


def _result(response: dict[str, Any], ids: Ordinals) -> Result | None:
    name, id = response.get("name"), response.get("id")
    if not isinstance(name, str):
        if not isinstance(id, str) or not id:
            return None
        name = None
    text, error = output_of(response.get("response"))
    inner: list[Text | Image | Document | Opaque] = [Text(text)] if text else []
    parts = response.get("parts")
    for body in parts if isinstance(parts, list) else ():
        kind = kind_of(body)
        inner.append((_media(kind, body[kind]) if kind else None) or Opaque(DIALECT, body))
    return Result(ids.id(id, name or ""), tuple(inner), error, name)


def output_of(response: Any) -> tuple[str, bool]:
    """The words of a function's response, and whether they tell of an error."""
    if isinstance(response, dict) and len(response) == 1:
        [(key, value)] = response.items()
        if key in ("output", "result", "error") and isinstance(value, str):
            return value, key == "error"
    return ("" if response is None else to_json(response)), False


def _media(kind: str, held: Any) -> Image | Document | None:
    """A picture or a file, by its bytes or by its address."""
    if kind not in _MEDIA or not isinstance(held, dict):
        return None
    media, data, url = get_field(held, "mimeType"), held.get("data"), get_field(held, "fileUri")
    where = {"data": data} if kind in ("inlineData", "inline_data") else {"url": url}
    if not all(isinstance(text, str) for text in where.values()):
        return None
    if isinstance(media, str) and media.startswith("image/"):
        return Image(media, **where)
    return Document(media if isinstance(media, str) else None, **where)


_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_CAMEL = (
    "text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
)  # fmt: skip
DATA = frozenset({*_CAMEL, *map(snake, _CAMEL)})
"""The fields that carry a part's data."""


def has_data(part: Any) -> bool:
    """Whether a part carries exactly one thing."""
    if not isinstance(part, dict):
        return False
    kind = kind_of(part)
    if kind == "text":
        return isinstance(part["text"], str) and bool(part["text"] or get_field(part, "thoughtSignature"))
    if kind is not None:
        return isinstance(part[kind], dict) and bool(part[kind])
    if any(part.get(known) is not None for known in DATA):
        return False
    # A field of data that nobody here knows yet: the provider may.
    return any(isinstance(value, dict) and value for value in part.values())


def is_call(call: Any) -> bool:
    """Whether a function call is well-formed."""
    named = isinstance(call, dict) and NAMING.allows(call.get("name"))
    return named and isinstance(call.get("args"), dict | None)


def is_response(response: Any) -> bool:
    """Whether a function response is well-formed."""
    named = isinstance(response, dict) and NAMING.allows(response.get("name"))
    return named and isinstance(response.get("response"), dict)


def is_sound(part: Any) -> bool:
    """Whether a part can be sent as it is: it carries one thing, and a call or a response is well-formed."""
    call, response = get_field(part, "functionCall"), get_field(part, "functionResponse")
    sound = (call is None or is_call(call)) and (response is None or is_response(response))
    return sound and has_data(part)
