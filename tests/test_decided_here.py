"""Decisions that one line makes, each held by one test: what is carried along, what is known again, when it is due."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

import fanfold
from builders import asks, calls, gives, long, opened, reply, says, tell, texts
from fanfold import Budget, Message, Session, Text, Thinking
from fanfold.core.message import Call
from fanfold.stores.sqlite import SQLite
from fanfold.stores.tenant_tree import TenantTree


def test_a_view_that_costs_just_the_trigger_is_reduced() -> None:
    budget = Budget(window=1_000, reserve=0, trigger=0.5)
    assert (budget.presses(499), budget.presses(500)) == (False, True)


def test_an_edit_stands_again_behind_the_last_message_that_it_covers() -> None:
    chat = opened(9_000)
    start = [asks("one"), says("two")]
    first = tell(chat, *start, asks(long("three", 40)), says(long("four", 40)), asks("five"))
    chat.fold(tuple(first[2:4]), "[three and four]")
    chat.merge([asks("another"), says("talk"), asks("meanwhile")])
    merged = chat.merge([*start, asks(long("three", 40)), says(long("four", 40)), asks("six")])
    assert merged.forked
    assert texts(chat) == ["one", "two", "[three and four]", "six"]


def test_thoughts_stay_behind_where_the_words_after_them_are_gone() -> None:
    chat = opened(9_000)
    chat.say("one")
    thought = chat.add(Message("assistant", (Thinking("hm", "signed"),)))
    chat.add(Message("assistant", (Text("two"),)))
    chat.say("three")
    merged = chat.merge([asks("one"), asks("four")])
    assert merged.forked
    assert thought.id not in chat._state.path


def test_a_stub_does_not_stand_for_a_message_about_another_call() -> None:
    tree = TenantTree()
    stub = tree.erase(tree.add(None, Message("assistant", (Call("read", "read", "{}"),))).id, "asked for")
    again, other = (Message("assistant", (Call(id, "read", "{}"),)) for id in ("read", "read#2"))
    assert tree.echo(None, again) == tree.echo(None, other)  # both ids are made from the name
    assert tree.stub(None, again) == stub
    assert tree.stub(None, other) is None


def framed(chat: Session, system: str, *more: str) -> str:
    chat.merge([{"role": "system", "content": system}, asks("one"), *map(asks, more)])
    return chat._state.log.frame().system[0].text


def test_a_frame_is_recorded_again_where_somebody_else_recorded_another_meanwhile(tmp_path: Path) -> None:
    one, other = (opened(9_000, store=SQLite(tmp_path / "a.db"), on_moved="reapply") for _ in range(2))
    assert framed(one, "Be short.") == "Be short."
    assert framed(other, "Be long.") == "Be long."
    one.request()  # it takes in what the other one wrote
    assert framed(one, "Be short.") == "Be short."


def test_a_session_that_is_opened_again_stands_on_its_last_bill_until_something_was_edited() -> None:
    store = fanfold.Memory()
    with opened(9_000, store=store) as chat:
        chat.say(long("one", 500))
        chat.request()
        chat.receive(reply(says("two"), prompt=800))
        last = chat._state.learned.last
        assert last is not None
    with opened(9_000, store=store) as chat:
        assert chat._state.learned.last == last
        chat.pin(chat.view().rows[0].id)
    with opened(9_000, store=store) as chat:
        assert chat._state.learned.whole is not None
        assert chat._state.learned.last is None


def test_a_reduction_that_rests_is_due_again_after_a_rewind() -> None:
    chat = opened(1_000)
    ids = tell(chat, *(one for n in range(11) for one in (asks(long(f"q{n}", 40)), says(long(f"a{n}", 40)))))
    chat._state.aftermath.quiet_until = 10_000
    assert not chat.pressure().due
    chat.rewind(ids[-2])
    assert chat.pressure().due


def test_what_was_just_looked_up_stays_though_the_model_spoke_before_the_answer_came() -> None:
    chat = opened(9_000)
    tell(
        chat, asks("one"), calls("c", name="tool_output_cache", arguments='{"ref": "o1"}'), says("A moment.")
    )
    (found,) = tell(chat, gives("c", "found"))
    tell(chat, says("two"), says("three"))
    assert chat.view().recalled == {found}
    tell(chat, says("four"))
    assert chat.view().recalled == frozenset()


def test_a_summary_of_the_past_is_not_cut_where_only_a_new_output_is_too_long() -> None:
    chat = opened(2_000, strategy=lambda view, budget: None, filters=[])
    tell(chat, *(one for n in range(6) for one in (asks(long(f"q{n}", 50)), says(long(f"a{n}", 50)))))
    tell(chat, asks("Run it."), calls("c"), gives("c", "\n".join(long(f"line {n}", 20) for n in range(300))))
    chat.request()
    assert [text for text in texts(chat) if text.startswith("[summary of 11 messages")]


def test_a_request_that_is_too_long_only_as_it_is_written_is_reduced() -> None:
    def request(max_bytes: int | None) -> dict[str, Any]:
        budget = Budget(window=50_000, max_bytes=max_bytes)
        with fanfold.open("run", model="claude-sonnet-4-5", budget=budget) as chat:
            tell(
                chat,
                *(one for n in range(8) for one in (asks(long(f"q{n}", 15)), says(f"a{n}"))),
                asks("end"),
            )
            return dict(chat.request(max_tokens=100))

    whole = len(msgspec.json.encode(request(None)))
    assert len(msgspec.json.encode(request(whole))) == whole
    assert len(msgspec.json.encode(request(whole - 1))) < whole
