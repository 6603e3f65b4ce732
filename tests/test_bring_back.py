"""Bringing one message back: it is whole again, and what was hidden with it stays hidden."""

from __future__ import annotations

import json

import pytest

import fanfold
from fanfold import Drop, Fold, Undo
from fanfold.core.view import View
from fanfold.strategies.handover.seal import unsealed
from fanfold.testing import called, replied, response


def worked(steps: int = 12, window: int = 4_000, **given: object) -> fanfold.Session:
    """A session that folded its oldest steps."""
    chat = fanfold.open("run", model="gpt-5.2", window=window, **given)  # type: ignore[arg-type]
    chat.say("Begin.")
    for step in range(steps):
        counted = chat.request(max_tokens=300).sent.tokens
        chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}")), prompt=counted))
        chat.answer(f"c{step}", "\n".join(f"row {n} of file {step}: the disk hums" for n in range(50)))
    return chat


def hidden(chat: fanfold.Session) -> str:
    """An output that is hidden by a fold, and was shortened before."""
    for ref in ("o3", "o4", "o5", "o2"):
        found = chat.why(ref)
        if found.shown_by and len(found.edits) > 1:
            return found.entry
    raise AssertionError("no output is hidden by a fold")


def leaves(chat: fanfold.Session, row: str) -> set[str]:
    return set(chat._state.log.leaves((row,)))


def test_one_message_comes_back_whole_and_the_rest_stays_behind_the_same_words() -> None:
    chat = worked()
    entry = hidden(chat)
    cover = chat.why(entry).shown_by or ""
    before, words = leaves(chat, cover), chat.view().row(cover).messages[0].text  # type: ignore[union-attr]
    chat.undo(entry[:8])
    row = chat.view().row(entry)
    assert row is not None
    assert row.was is None
    assert "row 49 of file" in row.messages[0].results[0].text
    fold = next(row for row in chat.view().rows if row.kind == "fold" and leaves(chat, row.id) & before)
    back = {one.id for one in chat.view().rows} & before
    assert leaves(chat, fold.id) == before - back
    assert len(back) == 2  # the output, and the call that it answers
    assert fold.messages[0].text.splitlines()[1:] == words.splitlines()[1:]
    assert unsealed(fold) is not None


def test_what_came_back_alone_stays_through_reductions_and_the_fold_does_not() -> None:
    chat = worked()
    entry = hidden(chat)
    chat.undo(entry)
    fold = next(row.id for row in chat.view().rows if row.kind == "fold")
    for step in range(20, 50):
        chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}")), prompt=None))
        chat.answer(f"c{step}", "\n".join(f"row {n} of file {step}: the disk hums" for n in range(50)))
        chat.request(max_tokens=300)
    assert chat.why(entry).way_back == ()
    assert chat.view().row(fold) is None


def test_a_message_is_named_by_its_output_too_and_released_by_its_name() -> None:
    chat = worked()
    entry = hidden(chat)
    ref = next(ref for ref, kept in chat._state.log.kept.items() if kept.entry == entry)
    chat.undo(ref)
    assert chat.view().row(entry) is not None
    assert entry in chat.view().exempt
    chat.release(entry[:8])
    assert entry not in chat.view().exempt


def test_the_undos_of_one_message_can_be_taken_back() -> None:
    chat = worked()
    entry = hidden(chat)
    shown = chat.view().messages
    made = chat.undo(entry)
    for decision in reversed(made):
        chat.undo(decision.id)
    assert chat.view().messages == shown


def test_a_message_among_dropped_ones_comes_back_and_the_marker_counts_the_others() -> None:
    def forget(view: View, budget: fanfold.Budget) -> list[Drop]:
        old = view.oldest(leaving=view.tokens // 2)
        return [Drop(old.covers)]

    chat = fanfold.open("talk", window=4_000, strategy=forget)
    ids = []
    for n in range(12):
        ids.append(chat.say(f"Point {n}: " + "we talk of the disk. " * 20).id)
        chat.add({"role": "assistant", "content": f"Noted {n}. " + "It hums. " * 20})
    chat.compact(force=True)
    row = next(row for row in chat.view().rows if row.kind == "drop")
    assert row.count > 4
    chat.undo(ids[1])
    again = next(row for row in chat.view().rows if row.kind == "drop")
    assert again.count == row.count - 1
    assert chat.view().row(ids[1]) is not None


def test_what_is_whole_in_view_is_not_brought_back() -> None:
    chat = worked(steps=2)
    with pytest.raises(fanfold.NotFound, match="No edit hides or shortens"):
        chat.undo(chat.view().rows[0].id)


def test_a_persons_own_fold_is_made_again_without_the_message() -> None:
    chat = fanfold.open("talk", window=8_000)
    ids = [chat.say(f"Point {n}: " + "we talk of the disk. " * 20).id for n in range(6)]
    fold = chat.fold(tuple(ids[1:5]), "We talked.")
    chat.undo(ids[2])
    assert [row.id in ids for row in chat.view().rows] == [True, False, True, True]
    again = chat.view().rows[1]
    assert again.id != fold.id
    assert again.messages[0].text == "We talked."
    made = chat._state.log.decisions[again.id]
    assert isinstance(made.edit, Fold)
    assert made.by == "person"


def test_what_came_back_alone_is_hidden_again_with_what_was_hidden_before() -> None:
    chat = worked()
    entry = hidden(chat)
    before = [row.messages for row in chat.view().rows]
    undone = [one.edit.edit for one in chat.undo(entry) if isinstance(one.edit, Undo)]
    for edit in reversed(undone):
        chat.redo(edit)
    assert [row.messages for row in chat.view().rows] == before


def test_why_says_who_brought_a_message_back_and_when() -> None:
    chat = worked(clock=iter(range(1_000, 9_000)).__next__)
    entry = hidden(chat)
    undo = chat.undo(entry)[0]
    told = {line.strip(): when for line, when in chat.why(entry).timed_lines()}
    assert told[f"undone by {undo.id}, by a person"] > 1_000


def test_undo_and_redo_lead_to_the_same_bytes_though_the_bill_no_longer_counts() -> None:
    chat = worked()
    before, shown = chat.request(max_tokens=300), chat.view().messages
    assert chat.undo()
    assert chat.view().messages != shown
    chat.redo()
    assert json.dumps(chat.request(max_tokens=300)) == json.dumps(before)


def rows_of(chat: fanfold.Session) -> list[object]:
    return [(row.id, row.messages) for row in chat.view().rows]


@pytest.mark.parametrize("named", [False, True])
def test_a_return_is_taken_back_as_a_whole_by_one_undo_or_redo(named: bool) -> None:
    chat = worked()
    entry = hidden(chat)
    before, standing = rows_of(chat), [one.decision.id for one in chat.edits() if one.fate != "undone"]
    undone = [one.edit.edit for one in chat.undo(entry) if isinstance(one.edit, Undo)]
    assert len(undone) > 1
    if named:
        chat.redo(undone[0])
    else:
        chat.undo()
    assert rows_of(chat) == before
    assert [one.decision.id for one in chat.edits() if one.fate != "undone"] == standing
    chat.undo(undone[0])
    assert chat.view().row(entry) is None or chat.view().row(entry).was is not None  # type: ignore[union-attr]


def test_redo_without_a_name_takes_a_return_back_too() -> None:
    chat = worked()
    entry, before = hidden(chat), rows_of(chat)
    chat.undo(entry)
    chat.redo()
    assert rows_of(chat) == before


def test_a_message_is_brought_back_and_hidden_as_often_as_one_likes() -> None:
    chat = worked()
    entry, before = hidden(chat), rows_of(chat)
    for _ in range(3):
        chat.undo(entry)
        back = rows_of(chat)
        assert back != before
        chat.undo()
        assert rows_of(chat) == before
    assert chat.undo(), "after that, the last edit is meant again"
    assert rows_of(chat) not in (before, back)


def test_what_was_done_since_is_undone_before_a_return() -> None:
    chat = worked()
    chat.undo(hidden(chat))
    note = chat.note("plan", "go on")
    (undone,) = chat.undo()
    assert undone.edit == Undo(note.id)
