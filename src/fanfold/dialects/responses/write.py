"""Items, written: messages that did not come over this wire, and parts that were elided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.dialects.dialect import id_digest, is_sent, plain, read_arguments
from fanfold.dialects.media import is_web, note
from fanfold.dialects.openai import NAMING, image_url, write_file
from fanfold.dialects.responses import read as reading
from fanfold.dialects.responses.read import ASKING, NAME, OUTPUTS, Item, kind_of

LONGEST_ID = 64
BLANK = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
"""One transparent dot: the output of a computer call is a picture, whatever happened to it."""


def write(message: Message) -> Iterator[Any]:
    """A message that did not come over this wire, as items: words, calls and results each by themselves."""
    role = "user" if message.role == "tool" else message.role
    spoken: list[Part] = []
    for part in message.parts:
        alone = _alone(part)
        if alone is None:
            spoken.extend([part] if is_sent(part) else [])
            continue
        if spoken:
            yield _words(spoken, role)
        spoken = []
        yield alone
    if spoken or not message.parts:
        yield _words(spoken, role)


def _alone(part: Part) -> Any:
    """The item that a part becomes by itself, or None for a part of a message."""
    match part:
        case Call(id=id, name=name, raw=raw):
            call = {"type": "function_call", "call_id": short(id), "name": NAMING.fit(name)}
            return {**call, "arguments": raw}
        case Result(call=called, parts=parts, error=error):
            return write_output("function_call", short(called), parts, error)
        case Opaque(dialect=dialect, body=dict(body)) if dialect == NAME:
            kind = body.get("type")
            is_block = isinstance(kind, str) and kind.startswith(("input_", "output_", "refusal"))
            return None if is_block else body
        case _:
            return None


def _words(parts: list[Part], role: str) -> Item:
    """A message: plain words of a person as one text, all else as blocks."""
    content: Any = [write_block(part, role) for part in parts]
    if role != "assistant" and not parts:
        content = ""
    elif role != "assistant" and len(parts) == 1 and isinstance(parts[0], Text):
        content = parts[0].text
    return {"type": "message", "role": role, "content": content}


def write_block(part: Part, role: str) -> dict[str, Any]:
    """One part as a block, a short note where there is no form for it; the model's own blocks hold words only."""
    match part:
        case Text(text=text) | Document(text=str(text)):
            return {"type": words_kind(role), "text": text}
        case Opaque(dialect=dialect, body=dict(body)) if dialect == NAME:
            return body
        case Image() | Document() if role != "assistant" and (block := _media(part)):
            return block
        case _:
            return {"type": words_kind(role), "text": note(part)}


def _media(part: Image | Document) -> dict[str, Any] | None:
    if isinstance(part, Image):
        url = image_url(part)
        return {"type": "input_image", "image_url": url} if url else None
    if part.data is None and part.url and is_web(part.url):
        return {"type": "input_file", "file_url": part.url}
    taken = write_file(part)
    return {"type": "input_file", **taken} if taken else None


def words_item(text: str, role: str) -> Item:
    """A message of one block of words."""
    return {"type": "message", "role": role, "content": [{"type": words_kind(role), "text": text}]}


def words_kind(role: str) -> str:
    """The kind of block that holds words in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def short(id: str) -> str:
    """A call id as this wire takes it: the same id always becomes the same."""
    return id if 0 < len(id) <= LONGEST_ID else f"call_{id_digest(id)}"


def write_answer(kind: str, call: str, parts: Sequence[Part], error: bool = False) -> list[Item]:
    """The items that answer a call of this kind: its output, and what was said where an output holds no words."""
    output, text = write_output(kind, call, parts, error), _text(parts)
    wordless = kind == "computer_call" or (kind == "tool_search_call" and not output["tools"])
    if not wordless or not text:
        return [output]
    return [output, words_item(f"[output of {call}] {text}", "user")]


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


def approval(said: Mapping[str, Any]) -> tuple[reading.Content, ...]:
    """What approves a call of an MCP server, as a result holds it: no text can be taken for it."""
    reason = said.get("reason")
    words = (Text(reason),) if isinstance(reason, str) and reason else ()
    return (Opaque(NAME, {"type": reading.APPROVAL, "approve": True}), *words)


def _approves(part: Part) -> bool:
    match part:
        case Opaque(dialect=dialect, body={"type": str(kind), "approve": True}):
            return dialect == NAME and kind == reading.APPROVAL
    return False


def _text(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _tools(text: str) -> list[Any]:
    """The definitions that a search for tools found, if the text is a list of them."""
    found = read_arguments(text) if text else []
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


def patch(was: Message, message: Message) -> Any:
    """The item as received, with exactly those parts changed that were elided.

    It keeps its id: reasoning before it is bound to that id, and the server takes the content it is given.
    """
    assert was.wire is not None
    body = plain(was.wire.body)
    for number, (before, after) in enumerate(zip(was.parts, message.parts, strict=True)):
        if after != before:
            body = _put(body, number, after)
    return body


def _put(body: Any, number: int, part: Part) -> Any:
    if isinstance(body, str):
        return part.text if isinstance(part, Text) else body
    match part:
        case Call():
            return with_arguments(body, part)
        case Result():
            return with_output(body, part)
        case Text(text=text) if kind_of(body) == "message":
            return {**body, "content": _with_text(body["content"], number, text, body["role"])}
        case Text(text=text):
            return words_item(text, "assistant" if reading.speaker(body) == "assistant" else "user")
        case _:
            return body


def _with_text(content: Any, number: int, text: str, role: str) -> Any:
    if not isinstance(content, list):
        return text
    before = content[number]
    notes: Item = {"annotations": []} if isinstance(before, dict) and "annotations" in before else {}
    block = {"type": words_kind(role), "text": text, **notes}
    return [*content[:number], block, *content[number + 1 :]]


def with_arguments(item: Item, call: Call) -> Item:
    """The call with other arguments, in a form that its kind permits."""
    field = reading.arguments_field(item)
    before = item.get(field)
    if isinstance(before, str) or item["type"] in ("function_call", "custom_tool_call"):
        return {**item, field: call.raw}
    said = read_arguments(call.raw)
    short_text = said.get("_elided") if isinstance(said, dict) else None
    text = short_text if isinstance(short_text, str) else call.raw
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


def with_context(items: Sequence[Item], context: str) -> list[Item]:
    """The items with a context that stands in this request only."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].get("type") not in OUTPUTS:
            break
        joined = _join(items[at], context)
        if joined is not None:
            return [*items[:at], joined, *items[at + 1 :]]
    return [*items, {"role": "user", "content": context}]


def _join(item: Item, context: str) -> Item | None:
    """The output with the context at its end, or None where it holds no words."""
    match item:
        case {"output": str(text)}:
            return {**item, "output": f"{text}\n\n{context}"}
        case {"type": "function_call_output" | "custom_tool_call_output", "output": list(blocks)}:
            return {**item, "output": [*blocks, {"type": "input_text", "text": context}]}
        case {"type": "shell_call_output", "output": [*before, {"stdout": str(text)} as last]}:
            return {**item, "output": [*before, {**last, "stdout": f"{text}\n\n{context}"}]}
        case {"type": "apply_patch_call_output"}:
            return {**item, "output": context}
        case _:
            return None
