"""Streams with events and fields that nobody knows are read, told on and converted, wherever they are cut."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.convert import StreamBridge
from fanfold.dialects.http.deltas import Opening, tell
from fanfold.dialects.http.errors import read_error_event
from fanfold.dialects.http.events import StreamEvent, event_reader, write_event
from fanfold.dialects.http.replies import replay, set_usage, write_reply
from fanfold.dialects.http.rounds import splice_replies, stream_splice
from fanfold.dialects.registry import DIALECTS, DialectName, dialect_named
from tests.dialects.http_streams import CORPUS, NEW, Recorded

each = pytest.mark.parametrize("stream", CORPUS.values(), ids=CORPUS)
OPENING = Opening(id="told", model="m")


def read(stream: Recorded, *chunks: bytes) -> list[StreamEvent]:
    reader = event_reader(stream.kind)
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


def assemble(dialect: DialectName, events: list[StreamEvent]) -> Reply:
    assembly = dialect_named(dialect).assembly()
    for event in events:
        body = event.json() if event.whole else None
        if body is not None:
            assembly.feed(body)
    return assembly.reply()


def check(stream: Recorded, reply: Reply) -> None:
    assert reply.text == stream.text
    assert tuple((call.id, call.name, call.args) for call in reply.calls) == stream.calls
    assert (reply.usage, reply.stop) == (stream.usage, stream.stop)


@each
def test_a_stream_is_read_whatever_nobody_knows_in_it(stream: Recorded) -> None:
    assert b"x_new" in stream.data
    check(stream, assemble(stream.dialect, read(stream, stream.data)))


@each
def test_a_stream_cut_at_any_byte_has_the_same_events(stream: Recorded) -> None:
    told = [(event.name, event.data) for event in read(stream, stream.data) if event.data is not None]
    bytewise = [stream.data[at : at + 1] for at in range(len(stream.data))]
    halves = ((stream.data[:at], stream.data[at:]) for at in range(0, len(stream.data), 11))
    for chunks in (bytewise, *halves):
        events = read(stream, *chunks)
        assert [(event.name, event.data) for event in events if event.data is not None] == told
        assert b"".join(event.raw for event in events) == stream.data


@each
def test_a_stream_that_breaks_off_at_any_byte_is_a_cut_reply_or_a_whole_one(stream: Recorded) -> None:
    ends = set()
    for at in range(0, len(stream.data), 13):
        reply = assemble(stream.dialect, read(stream, stream.data[:at]))
        ends.add(reply.stop)
        assert stream.text.startswith(reply.text.strip("\n")) or reply.text == ""
    assert ends <= {"cut", stream.stop}
    assert "cut" in ends


@each
def test_a_stream_that_hides_nothing_is_told_as_it_came(stream: Recorded) -> None:
    if stream.kind.startswith("application/json"):
        pytest.skip("an array is written anew")
    splice = stream_splice(stream.dialect, {"recall"})
    told = b"".join(map(splice.feed, read(stream, stream.data)))
    assert told + splice.finish() == stream.data


@each
def test_what_nobody_knows_stays_where_a_call_is_hidden(stream: Recorded) -> None:
    is_array = stream.kind.startswith("application/json")
    splice = stream_splice(stream.dialect, {"read"}, events=not is_array)
    told = b"".join(map(splice.feed, read(stream, stream.data))) + splice.finish()
    assert splice.has_hidden
    reply = assemble(stream.dialect, read(stream, told))
    assert [call.name for call in reply.calls] == [name for _, name, _ in stream.calls if name != "read"]
    assert reply.text == stream.text
    assert told.count(b"x_new") >= stream.data.count(b"x_new") - 3
    assert NEW.keys() == {"x_new"}


@pytest.mark.parametrize("target", DIALECTS)
@each
def test_a_stream_is_converted_whatever_nobody_knows_in_it(stream: Recorded, target: DialectName) -> None:
    if stream.dialect == target:
        pytest.skip("the same dialect")
    asked = {"stream_options": {"include_usage": True}}
    bridge = StreamBridge(stream.dialect, target, OPENING, asked=asked)
    told = b"".join(map(bridge.feed, read(stream, stream.data))) + bridge.close()
    assert bridge.complete
    assembly = dialect_named(target).assembly()
    for event in event_reader(None).feed(told):
        if event.data is not None and not event.is_done:
            assembly.feed(event.json())
    reply = assembly.reply()
    assert reply.text == stream.text
    assert tuple((call.id, call.name, call.args) for call in reply.calls) == stream.calls
    assert reply.usage is not None
    assert (reply.usage.prompt, reply.usage.output) == (stream.usage.prompt, stream.usage.output)


@pytest.mark.parametrize("target", DIALECTS)
@each
def test_a_stream_that_breaks_off_is_never_told_as_whole(stream: Recorded, target: DialectName) -> None:
    if stream.dialect == target:
        pytest.skip("the same dialect")
    whole = [event for event in read(stream, stream.data) if event.data is not None]
    for count in range(len(whole) - 3):
        bridge = StreamBridge(stream.dialect, target, OPENING)
        told = b"".join(map(bridge.feed, whole[:count])) + bridge.close()
        assert not bridge.complete
        assembly = dialect_named(target).assembly()
        for event in event_reader(None).feed(told):
            if event.data is not None:
                assembly.feed(event.json())
        assert not assembly.complete


def spoil(value: Any, draw: Callable[[int], int]) -> Any:
    """The value with one thing in it replaced by something that does not belong there."""
    junk: list[Any] = [None, 7, True, "x", [], {}, [None], {"type": 3}, -1.5]
    if isinstance(value, dict) and value and draw(3):
        key = list(value)[draw(len(value))]
        return {**value, key: spoil(value[key], draw)}
    if isinstance(value, list) and value and draw(3):
        at = draw(len(value))
        return [*value[:at], spoil(value[at], draw), *value[at + 1 :]]
    return junk[draw(len(junk))]


@each
def test_no_event_is_too_odd_to_be_passed_on_or_converted(stream: Recorded) -> None:
    bodies = [event.json() for event in read(stream, stream.data) if event.data is not None]
    target: DialectName = "anthropic" if stream.dialect != "anthropic" else "openai.responses"

    @settings(max_examples=150)
    @given(st.randoms(use_true_random=False))
    def check_odd(random: Random) -> None:
        at = random.randrange(len(bodies))
        odd = spoil(bodies[at], random.randrange)
        events = event_reader(None).feed(b"".join(map(write_event, [*bodies[:at], odd, *bodies[at + 1 :]])))
        splice = stream_splice(stream.dialect, {"read"})
        bridge = StreamBridge(stream.dialect, target, OPENING)
        for event in events:
            splice.feed(event)
            bridge.feed(event)
            read_error_event(event.json())
        if isinstance(odd, dict):
            set_usage(stream.dialect, odd, TokenUsage(input=1))
        splice.finish(TokenUsage(input=1))
        splice.next_round()
        splice.finish()
        bridge.close()

    check_odd()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_whole_reply_is_too_odd_to_be_told_again(dialect: DialectName) -> None:
    stream = next(one for one in CORPUS.values() if one.dialect == dialect)
    whole = write_reply(dialect, tell(assemble(dialect, read(stream, stream.data)), OPENING))

    @settings(max_examples=150)
    @given(st.randoms(use_true_random=False))
    def check_odd(random: Random) -> None:
        odd = spoil(whole, random.randrange)
        if isinstance(odd, dict):
            assert isinstance(b"".join(replay(dialect, odd)), bytes)
            splice_replies(dialect, [whole, odd], {"read"}, TokenUsage(input=1))

    check_odd()
