"""Records, entries and messages survive being written to bytes and read back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold import Corrupt, Message, Text
from fanfold.core.edit import Decision, Elide, Fold, Pin
from fanfold.core.ids import entry_id
from fanfold.core.message import Wire, user
from fanfold.core.record import Answered, Edited, Frame, Framed, Move, Record, Replaced, Sent
from fanfold.core.tree import Entry
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.stores.coding import Coding
from fanfold.stores.echo import entry_echo
from fanfold.testing.generators import odd_bodies, texts

CODING = Coding()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts(most=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(most=20), inner, max_size=3),
    max_leaves=8,
)


def entered(message: Message, parent: str | None = None) -> Entry:
    return Entry(entry_id(parent, message), entry_echo(None, message), parent, 0, message)


def alike(one: Any, other: Any) -> bool:
    """Equal, with NaN equal to itself, and the keys of every dict in the same order."""
    return repr(one) == repr(other)


@given(odd_bodies())
def test_an_entry_that_came_over_the_wire_comes_back_as_it_was(body: dict[str, Any]) -> None:
    entry = entered(OpenAIChat().message(body))
    assert alike(CODING.read_entry(entry.id, entry.parent, CODING.entry(entry)), entry)


@given(VALUES, texts())
def test_records_with_odd_values_come_back_as_they_were(value: Any, text: str) -> None:
    message = Message(
        "user", (Text(text),), Wire("openai.chat", {"role": "user", "content": text, "x": value})
    )
    records: list[Record] = [
        Move(text, "append", None, 1.5),
        Framed(Frame((user(text),), (value,))),
        Edited(
            (Decision("e1", None, Fold(("a", text), (message,))), Decision("e2", text, Elide("a#0", text)))
        ),
        Edited((Decision("e3", None, Pin(text=text), "person", text, 1, 2),)),
        Replaced("a", message),
        Sent("a", 3, "f", {"p": value}, 9, "d", text, (text,), 2.0),
        Answered("k", text, ("a",)),
    ]
    for record in records:
        assert alike(CODING.read_record(CODING.record(record)), record)


def test_the_order_of_keys_is_kept() -> None:
    body = {"role": "user", "content": "Hi.", "z": 1, "a": {"d": 1, "b": 2}}
    entry = entered(OpenAIChat().message(body))
    back = CODING.read_entry(entry.id, None, CODING.entry(entry))
    assert back.message.wire is not None
    assert msgspec.json.encode(back.message.wire.body) == msgspec.json.encode(body)


def test_a_message_from_the_wire_is_kept_once_not_twice() -> None:
    message = OpenAIChat().message({"role": "user", "content": "x" * 10_000})
    assert len(CODING.entry(entered(message))) < 10_500


def test_parts_that_the_wire_form_does_not_say_are_kept_too() -> None:
    message = Message(
        "user", (Text("another reading"),), Wire("openai.chat", {"role": "user", "content": "x"})
    )
    entry = entered(message)
    assert CODING.read_entry(entry.id, None, CODING.entry(entry)) == entry


def test_a_dialect_that_nobody_knows_is_kept_whole() -> None:
    entry = entered(Message("user", (Text("hi"),), Wire("klingon", {"qa": "pla"})))
    assert CODING.read_entry(entry.id, None, CODING.entry(entry)) == entry


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01", b"not packed at all", bytes(40)])
def test_bytes_that_are_no_record_are_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        CODING.read_record(data)
