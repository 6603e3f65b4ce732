"""A declared state beside the talk: kept up to date, merged, read back, carried instead of the dialogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

import fanfold
from fanfold import AskFailed, BadSetting
from fanfold.strategies import Snapshot, extract, noted, updated
from fanfold.strategies.schema import checked, schema_of
from fanfold.testing import FakeModel, check_strategy, replied, talk
from strategies.kinds import turns


class Trip(msgspec.Struct):
    destination: str = ""
    date: str = ""


class Journey(pydantic.BaseModel):
    destination: str = ""
    date: str = ""


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    destination: str
    date: str


class Careful(pydantic.BaseModel, extra="forbid"):
    destination: str
    date: str


PLAIN = {"type": "object", "properties": {"destination": {"type": "string"}, "date": {"type": "string"}}}
SHORT = {"destination": "string", "date": "string"}
each = pytest.mark.parametrize(
    "schema",
    [Trip, Journey, Strict, Careful, PLAIN, SHORT, msgspec.json.schema(Strict), Careful.model_json_schema()],
    ids=[
        "msgspec",
        "pydantic",
        "strict msgspec",
        "strict pydantic",
        "json",
        "short",
        "msgspec's",
        "pydantic's",
    ],
)


@each
def test_after_each_request_the_state_is_brought_up_to_date(schema: Any) -> None:
    """B5: partial answers merge."""
    model = FakeModel('{"destination": "Kyoto"}', 'Sure: ```json\n{"date": "May 3"}\n```')
    strategy = extract(schema, name="trip")
    with fanfold.open("run", window=50_000, strategy=strategy, summarizer=model, filters=()) as chat:
        chat.say("I want to go to Kyoto.")
        chat.settle()
        assert noted(chat.view(), "trip")["destination"] == "Kyoto"
        chat.settle()
        assert model.calls == 1, "nothing was said since"
        chat.add(replied("When?"))
        chat.say("On May 3.")
        chat.settle()
        assert noted(chat.view(), "trip") == {"destination": "Kyoto", "date": "May 3"}
        assert [message.text for message in model.asked[1].messages] == ["When?", "On May 3."]
        assert '"destination":"Kyoto"' in model.asked[1].prompt
        assert "destination" in model.asked[0].prompt


@pytest.mark.parametrize("answer", ["{}", '{"goal": "Do it."}'], ids=["nothing yet", "the same"])
def test_a_state_that_does_not_change_is_asked_for_once_after_each_request(answer: str) -> None:
    model = FakeModel(answer)
    with fanfold.open("run", window=50_000, strategy=extract(), summarizer=model, filters=()) as chat:
        for request in range(1, 4):
            chat.say(f"Go on with part {request}.")
            for number in range(5):
                chat.add(replied(f"Step {number}."))
                chat.settle()
            assert model.calls == request
        assert noted(chat.view()) == json.loads(answer)


@pytest.mark.parametrize("answer", ["{}", '{"goal": "Do it."}'], ids=["nothing yet", "the same"])
def test_a_turn_without_news_leaves_no_note(answer: str) -> None:
    """(19.26) The one note is the state; that it was looked at is a record beside the talk."""
    model = FakeModel(answer)
    with fanfold.open("run", window=50_000, strategy=extract(), summarizer=model, filters=()) as chat:
        for request in range(1, 4):
            chat.say(f"Go on with part {request}.")
            outcome = chat.settle()
            chat.add(replied("Yes."))
        assert outcome is not None
        assert (outcome.status, outcome.decisions) == ("noop", ())
        notes = [row.name for row in chat.view().rows if row.kind == "note"]
        assert notes == (["snapshot"] if "goal" in answer else [])
        assert "unchanged" not in str(chat.request())
        assert [len(question.messages) for question in model.asked] == [1, 2, 2], (
            "each asks about the news only"
        )


@pytest.mark.parametrize("settled", [1, 300], ids=["from all records", "from a checkpoint"])
def test_a_session_that_is_opened_again_does_not_ask_again(tmp_path: Path, settled: int) -> None:
    """(19.26)"""
    model = FakeModel("{}")
    options: dict[str, Any] = {"window": 900_000, "strategy": extract(), "summarizer": model, "filters": ()}
    store = f"sqlite:{tmp_path / 'talk.db'}"
    with fanfold.open("run", store=store, **options) as chat:
        for number in range(settled):
            chat.say(f"Part {number}.")
        chat.settle()
    for _ in range(3):
        with fanfold.open("run", store=store, **options) as chat:
            chat.settle()
            chat.add(replied("Working on it."))
    assert model.calls == 1


def test_a_rewind_before_the_last_look_looks_again() -> None:
    """(19.26)"""
    model = FakeModel("{}", "{}", '{"goal": "Other"}')
    with fanfold.open("run", window=50_000, strategy=extract(), summarizer=model, filters=()) as chat:
        for text in ("One.", "Two."):
            chat.say(text)
            chat.settle()
            chat.add(replied("Yes."))
        chat.rewind(turns=1)
        chat.say("Other.")
        chat.settle()
        assert noted(chat.view()) == {"goal": "Other"}
        assert [message.text for message in model.asked[2].messages] == ["One.", "Yes.", "Other."]


def test_a_look_whose_note_a_hook_refused_is_taken_again() -> None:
    """(19.26) What is not written is not remembered as seen."""
    model = FakeModel('{"goal": "Do it."}')
    refused: list[bool] = []
    hooks = fanfold.Hooks(before_edit=lambda decisions, trigger: len(refused) > 0)
    with fanfold.open(
        "run", window=50_000, strategy=extract(), summarizer=model, filters=(), hooks=hooks
    ) as chat:
        chat.say("Do it.")
        chat.settle()
        assert noted(chat.view()) == {}
        refused.append(True)
        chat.settle()
        assert noted(chat.view()) == {"goal": "Do it."}
        assert model.calls == 1, "the answer was kept"


def test_the_payload_carries_the_object_instead_of_the_dialogue() -> None:
    """B5: when the window is full, the dialogue leaves and the state stays."""
    model = FakeModel('{"destination": "Kyoto", "date": "May 3"}')
    with fanfold.open(
        "run", window=2_000, strategy=extract(Trip, name="trip"), summarizer=model, filters=()
    ) as chat:
        chat.say("To Kyoto, on May 3.")
        for body in turns(0, 12):
            chat.add(body)
        request = chat.request()
        assert '[note: trip]\n{"destination":"Kyoto","date":"May 3"}' in str(request).replace("\\n", "\n")
        assert chat.view().tokens <= chat._state.terms.budget.ceiling
        assert any(row.kind in ("drop", "fold") for row in chat.view().rows)


def test_the_state_survives_every_reduction() -> None:
    """C5"""
    with fanfold.open("run", window=3_000, filters=()) as chat:
        chat.say("Go.")
        chat.note("snapshot", updated(chat.view(), goal="Book a train", completed_actions=["searched"]))
        for number in range(6):
            for body in turns(number * 10, 6):
                chat.add(body)
            chat.note("snapshot", updated(chat.view(), current_phase=f"phase {number}"))
            chat.request()
        assert noted(chat.view()) == {
            "goal": "Book a train",
            "completed_actions": ["searched"],
            "current_phase": "phase 5",
        }
        chat.compact(force=True)
        assert sum(row.kind == "note" for row in chat.view().rows) <= 2, (
            "but for one before the fold, old ones left"
        )


def test_a_snapshot_is_the_default_and_is_shown_compactly() -> None:
    """C5"""
    model = FakeModel('{"goal": "Book a train"}')
    with fanfold.open("run", window=50_000, strategy=extract(), summarizer=model, filters=()) as chat:
        chat.say("Book a train.")
        chat.settle()
        assert chat.view().rows[-1].messages[0].text == '[note: snapshot]\n{"goal":"Book a train"}'
    assert set(Snapshot.__struct_fields__) == {
        "goal",
        "completed_actions",
        "current_phase",
        "key_observations",
    }


@each
@pytest.mark.parametrize("answer", ["no idea", "[1, 2]", '{"destination": ', '{"destination": {"a": 1}}'])
def test_an_answer_that_fits_no_schema_changes_nothing(schema: Any, answer: str) -> None:
    with fanfold.open(
        "run", window=50_000, strategy=extract(schema), summarizer=FakeModel(answer), filters=()
    ) as chat:
        chat.say("To Kyoto.")
        outcome = chat.settle()
        assert outcome is not None
        assert (outcome.status, noted(chat.view())) == ("failed", {})
        assert "AskFailed" in str(outcome.error)


def test_a_state_that_would_fill_the_window_is_refused() -> None:
    huge = '{"goal": "' + "x" * 40_000 + '"}'
    with fanfold.open(
        "run", window=3_000, strategy=extract(), summarizer=FakeModel(huge), filters=()
    ) as chat:
        chat.say("Go.")
        outcome = chat.settle()
        assert outcome is not None
        assert "more than a tenth" in str(outcome.error)


def test_fields_that_nobody_declared_are_left_out() -> None:
    assert checked(PLAIN, {"destination": "Kyoto", "mood": "good", "date": None}) == {"destination": "Kyoto"}
    with pytest.raises(AskFailed, match="date is no string"):
        checked(SHORT, {"date": 3})


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ({"type": ["string", "null"]}, "Kyoto", 3),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 3, "Kyoto"),
        ({"enum": ["rail", "air"]}, "rail", "foot"),
        ({"const": 7}, 7, 8),
        ({"type": "integer"}, 3.0, True),
        ({"type": "number"}, 2.5, "2.5"),
        ({"type": "array", "items": {"type": "string"}}, ["a"], ["a", 1]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x", "b": 1}, {"a": 1}),
        ({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, "a", "b"),
        ({"$ref": "#/$defs/day"}, "Monday", 1),
        ({"type": "array", "items": {"$ref": "#/$defs/node"}}, [{"next": {"next": {}}}], [{"next": 3}]),
        ({"type": "unheard of"}, 3, None),
        (True, "anything", None),
        ({"$ref": "#/nowhere"}, "anything", None),
        ({"$ref": "#/$defs/self"}, "anything", None),
    ],
)
def test_kinds_of_json_schemas(kind: Any, good: Any, bad: Any) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    defs = {"day": {"type": "string"}, "node": node, "self": {"$ref": "#/$defs/self"}}
    schema = {"type": "object", "properties": {"field": kind}, "$defs": defs}
    assert checked(schema, {"field": good}) == {"field": good}
    if bad is not None:
        with pytest.raises(AskFailed, match="field is no"):
            checked(schema, {"field": bad})


def test_a_schema_without_fields_takes_any_field_of_the_right_kind() -> None:
    assert checked({"type": "object"}, {"a": 1}) == {"a": 1}
    other = {"type": "object", "additionalProperties": {"type": "string"}}
    assert checked(other, {"a": 1, "b": "x"}) == {"b": "x"}


@pytest.mark.parametrize(
    ("answer", "goal"),
    [
        ('{"goal": "a"} or rather {"goal": "b"}', "b"),
        ('In {braces}: {"goal": "a"}', "a"),
        ('<think>{"goal": "no"}</think>{"goal": "a"}', "a"),
        ('{"goal": "no"}</think>{"goal": "a"}', "a"),
        ('{"goal": "\\ud800"}', "\ud800"),
        ('{"goal": "\udc80"}', "\udc80"),
    ],
)
def test_the_object_is_found_in_an_answer(answer: str, goal: str) -> None:
    with fanfold.open(
        "run", window=50_000, strategy=extract(), summarizer=FakeModel(answer), filters=()
    ) as chat:
        chat.say("Go.")
        chat.settle()
        assert noted(chat.view()) == {"goal": goal}
        assert updated(chat.view(), current_phase="x").startswith('{"goal":')


@pytest.mark.parametrize("answer", ['{"a": {"goal": "inner"}', '{"goal": "x', "{" * 9_000 + "}" * 9_000])
def test_of_an_object_that_is_cut_off_nothing_is_taken(answer: str) -> None:
    with fanfold.open(
        "run", window=50_000, strategy=extract(), summarizer=FakeModel(answer), filters=()
    ) as chat:
        chat.say("Go.")
        outcome = chat.settle()
        assert outcome is not None
        assert "the answer is no JSON object" in str(outcome.error)


def test_a_note_that_is_no_object_is_no_state() -> None:
    with fanfold.open("run", window=50_000) as chat:
        chat.say("Go.")
        for text in ("[1]", "hello", ""):
            chat.note("snapshot", text)
            assert noted(chat.view()) == {}


@each
def test_every_kind_of_schema_can_be_told_to_a_model(schema: Any) -> None:
    assert "destination" in str(schema_of(schema))


@pytest.mark.parametrize("schema", [str, 7, "trip", None, {}, {"date": 7}, {"date": "day"}])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(BadSetting):
        extract(schema)


def test_it_passes_the_check_for_strategies() -> None:
    check_strategy(extract(), summarizer=FakeModel('{"goal": "Mend it"}'))


def test_a_failing_extraction_does_not_keep_a_full_window_from_being_reduced() -> None:
    with fanfold.open(
        "run", window=2_000, strategy=extract(), summarizer=FakeModel("no idea"), filters=()
    ) as chat:
        chat.merge(talk(8, 3))
        chat.request()
        assert chat.view().tokens <= 1_800
