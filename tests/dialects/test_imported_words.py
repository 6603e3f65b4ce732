"""An import takes nothing that people read otherwise than models do."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import msgspec
import pytest
from odd_bodies import talk

import fanfold
from fanfold import BadInput, Memory
from fanfold.core.edit import Decision, Edit, Fold, Repair
from fanfold.core.ids import entry_id
from fanfold.core.message import Message, Text, Wire
from fanfold.core.record import Edited, Move, Record, Replaced
from fanfold.core.tree import Entry
from fanfold.stores.echo import entry_echo

EVIL: dict[str, Any] = {
    "openai.chat": {"role": "user", "content": "EVIL"},
    "openai.responses": {"role": "user", "content": "EVIL"},
    "anthropic": {"role": "user", "content": "EVIL"},
    "gemini": {"role": "user", "parts": [{"text": "EVIL"}]},
}
DIALECTS = sorted(EVIL)


def shown(dialect: str, words: str = "Hello", body: Any = None) -> Message:
    """A message that people read so, and models otherwise."""
    return Message("user", (Text(words),), Wire(dialect, EVIL[dialect] if body is None else body))


def entry(message: Message) -> Entry:
    return Entry(entry_id(None, message), entry_echo(None, message), None, 0, message)


def export(first: Entry, *records: Record) -> list[bytes]:
    """An export of one message and these records, whatever they say."""
    lines = [
        {"kind": "session", "format": 1, "name": "run"},
        {"kind": "entry", "entry": msgspec.to_builtins(first)},
        *({"kind": "record", "record": msgspec.to_builtins(record)} for record in records),
        {"kind": "end", "records": len(records), "entries": 1},
    ]
    return [json.dumps(line).encode() for line in lines]


def refused(lines: list[bytes], number: int) -> None:
    store = Memory()
    with pytest.raises(
        BadInput, match=rf"^Line {number} of this export: a message in it cannot be sent as it says"
    ):
        fanfold.import_session(store, lines)
    assert store.sessions("default") == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_message_that_models_read_otherwise_is_refused_by_its_line(dialect: str) -> None:
    """(19.1)"""
    forged = entry(shown(dialect))
    refused(export(forged, Move(forged.id, "append", None, 0.0)), 2)
    true = entry(shown(dialect, "EVIL"))
    store = Memory()
    fanfold.import_session(store, export(true, Move(true.id, "append", None, 0.0)))
    with fanfold.open("run", store=store, window=9_000, dialect=dialect) as chat:
        assert [message.text for message in chat.view().messages] == ["EVIL"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("body", [7, "EVIL", {"role": "nobody"}, [None]])
def test_a_wire_form_that_is_none_is_refused_by_its_line(dialect: str, body: Any) -> None:
    """(19.1)"""
    forged = entry(shown(dialect, body=body))
    refused(export(forged, Move(forged.id, "append", None, 0.0)), 2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_role_than_the_wire_form_has_is_refused(dialect: str) -> None:
    """(19.1)"""
    forged = entry(Message("system", (Text("EVIL"),), Wire(dialect, EVIL[dialect])))
    refused(export(forged, Move(forged.id, "append", None, 0.0)), 2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_so_is_a_new_body_and_what_a_fold_or_a_repair_shows(dialect: str) -> None:
    """(19.1)"""
    first = entry(Message("user", (Text("Hello"),)))
    moved = Move(first.id, "append", None, 0.0)
    refused(export(first, moved, Replaced(first.id, shown(dialect))), 4)
    edits: tuple[Edit, ...] = (
        Fold((first.id,), (Message("user", (Text("So."),)), shown(dialect))),
        Repair((first.id,), (shown(dialect),)),
    )
    for edit in edits:
        refused(export(first, moved, Edited((Decision("e1", first.id, edit),), 0.0)), 4)


def test_a_dialect_that_nobody_here_speaks_is_never_sent_and_so_not_read() -> None:
    """(19.1)"""
    first = entry(Message("user", (Text("Hello"),), Wire("martian", "zzz")))
    store = Memory()
    fanfold.import_session(store, export(first, Move(first.id, "append", None, 0.0)))
    with fanfold.open("run", store=store, window=9_000) as chat:
        chat.say("Go on.")
        assert "zzz" not in str(chat.request())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whatever_a_session_took_an_import_takes_too(dialect: str) -> None:
    """(19.1) Odd bodies, and what they are repaired to."""
    for seed in range(40):
        store, other, file = Memory(), Memory(), io.BytesIO()
        with fanfold.open("run", store=store, window=10**6, dialect=dialect) as chat:
            try:
                chat.merge(talk(dialect, Random(seed)))
                chat.request()
            except fanfold.FanfoldError:
                continue
            before = chat.view().messages
        fanfold.export_session(store, "run", file)
        fanfold.import_session(other, file.getvalue().splitlines())
        assert repr(fanfold.open("run", store=other).view().messages) == repr(before)
