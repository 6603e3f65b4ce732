"""Streams with garbage in them: what is no event says nothing, and what came around it is kept."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold.testing.provider import Provider

JUDGE = Provider([], foreign_signatures=True)
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


def chunk(delta: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **more}]}


def piece(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": text,
        **more,
    }


def part(*parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


STREAMS: list[tuple[str, str, list[Any]]] = [
    ("openai.chat", "gpt-4o", [chunk({"content": "Hi"}), {"choices": [None, 5]}, chunk({"content": "."})]),
    (
        "openai.chat",
        "gpt-4o",
        [chunk({"content": "Hi"}), {"choices": 5}, chunk(True), chunk({"content": "."})],
    ),
    (
        "openai.chat",
        "gpt-4o",
        [chunk({"content": "Hi"}), chunk({"tool_calls": [None]}), chunk({"content": "."})],
    ),
    ("anthropic", "claude-opus-4-8", [{**TEXT, "content_block": {"type": "text", "text": 5}}, piece("Hi.")]),
    ("anthropic", "claude-opus-4-8", [TEXT, piece("Hi."), {"type": "message_delta", "delta": 5, "usage": 5}]),
    (
        "anthropic",
        "claude-opus-4-8",
        [{"type": "message_start", "message": {"usage": 5}}, TEXT, piece("Hi.")],
    ),
    ("openai.responses", "gpt-5.2", [words("Hi"), words(".", content_index={"odd": 1})]),
    ("gemini", "gemini-2.5-pro", [part({"text": "hm", "thought": True}, {}), part({"text": "Hi."})]),
    (
        "gemini",
        "gemini-2.5-pro",
        [part({"text": "hm", "thought": True}, {"functionCall": {"name": {}}}), part({"text": "Hi."})],
    ),
]


@pytest.mark.parametrize(("dialect", "model", "events"), STREAMS)
def test_what_is_no_event_is_passed_over(dialect: str, model: str, events: list[Any]) -> None:
    api = {"openai.chat": "chat", "openai.responses": "responses"}.get(dialect, dialect)
    with fanfold.open("run", model=model, dialect=dialect, window=9_000) as chat:
        chat.say("Go.")
        with chat.listen(iter(events)) as heard:
            assert list(heard) == events
        assert heard.reply is not None
        assert heard.reply.text == "Hi."
        chat.say("And?")
        assert JUDGE.check(api, chat.request(), model=model) is None


def test_a_function_without_a_name_can_be_answered_after_a_cut_stream() -> None:
    called = {"functionCall": {"name": "", "args": {}}}
    with fanfold.open("run", model="gemini-2.5-pro", dialect="gemini", window=9_000) as chat:
        chat.say("Go.")
        with chat.listen(iter([part({"text": "hm", "thought": True}), part(called)])) as heard:
            list(heard)
        assert heard.reply is not None
        chat.answer(heard.reply.calls[0], "out")
        assert JUDGE.check("gemini", chat.request(), model="gemini-2.5-pro") is None


def test_a_reply_that_only_refers_to_an_item_is_refused() -> None:
    with fanfold.open("run", model="gpt-5.2", dialect="openai.responses") as chat:
        chat.say("Go.")
        with pytest.raises(fanfold.BadInput, match=r"response\.output\[0\] has neither a type nor a role"):
            chat.receive({"output": [{"id": "rs_1", "summary": []}]})
