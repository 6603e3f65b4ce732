"""Several rounds with a provider are one reply for the client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from fanfold.core.message import Call, Message, Part, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.http.deltas import Opening, Stop, WholeReply, deltas_of, write_all
from fanfold.dialects.http.events import ArrayReader, event_reader
from fanfold.dialects.http.replies import replay, stream_writer, write_reply
from fanfold.dialects.http.rounds import Splice, splice_replies, stream_splice
from fanfold.dialects.registry import DIALECTS, DialectName, dialect_named
from tests.dialects.http_clients import MODEL, Speaker, asking, speaker
from tests.dialects.test_http_replies import ASKED, STOPS, heard, said, wholes

OWN = "recall"
LOOK = Call("c1", OWN, '{"ref":"o1"}')
READ = Call("c2", "read", '{"path":"a.py"}')
AGAIN = Call("c3", OWN, '{"ref":"o2"}')


def reply(number: int, *parts: Part, stop: Stop = "end") -> WholeReply:
    opening = Opening(id=f"told-{number}", model=MODEL, created=number)
    usage = TokenUsage(input=100 * number, output=number)
    return WholeReply(opening=opening, messages=(Message("assistant", parts),), stop=stop, usage=usage)


ROUNDS = [
    reply(1, Thinking("Hm."), Text("I look it up."), LOOK, stop="calls"),
    reply(2, Text("And again."), AGAIN, stop="calls"),
    reply(3, Text("Now I read."), READ, stop="calls"),
]
TOLD = [
    ("Thinking", "Hm."),
    ("Text", "I look it up."),
    ("Text", "And again."),
    ("Text", "Now I read."),
    ("c2", "read", {"path": "a.py"}),
]
USAGE = TokenUsage(input=7, cache_read=300, output=6)


def tell(dialect: DialectName, splice: Splice, rounds: Sequence[WholeReply], *, whole: bool = False) -> bytes:
    told = b""
    for number, one in enumerate(rounds):
        told += splice.next_round() if number else b""
        if whole:
            stream = b"".join(replay(dialect, write_reply(dialect, one), ASKED))
        else:
            stream = b"".join(write_all(stream_writer(dialect, ASKED), deltas_of(one)))
        told += b"".join(map(splice.feed, event_reader(None).feed(stream)))
        assert splice.complete
    return told


def assembled(dialect: DialectName, stream: bytes) -> Any:
    assembly = dialect_named(dialect).assembly()
    for event in event_reader(None).feed(stream):
        if event.data is not None and not event.is_done:
            assembly.feed(event.json())
    assert assembly.complete
    return assembly.reply()


def words(parts: list[Any]) -> list[Any]:
    """Words of several rounds joined as the dialect has them, without the lines between."""
    spoken = "".join("".join(part[1].split()) for part in parts if part[0] == "Text")
    return [part for part in parts if part[0] != "Text"] + [spoken]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_rounds_that_look_something_up_are_told_as_one_reply(dialect: DialectName, whole: bool) -> None:
    splice = stream_splice(dialect, {OWN})
    told = tell(dialect, splice, ROUNDS, whole=whole) + splice.finish(USAGE)
    assert (splice.has_hidden, splice.has_calls) == (False, True)
    assert OWN.encode() not in told
    assert b"told-2" not in told
    assert b"told-3" not in told
    parts, stop, usage = heard(assembled(dialect, told))
    assert words(parts) == words(TOLD)
    assert stop == STOPS[dialect]["calls"]
    assert usage == USAGE


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whole_rounds_are_one_reply_too(dialect: DialectName) -> None:
    bodies = [write_reply(dialect, one) for one in ROUNDS]
    body = splice_replies(dialect, bodies, {OWN}, USAGE)
    parts, stop, usage = heard(dialect_named(dialect).reply(body))
    assert (words(parts), stop, usage) == (words(TOLD), STOPS[dialect]["calls"], USAGE)
    assert "told-1" in json.dumps(body)
    assert "told-3" not in json.dumps(body)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_that_hides_nothing_is_told_byte_for_byte(dialect: DialectName) -> None:
    @settings(max_examples=20)
    @given(wholes())
    def check(whole: WholeReply) -> None:
        stream = b"".join(write_all(stream_writer(dialect, ASKED), deltas_of(whole)))
        splice = stream_splice(dialect, {"nothing of this"})
        told = b"".join(map(splice.feed, event_reader(None).feed(stream)))
        assert told != stream, "the end is held back"
        assert not splice.has_hidden
        assert told + splice.finish() == stream

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_of_both_kinds_in_one_reply_end_it(dialect: DialectName) -> None:
    splice = stream_splice(dialect, {OWN})
    told = tell(dialect, splice, [reply(1, LOOK, READ, AGAIN, stop="calls")])
    assert (splice.has_hidden, splice.has_calls) == (True, True)
    parts, stop, _ = heard(assembled(dialect, told + splice.finish()))
    assert (parts, stop) == (said((READ,)), STOPS[dialect]["calls"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_that_ends_with_a_hidden_call_waits_for_nothing(dialect: DialectName) -> None:
    rounds = [reply(1, Text("I look."), LOOK, stop="calls")]
    splice = stream_splice(dialect, {OWN})
    told = tell(dialect, splice, rounds) + splice.finish()
    body = splice_replies(dialect, [write_reply(dialect, rounds[0])], {OWN})
    for found in (assembled(dialect, told), dialect_named(dialect).reply(body)):
        parts, stop, _ = heard(found)
        assert (parts, stop) == ([("Text", "I look.")], STOPS[dialect]["end"])


def test_indexes_and_numbers_stay_in_order() -> None:
    for dialect, field, kind in (
        ("anthropic", "index", "content_block_start"),
        ("openai.responses", "output_index", "response.output_item.added"),
    ):
        splice = stream_splice(dialect, {OWN})  # type: ignore[arg-type]
        told = tell(dialect, splice, ROUNDS) + splice.finish()  # type: ignore[arg-type]
        events = [event.json() for event in event_reader(None).feed(told)]
        assert [event[field] for event in events if event["type"] == kind] == [0, 1, 2, 3, 4]
        if dialect == "openai.responses":
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            assert len(events[-1]["response"]["output"]) == 5
            assert events[-1]["response"]["id"] == "told-1"


def test_gemini_tells_an_array_as_one_array() -> None:
    splice = stream_splice("gemini", {OWN}, events=False)
    told = b""
    for number, one in enumerate(ROUNDS):
        told += splice.next_round() if number else b""
        stream = b"".join(write_all(stream_writer("gemini", events=False), deltas_of(one)))
        reader = ArrayReader()
        told += b"".join(map(splice.feed, reader.feed(stream) + reader.close()))
    assembly = dialect_named("gemini").assembly()
    for chunk in json.loads(told + splice.finish(USAGE)):
        assembly.feed(chunk)
    parts, _, usage = heard(assembly.reply())
    assert (words(parts), usage) == (words(TOLD), USAGE)


def test_a_call_that_comes_with_the_last_chunk_is_hidden_too() -> None:
    body = write_reply("openai.chat", reply(1, Text("I look."), LOOK))
    choice = {"index": 0, "delta": body["choices"][0]["message"], "finish_reason": "tool_calls"}
    choice["delta"]["tool_calls"][0]["index"] = 0
    chunk = {**body, "object": "chat.completion.chunk", "choices": [choice]}
    splice = stream_splice("openai.chat", {OWN})
    stream = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    assert b"".join(map(splice.feed, event_reader(None).feed(stream))) == b""
    assert splice.has_hidden
    told = splice.next_round()
    assert b"I look." in told
    assert OWN.encode() not in told
    assert b"tool_calls" not in told


@pytest.fixture(scope="module")
def provider() -> Iterator[Speaker]:
    with speaker() as made:
        yield made


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_reads_one_reply(dialect: DialectName, provider: Speaker) -> None:
    splice = stream_splice(dialect, {OWN})
    provider.stream([tell(dialect, splice, ROUNDS), splice.finish(USAGE)])
    ask, assembly = asking(dialect, provider.server.url), dialect_named(dialect).assembly()
    for event in ask(True):
        assembly.feed(event)
    parts, _, usage = heard(assembly.reply())
    assert (words(parts), usage) == (words(TOLD), USAGE)
