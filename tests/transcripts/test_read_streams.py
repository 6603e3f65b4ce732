"""Events that tools print: `codex exec --json`, Gemini CLI's stream-json, Copilot CLI."""

from __future__ import annotations

from typing import Any

from transcript_builders import (
    copilot_event,
    copilot_events,
    exec_events,
    exec_item,
    gemini_events,
    lines,
    only,
    read,
)

from fanfold.transcripts import Parent


def chat_call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_command_of_codex_exec_is_a_call_and_its_result() -> None:
    """(19.20)"""
    found = only(lines(exec_events()))
    assert (found.id, found.format, found.dialect) == ("t1", "codex-exec", "openai.chat")
    call = chat_call("turn_1_item_1", "shell", '{"command":"ls"}')
    assert found.messages == (
        {"role": "assistant", "content": None, "reasoning_content": "Look first.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "turn_1_item_1", "content": "a.py\n"},
        {"role": "assistant", "content": "One file."},
    )
    assert found.meta["usage"] == {"input_tokens": 9, "output_tokens": 2}


def test_codex_exec_tells_failures_mcp_calls_and_items_nobody_knows() -> None:
    """(19.20)"""
    mcp = {"server": "docs", "tool": "find", "arguments": {"q": "x"}, "status": "completed"}
    given = {"result": {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}}
    events = [
        exec_item("completed", "0", "command_execution", command="x", aggregated_output="no", exit_code=2),
        exec_item("completed", "1", "mcp_tool_call", **mcp, **given),
        exec_item("completed", "2", "mcp_tool_call", **mcp, error={"message": "down"}),
        exec_item(
            "completed", "3", "file_change", changes=[{"path": "a", "kind": "add"}], status="completed"
        ),
        exec_item("completed", "4", "error", message="Reconnecting"),
    ]
    found = only(lines(events))
    names = [call["function"]["name"] for message in found.messages for call in message.get("tool_calls", ())]
    assert names == ["shell", "docs__find", "docs__find", "file_change"]
    results = [message["content"] for message in found.messages if message["role"] == "tool"]
    assert results == ["Exit code: 2\nno", "one\ntwo", "down", "completed"]
    assert found.meta["other_lines"] == {"error": 1}


def test_a_command_that_codex_exec_never_ended_is_an_open_call() -> None:
    """(19.20)"""
    found = only(lines(exec_events()[:4]))
    assert [message["role"] for message in found.messages] == ["assistant"]


def test_items_of_two_turns_with_the_same_id_are_two_calls() -> None:
    """(19.20)"""
    found = only(lines([*exec_events(), *exec_events()]))
    ids = [call["id"] for message in found.messages for call in message.get("tool_calls", ())]
    assert ids == ["turn_1_item_1", "turn_2_item_1"]


def test_another_thread_is_another_conversation() -> None:
    """(19.20)"""
    other = [{"type": "thread.started", "thread_id": "t2"}, *exec_events()[1:]]
    assert [found.id for found in read(lines([*exec_events(), *other]))] == ["t1", "t2"]


def test_the_stream_of_gemini_cli_is_put_together_to_contents() -> None:
    """(19.20)"""
    found = only(lines(gemini_events()))
    assert (found.id, found.format, found.dialect, found.model) == (
        "g2",
        "gemini-stream",
        "gemini",
        "gemini-2.5-pro",
    )
    calls = [
        {"functionCall": {"id": "c1", "name": "ls", "args": {"path": "."}}},
        {"functionCall": {"id": "c2", "name": "cat", "args": {}}},
    ]
    results = [
        {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.py"}}},
        {"functionResponse": {"id": "c2", "name": "cat", "response": {"error": "no file"}}},
    ]
    assert found.messages == (
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "I look."}, *calls]},
        {"role": "user", "parts": results},
        {"role": "model", "parts": [{"text": "One file."}]},
    )
    assert found.meta["stats"] == {"total_tokens": 11}


def test_a_session_of_copilot_is_told_as_the_model_saw_it() -> None:
    """(19.20)"""
    found = only(lines(copilot_events()))
    assert (found.id, found.format, found.dialect, found.model) == ("p1", "copilot", "openai.chat", "gpt-5.2")
    call = chat_call("c1", "view", '{"path":"a.py"}')
    assert found.messages == (
        {"role": "user", "content": "<now/> hi"},
        {"role": "assistant", "content": None, "reasoning_content": "Look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
        {"role": "assistant", "content": "It sets x."},
    )
    assert found.meta["other_lines"] == {"assistant.turn_start": 1}


def test_copilots_calls_count_though_no_answer_asks_for_them_and_failures_are_told() -> None:
    """(19.20)"""
    found = only(
        lines(
            [
                copilot_event("user.message", content="hi"),
                copilot_event("tool.execution_start", toolCallId="c1", toolName="ls", arguments={}),
                copilot_event(
                    "tool.execution_complete", toolCallId="c1", success=False, error={"message": "denied"}
                ),
                copilot_event(
                    "tool.execution_complete", toolCallId="c1", success=False, error={"message": "denied"}
                ),
            ]
        )
    )
    assert [message["role"] for message in found.messages] == ["user", "assistant", "tool"]
    assert found.messages[-1]["content"] == "denied"


def test_a_sub_agent_of_copilot_is_a_conversation_of_its_own() -> None:
    """(19.20)"""
    inner = [
        copilot_event("assistant.message", content="I dig.", parentToolCallId="c1"),
        copilot_event(
            "tool.execution_start", toolCallId="c9", toolName="rg", arguments={}, parentToolCallId="c1"
        ),
        copilot_event("tool.execution_complete", toolCallId="c9", result="found", parentToolCallId="c1"),
    ]
    outer, dug = read(lines([*copilot_events()[:5], *inner, *copilot_events()[5:]]))
    assert len(outer.messages) == 4
    assert dug.parent == Parent("p1", "c1")
    assert [message["content"] for message in dug.messages] == ["I dig.", None, "found"]


def test_a_compaction_of_copilot_covers_what_came_before() -> None:
    """(19.20)"""
    done = copilot_event(
        "session.compaction_complete", success=True, summaryContent="x is set", preCompactionTokens=9
    )
    failed = copilot_event("session.compaction_complete", success=False, error="busy")
    found = only(lines([*copilot_events(), failed, done, copilot_event("user.message", content="on")]))
    (mark,) = found.compactions
    assert (mark.at, mark.count, mark.covers, mark.meta) == (4, 1, (0, 4), {"preCompactionTokens": 9})
    assert found.messages[4]["content"] == "x is set"


def test_events_of_a_sub_agent_are_known_by_its_name_too() -> None:
    """(19.20)"""
    started = copilot_event("subagent.started", toolCallId="c1") | {"agentId": "w1"}
    inner = copilot_event("assistant.message", content="I dig.") | {"agentId": "w1"}
    _, dug = read(lines([*copilot_events(), started, inner]))
    assert (dug.parent, len(dug.messages)) == (Parent("p1", "c1"), 1)


def test_what_the_user_said_is_kept_though_only_its_wrapping_was() -> None:
    """(19.20)"""
    asked = copilot_event("user.message", content="hi", transformedContent="<now/>")
    found = only(lines([asked, {"type": "result", "sessionId": "p9", "exitCode": 0}]))
    assert (found.id, found.messages) == ("p9", ({"role": "user", "content": "hi"},))
