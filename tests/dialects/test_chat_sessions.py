"""Chat Completions through a session: old and odd bodies are sent as OpenAI takes them."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import Message, Text, Thinking
from fanfold.testing.provider import Provider

JUDGE = Provider([])
OLD_CALL = {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}}


def sent(transcript: list[Any]) -> list[Any]:
    """The messages that are sent for a transcript; legal ones."""
    with fanfold.open("run", model="gpt-4o", window=9_000) as chat:
        chat.merge(transcript)
        return legal(chat.request())


def legal(request: dict[str, Any]) -> list[Any]:
    assert JUDGE.check("chat", request, model="gpt-4o") is None
    messages: list[Any] = request["messages"]
    return messages


def test_a_function_called_the_old_way_is_answered_the_old_way() -> None:
    with fanfold.open("run", model="gpt-4o") as chat:
        chat.say("Go.")
        for step in range(2):
            reply = chat.receive({"choices": [{"message": OLD_CALL, "finish_reason": "function_call"}]})
            chat.answer(reply.calls[0], f"out {step}")
            last = legal(chat.request())[-1]
            assert last == {"role": "function", "name": "run", "content": f"out {step}"}


def test_an_old_call_that_nobody_answered_gets_an_old_answer() -> None:
    messages = sent([{"role": "user", "content": "Go."}, OLD_CALL])
    assert messages[1:2] == [OLD_CALL]
    assert messages[2]["role"] == "function"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "image_url", "image_url": None},
        {"type": "file"},
        {"type": "input_audio"},
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_part_without_its_content_is_sent_as_a_note(part: dict[str, Any], role: str) -> None:
    messages = sent([{"role": role, "content": [{"type": "text", "text": "Hi."}, part]}])
    assert messages[0]["content"].startswith("Hi.\n[a block")


@pytest.mark.parametrize("content", [None, []])
def test_a_system_message_without_content_is_left_out(content: Any) -> None:
    assert sent([{"role": "system", "content": content}, {"role": "user", "content": "Hi."}]) == [
        {"role": "user", "content": "Hi."}
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {
            "content": [
                {"type": "text", "text": "Be brief."},
                {"type": "image_url", "image_url": {"url": "u"}},
            ]
        },
        {"content": [{"type": "text", "text": "Be brief."}, {"type": "text"}]},
        {
            "content": "Be brief.",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
    ],
)
def test_a_system_prompt_is_sent_as_far_as_it_may_be(odd: dict[str, Any]) -> None:
    messages = sent([{"role": "system", **odd}, {"role": "user", "content": "Hi."}])
    assert messages[0]["role"] == "system"
    assert messages[0]["content"].startswith("Be brief.")


@pytest.mark.parametrize(
    ("call", "answer", "content"),
    [
        (
            {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "out"}]},
            [{"type": "text", "text": "out"}, {"type": "text", "text": "It rains."}],
        ),
        (
            {"function_call": {"name": "run", "arguments": "{}"}},
            {"role": "function", "name": "run", "content": "out"},
            "out\n\nIt rains.",
        ),
    ],
)
def test_inside_a_loop_the_context_joins_the_result_in_any_form(call: Any, answer: Any, content: Any) -> None:
    with fanfold.open("run", model="gpt-4o") as chat:
        chat.merge(
            [{"role": "user", "content": "Go."}, {"role": "assistant", "content": None, **call}, answer]
        )
        assert legal(chat.request(context="It rains."))[-1] == {**answer, "content": content}


def test_a_request_names_the_parts_that_this_dialect_cannot_say() -> None:
    with fanfold.open("run", model="gpt-4o") as chat:
        chat.say("Go.")
        said = chat.add(Message("assistant", (Thinking("hm", "signed elsewhere"), Text("so"))))
        chat.say("Go on.")
        request = chat.request()
        assert "hm" not in repr(request)
        assert request.sent.left_out == (f"{said.id}#0",)
