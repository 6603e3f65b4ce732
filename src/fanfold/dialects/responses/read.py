"""Items ⇄ messages, read: every item of an input is one message; a call and its output are of the same kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Role, Text, Thinking, Wire
from fanfold.dialects.dialect import SPEAKERS, plain
from fanfold.dialects.openai import read_file, read_image
from fanfold.text.json_text import to_json

NAME = "openai.responses"
Item = dict[str, Any]
Content = Text | Image | Document | Opaque
CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls that the client answers, and the kind of item that answers them."""
OUTPUTS = {output: call for call, output in CALLS.items()}
ROLES = {**SPEAKERS, "developer": SPEAKERS["system"]}
APPROVAL = "mcp_approval_response"
ASKING = CALLS | {"mcp_approval_request": APPROVAL}
"""Every kind of call, and what answers it; a request for approval may also go unanswered."""
ANSWERING = frozenset(ASKING.values())
_ARGUMENTS = dict.fromkeys(ASKING, "arguments") | {
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
_SETTINGS = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})
_AGENT = "agent_message"
"""What another agent of codex says to this one."""
_WORDS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_LOCAL = frozenset({"parsed", "parsed_arguments"})
"""Fields that the official SDK adds to what the server said; the server refuses them."""


def read(body: Any, where: str = "message") -> Message:
    """One item as a message; a plain text is a user's."""
    item = plain(body, where)
    if isinstance(item, dict) and not isinstance(body, dict):
        item = without_parsed(item)  # an SDK's object, which has more in it than the server said
    if isinstance(item, str):
        return Message("user", (Text(item),) if item else (), Wire(NAME, item))
    if not isinstance(item, dict):
        raise BadMessage(
            f"{where} is {type(item).__name__}, not an item: give a dict with a type, or role and content."
        )
    told, kind = item.get("type"), kind_of(item)
    if told is not None and not isinstance(told, str):
        raise BadMessage(f"{where}.type is {type(told).__name__}; it must be a text.")
    if told is None and kind == "item_reference" and not isinstance(item.get("id"), str):
        raise BadMessage(f"{where} has neither a type nor a role, so it is no item.")
    if kind == "message" and str(item.get("role")) not in ROLES:
        raise BadMessage(f"{where} has the role {item.get('role')!r}; known roles are {', '.join(ROLES)}.")
    return Message(speaker(item), _parts(item, kind), Wire(NAME, item))


def read_said(item: Any, where: str) -> Message:
    """An item that the model made; one that only refers to another is none."""
    if isinstance(item, dict) and kind_of(item) == "item_reference":
        raise BadMessage(f"{where} has neither a type nor a role, so it is no item that a model made.")
    return read(item, where)


def without_parsed(item: Item) -> Item:
    """An output item without the fields that the SDK's helpers put in."""
    kept = {key: value for key, value in item.items() if key not in _LOCAL}
    if kind_of(item) == "message" and isinstance(item.get("content"), list):
        kept["content"] = [
            {key: value for key, value in block.items() if key not in _LOCAL}
            if isinstance(block, dict)
            else block
            for block in item["content"]
        ]
    return kept


def kind_of(item: Mapping[str, Any]) -> str:
    """An item's type; one without is a message if it has a role, and else refers to a stored item."""
    kind = item.get("type")
    return str(kind) if kind is not None else "message" if "role" in item else "item_reference"


def speaker(item: Mapping[str, Any]) -> Role:
    """Who an item comes from: the model, unless it is a message of someone else, an output or a setting."""
    kind = kind_of(item)
    if kind in ("message", _AGENT):
        return ROLES.get(str(item.get("role")), "user")
    if kind.endswith("_output") or kind == APPROVAL:
        return "tool"
    return "system" if kind in _SETTINGS else "assistant"


def by_model(item: Any) -> bool:
    """Whether the model made an item, so that reasoning may stand before it."""
    return isinstance(item, dict) and speaker(item) == "assistant" and kind_of(item) != "item_reference"


def pairs(item: Any) -> bool:
    """Whether an item is a call that the client answers, or such an answer; a server's own search is not."""
    kind = item.get("type") if isinstance(item, dict) else None
    if kind in ("tool_search_call", "tool_search_output"):
        return item.get("call_id") is not None
    return kind in CALLS or kind in OUTPUTS


def _parts(item: Item, kind: str) -> tuple[Content | Call | Result | Thinking, ...]:
    if kind in ("message", _AGENT):
        return read_content(item.get("content"))
    if kind == "reasoning":
        # The summary is what can be read; open models show the whole reasoning as content.
        told = read_content(item.get("summary") or item.get("content"))
        words, sealed = [part.text for part in told if isinstance(part, Text)], item.get("encrypted_content")
        return (Thinking("\n".join(words), sealed if isinstance(sealed, str) else None),)
    if kind in ASKING:
        return (_read_call(item),)
    return (read_output(item) if kind in ANSWERING else Opaque(NAME, item),)


def read_content(content: Any) -> tuple[Content, ...]:
    """One part for every block; an empty text is no part."""
    if isinstance(content, list):
        return tuple(map(read_block, content))
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return () if content is None else (Opaque(NAME, content),)


def read_block(block: Any) -> Content:
    """One block as a part; what is not known stays as it is."""
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind in _WORDS and isinstance(block.get("text"), str):
        return Text(block["text"])
    match block:
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            return read_image(url)
        case {"type": "input_file"}:
            return read_file(block) or Opaque(NAME, block)
        case _:
            return Opaque(NAME, block)


def _read_call(item: Item) -> Call | Opaque:
    """A call; one that cannot be answered for want of an id stays as it is."""
    kind = item["type"]
    id = item.get("id" if kind == "mcp_approval_request" else "call_id")
    if not isinstance(id, str):
        return Opaque(NAME, item)
    name = item.get("name", kind.removesuffix("_call"))
    return Call(id, name if isinstance(name, str) else "", _raw(item.get(arguments_field(item))))


def read_output(item: Item) -> Result | Opaque:
    """An output; one that names no call stays as it is."""
    kind = item["type"]
    call = item.get("approval_request_id" if kind == APPROVAL else "call_id")
    if not isinstance(call, str):
        return Opaque(NAME, item)
    name = item.get("name")
    failed = item.get("status") == "failed" or (kind == APPROVAL and not item.get("approve"))
    return Result(call, tuple(_output_parts(item)), failed, name if isinstance(name, str) else None)


def _output_parts(item: Item) -> Iterable[Content]:
    output = item.get("output")
    match item["type"]:
        case "tool_search_output":
            return (Text(_raw(item.get("tools"))),)
        case "mcp_approval_response":
            return read_content(item.get("reason"))
        case "shell_call_output" if isinstance(output, list):
            return map(_read_chunk, output)
        case _ if isinstance(output, dict):
            return (read_block(output),)
        case _:
            return read_content(output)


def _read_chunk(chunk: Any) -> Content:
    match chunk:
        case {"stdout": str(out), "stderr": str(err)}:
            return Text(f"{out}\n{err}" if out and err else out or err)
        case _:
            return Opaque(NAME, chunk)


def as_text(value: Any) -> str:
    """A value as compact JSON; a text as it is."""
    return value if isinstance(value, str) else to_json(value)


def _raw(value: Any) -> str:
    return "" if value is None else as_text(value)


def arguments_field(item: Item) -> str:
    """The field that holds a call's arguments."""
    kind = item["type"]
    return "actions" if kind == "computer_call" and "actions" in item else _ARGUMENTS[kind]
