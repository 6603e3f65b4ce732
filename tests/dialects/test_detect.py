"""The dialect of a request or a list is told by its content."""

import pytest
from google.genai import types

from fanfold.core.errors import BadInput
from fanfold.dialects.detect import dialect_of, reply_dialect
from fanfold.dialects.registry import DIALECTS

HI = {"role": "user", "content": "hi"}
BARE = {"name": "f", "parameters": {"type": "object"}}
TELLING = [
    ("openai.chat", {"role": "tool", "tool_call_id": "c", "content": "x"}),
    ("openai.chat", {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}),
    ("openai.chat", {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}),
    ("openai.responses", {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
    ("openai.responses", {"type": "message", "role": "user", "content": "hi"}),
    ("openai.responses", {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t"}]},
    ),
    ("anthropic", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]},
    ),
    ("anthropic", {"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}),
    ("gemini", {"role": "user", "parts": [{"text": "hi"}]}),
    ("gemini", {"text": "hi"}),
    ("gemini", "hi"),
    ("gemini", types.Content(role="user", parts=[types.Part(text="hi")])),
]
REQUESTS = [
    ("openai.chat", {"messages": [HI]}),
    ("openai.chat", {"messages": [], "max_completion_tokens": 9}),
    (
        "openai.chat",
        {"messages": [HI], "tools": [{"type": "function", "function": {"name": "f"}}], "thinking": {}},
    ),
    ("openai.responses", {"input": "hi"}),
    ("openai.responses", {"instructions": "x", "previous_response_id": "r"}),
    ("anthropic", {"messages": [HI], "system": "x"}),
    ("anthropic", {"messages": [HI], "anthropic_version": "bedrock-2023-05-31"}),
    ("anthropic", {"messages": [HI], "tools": [{"name": "f", "input_schema": {}}]}),
    ("anthropic", {"messages": [HI], "tools": [{"type": "bash_20250124", "name": "bash"}]}),
    ("anthropic", {"messages": [HI], "tools": [BARE, {"name": "f", "input_schema": {}}]}),
    (
        "openai.chat",
        {"messages": [HI], "tools": [{"type": "custom", "custom": {"name": "f"}}], "thinking": {}},
    ),
    ("openai.chat", {"messages": [HI], "tools": [BARE]}),
    ("anthropic", {"messages": [HI], "tools": [BARE], "thinking": {}}),
    ("openai.chat", {"messages": [HI], "tools": [{"type": "function", "name": "f"}]}),
    ("openai.chat", {"messages": [HI], "tools": [{"functionDeclarations": []}]}),
    ("openai.chat", {"messages": [HI], "tools": [{"type": "web_search"}]}),
    ("anthropic", {"messages": [HI], "thinking": {"type": "enabled"}}),
    ("gemini", {"contents": "hi"}),
    ("gemini", {"model": "m", "contents": [], "config": {}}),
]


@pytest.mark.parametrize(("dialect", "message"), TELLING)
def test_one_telling_message_among_many_plain_ones_is_found(dialect, message):
    assert dialect_of([message]) == dialect
    assert dialect_of([HI] * 500 + [message]) == dialect


@pytest.mark.parametrize(("dialect", "request_"), REQUESTS)
def test_a_request_tells_by_its_fields(dialect, request_):
    assert dialect_of(request_) == dialect


@pytest.mark.parametrize(
    "message", [each for _, each in TELLING if isinstance(each, dict) and "role" in each]
)
def test_a_request_with_messages_tells_by_them(message):
    if "parts" not in message and message.get("type") is None:
        assert dialect_of({"messages": [HI, message]}) == dialect_of([HI, message])


def test_plain_words_that_fit_several_are_chat():
    assert (
        dialect_of([HI, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}]) == "openai.chat"
    )
    assert dialect_of([]) == "openai.chat"


@pytest.mark.parametrize("given", [7, "hi", None, {}, {"model": "m"}, [7], [{"foo": 1}], {"messages": "hi"}])
def test_what_fits_no_dialect_is_refused_and_names_the_known_ones(given):
    with pytest.raises(BadInput, match=", ".join(DIALECTS)):
        dialect_of(given)


def test_a_role_tells_more_than_a_block_and_the_form_more_than_a_role() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert dialect_of([{"role": "tool", "tool_call_id": "c", "content": [image]}]) == "openai.chat"
    answer = {"functionResponse": {"name": "f", "response": {}}}
    assert dialect_of([{"role": "function", "parts": [answer]}]) == "gemini"


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("gemini", {"type": "reasoning", "parts": [{"text": "hi"}]}),
        ("gemini", {"role": "model", "tool_calls": [{"id": "c"}]}),
        ("openai.responses", {"type": "function_call", "call_id": "c", "function_call": {"name": "f"}}),
        ("openai.responses", {"type": "reasoning", "tool_calls": [{"id": "c"}]}),
        ("openai.chat", {"type": "message", "role": "tool", "content": "x"}),
    ],
)
def test_of_two_signs_that_of_chat_counts_less(dialect: str, body: dict[str, object]) -> None:
    assert dialect_of([body]) == dialect


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai.chat", {"choices": [], "output": [], "candidates": []}),
        ("gemini", {"candidates": [], "output": []}),
        ("anthropic", {"type": "message", "content": [], "output": []}),
    ],
)
def test_of_two_signs_in_a_reply_that_of_responses_counts_least(
    dialect: str, body: dict[str, object]
) -> None:
    assert reply_dialect(body) == dialect


@pytest.mark.parametrize(
    "given",
    [
        [{"text": "Hello.", "calls": [{"name": "look", "args": {}}]}],
        [{"text": "Hello."}, {"calls": []}],
        [{"text": "Hello."}, {"text": "Bye.", "usage": {}}],
    ],
)
def test_a_list_of_some_programs_own_objects_is_no_conversation(given):
    with pytest.raises(BadInput, match=r"This is no conversation: messages\[[01]\] has .*\"role\""):
        dialect_of(given)


def test_a_part_alone_is_known_by_all_its_fields():
    parts = [{"thought": True, "text": "Hm.", "thoughtSignature": "x"}, {"executableCode": {"code": "1"}}]
    parts += [types.Part(text="hi").model_dump(), types.Part(text="hi").model_dump(by_alias=True)]
    assert dialect_of(["Hello.", *parts]) == "gemini"
    assert dialect_of(parts) == "gemini"
