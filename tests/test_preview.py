"""What a change would do is told before it is made, and then it is what happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fanfold
from fanfold.strategies.elide import elide
from fanfold.testing import called, replied, response
from fanfold.tokens import models

LONG = "\n".join(f"line {n}: all is well with the disk" for n in range(120))
DIALECTS = ["openai.chat", "openai.responses", "anthropic", "gemini"]


def worked(**options: Any) -> fanfold.Session:
    """A session in which old outputs were elided."""
    given = {"model": "gpt-5.2", "window": 9_000, "strategy": elide(keep=1), **options}
    chat = fanfold.open("run", **given)
    chat.say("Watch the disk.")
    for step in range(6):
        chat.request(max_tokens=500)
        chat.receive(
            response(replied(f"I look, {step}.", called(f"c{step}", "look", json.dumps({"n": step}))))
        )
        chat.answer(f"c{step}", f"{step}: {LONG}")
    chat.request(max_tokens=500)
    return chat


@pytest.mark.parametrize("verb", ["release", "undo", "rewind", "note"])
def test_a_preview_leaves_the_last_bill_as_it_was(verb: str) -> None:
    chat = fanfold.open("run", model="gpt-5.2")
    chat.say("Watch the disk.")
    chat.receive(response(replied("I do."), prompt=chat.request().sent.tokens + 3))
    edit = chat.note("plan", "look on").id
    chat.undo(edit)
    chat.say("And now? " * 200)
    chat.receive(response(replied("I still do."), prompt=chat.request().sent.tokens + 9))
    if verb == "undo":
        chat.redo(edit)
    given = {"release": (edit,), "undo": (edit,), "rewind": (chat.view().rows[0].id,), "note": ("b", "c")}
    before = chat.view().tokens
    chat.preview(verb, *given[verb])
    assert chat.view().tokens == before


def test_an_erasure_is_previewed_without_the_bill_that_it_voids() -> None:
    chat = fanfold.open("run", model="gpt-5.2")
    chat.say("Watch the disk.")
    for more in (3, 9):
        chat.say("And now? " * 200)
        chat.receive(response(replied("I do."), prompt=chat.request().sent.tokens + more))
    first = chat.view().rows[0].id
    told = chat.preview("erase", first, "asked for")
    chat.erase(first, "asked for")
    assert chat.view().tokens == told.after


def test_an_undo_does_what_its_preview_said() -> None:
    chat = worked()
    edit = next(one.decision.id for one in chat.edits() if one.kind == "elide")
    told = chat.preview("undo", edit)
    before = chat.view().tokens
    assert told.before == before < told.after
    assert told.body is not None
    chat.undo(edit)
    assert chat.view().tokens == told.after
    assert chat.preview().body == told.body
    assert json.dumps(f"0: {LONG}")[1:-1] in json.dumps(told.body)


def test_a_preview_counts_as_the_view_does_after_the_change_voided_the_bill() -> None:
    chat = worked(window=60_000, strategy="auto")
    counted = chat.requests()[-1].tokens
    chat.receive(response(replied("All is well."), prompt=counted + 40))
    told = chat.preview("fold", tuple(row.id for row in chat.view().rows[1:5]), "Looked.")
    chat.fold(tuple(row.id for row in chat.view().rows[1:5]), "Looked.")
    assert chat.view().tokens == told.after


def test_a_preview_changes_nothing() -> None:
    chat = worked()
    records = len(chat._state.log.records)
    seen, head = str(chat.view()), chat.head
    edits = chat.edits()
    chat.preview("undo", edits[0].decision.id)
    chat.preview("rewind", turns=1)
    chat.preview("note", "plan", "look on")
    assert (str(chat.view()), chat.head, chat.edits()) == (seen, head, edits)
    assert len(chat._state.log.records) == records


def test_what_cannot_be_done_is_refused_as_the_change_itself_is() -> None:
    chat = worked()
    with pytest.raises(fanfold.NotFound):
        chat.preview("undo", "e999")
    with pytest.raises(fanfold.BadInput, match="fold"):
        chat.preview("melt")
    with pytest.raises(fanfold.BadInput):
        chat.preview("pin")
    assert chat.edits()


def test_a_change_at_the_beginning_costs_the_cache() -> None:
    chat = worked()
    edit = next(one.decision.id for one in chat.edits() if one.kind == "elide")
    told = chat.preview("undo", edit)
    assert told.cached_after < told.cached
    assert told.cost is not None
    assert told.cost_after is not None
    assert told.cost_after > told.cost
    assert chat.preview("note", "plan", "look on").cached_after == told.cached


def test_the_price_of_what_is_reduced_first_is_that_of_what_is_sent() -> None:
    chat = worked(strategy="auto")
    for n in range(6):
        chat.say(f"And now {n}? " + "It hums. " * 400)
    told = chat.preview("undo", next(one.decision.id for one in chat.edits() if one.fate == "stands"))
    assert told.due
    assert told.reduced is not None
    assert told.reduced < told.before < told.after
    assert told.later is not None
    assert told.later < 0
    price = models.lookup("gpt-5.2").prices.input / 1_000_000
    assert told.cost_after is not None
    assert told.cost_after <= told.reduced * price


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_past_body_is_written_again_just_as_it_went_out(dialect: str) -> None:
    chat = fanfold.open("run", dialect=dialect, window=4_000, strategy="drop_oldest")
    bodies = []
    for turn in range(8):
        chat.say(f"Turn {turn}: " + "look at the disk again. " * 60)
        bodies.append(dict(chat.request(max_tokens=200)))
        chat.add(fanfold.Message("assistant", (fanfold.Text(f"All is well, {turn}. " * 20),)))
    assert any(one.kind == "drop" for one in chat.edits())
    for number, body in enumerate(bodies):
        found = chat.body(number)
        assert found.exact
        assert found.body == body
    assert chat.preview().problem == ""


def test_edits_tell_what_became_of_them() -> None:
    chat = worked()
    first, *_ = [one.decision.id for one in chat.edits() if one.kind == "elide"]
    chat.undo(first)
    undone = next(one for one in chat.edits() if one.decision.id == first)
    assert (undone.fate, undone.free) == ("undone", False)
    assert undone.undone_by
    chat.release(first)
    assert next(one for one in chat.edits() if one.decision.id == first).free
    chat.redo(first)
    assert next(one for one in chat.edits() if one.decision.id == first).fate == "stands"
    rows = [row.id for row in chat.view().rows[1:5]]
    chat.fold(tuple(rows), "Looked at the disk.")
    assert next(one for one in chat.edits() if one.decision.id == first).fate == "covered"
    pin = chat.pin(chat.view().rows[0].id)
    assert next(one for one in chat.edits() if one.decision.id == pin.id).fate == "stands"


def test_requests_tell_their_bills_and_the_edits_before_them() -> None:
    chat = worked()
    found = chat.requests()
    assert [one.number for one in found] == list(range(7))
    assert found[0].usage is None
    made = {id for one in found for id in one.edits}
    assert made == {one.decision.id for one in chat.edits()}


def test_what_erasing_a_system_prompt_or_a_note_would_show_is_foretold() -> None:
    chat = fanfold.open("run", window=9_000, system="You know Jane Roe. " * 20)
    chat.say("Hello.")
    note = chat.note("who", "Jane Roe " * 20)
    records = len(chat._state.log.records)
    prompt, noted = chat.preview("erase", "system", "asked"), chat.preview("erase", note.id, "asked")
    assert prompt.after < prompt.before
    assert prompt.body["messages"][0]["content"] == "[erased: asked]"
    assert noted.gone == (note.id,)
    assert len(chat._state.log.records) == records
    chat.erase(note.id, "asked")
    assert chat.view().tokens == noted.after


def pressed(chat: fanfold.Session, turns: int, **given: Any) -> None:
    """Turns with an output each, which the agent asks for with these parameters."""
    for step in range(turns):
        counted = chat.request(**given).sent.tokens
        chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}")), prompt=counted))
        chat.answer(f"c{step}", "\n".join(f"row {n} of file {step}: the disk hums" for n in range(50)))


def test_a_change_that_only_makes_a_reduction_due_is_no_problem_and_says_to_what_it_leads() -> None:
    chat = fanfold.open("run", model="gpt-5.2", window=4_000)
    chat.say("Begin.")
    pressed(chat, 7)
    fold = next(one.decision.id for one in chat.edits() if one.kind == "fold" and one.fate == "stands")
    chat.say("Much was said since. " * 160)
    told = chat.preview("undo", fold, through=True)
    assert told.room is not None
    assert told.after > told.room
    assert (told.problem, told.due, told.body) == ("", True, None)
    chat.undo(fold, through=True)
    assert chat.request().sent.tokens == told.reduced


def test_a_preview_keeps_the_room_for_a_reply_as_long_as_the_last_one() -> None:
    chat = fanfold.open("run", model="gpt-5.2", window=10_000)
    chat.say("Begin.")
    pressed(chat, 8, max_tokens=4_000)
    told = chat.preview()
    assert (told.room, told.trigger) == (6_000, 5_100)
    assert told.due
    assert told.after < 0.85 * 9_000
    edits = len(chat.edits())
    chat.request(max_tokens=4_000)
    assert len(chat.edits()) > edits


def test_a_problem_tells_of_the_view_after_the_change() -> None:
    chat = fanfold.open("run", model="gpt-5.2", window=4_000)
    chat.say("Begin.")
    pressed(chat, 6)
    chat.note("small", "look on, " * 1_500)
    chat.note("large", "look on, " * 3_000)
    with pytest.raises(fanfold.DoesNotFit):
        chat.request()
    told = chat.preview("undo", chat.edits()[-1].decision.id)
    chat.undo(chat.edits()[-1].decision.id)
    with pytest.raises(fanfold.DoesNotFit) as met:
        chat.request()
    assert told.problem == str(met.value)


def test_of_two_edits_of_one_output_the_lower_one_is_covered() -> None:
    chat = fanfold.open("run", model="gpt-5.2", window=3_000, strategy=elide(keep=1))
    chat.say("Begin.")
    for step in range(14):
        chat.request(max_tokens=300)
        chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}"))))
        chat.answer(f"c{step}", LONG)
    past = {one.decision.id: one for one in chat.edits() if one.kind == "elide"}
    low = next(one for one in past.values() if one.under is not None)
    assert low.fate == "covered"
    assert low.decision.edit.address == past[low.under].decision.edit.address
    assert chat.preview("undo", low.decision.id, through=True).came == ()
