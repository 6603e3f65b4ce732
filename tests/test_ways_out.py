"""Every refusal names a way out that can be gone."""

from typing import Any

import pytest

import fanfold
from fanfold import BadEdit, Covered, DoesNotFit, Elide, Mend, PartlyCovered
from fanfold.testing import called, replied, returned, said, talk

TALK = [said("Go."), replied("On it.", called("c1")), said("Are you there?")]


def mended() -> fanfold.Session:
    """A session in which a call that nobody answered is mended."""
    chat = fanfold.open("run", window=9_000)
    chat.merge([*TALK, replied("Yes."), said("Good.")])
    chat.request()
    assert any(row.kind == "mend" for row in chat.view().rows)
    return chat


def mended_above(edited: str) -> tuple[fanfold.Session, str]:
    """A session in which a mend stands above a person's fold, or above a strategy's elide."""
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
    chat._do(lambda state: state.decide(Mend(shown, messages), by="mend", why="grammar"))
    assert chat.view().rows[1 if edited == "elide" else 0].kind == "mend"
    return chat, decision.id


def test_an_entry_that_is_shown_mended_can_be_pinned() -> None:
    chat = mended()
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
def test_an_edit_under_a_mend_can_be_undone_and_redone(edited: str, through: bool) -> None:
    chat, edit = mended_above(edited)
    before = chat.view().messages
    chat.undo(edit, through=through)
    assert [row.kind for row in chat.view().rows] == ["entry"] * 5
    assert all(row.was is None for row in chat.view().rows)
    chat.redo()
    assert chat.view().messages == before


def test_what_was_mended_while_an_edit_was_undone_does_not_hide_the_edit_when_it_is_given_back() -> None:
    chat, edit = mended_above("fold")
    before = chat.view().messages
    chat.undo(edit)
    rows = tuple(row.id for row in chat.view().rows[:3])
    messages = tuple(message for row in chat.view().rows[:3] for message in row.messages)
    chat._do(lambda state: state.decide(Mend(rows, messages), by="mend", why="grammar"))
    chat.redo(edit)
    assert chat.view().messages == before


def test_what_a_mend_covered_beside_an_undone_edit_is_not_brought_back() -> None:
    chat, edit = mended_above("fold")
    entries = {row.id for row in chat.view().rows[1:]}
    covers = chat._state.log.decisions[edit].edit.covers  # type: ignore[union-attr]
    chat.undo(edit)
    assert chat.view().exempt == set(covers)
    assert not entries & chat.view().exempt


def test_only_the_cover_that_can_be_undone_is_named() -> None:
    chat, edit = mended_above("fold")
    mend = chat.view().rows[0].id
    fold = chat.fold((mend, chat.view().rows[1].id), "Once more.")
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
        DoesNotFit, match=rf"6\d\d notes.* Undo {large.id}, {small.id} \(6\d\d tokens of notes\)"
    ):
        chat.request()
    chat.undo(large.id)
    assert chat.request()["messages"]


@pytest.mark.parametrize(
    ("rows", "shows", "words"),
    [
        (2, "word " * 99, "it saves -"),
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
