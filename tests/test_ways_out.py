"""Every refusal names a way out that can be gone."""

import re
from typing import Any

import pytest

import fanfold
from fanfold import BadEdit, Budget, Covered, DoesNotFit, Elide, PartlyCovered, Repair
from fanfold.testing import called, replied, returned, said, talk

TALK = [said("Go."), replied("On it.", called("c1")), said("Are you there?")]


def repaired() -> fanfold.Session:
    """A session in which a call that nobody answered is repaired."""
    chat = fanfold.open("run", window=9_000)
    chat.merge([*TALK, replied("Yes."), said("Good.")])
    chat.request()
    assert any(row.kind == "mend" for row in chat.view().rows)
    return chat


def repaired_above(edited: str) -> tuple[fanfold.Session, str]:
    """A session in which a repair stands above a person's fold, or above a strategy's elide."""
    strategy: Any = lambda view, budget: [Elide(f"{view.rows[1].id}#1", "[gone]")]  # noqa: E731
    chat = fanfold.open("run", window=9_000, strategy=strategy, fallback=())
    call = called("c1", "run", '{"x": "%s"}' % ("word " * 100))
    told = [said("Go. " * 40), replied("On it.", call), returned("c1", "out " * 40), replied("Done.")]
    chat.merge([*told, said("More.")])
    rows = chat.view().rows
    if edited == "fold":
        decision = chat.fold(tuple(row.id for row in rows[:3]), "Folded.")
        shown = (decision.id,)
    else:
        (decision,) = chat.compact(force=True).decisions
        shown = (rows[1].id,)
    messages = chat.view().row(shown[0]).messages  # type: ignore[union-attr]
    chat._do(lambda state: state.decide(Repair(shown, messages), by="mend", why="grammar"))
    assert chat.view().rows[1 if edited == "elide" else 0].kind == "mend"
    return chat, decision.id


def test_an_entry_that_is_shown_repaired_can_be_pinned() -> None:
    chat = repaired()
    entry = chat._state.log.tree.path(chat.head)[1]
    chat.pin(entry)
    assert [row.kind for row in chat.view().rows if row.pinned] == ["mend"]


def test_an_entry_that_is_hidden_names_the_edit_that_hides_it() -> None:
    chat = fanfold.open("run", window=9_000)
    ids = [chat.say("word " * 30).id, chat.say("more " * 30).id]
    fold = chat.fold(tuple(ids), "Words.")
    with pytest.raises(Covered, match=rf"is hidden by {fold.id}; undo that first") as caught:
        chat.pin(ids[0])
    assert str(caught.value).endswith(".")
    chat.undo(fold.id)
    chat.pin(ids[0])


@pytest.mark.parametrize("edited", ["fold", "elide"])
@pytest.mark.parametrize("through", [False, True])
def test_an_edit_under_a_repair_can_be_undone_and_redone(edited: str, through: bool) -> None:
    chat, edit = repaired_above(edited)
    before = chat.view().messages
    chat.undo(edit, through=through)
    assert [row.kind for row in chat.view().rows] == ["entry"] * 5
    assert all(row.was is None for row in chat.view().rows)
    chat.redo()
    assert chat.view().messages == before


def test_what_was_repaired_while_an_edit_was_undone_does_not_hide_the_edit_when_it_is_given_back() -> None:
    chat, edit = repaired_above("fold")
    before = chat.view().messages
    chat.undo(edit)
    rows = tuple(row.id for row in chat.view().rows[:3])
    messages = tuple(message for row in chat.view().rows[:3] for message in row.messages)
    chat._do(lambda state: state.decide(Repair(rows, messages), by="mend", why="grammar"))
    chat.redo(edit)
    assert chat.view().messages == before


def test_what_a_repair_covered_beside_an_undone_edit_is_not_brought_back() -> None:
    chat, edit = repaired_above("fold")
    entries = {row.id for row in chat.view().rows[1:]}
    covers = chat._state.log.decisions[edit].edit.covers  # type: ignore[union-attr]
    chat.undo(edit)
    assert chat.view().exempt == set(covers)
    assert not entries & chat.view().exempt


def test_only_the_cover_that_can_be_undone_is_named() -> None:
    chat, edit = repaired_above("fold")
    repair = chat.view().rows[0].id
    fold = chat.fold((repair, chat.view().rows[1].id), "Once more.")
    with pytest.raises(Covered, match=f"{edit} is covered by {fold.id}. Undo that first"):
        chat.undo(edit)
    chat.undo(fold.id)
    chat.undo(edit)
    assert [row.kind for row in chat.view().rows] == ["entry"] * 5


def test_what_does_not_fit_names_only_the_undo_that_brought_rows_back() -> None:
    chat = fanfold.open("run", window=1_000)
    chat.say("Keep me.")
    chat.pin("Keep me.")
    chat.unpin("Keep me.")
    chat.note("a", "b")
    chat.undo("e3")
    chat.merge([said("Keep me."), *talk(6, 2)])
    chat.request()
    (undo,) = chat.undo()
    with pytest.raises(DoesNotFit, match=rf"Release {undo.id} \([\d,]+ tokens\), ") as caught:
        chat.request()
    assert "unpin" not in str(caught.value)


def test_a_note_that_fills_the_window_is_named() -> None:
    chat = fanfold.open("run", window=500)
    chat.say("Go.")
    small, large = chat.note("todo", "sleep"), chat.note("plan", "word " * 600)
    with pytest.raises(
        DoesNotFit, match=rf"6\d\d for notes.* Undo {large.id}, {small.id} \(6\d\d tokens of notes\)"
    ):
        chat.request()
    chat.undo(large.id)
    assert chat.request()["messages"]


@pytest.mark.parametrize(
    ("rows", "shows", "words"),
    [
        (2, "word " * 99, "it makes the view larger by"),
        (2, "", "it shows nothing"),
        (0, "x", "it covers nothing"),
    ],
)
def test_a_fold_that_cuts_nothing_is_not_said_to_cut(rows: int, shows: str, words: str) -> None:
    chat = fanfold.open("run", window=9_000)
    ids = [chat.say("One.").id, chat.say("Two.").id]
    with pytest.raises(BadEdit, match=words) as caught:
        chat.fold(tuple(ids[:rows]), shows)
    assert not isinstance(caught.value, PartlyCovered)


@pytest.mark.parametrize("covers", [("nobody",), None])
def test_a_fold_that_cuts_is(covers: Any) -> None:
    chat = fanfold.open("run", window=9_000)
    chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "out"), said("And?")])
    with pytest.raises(PartlyCovered):
        chat.fold(covers or (chat.view().rows[1].id,), "x")


SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"description": "word " * 5_000}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def why_not(chat: fanfold.Session, **arguments: Any) -> str:
    """What a request says that does not fit."""
    with pytest.raises(DoesNotFit) as caught:
        chat.request(**arguments)
    return str(caught.value)


def opened(words: str = "Hi.", **options: Any) -> fanfold.Session:
    """A session in which the user said something that stays."""
    chat = fanfold.open("run", **options)
    chat.pin(chat.say(words).id)
    return chat


def test_a_context_that_fills_the_window_is_named() -> None:
    told = why_not(opened(window=2_000), context="word " * 5_000)
    assert re.search(r"5,0\d\d for the context, \d for pinned messages, 3 for everything else\.", told)
    assert "shorten the context, ask for a shorter reply, or raise the window." in told
    assert "parameters" not in told


def test_a_schema_that_fills_the_window_is_named() -> None:
    told = why_not(opened(window=2_000), response_format=SCHEMA)
    assert re.search(r"5,0\d\d for the parameters, \d for pinned messages, 3 for everything else\.", told)
    assert "shorten the schema among the parameters, ask for a shorter reply" in told
    assert "context" not in told


def test_too_many_bytes_name_who_holds_them() -> None:
    small = Budget(window=100_000, max_bytes=300)
    told = why_not(opened(budget=small, system="x" * 400))
    assert re.search(r"bytes, 300 fit: 4\d\d for system prompt and tools, ", told)
    assert told.endswith("Unpin something, shorten system prompt or tools, or raise max_bytes.")
    told = why_not(opened(budget=small), context="x" * 400)
    assert re.search(r"300 fit: 4\d\d for the context, ", told)
    assert told.endswith("Unpin something, shorten the context, or raise max_bytes.")
    told = why_not(opened(budget=small), metadata={"x": "y" * 400})
    assert re.search(r"300 fit: 4\d\d for the parameters, ", told)
    assert told.endswith("Unpin something, shorten the parameters, or raise max_bytes.")


def test_smaller_images_are_a_way_out_where_there_are_some() -> None:
    chat = fanfold.open("run", budget=Budget(window=100_000, max_bytes=300))
    chat.pin(chat.say("Look.", fanfold.Image("image/png", PIXEL * 9)).id)
    assert why_not(chat).endswith("Unpin something, send smaller images, or raise max_bytes.")


@pytest.mark.parametrize(
    ("budget", "way"),
    [
        (Budget(window=1_000, reserve=0), "raise the window"),
        (Budget(window=1_000, shared=False), "raise the window"),
        (Budget(window=1_000, max_input=500), "raise max_input"),
    ],
)
def test_a_reply_that_takes_none_of_the_room_is_not_to_be_shorter(budget: Budget, way: str) -> None:
    told = why_not(opened("hi " * 2_000, budget=budget))
    assert f"{budget.limit:,} fit: " in told
    assert told.endswith(f". Unpin something, or {way}.")


def test_a_limit_that_the_provider_told_cannot_be_raised() -> None:
    chat = opened("hi " * 2_000, dialect="anthropic", window=9_000)
    chat.request(max_tokens=100)
    chat.refused("prompt is too long: 2500 tokens > 1000 maximum")
    assert why_not(chat).endswith(". Unpin something, or use a model that takes more.")
