"""What happened between two requests is on the time line: refusals, another history, going back, erasures."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.core.message import text_of
from fanfold.core.record import is_visible
from fanfold.stores.memory import Memory
from fanfold.testing import replied, response
from tests.inspector.world import Page, open_worked


def ask(chat: fanfold.Session, text: str) -> None:
    chat.say(text)
    body = response(replied("Yes."), prompt=chat.request().sent.tokens)
    chat.receive(body)


def test_a_refusal_is_told_of_the_request_that_was_refused() -> None:
    chat = fanfold.open("run", model="gpt-5.2", window=60_000)
    for _ in range(5):
        ask(chat, "One? " * 1_500)
    chat.say("Two?")
    chat.request(max_tokens=500)
    said = "This model's maximum context length is 12000 tokens. However, your messages resulted in 15000 tokens."
    assert chat.refused({"error": {"code": "context_length_exceeded", "message": said}})
    chat.request(max_tokens=500)
    assert [one.refused for one in chat.requests()] == [*[False] * 5, True, False]


def test_what_moves_a_conversation_is_told_before_the_next_request() -> None:
    chat = fanfold.open("run", model="gpt-5.2")
    ask(chat, "One?")
    first = chat.view().rows[1].id
    ask(chat, "Two?")
    chat.rewind(first)
    ask(chat, "Three?")
    chat.erase(chat.view().rows[0].id, "asked for")
    ask(chat, "Four?")
    assert [one.events for one in chat.requests()] == [(), (), ("rewind",), ("erased",)]


def test_a_client_that_begins_anew_is_told() -> None:
    chat = fanfold.open("run", model="gpt-5.2")
    said = [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "Yes."}]
    chat.merge([*said, {"role": "user", "content": "Two?"}])
    chat.request()
    chat.merge(
        [said[0], {"role": "assistant", "content": "A summary."}, {"role": "user", "content": "Three?"}]
    )
    chat.request()
    assert [one.events for one in chat.requests()] == [(), ("history",)]
    assert text_of(chat.view().rows[-1].messages[0]) == "Three?"


def test_each_edit_is_told_of_the_next_request_only() -> None:
    chat = fanfold.open("run", model="gpt-5.2")
    ask(chat, "One?")
    pin = chat.pin(chat.view().rows[0].id)
    ask(chat, "Two?")
    note = chat.note("plan", "look on")
    ask(chat, "Three?")
    assert [one.edits for one in chat.requests()] == [(), (pin.id,), (note.id,)]


def test_how_long_a_reply_took_is_told() -> None:
    now = [100.0]
    chat = fanfold.open("run", model="gpt-5.2", clock=lambda: now[0])
    chat.say("One?")
    sent = chat.request().sent
    now[0] = 104.5
    chat.receive(response(replied("Yes."), prompt=sent.tokens))
    chat.say("Two?")
    chat.request()
    assert [one.seconds for one in chat.requests()] == [4.5, None]


def test_the_rows_of_a_past_request_say_what_was_true_of_them() -> None:
    store = Memory()
    chat = open_worked(store)
    first, second = (row.id for row in chat.view().rows[:2])
    with Page(store) as page:
        visitor = page.enter()
        told = {row["id"]: row["because"] for row in visitor.ask("sessions/run/view?request=3")["rows"]}
        assert told[first] == "As it was recorded: no edit touched it."
        chat.erase(second, "asked for")
        told = {row["id"]: row["because"] for row in visitor.ask("sessions/run/view?request=3")["rows"]}
        assert told[second].startswith("Erased: ")
        assert told[first] == "As it was recorded: no edit touched it."


def test_a_request_and_its_difference_are_counted_in_the_same_way() -> None:
    store = Memory()
    open_worked(store)
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask("sessions/run/requests/3")
        shown = visitor.ask("sessions/run/view?request=3")["tokens"]
        assert (told["tokens"], told["diff"]["after"]) == (shown, shown)


def test_the_log_is_read_once_for_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[object]()

    def count(record: object) -> bool:
        seen.append(record)
        return is_visible(record)

    chat = fanfold.open("long", model="gpt-5.2", window=400_000)
    for number in range(60):
        chat.say(f"Question {number}")
        counted = chat.request(max_tokens=500).sent.tokens
        chat.receive(response(replied("Yes."), prompt=counted))
    monkeypatch.setattr("fanfold.session.cache.is_visible", count)
    for number in range(60):
        chat.cache(number)
    chat.note("plan", "look on")
    chat.say("And now?")
    chat.request(max_tokens=500)
    assert chat.cache(60).broken is None
    assert len(seen) <= len(chat._state.log.records)
