"""What the official SDKs read from replies that we write is the message that was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanfold.core.message import Call, Message, Part, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.deltas import Opening, Stop, WholeReply, deltas_of, tell, wanted_stop, write_all
from fanfold.dialects.http.events import event_reader
from fanfold.dialects.http.replies import (
    replay,
    reply_id,
    set_usage,
    stream_writer,
    write_reply,
    write_usage,
)
from fanfold.dialects.registry import DIALECTS, DialectName, dialect_named
from fanfold.tokens.usage import usage_of
from tests.dialects.http_clients import MODEL, Speaker, asking, speaker

OPENING = Opening(id="told-1", model=MODEL, created=1_760_000_000)
ASKED = {"stream_options": {"include_usage": True}}
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)
names = st.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True)
arguments = st.dictionaries(
    st.sampled_from("abc"), st.one_of(words, st.integers(-9, 9), st.none()), max_size=2
)
usages = st.builds(
    lambda fresh, read, output, share: TokenUsage(
        input=fresh, cache_read=read, output=output, reasoning=min(share, output)
    ),
    *(st.integers(0, 9_999) for _ in range(4)),
)


@st.composite
def wholes(draw: st.DrawFn) -> WholeReply:
    """A thought perhaps, words perhaps, calls perhaps, in the order in which every provider has them."""
    parts: list[Part] = [Thinking(draw(words))] if draw(st.booleans()) else []
    parts += [Text(draw(words))] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 2))):
        parts.append(Call(f"call_{number}", draw(names), json.dumps(draw(arguments))))
    parts = parts if any(not isinstance(part, Thinking) for part in parts) else [*parts, Text(draw(words))]
    stop: Stop = draw(st.sampled_from(["end", "calls", "length", "refusal"]))
    return WholeReply(
        opening=OPENING, messages=(Message("assistant", tuple(parts)),), stop=stop, usage=draw(usages)
    )


def said(parts: tuple[Part, ...]) -> list[Any]:
    """Parts to be compared: neighbouring words joined, arguments by value, no empty words."""
    found: list[Any] = []
    for part in parts:
        match part:
            case Call(id=id, name=name):
                found.append((id, name, part.args))
            case Text(text=text) | Thinking(text=text) if text:
                kind = type(part).__name__
                if found and found[-1][0] == kind:
                    found[-1] = (kind, found[-1][1] + text)
                else:
                    found.append((kind, text))
    return found


STOPS = {
    "openai.chat": {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"},
    "openai.responses": {
        "end": "completed",
        "calls": "completed",
        "length": "max_output_tokens",
        "refusal": "content_filter",
    },
    "anthropic": {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"},
    "gemini": {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"},
}


def expected(dialect: DialectName, whole: WholeReply) -> tuple[list[Any], str, TokenUsage]:
    calls = any(isinstance(part, Call) for part in whole.parts)
    return said(whole.parts), STOPS[dialect][wanted_stop(whole.stop, calls=calls)], whole.usage


def heard(reply: Reply) -> tuple[list[Any], str | None, TokenUsage | None]:
    parts = tuple(part for message in reply.messages for part in message.parts)
    return said(parts), reply.stop, reply.usage


@pytest.fixture(scope="module")
def provider() -> Iterator[Speaker]:
    with speaker() as made:
        yield made


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_reads_from_a_whole_reply_what_was_written(dialect: DialectName, provider: Speaker) -> None:
    ask, codec = asking(dialect, provider.server.url), dialect_named(dialect, MODEL)

    @settings(max_examples=25)
    @given(wholes())
    def check(whole: WholeReply) -> None:
        provider.say(json.dumps(write_reply(dialect, whole)).encode())
        assert heard(codec.reply(ask(False))) == expected(dialect, whole)

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_reads_from_a_stream_what_was_written(dialect: DialectName, provider: Speaker) -> None:
    ask, codec = asking(dialect, provider.server.url), dialect_named(dialect, MODEL)

    @settings(max_examples=25)
    @given(wholes(), st.booleans())
    def check(whole: WholeReply, again: bool) -> None:
        if again:
            provider.stream(list(replay(dialect, write_reply(dialect, whole), ASKED)))
        else:
            provider.stream(list(write_all(stream_writer(dialect, ASKED), deltas_of(whole))))
        assembly = codec.assembly()
        for event in ask(True):
            assembly.feed(event)
        assert assembly.complete
        assert heard(assembly.reply()) == expected(dialect, whole)

    check()


SIGNED = Message("assistant", (Thinking("Hm", "c2ln"), Thinking("", "c2VhbA=="), Text("a"), Text("b")))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_signatures_and_several_texts_come_through_where_the_dialect_has_a_place(
    dialect: DialectName,
) -> None:
    whole = WholeReply(opening=OPENING, messages=(SIGNED,))
    codec = dialect_named(dialect, MODEL)
    streamed = codec.assembly()
    for chunk in write_all(stream_writer(dialect), deltas_of(whole)):
        for event in event_reader(None).feed(chunk):
            if not event.is_done:
                streamed.feed(event.json())
    for reply in (codec.reply(write_reply(dialect, whole)), streamed.reply()):
        parts = [part for message in reply.messages for part in message.parts]
        signatures = [part.signature for part in parts if isinstance(part, Thinking) and part.signature]
        assert signatures == ([] if dialect == "openai.chat" else ["c2ln", "c2VhbA=="])
        assert "".join(reply.text.split()) == "ab"


def bodies(dialect: DialectName) -> dict[str, Any]:
    whole = WholeReply(opening=OPENING, messages=(SIGNED,), usage=TokenUsage(input=5, output=2))
    return write_reply(dialect, whole)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_came_over_the_wire_is_told_as_it_came(dialect: DialectName) -> None:
    body = bodies(dialect)
    match body:
        case {"content": list(blocks)} | {"output": list(blocks)}:
            blocks.append({"type": "unheard_of", "x": [1]})
        case {"choices": [{"message": message}]}:
            message["unheard_of"] = {"x": 1}
        case {"candidates": [{"content": {"parts": list(parts)}}]}:
            parts.append({"unheardOf": {"x": 1}})
    reply = dialect_named(dialect, MODEL).reply(body)
    again = write_reply(dialect, tell(reply, OPENING))
    for key in ("content", "output", "choices", "candidates"):
        assert again.get(key) == body.get(key)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_replayed_body_keeps_what_nobody_knows(dialect: DialectName) -> None:
    body = {**bodies(dialect), "unheard_of": 7}
    if dialect == "anthropic":
        body["content"].append({"type": "unheard_of", "x": [1]})
    stream = b"".join(replay(dialect, body, ASKED))
    assert stream.count(b"unheard_of") >= 1
    assembly = dialect_named(dialect, MODEL).assembly()
    for event in event_reader(None).feed(stream):
        if not event.is_done:
            assembly.feed(event.json())
    assert heard(assembly.reply()) == heard(dialect_named(dialect, MODEL).reply(body))


def test_gemini_streams_an_array_to_whoever_asks_for_no_events() -> None:
    whole = WholeReply(opening=OPENING, messages=(Message("assistant", (Text("a"), Call("f", "f", "{}"))),))
    writer = stream_writer("gemini", events=False)
    for stream in (
        b"".join(write_all(writer, deltas_of(whole))),
        b"".join(replay("gemini", write_reply("gemini", whole), events=False)),
    ):
        assembly = dialect_named("gemini", MODEL).assembly()
        for chunk in json.loads(stream):
            assembly.feed(chunk)
        assert heard(assembly.reply())[0] == [("Text", "a"), ("f", "f", {})]


def test_usage_is_told_in_a_stream_of_chat_only_to_whoever_asks_for_it() -> None:
    whole = WholeReply(opening=OPENING, messages=(SIGNED,))
    assert b"usage" not in b"".join(write_all(stream_writer("openai.chat"), deltas_of(whole)))
    assert b"usage" not in b"".join(replay("openai.chat", write_reply("openai.chat", whole)))


@given(usages, usages)
@example(TokenUsage(), TokenUsage(output=1, reasoning=1))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_usage_is_read_as_it_was_written_and_set(
    dialect: DialectName, usage: TokenUsage, other: TokenUsage
) -> None:
    assert usage_of(write_usage(dialect, usage)) == usage
    body = {**bodies(dialect), "unheard_of": 7}
    key = "usageMetadata" if dialect == "gemini" else "usage"
    body[key] = {**write_usage(dialect, other), "unheard_of": 8}
    changed = set_usage(dialect, body, usage)
    assert usage_of(changed[key]) == usage
    assert (changed["unheard_of"], changed[key]["unheard_of"]) == (7, 8)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_usage_is_set_in_the_events_that_tell_one_and_in_no_other(dialect: DialectName) -> None:
    whole = WholeReply(opening=OPENING, messages=(SIGNED,), usage=TokenUsage(input=5, output=2))
    usage = TokenUsage(input=3, cache_read=4, output=9)
    assembly = dialect_named(dialect, MODEL).assembly()
    same = 0
    for event in event_reader(None).feed(
        b"".join(write_all(stream_writer(dialect, ASKED), deltas_of(whole)))
    ):
        if not event.is_done and (body := event.json()) is not None:
            changed = set_usage(dialect, body, usage)
            same += changed is body
            assembly.feed(changed)
    assert assembly.reply().usage == usage
    assert same > 0 or dialect == "gemini"


def test_ids_look_like_the_providers_own() -> None:
    made = [reply_id(dialect, "x").rstrip("0123456789abcdef") for dialect in DIALECTS]
    assert made == ["chatcmpl-", "resp_", "msg_", ""]


def test_calls_of_gemini_get_ids_that_no_other_call_has() -> None:
    call = {"functionCall": {"name": "grep", "args": {}}}
    body = {"candidates": [{"content": {"role": "model", "parts": [call, call]}, "finishReason": "STOP"}]}
    reply = dialect_named("gemini").reply(body)
    ids = [
        block["id"]
        for number in (1, 2)
        for block in write_reply("anthropic", tell(reply, Opening(id=f"told-{number}", model=MODEL)))[
            "content"
        ]
    ]
    assert len(set(ids)) == 4
    assert write_reply("gemini", tell(reply, OPENING))["candidates"][0]["content"]["parts"] == [call, call]
