"""gc: blobs that nobody refers to, and outputs that are hidden everywhere; deleted only when told (A7)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from output_builders import give, numbered, opened, shown

import fanfold
from fanfold.core.message import assistant

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
    assert not chat.gc()


def test_an_output_that_a_filter_shows_without_its_reference_is_no_garbage() -> None:
    def last_words(text: str, tool: str, arguments: Any) -> str:
        return text.rpartition("\r")[2]

    chat = opened(filters=[last_words])
    give(chat, "c1", "10 %\r50 %\r100 %")
    assert shown(chat) == "100 %"
    assert not chat.gc()


def test_an_output_that_a_repair_moved_is_no_garbage() -> None:
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
    assert not chat.gc()


def test_an_output_that_was_folded_away_is_listed_and_stays_until_told() -> None:
    store = fanfold.Memory()
    chat = dropped(store)
    (found,) = chat.gc().hidden
    assert (found.refs, found.size) == (("run/o1",), len(BIG))
    assert chat.output("o1").text() == BIG


def test_when_told_it_is_deleted_and_the_summary_stays() -> None:
    store = fanfold.Memory()
    chat = dropped(store)
    chat.gc(delete=True, hidden=True)
    assert store.blobs("default") == []
    assert "It listed files." in [message.text for message in chat.view().messages]
    with pytest.raises(fanfold.Gone, match="gc"):
        chat.output("o1")
    assert not chat.gc()


def test_an_output_that_another_branch_shows_is_no_garbage() -> None:
    chat = dropped(fanfold.Memory())
    chat.rewind(2)
    chat.say("another way")
    assert not chat.gc()


def test_an_output_that_another_session_shows_is_no_garbage() -> None:
    chat = dropped(fanfold.Memory())
    chat.fork("afresh", edits=False)
    assert not chat.gc()


def test_an_output_whose_reference_a_summary_names_is_no_garbage() -> None:
    chat = opened()
    chat.say("go " + "x" * 400)
    give(chat, "c1", BIG)
    chat.add(assistant("seen"))
    chat.say("next")
    chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "The list of files is o1.")
    assert not chat.gc()


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
    assert not chat.gc()


def test_a_short_output_is_collected_too() -> None:
    chat = dropped(fanfold.Memory(), "short text " * 50)
    chat.gc(delete=True, hidden=True)
    chat.undo()
    assert shown(chat, 2) == "[erased: gc]"


def test_a_blob_that_no_session_knows_is_garbage() -> None:
    store = fanfold.Memory()
    chat = opened(store=store)
    chat.say("hello")
    blob = store.put_blob("default", [b"left by a process that died"])
    assert chat.gc() == fanfold.Garbage(blobs=(blob,))
    assert chat.gc(delete=True) == fanfold.Garbage(blobs=(blob,))
    assert store.blobs("default") == []


def worked(store: fanfold.Memory, name: str = "run", *, talk: str = "") -> fanfold.Session:
    """A session that folded its older outputs by itself."""
    chat = opened(6_000, name=name, store=store, strategy="drop_oldest")
    for number in range(12):
        chat.say(f"Look at {number} {talk}.")
        give(chat, f"c{number}", f"{talk} {number} says: " + "something or other " * 60)
        chat.add(assistant("seen"))
        chat.request()
    chat.compact(force=True)
    return chat


def everything(store: fanfold.Memory) -> dict[str, str]:
    """Every message of every session, as it was said."""
    return {id: str(entry.message) for id, entry in store.tenant("default").tree.entries.items()}


def bring_back(chat: fanfold.Session) -> None:
    """Undo every edit."""
    with suppress(fanfold.NotFound):
        while chat.undo():
            pass


def test_gc_deletes_nothing_that_an_undo_needs() -> None:
    """(19.2) After ordinary folds, `gc(delete=True)` destroyed what `undo` brings back, in every session."""
    store = fanfold.Memory()
    chat, other = worked(store), worked(store, "other", talk="other")
    before = everything(store)
    assert chat.gc().hidden, "folds hid outputs"
    assert not chat.gc(delete=True)
    assert everything(store) == before
    for session in (chat, other):
        bring_back(session)
        assert "[erased" not in str(session.view().messages)


def test_the_two_kinds_of_garbage_are_listed_apart() -> None:
    """(19.2) A blob that nobody refers to is one thing, an output that an undo brings back another."""
    store = fanfold.Memory()
    chat = dropped(store)
    blob = store.put_blob("default", [b"left by a process that died"])
    found = chat.gc()
    assert found.blobs == (blob,)
    assert [output.refs for output in found.hidden] == [("run/o1",)]
    assert found.size == blob.size + len(BIG)
    assert chat.gc(delete=True) == fanfold.Garbage(blobs=(blob,))
    assert chat.output("o1").text() == BIG


def test_hidden_outputs_of_another_session_are_never_deleted() -> None:
    """(19.2) They are listed, with the session that has them; only that one deletes them."""
    store = fanfold.Memory()
    chat, other = worked(store), worked(store, "other", talk="other")
    theirs = [output for output in chat.gc().hidden if output.sessions == ("other",)]
    assert theirs
    gone = {output.entry for output in chat.gc(delete=True, hidden=True).hidden}
    assert gone
    assert gone.isdisjoint(output.entry for output in theirs)
    bring_back(other)
    assert "[erased" not in str(other.view().messages)


def test_a_hidden_output_that_another_session_has_too_is_not_deleted() -> None:
    """(19.2) A fork hides it as well, and may undo that."""
    chat = dropped(fanfold.Memory())
    fork = chat.fork("fork")
    assert [output.sessions for output in chat.gc().hidden] == [("fork", "run")]
    assert not chat.gc(delete=True, hidden=True)
    fork.undo()
    assert fork.output("o1").text() == BIG


def test_it_is_said_which_undos_will_show_a_stub() -> None:
    """(19.2) Before and after hidden outputs are deleted."""
    chat = dropped(fanfold.Memory(), "short text " * 50)
    assert chat.gc(hidden=True).undos == ("e1",)
    assert chat.gc(delete=True, hidden=True).undos == ("e1",)
    chat.undo("e1")
    assert shown(chat, 2) == "[erased: gc]"


def test_an_edit_that_is_undone_already_is_not_named() -> None:
    """(19.2) Only what still hides an output can show a stub in its place."""
    chat = dropped(fanfold.Memory(), "short text " * 50)
    chat.undo("e1")
    chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "Listed.")
    assert chat.gc().undos == ("e3",)
