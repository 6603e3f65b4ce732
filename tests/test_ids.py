"""Identity: ids of entries, echoes, and one byte string per value."""

from __future__ import annotations

from typing import Any

import pytest

from fanfold import Call, Image, Message, Opaque, Result, Text, Thinking
from fanfold.core.ids import canonical, digest, entry_id, unpack
from fanfold.core.message import Wire, assistant, user
from fanfold.stores.echo import entry_echo


def test_the_same_message_in_the_same_place_has_the_same_id() -> None:
    assert entry_id("parent", user("Hello")) == entry_id("parent", user("Hello"))


def test_another_place_is_another_id() -> None:
    assert entry_id("parent", user("Hello")) != entry_id("other", user("Hello"))
    assert entry_id(None, user("Hello")) != entry_id("parent", user("Hello"))


@pytest.mark.parametrize(
    "other", [user("hello"), user("Hello "), assistant("Hello"), Message("user", (Text("Hel"), Text("lo")))]
)
def test_another_message_is_another_id(other: Message) -> None:
    assert entry_id(None, user("Hello")) != entry_id(None, other)


def test_fields_nobody_reads_count_for_the_id() -> None:
    plain, marked = ({"role": "user", "content": "Hello", **extra} for extra in ({}, {"x": 1}))
    one, other = (Message("user", (Text("Hello"),), Wire("openai.chat", body)) for body in (plain, marked))
    assert entry_id(None, one) != entry_id(None, other)
    assert entry_echo(None, one) == entry_echo(None, other)


def test_replies_that_differ_in_thinking_only_are_two_entries_with_one_echo() -> None:
    one = Message("assistant", (Thinking("perhaps"), Text("Yes.")))
    other = Message("assistant", (Thinking("surely", "signed"), Text("Yes.")))
    assert entry_id(None, one) != entry_id(None, other)
    assert entry_echo(None, one) == entry_echo(None, other)


def test_arguments_written_with_other_spaces_are_the_same_echo() -> None:
    one, other = (
        assistant("", Call("c1", "run", raw)) for raw in ('{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }')
    )
    assert entry_echo(None, one) == entry_echo(None, other)


def test_cache_marks_and_empty_fields_do_not_count_for_the_echo() -> None:
    bodies = ({"type": "odd", "n": 1}, {"type": "odd", "n": 1, "cache_control": {"type": "x"}, "m": None})
    one, other = (Message("user", (Opaque("anthropic", body),)) for body in bodies)
    assert entry_echo(None, one) == entry_echo(None, other)


@pytest.mark.parametrize(
    "other",
    [
        assistant("No."),
        user("Yes."),
        assistant("Yes.", Call("c1", "run", "{}")),
        Message("assistant", (Text("Yes."), Image(url="a.png"))),
    ],
)
def test_what_clients_repeat_counts_for_the_echo(other: Message) -> None:
    assert entry_echo(None, assistant("Yes.")) != entry_echo(None, other)


def test_a_result_and_a_failed_result_have_two_echoes() -> None:
    one, other = (Message("tool", (Result("c1", (Text("x"),), error),)) for error in (False, True))
    assert entry_echo(None, one) != entry_echo(None, other)


def test_the_order_of_keys_does_not_matter() -> None:
    assert canonical({"a": 1, "b": {"c": 2, "d": 3}}) == canonical({"b": {"d": 3, "c": 2}, "a": 1})


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0, False), (None, ""), ("1", 1), ([1, 2], [2, 1]), ({"a": None}, {})],
)
def test_values_that_look_alike_have_two_forms(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "value",
    [
        "\udcff alone",
        {"text": ["fine", "\ud800"]},
        {"\udcff": 1, "b": 2},
        2**64,
        -(2**63) - 1,
        [2**200, -(2**200)],
        {"big": {"deep": 10**40, "small": 1}},
        {"a": [1, 2.5, None, True, "漢字", "😀"]},
    ],
)
def test_every_value_comes_back(value: Any) -> None:
    assert unpack(canonical(value)) == value


def test_texts_that_only_differ_in_a_lone_surrogate_have_two_forms() -> None:
    assert canonical("a\ud800") != canonical("a\ud801")
    assert canonical("a\ud800") != canonical("a\ufffd")


def test_where_one_chunk_ends_counts_for_a_digest() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc")
    assert digest(b"") != digest()


def test_arguments_nested_too_deeply_are_told_by_their_text() -> None:
    deep = [assistant("", Call("c1", "run", "[" * 50_000 + end)) for end in ("]" * 50_000, "")]
    assert entry_echo(None, deep[0]) != entry_echo(None, deep[1])
