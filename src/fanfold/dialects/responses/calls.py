"""Calls and their outputs: every kind that the client answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Call, Image, Opaque, Part, Result, Text
from fanfold.dialects.openai import NAMING, image_url
from fanfold.dialects.responses.content import DIALECT, Content, read_block, read_content, write_block
from fanfold.dialects.responses.rules import CALLS, LONGEST_ID
from fanfold.text.json_text import to_json

Item = dict[str, Any]
_APPROVAL = "mcp_approval_response"
ASKING = CALLS | {"mcp_approval_request": _APPROVAL}
"""Every kind of call, and what answers it; a request for approval may also go unanswered."""
ANSWERING = {output: call for call, output in ASKING.items()}
_ARGUMENTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
    "mcp_approval_request": "arguments",
}
BLANK = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
"""One transparent dot: the output of a computer call is a picture, whatever happened to it."""


def read_call(item: Item) -> Call | Opaque:
    """A call; one that cannot be answered for want of an id stays as it is."""
    kind = item["type"]
    id = item.get("id" if kind == "mcp_approval_request" else "call_id")
    if not isinstance(id, str):
        return Opaque(DIALECT, item)
    name = item.get("name", kind.removesuffix("_call"))
    return Call(id, name if isinstance(name, str) else "", _raw(item.get(_field(item))))


def read_output(item: Item) -> Result | Opaque:
    """An output; one that names no call stays as it is."""
    kind = item["type"]
    call = item.get("approval_request_id" if kind == "mcp_approval_response" else "call_id")
    if not isinstance(call, str):
        return Opaque(DIALECT, item)
    name = item.get("name")
    failed = item.get("status") == "failed" or (kind == "mcp_approval_response" and not item.get("approve"))
    return Result(call, tuple(_shown(item)), failed, name if isinstance(name, str) else None)


def _shown(item: Item) -> Iterable[Content]:
    output = item.get("output")
    match item["type"]:
        case "tool_search_output":
            return (Text(_raw(item.get("tools"))),)
        case "mcp_approval_response":
            return read_content(item.get("reason"))
        case "shell_call_output" if isinstance(output, list):
            return map(_printed, output)
        case _ if isinstance(output, dict):
            return (read_block(output),)
        case _:
            return read_content(output)


def _printed(chunk: Any) -> Content:
    match chunk:
        case {"stdout": str(out), "stderr": str(err)}:
            return Text(f"{out}\n{err}" if out and err else out or err)
        case _:
            return Opaque(DIALECT, chunk)


def write_call(call: Call) -> Item:
    """A call that did not come over this wire, as a function call."""
    return {
        "type": "function_call",
        "call_id": short(call.id),
        "name": NAMING.fit(call.name),
        "arguments": call.raw,
    }


def write_answer(kind: str, call: str, parts: Sequence[Part], error: bool = False) -> list[Item]:
    """The items that answer a call of this kind: its output, and what was said where an output holds no words."""
    output, text = write_output(kind, call, parts, error), _text(parts)
    wordless = kind == "computer_call" or (kind == "tool_search_call" and not output["tools"])
    if not wordless or not text:
        return [output]
    block = {"type": "input_text", "text": f"[output of {call}] {text}"}
    return [output, {"type": "message", "role": "user", "content": [block]}]


def write_output(kind: str, call: str, parts: Sequence[Part], error: bool = False) -> Item:
    """The output of a call of this kind."""
    text = _text(parts)
    head = {"type": ASKING[kind], "call_id": call}
    match kind:
        case "local_shell_call":
            return {**head, "output": text}
        case "shell_call":
            return {**head, "output": [_chunk(text, error)]}
        case "apply_patch_call":
            return {**head, "status": "failed" if error else "completed", "output": text}
        case "computer_call":
            return {**head, "output": _screenshot(parts)}
        case "tool_search_call":
            return {**head, "execution": "client", "status": "completed", "tools": _tools(text)}
        case "mcp_approval_request":
            reason = {"reason": text} if text else {}
            approved = not error and any(map(_approves, parts))
            return {"type": head["type"], "approval_request_id": call, "approve": approved, **reason}
        case _:
            return {**head, "output": _output(parts)}


def approval(said: Mapping[str, Any]) -> tuple[Content, ...]:
    """What approves a call of an MCP server, as a result holds it: no text can be taken for it."""
    reason = said.get("reason")
    words = (Text(reason),) if isinstance(reason, str) and reason else ()
    return (Opaque(DIALECT, {"type": _APPROVAL, "approve": True}), *words)


def _approves(part: Part) -> bool:
    match part:
        case Opaque(dialect=dialect, body={"type": str(kind), "approve": True}):
            return dialect == DIALECT and kind == _APPROVAL
    return False


def _text(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _tools(text: str) -> list[Any]:
    """The definitions that a search for tools found, if the text is a list of them."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) and all(isinstance(tool, dict) for tool in found) else []


def _output(parts: Sequence[Part]) -> Any:
    blocks = [write_block(part, "user") for part in parts]
    if all(block.get("type") == "input_text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _chunk(text: str, error: bool = False) -> Item:
    return {"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": int(error)}}


def _screenshot(parts: Sequence[Part]) -> Item:
    pictures = (image_url(part) for part in parts if isinstance(part, Image))
    return {"type": "computer_screenshot", "image_url": next(filter(None, pictures), BLANK)}


def with_arguments(item: Item, call: Call) -> Item:
    """The call with other arguments, in a form that its kind permits."""
    field = _field(item)
    before = item.get(field)
    if isinstance(before, str) or item["type"] in ("function_call", "custom_tool_call"):
        return {**item, field: call.raw}
    text = _elided(call.raw)
    kept = before if isinstance(before, dict) else {}
    match item["type"]:
        case "local_shell_call":
            return {**item, field: {"type": "exec", "env": {}, **kept, "command": [text]}}
        case "shell_call":
            return {**item, field: {**kept, "commands": [text]}}
        case "apply_patch_call":
            return {**item, field: {**kept, "diff": text} if "diff" in kept else kept}
        case "computer_call":
            blank = {"type": "screenshot"}
            return {**item, field: [blank] if field == "actions" else blank}
        case _:
            return {**item, field: {"_elided": text}}


def with_output(item: Item, result: Result) -> Item:
    """The output with other content, in a form that its kind permits."""
    match item["type"]:
        case "shell_call_output":
            first = item["output"][0] if isinstance(item.get("output"), list) and item["output"] else {}
            kept = first if isinstance(first, dict) else {}
            return {**item, "output": [{**_chunk(""), **kept, "stdout": result.text, "stderr": ""}]}
        case "computer_call_output":
            return {**item, "output": _screenshot(result.parts)}
        case "tool_search_output":
            return {**item, "tools": []}
        case "mcp_approval_response":
            return {**item, "reason": result.text}
        case "function_call_output" | "custom_tool_call_output":
            return {**item, "output": _output(result.parts)}
        case _:
            return {**item, "output": result.text}


def short(id: str) -> str:
    """A call id as this wire takes it: the same id always becomes the same."""
    return id if 0 < len(id) <= LONGEST_ID else f"call_{digest(id.encode('utf-8', 'surrogatepass'))}"


def as_text(value: Any) -> str:
    """A value as compact JSON; a text as it is."""
    return value if isinstance(value, str) else to_json(value)


def _raw(value: Any) -> str:
    return "" if value is None else as_text(value)


def _field(item: Item) -> str:
    """The field that holds a call's arguments."""
    kind = item["type"]
    return "actions" if kind == "computer_call" and "actions" in item else _ARGUMENTS[kind]


def _elided(raw: str) -> str:
    """The short text that stands for elided arguments."""
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    text = value.get("_elided", raw) if isinstance(value, dict) else raw
    return text if isinstance(text, str) else raw
