"""Messages: what was said, as pure values."""

from __future__ import annotations

import tracemalloc

import pytest

from fanfold import BadArguments, Call, Document, Image, Message, Opaque, Result, Text, Thinking
from fanfold.core.message import assistant, replace_part, result, system, text_of, user


def test_the_text_of_a_message_is_its_words_without_thinking_and_calls() -> None:
    message = Message("assistant", (Thinking("hm"), Text("Hello"), Call("c1", "run", "{}"), Text("there")))
    assert message.text == "Hello\nthere"


def test_calls_and_results_are_found_among_the_parts() -> None:
    message = Message("user", (Call("c1", "run", "{}"), Text("x"), Result("c0")))
    assert message.calls == (Call("c1", "run", "{}"),)
    assert message.results == (Result("c0"),)


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        user("Hello").role = "system"  # type: ignore[misc]


def test_equal_messages_are_equal_and_have_one_hash() -> None:
    assert user("Hello") == user("Hello")
    assert len({user("Hello"), user("Hello")}) == 1


def test_arguments_are_read_as_a_dict() -> None:
    assert Call("c1", "grep", '{"pattern": "x", "max": 3}').args == {"pattern": "x", "max": 3}


def test_no_arguments_at_all_are_an_empty_dict() -> None:
    assert Call("c1", "now", "").args == {}


def test_changing_the_arguments_one_was_given_changes_nothing() -> None:
    call = Call("c1", "grep", '{"pattern": "x"}')
    call.args["pattern"] = "y"
    assert call.args == {"pattern": "x"}


@pytest.mark.parametrize("raw", ["{pattern: x", "[1, 2]", '"text"', "null", "7"])
def test_arguments_that_are_no_json_object_are_told_by_name(raw: str) -> None:
    call = Call("c1", "grep", raw)
    with pytest.raises(BadArguments, match=r"grep\(c1\)"):
        _ = call.args
    assert call.raw == raw


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("Hello"), True),
        (Message("user"), True),
        (Message("user", (Image(url="a.png"),)), True),
        (Message("user", (Result("c1"), Text("and now?"))), True),
        (Message("user", (Result("c1"), Result("c2"))), False),
        (result("c1", "done"), False),
        (assistant("Hello"), False),
        (system("Rules"), False),
    ],
)
def test_a_person_speaks_in_a_user_message_with_more_than_results(message: Message, expected: bool) -> None:
    assert message.is_request is expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Text("a"), "a"),
        (Thinking("b"), "b"),
        (Call("c1", "run", '{"x": 1}'), 'run({"x": 1})'),
        (Result("c1", (Text("one"), Image(), Text("two"))), "one\n\ntwo"),
        (Document(text="words"), "words"),
        (Document(data="QUJD"), ""),
        (Image(url="a.png"), ""),
        (Opaque("openai.chat", {"type": "odd"}), ""),
    ],
)
def test_what_can_be_read_in_a_part(part: Text, expected: str) -> None:
    assert text_of(part) == expected


def test_reading_leaves_out_what_has_no_words() -> None:
    assert text_of(Message("user", (Text("look"), Image(url="a.png"), Text("here")))) == "look\nhere"


def test_a_call_that_is_replaced_keeps_its_name_and_id() -> None:
    assert replace_part(Call("c1", "write", '{"text": "long"}'), "cut") == Call(
        "c1", "write", '{"_elided":"cut"}'
    )


def test_a_result_that_is_replaced_still_answers_its_call() -> None:
    before = Result("c1", (Text("long"), Image()), error=True, name="run")
    assert replace_part(before, "cut") == Result("c1", (Text("cut"),), error=True, name="run")


def test_a_picture_that_is_replaced_becomes_words() -> None:
    assert replace_part(Image(url="a.png"), "[image]") == Text("[image]")


def test_changing_the_arguments_of_a_call_changes_nothing_in_it() -> None:
    call = Call("c1", "run", '{"files": ["a"]}')
    call.args["files"].append("b")
    assert call.args == {"files": ["a"]}


def test_arguments_nested_too_deeply_are_no_arguments() -> None:
    with pytest.raises(BadArguments, match=r"run\(c1\)"):
        _ = Call("c1", "run", '{"a":' * 50_000 + "1" + "}" * 50_000).args


def test_the_arguments_of_a_call_are_held_by_nobody_but_the_reader() -> None:
    raw = '{"text": "' + "x" * 4_000_000 + '"}'
    tracemalloc.start()
    try:
        assert len(Call("c1", "write", raw).args["text"]) == 4_000_000
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_arguments_with_a_lone_surrogate_or_nan_are_read() -> None:
    assert Call("c1", "find", '{"x": "\\ud800"}').args == {"x": "\ud800"}
    assert str(Call("c1", "find", '{"x": NaN, "y": -Infinity}').args) == "{'x': nan, 'y': -inf}"
