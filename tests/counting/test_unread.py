"""What is sent is counted, also where no part of a message says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fanfold
from fanfold import DoesNotFit

LONG = "lorem ipsum dolor " * 2_000
SOURCE = {"type": "text", "media_type": "text/plain", "data": "x"}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "s"}],
    "content": [{"type": "reasoning_text", "text": LONG}],
}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "a", "annotations": []}],
}
ASKED = {"role": "user", "content": "q"}
UNREAD = {
    "a document's context": (
        "anthropic",
        [
            {
                "role": "user",
                "content": [{"type": "document", "source": SOURCE, "title": "t", "context": LONG}],
            }
        ],
    ),
    "another provider's reasoning": (
        "openai.chat",
        [ASKED, {"role": "assistant", "content": "a", "reasoning_details": [{"text": LONG}]}, ASKED],
    ),
    "a name": ("openai.chat", [{"role": "user", "name": LONG, "content": "q"}]),
    "reasoning beside its summary": ("openai.responses", [ASKED, REASONING, SAID, ASKED]),
}


@pytest.mark.parametrize(("dialect", "messages"), UNREAD.values(), ids=UNREAD)
def test_what_is_sent_beside_the_parts_is_counted(dialect: str, messages: list[Any]) -> None:
    with fanfold.open("run", dialect=dialect, window=1_000) as chat:
        chat.merge(messages)
        assert 6_000 < chat.view().tokens < 6_100
        try:
            request = chat.request()
        except DoesNotFit:
            return
        assert len(json.dumps(request)) < 1_000


OUTPUT = {f"line {number}": "as it was found " * 9 for number in range(40)}
TWICE = {
    "data that a tool was given": (
        "anthropic",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": OUTPUT}]},
    ),
    "data that a tool gave": (
        "gemini",
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": OUTPUT}}]},
    ),
    "a block that nobody knows": ("anthropic", {"role": "user", "content": [{"type": "new", **OUTPUT}]}),
    "words": ("openai.chat", {"role": "user", "content": [{"type": "text", "text": str(OUTPUT)}]}),
}


@pytest.mark.parametrize(("dialect", "message"), TWICE.values(), ids=TWICE)
def test_what_a_part_says_is_not_counted_twice(dialect: str, message: Any) -> None:
    with fanfold.open("run", dialect=dialect, window=100_000) as chat:
        gauge = chat._state.gauge
        read = gauge.dialect.message(message)
        assert gauge.message(read).tokens == gauge.meter.message(read) > 1_000
