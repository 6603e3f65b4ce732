"""gc: what nothing on any branch refers to is listed, and deleted only when told (A7)."""

from __future__ import annotations

from typing import Any

import pytest
from output_builders import give, numbered, opened, shown

import fanfold
from fanfold.message import assistant

BIG = numbered(200_000, "a line of some length, number")


def dropped(store: fanfold.Memory, output: str = BIG) -> fanfold.Session:
    """A session whose only output was folded away."""
    chat = opened(store=store)
    chat.say("go " + "x" * 400)
    give(chat, "c1", output)
    chat.add(assistant("seen"))
    chat.say("next")
    rows = chat.view().rows[1:3]
    chat.fold(tuple(row.id for row in rows), "It listed files.")
    return chat


def test_an_output_in_view_is_no_garbage() -> None:
    chat = opened()
    give(chat, "c1", BIG)
    give(chat, "c2", "small")
    assert chat.gc() == ()


def test_an_output_that_a_pass_shows_without_its_reference_is_no_garbage() -> None:
    def last_words(text: str, tool: str, arguments: Any) -> str:
        return text.rpartition("\r")[2]

    chat = opened(passes=[last_words])
    give(chat, "c1", "10 %\r50 %\r100 %")
    assert shown(chat) == "100 %"
    assert chat.gc() == ()


def test_an_output_that_a_mend_moved_is_no_garbage() -> None:
    function = {"name": "bash", "arguments": "{}"}
    chat = opened(dialect="openai.chat")
    chat.merge(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
            {"role": "user", "content": "hurry"},
            {"role": "tool", "tool_call_id": "a", "content": "what it gave"},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "more"},
        ]
    )
    assert "what it gave" in str(chat.request()["messages"])
    assert "mend" in {row.kind for row in chat.view().rows}
    assert chat.gc() == ()


def test_an_output_that_was_folded_away_is_listed_and_stays_until_told() -> None:
    store = fanfold.Memory()
    chat = dropped(store)
    (found,) = chat.gc()
    assert (found.refs, found.size) == (("run/o1",), len(BIG))
    assert chat.output("o1").text() == BIG


def test_when_told_it_is_deleted_and_the_summary_stays() -> None:
    store = fanfold.Memory()
    chat = dropped(store)
    chat.gc(delete=True)
    assert store.blobs("default") == []
    assert "It listed files." in [message.text for message in chat.view().messages]
    with pytest.raises(fanfold.Gone, match="gc"):
        chat.output("o1")
    assert chat.gc() == ()


def test_an_output_that_another_branch_shows_is_no_garbage() -> None:
    chat = dropped(fanfold.Memory())
    chat.rewind(2)
    chat.say("another way")
    assert chat.gc() == ()


def test_an_output_that_another_session_shows_is_no_garbage() -> None:
    chat = dropped(fanfold.Memory())
    chat.fork("afresh", edits=False)
    assert chat.gc() == ()


def test_an_output_whose_reference_a_summary_names_is_no_garbage() -> None:
    chat = opened()
    chat.say("go " + "x" * 400)
    give(chat, "c1", BIG)
    chat.add(assistant("seen"))
    chat.say("next")
    chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "The list of files is o1.")
    assert chat.gc() == ()


def test_an_output_behind_the_reference_of_a_summary_is_no_garbage() -> None:
    def summarised(view: Any, budget: Any) -> list[fanfold.Fold]:
        return [fanfold.Fold(tuple(row.id for row in view.rows[1:3]), "It listed files; ref={ref}")]

    chat = opened(strategy=summarised)
    chat.say("go " + "x" * 400)
    give(chat, "c1", BIG)
    chat.add(assistant("seen"))
    chat.say("next")
    assert chat.compact(force=True).status == "reduced"
    assert chat.view().messages[1].text == "It listed files; ref=m1"
    assert chat.gc() == ()


def test_a_short_output_is_collected_too() -> None:
    chat = dropped(fanfold.Memory(), "short text " * 50)
    chat.gc(delete=True)
    chat.undo()
    assert shown(chat, 2) == "[erased: gc]"


def test_a_blob_that_no_session_knows_is_garbage() -> None:
    store = fanfold.Memory()
    chat = opened(store=store)
    chat.say("hello")
    blob = store.put_blob("default", [b"left by a process that died"])
    assert [found.blobs for found in chat.gc()] == [(blob.id,)]
    chat.gc(delete=True)
    assert store.blobs("default") == []
