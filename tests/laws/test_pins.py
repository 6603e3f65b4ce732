"""pins: pinned lines stand verbatim in every later view, in place or in what stands there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import fanfold
from fanfold import Elide, Repair
from fanfold.core.message import Call, text_of
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import texts

VALUES = st.dictionaries(texts(most=20), texts(most=60) | st.lists(texts(most=40), max_size=3), max_size=3)


def elides_calls(view: Any, budget: Any) -> Iterator[Elide]:
    for row in view.rows:
        if row.calls:
            yield Elide(f"{row.id}#0", "[gone] \ud83d")


def lines_of(call: Call) -> list[str]:
    """What a person may pin of a call: any line that can be read in it."""
    lines = text_of(fanfold.Message("assistant", (call,)), unescaped=True).splitlines()
    return [line[:80] for line in lines if line.strip()]


@given(values=VALUES, ascii=st.booleans(), pick=st.integers(0, 200))
@example(values={"cmd": 'say "hi"\nand go'}, ascii=True, pick=0)
@example(values={"cmd": 'say "hi"\nand go'}, ascii=True, pick=1)
@example(values={"cmd": "half \ud800"}, ascii=False, pick=0)
def test_a_line_of_a_call_stands_whatever_becomes_of_the_call(
    values: dict[str, Any], ascii: bool, pick: int
) -> None:
    raw = json.dumps({**values, "why": "word " * 200}, ensure_ascii=ascii)
    with fanfold.open("run", window=9_000, strategy=elides_calls, fallback=()) as chat:
        told = [replied(None, called("c1", "run", raw)), returned("c1", "out"), replied("Done.")]
        chat.merge([said("Go."), *told, said("And now?")])
        lines = lines_of(chat.view().rows[1].messages[0].calls[0])
        line = lines[pick % len(lines)]
        chat.pin(line)
        if chat.compact(force=True).status == "reduced":
            event("a call with a pinned line was elided")
        assert line in "\n".join(text_of(message, unescaped=True) for message in chat.view().messages)
        fold = chat.fold(tuple(row.id for row in chat.view().rows[:4]), "All of it.")
        assert line in chat.view().row(fold.id).messages[0].text  # type: ignore[union-attr]


HALF = "\ud800 half line"
ARGUMENTS = {"text": HALF, "most": float("nan")}
RAW = f'{{"text": "{HALF}", "most": NaN}}'
UNANSWERED = {
    "openai.chat": replied(None, called("c1", "run", RAW)),
    "openai.responses": {"type": "function_call", "call_id": "c1", "name": "run", "arguments": RAW},
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": ARGUMENTS}],
    },
    "gemini": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "run", "args": ARGUMENTS}}]},
}


@pytest.mark.parametrize("dialect", UNANSWERED)
def test_a_line_with_half_a_character_stands_though_its_call_is_repaired_and_folded(
    dialect: str, tmp_path: Path
) -> None:
    told: Any = {"dialect": dialect, "window": 2_000, "store": f"sqlite:{tmp_path / 'pins.db'}"}
    with fanfold.open("run", **told) as chat:
        chat.say("Go.")
        chat.add(UNANSWERED[dialect])
        chat.say("Never answered, go on. " * 20)
        chat.pin(HALF)
        sent = json.dumps(chat.request(), ensure_ascii=False)
        assert "\ufffd half line" in sent
        assert HALF not in sent
        repairs = [d for d in chat._state.log.decisions.values() if isinstance(d.edit, Repair)]
        assert repairs, "nothing was mended"
        assert HALF in "\n".join(text_of(message, unescaped=True) for message in chat.view().messages), (
            "it is replaced when it is sent"
        )
    with fanfold.open("run", **told) as chat:
        fold = chat.fold(tuple(row.id for row in chat.view().rows), "All of it.")
        assert chat.view().row(fold.id).messages[0].text.endswith(f"[pinned, verbatim]\n{HALF}")  # type: ignore[union-attr]


def shown(chat: fanfold.Session) -> str:
    return "\n".join(text_of(message, unescaped=True) for message in chat.view().messages)


def folded_rules() -> fanfold.Session:
    """A session whose rules stand behind a fold, made where it now stands."""
    chat = fanfold.open("run", window=9_000)
    chat.merge([said(f"{RULE} {'Mind it. ' * 40}"), replied("Fine. " * 50), said("Go on.")])
    chat.fold(tuple(row.id for row in chat.view().rows[:2]), "Rules were told.")
    return chat


RULE = "Never touch the vendor folder."
PINS = {"text": lambda chat: RULE, "entry": lambda chat: chat.view().rows[0].id}


@pytest.mark.parametrize("what", PINS)
def test_an_earlier_edit_that_stands_again_hides_nothing_that_was_pinned_since(what: str) -> None:
    with folded_rules() as chat:
        chat.rewind(1)
        chat.pin(PINS[what](chat))
        chat.add(said("Go on."))  # the very message, and the fold was made at it
        assert RULE in shown(chat)
        assert chat.view().shadowed == ("e1",)
        chat.unpin(PINS[what](chat))
        assert "Rules were told." in shown(chat)


@pytest.mark.parametrize("what", PINS)
def test_what_would_hide_a_later_pin_is_not_redone(what: str) -> None:
    with folded_rules() as chat:
        undone = chat.undo("e1")
        chat.pin(PINS[what](chat))
        for refused in (lambda: chat.redo("e1"), lambda: chat.undo(undone[0].id)):
            with pytest.raises(
                fanfold.BadEdit, match=r"e1 would hide what was pinned since \(e\d\); unpin that first"
            ):
                refused()
        assert RULE in shown(chat)
        chat.unpin(PINS[what](chat))
        chat.redo("e1")
        assert "Rules were told." in shown(chat)


@pytest.mark.parametrize("what", PINS)
def test_a_pin_that_is_brought_back_counts_from_then_on(what: str) -> None:
    with folded_rules() as chat:
        chat.undo("e1")
        pin = chat.pin(PINS[what](chat))
        chat.unpin(pin.id)
        chat.redo("e1")
        chat.undo("e1")
        chat.redo(pin.id)
        with pytest.raises(fanfold.BadEdit, match="e1 would hide what was pinned since"):
            chat.redo("e1")


def test_an_edit_that_a_pin_keeps_aside_hides_nothing_that_is_pinned_then() -> None:
    with folded_rules() as chat:
        chat.rewind(1)
        chat.pin(chat.view().rows[0].id)
        chat.add(said("Go on."))
        chat.pin(chat.view().rows[1].id)
        chat.unpin(chat.view().rows[0].id)
        assert chat.view().shadowed == ("e1",)
        assert "Fine." in shown(chat)


def test_a_pin_that_is_undone_and_redone_keeps_what_it_kept() -> None:
    with folded_rules() as chat:
        chat.rewind(1)
        pin = chat.pin(RULE)
        chat.add(said("Go on."))
        before = chat.view().messages
        chat.unpin(pin.id)
        assert "Rules were told." in shown(chat)
        chat.redo(pin.id)
        assert chat.view().messages == before


def test_no_pin_shows_what_a_filter_keeps_from_models() -> None:
    """(19.15) The words of a pin stood in the output, too."""

    def withhold(text: str, tool: str, arguments: Any) -> str:
        return "[withheld]"

    with fanfold.open("run", window=9_000, filters=[withhold]) as chat:
        chat.merge([said("Where?"), replied(None, called("c1"))])
        chat.answer("c1", "Paris, password hunter2")
        chat.add(replied("There."))
        head = chat.head
        chat.rewind(0)
        chat.say("We meet in Paris.")
        chat.pin("Paris")
        chat.forward(head)
        chat.say("And now?")
        assert "hunter2" not in repr(chat.request())
        assert chat.view().shadowed == ()


def test_an_edit_that_stood_when_a_thing_was_pinned_stays() -> None:
    with folded_rules() as chat:
        chat.say(RULE)
        chat.pin(RULE)
        before = chat.view().messages
        chat.rewind(0)
        chat.forward()
        assert chat.view().messages == before
