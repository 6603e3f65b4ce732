"""Small recordings in the layouts of other tools, written from nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fanfold import transcripts
from fanfold.transcripts import Conversation

NOON = "2026-01-02T12:00:00.000Z"
NOON_SECONDS = 1767355200.0


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def document(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def read(data: bytes, **options: Any) -> list[Conversation]:
    return list(transcripts.read(io.BytesIO(data), **options))


def only(data: bytes, **options: Any) -> Conversation:
    (conversation,) = read(data, **options)
    return conversation


def texts(conversation: Conversation) -> list[str]:
    return [_text(message) for message in conversation.messages]


def _text(message: dict[str, Any]) -> str:
    body = message.get("content", message.get("parts"))
    if not isinstance(body, list):
        return str(body)
    return " ".join(str(part.get("text") or part.get("type") or next(iter(part))) for part in body)


# Claude Code


def claude(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content} | more.pop("message", {})
    line = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": NOON}
    return {**line, "isSidechain": False, "message": message, **more}


def asked(uuid: str, parent: str | None, text: str, **more: Any) -> dict[str, Any]:
    return claude("user", uuid, parent, text, **more)


def said(uuid: str, parent: str | None, text: str, **more: Any) -> dict[str, Any]:
    more.setdefault("message", {"id": f"msg_{uuid}", "model": "claude-sonnet-4-5"})
    return claude("assistant", uuid, parent, [{"type": "text", "text": text}], **more)


def called(uuid: str, parent: str, call: str, answer: str, **inputs: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": "Task", "input": inputs}
    return claude("assistant", uuid, parent, [block], message={"id": answer, "model": "claude-sonnet-4-5"})


def result(uuid: str, parent: str, call: str, text: str, **more: Any) -> dict[str, Any]:
    return claude(
        "user", uuid, parent, [{"type": "tool_result", "tool_use_id": call, "content": text}], **more
    )


def boundary(uuid: str, after: str | None, **noted: Any) -> dict[str, Any]:
    line = {"type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None}
    return {**line, "logicalParentUuid": after, "sessionId": "s1", "compactMetadata": noted}


# Codex


def rollout(*payloads: tuple[str, dict[str, Any]]) -> bytes:
    return lines({"timestamp": NOON, "type": kind, "payload": payload} for kind, payload in payloads)


def item(role: str, text: str) -> tuple[str, dict[str, Any]]:
    return "response_item", item_payload(role, text)


def item_payload(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def bill(last: int, total: int) -> tuple[str, dict[str, Any]]:
    info = {"last_token_usage": {"input_tokens": last}, "total_token_usage": {"input_tokens": total}}
    return "event_msg", {"type": "token_count", "info": info}


HEADER = ("session_meta", {"id": "r1", "instructions": "Be brief.", "cwd": "here"})
TURN = ("turn_context", {"model": "gpt-5.2"})


# Gemini CLI


def gemini(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "timestamp": NOON, "content": content, **more}


def gemini_session(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"sessionId": "g1", "projectHash": "h", "startTime": NOON, "messages": list(messages), **more}


# OpenCode


def opencode(role: str, id: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"id": id, "role": role, "time": {"created": 1767355200000}}
    if role == "assistant":
        info |= {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    return {"info": {**info, **more}, "parts": list(parts)}


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tool_part(call: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": call, "tool": "bash", "state": {"input": {"command": "ls"}, **state}}


def opencode_session(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"id": "ses_1", "title": "A title", **info}, "messages": list(messages)}


def store(folder: Path, session: dict[str, Any]) -> None:
    """Write a session as OpenCode's storage folder."""
    write(folder / "session" / "p1" / f"{session['info']['id']}.json", session["info"])
    for message in session["messages"]:
        id = message["info"]["id"]
        write(folder / "message" / session["info"]["id"] / f"{id}.json", message["info"])
        for number, part in enumerate(message["parts"]):
            write(folder / "part" / id / f"prt_{number:03}.json", part)


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document(value))


# SWE-agent and Inspect


def trajectory() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    history = [
        {"role": "system", "content": "You fix bugs.", "agent": "main", "message_type": "system_prompt"},
        {"role": "assistant", "content": "Look.", "agent": "main", "tool_calls": [call], "action": "ls"},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
    ]
    steps = [{"action": "ls", "observation": "a.py", "response": "Look.", "thought": "Look."}]
    config = json.dumps({"agent": {"model": {"name": "gpt-5.2"}}})
    return {"environment": "bug-1", "history": history, "trajectory": steps, "replay_config": config}


def sample(**more: Any) -> dict[str, Any]:
    call = {"id": "c1", "function": "bash", "arguments": {"command": "ls"}}
    messages = [
        {"id": "m1", "role": "user", "content": "attachment://abc"},
        {"id": "m2", "role": "assistant", "content": "Look.", "tool_calls": [call]},
        {"id": "m3", "role": "tool", "content": "a.py", "tool_call_id": "c1", "function": "bash"},
    ]
    output = {"choices": [{"message": {"id": "m2"}}], "usage": {"input_tokens": 7, "output_tokens": 2}}
    event = {
        "event": "model",
        "timestamp": NOON,
        "output": output,
        "tools": [{"name": "bash", "parameters": {}}],
    }
    attachments = {"abc": "a long question"}
    return {"id": 1, "epoch": 1, "messages": messages, "events": [event], "attachments": attachments, **more}


def inspect_log(*samples: dict[str, Any]) -> dict[str, Any]:
    run = {"task_id": "t1", "model": "openai/gpt-5.2"}
    return {"version": 2, "status": "success", "eval": run, "samples": list(samples)}


def eval_archive(*samples: dict[str, Any]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect_log() | {"samples": None}))
        for number, one in enumerate(samples, 1):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(one))
    return packed.getvalue()


def every_format() -> dict[str, bytes]:
    """One valid recording of each layout."""
    return {
        "claude-code": lines([asked("u1", None, "hi"), said("a1", "u1", "hello")]),
        "codex": rollout(HEADER, TURN, item("user", "hi"), item("assistant", "hello"), bill(5, 5)),
        "gemini-cli": document(gemini_session(gemini("1", "user", "hi"), gemini("2", "gemini", "hello"))),
        "opencode": document(
            opencode_session(
                opencode("user", "m1", text_part("hi")), opencode("assistant", "m2", text_part("yes"))
            )
        ),
        "swe-agent": document(trajectory()),
        "inspect": document(inspect_log(sample())),
        "inspect zip": eval_archive(sample()),
        "plain": lines([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]),
        "plain rows": lines([{"id": "1", "messages": [{"role": "user", "content": "hi"}]}] * 2),
        "plain body": document({"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    }
