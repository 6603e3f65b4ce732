"""F7: rules and the user's constraints vanish in a summary."""

from __future__ import annotations

import fanfold
from fanfold.core.message import text_of
from fanfold.testing import FakeModel

from .naive import compacted, loop

RULE = "Never push."
PIN = "The customer's number is 77-Q4."


def careless(messages: object) -> str:
    return "They read some files."


def test_the_naive_summary_forgets_the_rule() -> None:
    assert RULE not in str(compacted(loop(20), careless))


def test_a_rule_stands_in_every_view_though_no_summary_has_it() -> None:
    with fanfold.open("run", window=2_000, summarizer=FakeModel("They read some files."), filters=()) as chat:
        for body in loop(60, first="Find the bug. " + "It is old. " * 100 + f"\n{RULE}"):
            chat.add(body)
            if body["role"] != "assistant":
                text = "\n".join(text_of(message) for message in _sent(chat))
                assert RULE in text


def _sent(chat: fanfold.Session) -> tuple[fanfold.Message, ...]:
    chat.request()
    return chat.view().messages


def test_a_pinned_line_stands_verbatim_in_the_summary() -> None:
    with fanfold.open("run", window=2_000, summarizer=FakeModel("They read some files."), filters=()) as chat:
        chat.say("Go.")
        chat.add({"role": "assistant", "content": f"I looked it up.\n{PIN}"})
        chat.pin(PIN)
        for body in loop(60):
            chat.add(body)
        chat.request()
        assert PIN in "\n".join(text_of(message) for message in chat.view().messages).splitlines()
