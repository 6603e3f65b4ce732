"""Exports that somebody changed: refused with a named error, or harmless, whatever field it was (19.1, 19.5, 19.21)."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanfold
from fanfold import BadInput, FanfoldError, Memory
from fanfold.core.edit import Decision, Edit, Elide, Fold, Note, Pin, Repair, Undo
from fanfold.core.log import Log
from fanfold.core.message import user
from fanfold.core.record import Edited, Inherited, Kept, Move, Record
from fanfold.stores.store import Batch
from fanfold.testing import called, replied, returned, said

LONG = "9" * 5_000
Lines = list[dict[str, Any]]


@cache
def exported() -> str:
    """A session in which a bit of everything happened, as the text of its export."""
    store, file = Memory(), io.BytesIO()
    with fanfold.open("run", window=9_000, store=store, model="gpt-5.2", dialect="openai.chat") as chat:
        talk = [said("Hello"), replied(None, called("c1")), returned("c1", "a line\n" * 300), replied("Hi.")]
        chat.merge([*talk, said("Third."), replied("Fourth."), said("Fifth.")])
        chat.fold(tuple(row.id for row in chat.view().rows[:4]), "Sum.")
        chat.pin("Third.")
        chat.note("goal", "To be done.")
        chat.request()
        chat.receive({"choices": [{"message": replied("Sixth.")}], "usage": {"prompt_tokens": 90}})
        chat.say("Seventh.")
        chat.compact(force=True)
        chat.undo()
        chat.rewind(-2)
        chat.merge([*talk, said("Third, changed."), replied("Fourth."), said("Fifth."), said("Eighth.")])
        chat.erase(chat.say("Secret.").id, "asked for")
        chat.request()
    fanfold.export_session(store, "run", file)
    return file.getvalue().decode()


def lines() -> Lines:
    return [json.loads(line) for line in exported().splitlines()]


def imported(lines: Lines, store: Memory) -> None:
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    fanfold.import_session(store, io.BytesIO(data), name="evil")


def attempt(verb: Callable[[], object]) -> None:
    """Errors have names."""
    with contextlib.suppress(FanfoldError):
        verb()


def used(store: Memory) -> None:
    """Do what people do with an imported session, twice, and beside it."""

    def work() -> None:
        with fanfold.open("evil", window=9_000, store=store) as evil:
            for verb in (evil.view, evil.request, evil.undo, evil.request, evil.gc, lambda: evil.rewind(0)):
                attempt(verb)

    attempt(work)
    attempt(work)
    used_beside(store)


def used_beside(store: Memory) -> None:
    """Do in another session what looks through all of them."""
    with fanfold.open("mine", window=9_000, store=store) as mine:
        words = mine.say("My own words.")
        attempt(mine.gc)
        attempt(lambda: mine.gc(delete=True, hidden=True))
        assert mine.view().messages[0].text == "My own words."
        attempt(lambda: mine.erase(words.id, "asked for"))


def test_an_honest_export_is_read() -> None:
    store, again = Memory(), io.BytesIO()
    imported(lines(), store)
    fanfold.export_session(store, "evil", again)
    came, told = [json.loads(line) for line in again.getvalue().splitlines()][1:], lines()[1:]
    for line in (*came, *told):  # nothing proves what a stub says of its prefix, so it is not taken over
        line.get("entry", {}).pop("prefix", None)
    assert came == told
    used(store)


def made(*edits: tuple[str, dict[str, Any]]) -> Lines:
    """The export with some more edits at its end; `E` stands for the next number, `F` for the one after it."""
    changed = lines()
    found = [line["record"] for line in changed if line.get("record", {}).get("type") == "edited"]
    last, at = found[-1]["decisions"][-1], found[-1]["decisions"][-1]["at"]
    number = int(last["id"][1:])
    names = {"E": f"e{number + 1}", "F": f"e{number + 2}", "G": f"e{number + 3}", "@": at}
    decisions = [{"id": id, "at": at, "edit": edit, "by": "person"} for id, edit in edits]
    told = json.dumps(decisions)
    for name, value in names.items():
        told = told.replace(f'"{name}"', f'"{value}"').replace(f'"{name}#', f'"{value}#')
    changed.insert(-1, {"kind": "record", "record": {"type": "edited", "decisions": json.loads(told)}})
    changed[-1]["records"] += 1
    return changed


NOTE = {"type": "note", "name": "a", "text": "b"}
CASES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "an undo of itself": [("E", {"type": "undo", "edit": "E"})],
    "two undos of each other": [("E", {"type": "undo", "edit": "F"}), ("F", {"type": "undo", "edit": "E"})],
    "an undo of nothing": [("E", {"type": "undo", "edit": "e77"})],
    "a fold of itself": [("E", {"type": "fold", "covers": ["E"], "shows": "S"})],
    "a fold of nothing known": [("E", {"type": "fold", "covers": ["f" * 32], "shows": "S"})],
    "a fold that shows nothing": [("E", {"type": "fold", "covers": ["@"], "shows": []})],
    "a repair of itself": [("E", {"type": "mend", "covers": ["E"], "shows": []})],
    "a part with a long number": [("E", {"type": "elide", "address": f"@#{LONG}", "text": "S"})],
    "a part of nothing": [("E", {"type": "elide", "address": "abc", "text": "S"})],
    "a pin of nothing": [("E", {"type": "pin", "entry": "f" * 32})],
    "an id that is a word": [("weird", {"type": "pin", "text": "third"})],
    "an empty id": [("", {"type": "pin", "text": "third"})],
    "an id too far": [("F", NOTE)],
    "an id that was given out": [("e1", NOTE)],
}


@pytest.mark.parametrize("case", CASES)
def test_an_edit_that_cannot_have_been_made_is_refused(case: str) -> None:
    """(19.1, 19.21) They were taken in; then sessions hung or failed with errors of Python, also others than that."""
    with pytest.raises(BadInput, match="of this export: "):
        imported(made(*CASES[case]), Memory())


def test_an_edit_that_can_have_been_made_is_taken() -> None:
    store = Memory()
    imported(
        made(("E", NOTE), ("F", {"type": "undo", "edit": "E"}), ("G", {"type": "undo", "edit": "F"})), store
    )
    used(store)


@pytest.mark.parametrize("ref", [f"o{LONG}", "", "o", "o-1"])
def test_a_reference_that_cannot_have_been_given_is_refused(ref: str) -> None:
    """(19.21) Its number had more digits than Python reads."""
    changed = lines()
    next(line["record"] for line in changed if line.get("record", {}).get("type") == "kept")["ref"] = ref
    with pytest.raises(BadInput, match="reference"):
        imported(changed, Memory())


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every field of a line is."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*before, key)
        yield from places(one, (*before, key))


@cache
def fields() -> list[tuple[Any, ...]]:
    return list(places(lines()))


VALUES = st.sampled_from([None, "", "weird", "e1", "e2", "e99", f"e{LONG}", f"o{LONG}", "f" * 32, "a#0", 0, -1, 1 << 40,
                          0.5, True, [], ["e1"], ["e99"], {}, {"type": "undo", "edit": "e1"}])  # fmt: skip


@settings(max_examples=150)
@given(st.data())
def test_whatever_is_changed_in_an_export_has_a_named_error_or_does_no_harm(data: st.DataObject) -> None:
    """(19.1, 19.5, 19.21) Field by field, with odd values and with those of other fields."""
    changed = lines()
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(fields()))
        other = data.draw(st.sampled_from(fields()) | st.none())
        value = data.draw(VALUES) if other is None else at(lines(), other)
        try:
            at(changed, place[:-1])[place[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # the first change took it away
    store = Memory()
    try:
        imported(changed, store)
    except FanfoldError:
        return
    used(store)


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


@given(st.lists(st.sampled_from(["e1", "e2", "e3", "x"]), min_size=3, max_size=3))
def test_what_an_undo_is_about_has_an_end(undone: list[str]) -> None:
    """(19.21) Also in a store into which an earlier release imported undos of each other."""
    log = Log()
    decisions = [Decision(f"e{number}", None, Undo(edit)) for number, edit in enumerate(undone, 1)]
    log.write(Edited(tuple(decisions)))
    assert {log.meant(one.id) for one in decisions} <= {"e1", "e2", "e3", "x"}
    assert log.exempt() == frozenset()


HOSTILE: dict[str, tuple[Edit, ...]] = {
    "an undo of itself": (Undo("e1"),),
    "an undo of nothing": (Undo("e77"),),
    "a part with a long number": (Elide(f"{'f' * 32}#{LONG}", "S"),),
    "a repair of itself": (Repair(("e1",), (user("S"),)),),
    "a fold of nothing": (Fold((), ()),),
    "a pin and a note": (Pin("f" * 32), Note("", "")),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_an_earlier_release_took_in_stops_nobody_else(case: str) -> None:
    """(19.5) `gc` and `erase` look through all sessions: one that holds nonsense costs at most an error with a name."""
    store = Memory()
    edits = tuple(Decision(f"e{number}", None, edit) for number, edit in enumerate(HOSTILE[case], 1))
    records: list[Record] = [Edited(edits), Kept(f"o{LONG}", "x"), Move(None, "reset")]
    if case == "a pin and a note":
        records.append(Inherited(("e77",), None))
    store.append("default", "evil", Batch(tuple(records)), expect=0)
    used_beside(store)
