"""What agent frameworks and data sets write: LangChain, LangSmith, ADK, ShareGPT, checkpoints of Gemini CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from transcript_builders import (
    ASKED,
    CALLED,
    DONE,
    NOON,
    RETURNED,
    adk_event,
    adk_session,
    constructed,
    document,
    lines,
    llm_run,
    only,
    read,
)

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}}
TOLD = (
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "One file."},
)
SHAPES: dict[str, list[Any]] = {
    "constructed": [ASKED, CALLED, RETURNED, DONE],
    "with data": [
        {"type": "human", "data": {"content": "hi"}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "ls", "args": {"p": 1}, "id": "c1"}]}},
        {"type": "tool", "data": {"content": "a.py", "tool_call_id": "c1"}},
        {"type": "AIMessageChunk", "data": {"content": "One file."}},
    ],
    "dumped": [
        {"type": "human", "content": "hi", "additional_kwargs": {}},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [CALL]}},
        {"type": "tool", "content": "a.py", "tool_call_id": "c1"},
        {"type": "ai", "content": "One file."},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", ["list", "lines", "state", "nested"])
def test_messages_of_langchain_are_told_as_chat(shape: str, form: str) -> None:
    """(19.20)"""
    messages = SHAPES[shape]
    data = {
        "list": document(messages),
        "lines": lines(messages),
        "state": document({"values": {"messages": messages}}),
        "nested": document([messages]),
    }
    found = only(data[form])
    assert (found.format, found.dialect, found.messages) == ("langchain", "openai.chat", TOLD)


def test_blocks_thoughts_and_bills_of_langchain_are_told() -> None:
    """(19.20)"""
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I look.", "index": 0},
        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"p": 1}},
    ]
    details = {"input_token_details": {"cache_read": 3}, "output_token_details": {"reasoning": 1}}
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, **details}
    answer = constructed(
        "AIMessage", content=blocks, tool_calls=CALLED["kwargs"]["tool_calls"], usage_metadata=usage
    )
    found = only(document([ASKED, answer]))
    assert found.messages[1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look."}],
        "reasoning_content": "Hm.",
        "tool_calls": [CALL],
    }
    bill: Any = found.usage[1]
    assert (bill["prompt_tokens"], bill["prompt_tokens_details"]) == (9, {"cached_tokens": 3})


def runs() -> list[dict[str, Any]]:
    return [llm_run([ASKED], CALLED, "12:00"), llm_run([ASKED, CALLED, RETURNED], DONE, "12:01")]


@pytest.mark.parametrize("form", ["lines", "list", "runs", "children", "backwards"])
def test_requests_of_langsmith_that_grew_make_one_conversation(form: str) -> None:
    """(19.20)"""
    root = {"id": "root", "run_type": "chain", "inputs": {"x": 1}, "outputs": {}, "child_runs": runs()}
    data = {
        "lines": lines(runs()),
        "list": document(runs()),
        "runs": document({"runs": runs()}),
        "children": document(root),
        "backwards": lines(reversed(runs())),
    }
    found = only(data[form])
    assert (found.format, found.id, found.model, found.messages) == ("langsmith", "tr1", "gpt-5.2", TOLD)


def test_a_request_of_langsmith_that_begins_otherwise_is_another_conversation() -> None:
    """(19.20)"""
    other = llm_run([constructed("HumanMessage", content="Name it.")], DONE, "12:02")
    first, second = read(lines([*runs(), other]))
    assert (len(first.messages), len(second.messages)) == (4, 2)
    assert first.id != second.id


def test_runs_of_langsmith_in_a_providers_own_form_stay_so() -> None:
    """(19.20)"""
    asked, said = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}
    run = {"id": "r", "run_type": "llm", "inputs": {"messages": [asked], "model": "gpt-5.2"}}
    found = only(document(run | {"outputs": {"choices": [{"message": said}]}}))
    assert (found.messages, found.model) == ((asked, said), "gpt-5.2")
    blocks = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]}
    inputs = {"messages": [asked], "system": "Be brief.", "model": "claude-sonnet-4-5"}
    found = only(document({"id": "r", "run_type": "llm", "inputs": inputs, "outputs": blocks}))
    assert (found.dialect, found.frame, found.messages) == (
        "anthropic",
        {"system": "Be brief."},
        (asked, blocks),
    )


def test_without_requests_the_outermost_run_of_langsmith_is_read() -> None:
    """(19.20)"""
    state = {"messages": [ASKED, CALLED, RETURNED, DONE]}
    run = {"id": "r", "run_type": "chain", "inputs": {"messages": [ASKED]}, "outputs": state}
    inner = {"id": "s", "run_type": "tool", "parent_run_id": "r", "inputs": {"input": "{}"}, "outputs": {}}
    assert only(lines([run, inner])).messages == TOLD
    texts = only(
        document({"id": "r", "run_type": "chain", "inputs": {"input": "hi"}, "outputs": {"output": "yes"}})
    )
    assert [message["content"] for message in texts.messages] == ["hi", "yes"]


def test_events_of_adk_give_contents_with_their_bills() -> None:
    """(19.20)"""
    call = {"functionCall": {"id": "a", "name": "roll", "args": {}}}
    back = {"functionResponse": {"id": "a", "name": "roll", "response": {"result": 3}}}
    usage = {"promptTokenCount": 5, "totalTokenCount": 7}
    events = [adk_event("user", {"text": "hi"}), adk_event("dice", call, usageMetadata=usage)]
    events.append(adk_event("dice", back) | {"content": {"role": "user", "parts": [back]}})
    found = only(document(adk_session(*events, adk_event("dice", {"text": "3"}), adk_event("dice"))))
    assert (found.id, found.format, found.dialect) == ("k1", "adk", "gemini")
    assert found.messages == (
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [back]},
        {"role": "model", "parts": [{"text": "3"}]},
    )
    assert found.usage == (None, usage, None, None)
    assert found.meta["agents"] == ["dice"]


def test_events_of_adk_in_snake_case_are_read_too() -> None:
    """(19.20)"""
    event = {"author": "a", "invocation_id": "i", "content": {"parts": [{"text": "x"}]}, "partial": None}
    found = only(lines([event | {"usage_metadata": {"prompt_token_count": 5, "thoughts_token_count": None}}]))
    assert (found.messages[0]["role"], found.usage) == ("model", ({"promptTokenCount": 5},))


def test_pieces_of_an_adk_stream_count_only_where_the_whole_never_came() -> None:
    """(19.20)"""
    pieces = [adk_event("a", {"text": "he"}, partial=True), adk_event("a", {"text": "llo"}, partial=True)]
    whole = [adk_event("user", {"text": "hi"}), *pieces, adk_event("a", {"text": "hello"})]
    cut = [adk_event("user", {"text": "on"}), *pieces]
    found = only(lines([*whole, *cut, adk_event("user", {"text": "well?"}), *pieces]))
    texts = [message["parts"][0]["text"] for message in found.messages]
    assert texts == ["hi", "hello", "on", "hello", "well?", "hello"]


def test_a_compaction_of_adk_keeps_what_came_after_its_end() -> None:
    """(19.20)"""
    talk = [adk_event("user" if n % 2 == 0 else "a", {"text": f"{n}"}, timestamp=float(n)) for n in range(4)]
    shown = {"role": "model", "parts": [{"text": "summary"}]}
    compaction = {"startTimestamp": 0.0, "endTimestamp": 1.0, "compactedContent": shown}
    found = only(
        document(adk_session(*talk, adk_event("user", actions={"compaction": compaction}, timestamp=9.0)))
    )
    (mark,) = found.compactions
    assert (mark.at, mark.count, mark.kept) == (4, 1, (2, 3))
    assert found.messages[4] == shown


def test_rows_of_sharegpt_are_told_as_chat_with_numbered_calls() -> None:
    """(19.20)"""
    calls = json.dumps([{"name": "ls", "arguments": {"p": 1}}, {"name": "pwd", "arguments": "{}"}])
    talk = [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "hi"},
        {"from": "function_call", "value": calls},
        {"from": "observation", "value": "a.py"},
        {"from": "observation", "value": "/"},
        {"from": "gpt", "value": "One file."},
    ]
    tool = {"name": "ls", "parameters": {}}
    found = only(document({"id": 7, "conversations": talk, "tools": json.dumps([tool])}))
    assert (found.id, found.format, found.dialect) == ("7", "sharegpt", "openai.chat")
    assert found.frame == {"tools": [{"type": "function", "function": tool}]}
    made = [call["id"] for call in found.messages[2]["tool_calls"]]
    answers = [(message["tool_call_id"], message["content"]) for message in found.messages[3:5]]
    assert (made, answers) == (["call_1", "call_2"], [("call_1", "a.py"), ("call_2", "/")])


def test_texts_of_sharegpt_that_are_no_calls_stay_texts() -> None:
    """(19.20)"""
    talk = [{"from": "function-call", "value": "not json"}, {"from": "tool", "value": "<tool_response>"}]
    found = only(lines([{"conversations": talk, "system": "Be brief."}]))
    assert [(message["role"], message["content"]) for message in found.messages] == [
        ("system", "Be brief."),
        ("assistant", "not json"),
        ("user", "<tool_response>"),
    ]


def test_every_row_of_sharegpt_is_a_conversation() -> None:
    """(19.20)"""
    row = {"conversations": [{"from": "human", "value": "hi"}]}
    assert [found.id for found in read(document([row, row]))] == ["-#1", "-#1.2"]
    assert [found.id for found in read(lines([row, row]))] == ["-#1", "-#2"]


def test_a_checkpoint_of_gemini_cli_before_a_tool_ran_gives_what_was_sent() -> None:
    """(19.20)"""
    call = {"name": "write_file", "args": {"path": "a.py"}}
    sent = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"functionCall": call}]}]
    shown = [{"type": "user", "text": "hi", "id": 1}, {"type": "tool_group", "tools": [], "id": 2}]
    checkpoint = {
        "history": shown,
        "clientHistory": sent,
        "toolCall": call,
        "commitHash": "c",
        "timestamp": NOON,
    }
    found = only(document(checkpoint))
    assert (found.format, found.messages, found.meta["toolCall"]) == ("gemini-cli", tuple(sent), call)


def test_a_checkpoint_of_gemini_cli_with_an_empty_answer_is_read() -> None:
    """(19.20)"""
    asked = {"role": "user", "parts": [{"text": "hi"}]}
    assert only(document({"history": [asked, {"role": "model"}, asked]})).messages == (asked, asked)


def test_a_request_with_a_session_id_is_no_chat_of_gemini_cli() -> None:
    """(19.20)"""
    request = {"sessionId": "s", "messages": [{"role": "user", "content": "hi"}]}
    assert only(document(request)).format == "plain"
