from __future__ import annotations

from typing import Any

import pytest
from transcript_builders import NOON, NOON_SECONDS, document, lines, only, read, texts

from fanfold.core.errors import BadInput

CHAT = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
RESPONSES = [
    {"role": "user", "content": "hi"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
]
ANTHROPIC = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}]
GEMINI = [{"role": "user", "parts": [{"text": "hi"}]}]
LISTS = [
    ("openai.chat", CHAT),
    ("openai.responses", RESPONSES),
    ("anthropic", ANTHROPIC),
    ("gemini", GEMINI),
]


@pytest.mark.parametrize(("dialect", "messages"), LISTS)
def test_a_list_of_messages_is_one_conversation_in_its_dialect(dialect: str, messages: list[Any]) -> None:
    found = only(document(messages))
    assert (found.dialect, found.messages) == (dialect, tuple(messages))


@pytest.mark.parametrize(("dialect", "messages"), LISTS)
def test_lines_of_messages_are_one_conversation(dialect: str, messages: list[Any]) -> None:
    found = only(lines(messages))
    assert (found.dialect, found.messages) == (dialect, tuple(messages))


@pytest.mark.parametrize(("dialect", "messages"), LISTS)
def test_a_native_list_per_line_is_a_conversation_each(dialect: str, messages: list[Any]) -> None:
    first, second = read(lines([{"id": "a", "native": messages}, {"id": "b", "native": messages}]))
    assert (first.id, second.id, first.dialect) == ("a", "b", dialect)


def test_a_request_body_gives_its_frame_and_keeps_its_parameters() -> None:
    body = {"model": "claude-sonnet-4-5", "system": "Be brief.", "max_tokens": 9, "messages": CHAT[:1]}
    found = only(document(body))
    assert (found.dialect, found.model) == ("anthropic", "claude-sonnet-4-5")
    assert (found.frame, found.meta) == ({"system": "Be brief."}, {"max_tokens": 9})


def test_a_responses_body_with_a_text_as_input_is_one_message() -> None:
    found = only(document({"model": "gpt-5.2", "input": "hi", "instructions": "Be brief."}))
    assert (found.dialect, found.frame) == ("openai.responses", {"instructions": "Be brief."})
    assert found.messages == ({"role": "user", "content": "hi"},)


def test_a_recorded_request_ends_with_its_response_and_bill() -> None:
    choice = {"message": {"role": "assistant", "content": "yes"}}
    response = {"choices": [choice], "usage": {"prompt_tokens": 3}}
    found = only(lines([{"request": {"model": "m", "messages": CHAT}, "response": response}]))
    assert texts(found)[-1] == "yes"
    assert found.usage[-1] == {"prompt_tokens": 3}


def test_keys_with_an_underscore_are_taken_off_and_understood() -> None:
    messages = [
        {"role": "user", "content": "old"},
        {"role": "user", "content": "summary", "_compact": True},
        {"role": "assistant", "content": "a", "_usage": {"n": 1}, "_reasoning": "hm", "timestamp": NOON},
    ]
    found = only(lines([{"id": 7, "meta": {"reward": 1}, "lang": "en", "messages": messages}]))
    assert found.id == "7"
    assert found.messages[2] == {"role": "assistant", "content": "a"}
    assert (found.usage[2], found.times[2]) == ({"n": 1}, NOON_SECONDS)
    assert found.compactions[0].at == 1
    assert found.meta == {"reward": 1, "lang": "en"}


def test_a_document_may_hold_a_list_of_conversations() -> None:
    assert len(read(document([{"id": "a", "messages": CHAT}, {"id": "b", "messages": CHAT}]))) == 2


def test_messages_that_fit_two_dialects_follow_the_models_name() -> None:
    assert only(document({"model": "claude-opus-4-5", "messages": CHAT[:1]})).dialect == "anthropic"
    assert only(document({"model": "gpt-5.2", "messages": CHAT[:1]})).dialect == "openai.chat"


def test_a_line_that_is_no_conversation_is_an_error_with_its_number() -> None:
    with pytest.raises(BadInput, match="line 2: neither a message nor a conversation"):
        read(lines([{"messages": CHAT}, {"weather": "fine"}]))
