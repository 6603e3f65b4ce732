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


# Streams of events: codex exec, Gemini CLI, Copilot CLI


def exec_item(event: str, id: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": id, "type": kind, **fields}}


def exec_events() -> list[dict[str, Any]]:
    command = {"command": "ls", "aggregated_output": "a.py\n", "exit_code": 0, "status": "completed"}
    return [
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "turn.started"},
        exec_item("completed", "item_0", "reasoning", text="Look first."),
        exec_item("started", "item_1", "command_execution", command="ls", status="in_progress"),
        exec_item("completed", "item_1", "command_execution", **command),
        exec_item("completed", "item_2", "agent_message", text="One file."),
        {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 2}},
    ]


def gemini_events() -> list[dict[str, Any]]:
    return [
        {"type": "init", "timestamp": NOON, "session_id": "g2", "model": "gemini-2.5-pro"},
        {"type": "message", "timestamp": NOON, "role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "I lo", "delta": True},
        {"type": "message", "role": "assistant", "content": "ok.", "delta": True},
        {"type": "tool_use", "tool_name": "ls", "tool_id": "c1", "parameters": {"path": "."}},
        {"type": "tool_use", "tool_name": "cat", "tool_id": "c2", "parameters": {}},
        {"type": "tool_result", "tool_id": "c1", "status": "success", "output": "a.py"},
        {"type": "tool_result", "tool_id": "c2", "status": "error", "error": {"message": "no file"}},
        {"type": "message", "role": "assistant", "content": "One file.", "delta": True},
        {"type": "result", "status": "success", "stats": {"total_tokens": 11}},
    ]


def copilot_event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": kind, "timestamp": NOON, "parentId": None}


def copilot_events() -> list[dict[str, Any]]:
    request = {"toolCallId": "c1", "name": "view", "arguments": {"path": "a.py"}}
    return [
        copilot_event("session.start", sessionId="p1", copilotVersion="1.0", selectedModel="gpt-5.2"),
        copilot_event("user.message", content="hi", transformedContent="<now/> hi"),
        copilot_event("assistant.turn_start", turnId="0"),
        copilot_event("assistant.message", content="", toolRequests=[request], reasoningText="Look."),
        copilot_event("tool.execution_start", toolCallId="c1", toolName="view", arguments={"path": "a.py"}),
        copilot_event("tool.execution_complete", toolCallId="c1", success=True, result={"content": "x = 1"}),
        copilot_event("assistant.message", content="It sets x.", toolRequests=[]),
    ]


# OpenHands


def action(call: str, response: str, **more: Any) -> dict[str, Any]:
    made = {"id": call, "name": "terminal", "arguments": '{"command": "ls"}'}
    event = {"kind": "ActionEvent", "id": f"act-{call}", "source": "agent", "timestamp": NOON}
    event |= {"tool_name": "terminal", "tool_call_id": call, "tool_call": made, "llm_response_id": response}
    return {**event, "thought": [], "action": {"kind": "TerminalAction", "command": "ls"}, **more}


def observation(call: str, text: str) -> dict[str, Any]:
    seen = {"kind": "TerminalObservation", "content": [{"type": "text", "text": text}]}
    event = {"kind": "ObservationEvent", "id": f"obs-{call}", "source": "environment"}
    return {**event, "tool_name": "terminal", "tool_call_id": call, "observation": seen}


def openhands_events() -> list[dict[str, Any]]:
    text = {"type": "text", "text": "hi"}
    return [
        {
            "kind": "SystemPromptEvent",
            "id": "s",
            "system_prompt": {"type": "text", "text": "Fix."},
            "tools": [],
        },
        {
            "kind": "MessageEvent",
            "id": "u",
            "source": "user",
            "llm_message": {"role": "user", "content": [text]},
        },
        action("c1", "r1", thought=[{"type": "text", "text": "I look."}]),
        observation("c1", "a.py"),
        {"kind": "PauseEvent", "id": "p"},
    ]


def older_events() -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    response = {"id": "r1", "model": "m1", "choices": [{"message": message}], "usage": {"prompt_tokens": 7}}
    made = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": response}
    return [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "Fix.", "tools": []}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "hi"}, "timestamp": NOON},
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "hi"}},
        {"id": 3, "source": "agent", "action": "run", "args": {"command": "ls"}, "tool_call_metadata": made},
        {
            "id": 4,
            "cause": 3,
            "observation": "run",
            "content": "a.py",
            "extras": {},
            "tool_call_metadata": made,
        },
        {"id": 5, "source": "agent", "action": "read", "args": {"path": "a.py", "thought": "Read it."}},
        {"id": 6, "cause": 5, "observation": "read", "content": "x = 1", "extras": {}},
    ]


# LangChain and LangSmith


def constructed(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


def llm_run(sent: list[Any], got: Any, start: str, **more: Any) -> dict[str, Any]:
    run = {"id": f"run-{start}", "trace_id": "tr1", "run_type": "llm", "parent_run_id": "root"}
    times = {"start_time": f"2026-01-02T{start}:00", "end_time": f"2026-01-02T{start}:30"}
    outputs = {"generations": [[{"text": "", "message": got}]]}
    return {**run, **times, "inputs": {"messages": [sent]}, "outputs": outputs, **more}


ASKED = constructed("HumanMessage", content="hi")
CALLED = constructed("AIMessage", content="", tool_calls=[{"name": "ls", "args": {"p": 1}, "id": "c1"}])
RETURNED = constructed("ToolMessage", content="a.py", tool_call_id="c1")
DONE = constructed("AIMessage", content="One file.", response_metadata={"model_name": "gpt-5.2"})


# Google's ADK


def adk_event(author: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return {"id": "e", "invocationId": "i1", "author": author, "content": content, "timestamp": 5.0, **more}


def adk_session(*events: dict[str, Any]) -> dict[str, Any]:
    return {"id": "k1", "appName": "shop", "userId": "u", "state": {}, "events": list(events)}


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
        "codex-exec": lines(exec_events()),
        "gemini-cli checkpoint": document(
            {
                "history": [{"type": "user", "text": "hi"}],
                "clientHistory": [{"role": "user", "parts": [{"text": "hi"}]}],
            }
        ),
        "gemini-stream": lines(gemini_events()),
        "copilot": lines(copilot_events()),
        "openhands": lines(openhands_events()),
        "openhands list": document(openhands_events()),
        "openhands older": document(older_events()),
        "openhands rows": lines([{"instance_id": "i1", "history": older_events()}] * 2),
        "adk": document(adk_session(adk_event("user", {"text": "hi"}), adk_event("shop", {"text": "hello"}))),
        "adk events": lines([adk_event("user", {"text": "hi"}), adk_event("shop", {"text": "hello"})]),
        "langchain": document([ASKED, CALLED, RETURNED, DONE]),
        "langchain state": document({"values": {"messages": [{"type": "human", "content": "hi"}]}}),
        "langchain lines": lines(
            [{"type": "human", "data": {"content": "hi"}}, {"type": "ai", "data": {"content": "yes"}}]
        ),
        "langsmith": lines(
            [llm_run([ASKED], CALLED, "12:00"), llm_run([ASKED, CALLED, RETURNED], DONE, "12:01")]
        ),
        "sharegpt": document(
            [
                {
                    "id": "1",
                    "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes"}],
                }
            ]
        ),
        "plain": lines([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]),
        "plain rows": lines([{"id": "1", "messages": [{"role": "user", "content": "hi"}]}] * 2),
        "plain body": document({"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    }
