"""Whatever a tool gives back is kept whole, gets a reference, and is shown within the limits (A2, A3, A8)."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from output_builders import ask, give, numbered, opened, result_of, shown

import fanfold
from fanfold import Image, Text
from fanfold.core.errors import BadInput, NotFound
from fanfold.outputs.filters import clip
from fanfold.strategies.elide import elide
from fanfold.testing import called, replied, returned, said

BIG = numbered(200_000, "a line of some length, number")


def test_a_short_output_is_recorded_as_it_is_and_has_a_reference() -> None:
    chat = opened()
    give(chat, "c1", "two\nlines")
    found = chat.output("o1")
    assert (found.ref, found.size, found.line_count, found.media) == ("o1", 9, 2, "text/plain")
    assert shown(chat) == found.text() == "two\nlines"


def test_an_output_above_the_clip_limits_is_recorded_whole_and_shown_clipped() -> None:
    chat = opened()
    entry = give(chat, "c1", numbered(20_000))
    assert result_of(entry.message).text == numbered(20_000)
    assert len(shown(chat).encode()) <= 50 * 1024
    assert "ref=o1" in shown(chat)


def test_undoing_what_a_filter_decided_brings_the_whole_back() -> None:
    chat = opened()
    give(chat, "c1", numbered(20_000))
    chat.undo()
    assert shown(chat) == numbered(20_000)


def test_what_a_filter_decides_is_recorded_at_the_outputs_own_entry() -> None:
    chat = opened()
    entry = give(chat, "c1", numbered(20_000))
    (decision,) = chat.why(entry.id).edits
    assert (decision.by, decision.why, decision.at) == ("pass", "clip", entry.id)


def test_a_large_text_lies_in_a_blob_and_its_entry_holds_the_clipped_view() -> None:
    chat = opened()
    entry = give(chat, "c1", BIG)
    assert result_of(entry.message).text == shown(chat)
    assert len(shown(chat)) <= 50 * 1024
    assert chat.output("o1").text() == BIG


def in_chunks(text: str, size: int = 7_001) -> Any:
    return (text[at : at + size] for at in range(0, len(text), size))


@pytest.mark.parametrize("kind", ["texts", "bytes", "file", "text file", "path", "bytearray"])
def test_every_kind_of_stream_is_kept_byte_by_byte(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text(BIG, encoding="utf-8")
    outputs: dict[str, Any] = {
        "texts": in_chunks(BIG),
        "bytes": (chunk.encode() for chunk in in_chunks(BIG)),
        "file": io.BytesIO(BIG.encode()),
        "text file": io.StringIO(BIG),
        "path": path,
        "bytearray": bytearray(BIG.encode()),
    }
    chat = opened()
    give(chat, "c1", outputs[kind])
    assert chat.output("o1").text() == BIG
    assert chat.output("o1").line_count == 200_000


def test_a_stream_that_ends_soon_is_a_short_output() -> None:
    chat = opened()
    entry = give(chat, "c1", iter(["ab", "c"]))
    assert result_of(entry.message).text == "abc"


def test_an_async_stream_is_taken_by_an_async_session() -> None:
    async def chunks() -> AsyncIterator[str]:
        for chunk in in_chunks(BIG):
            yield chunk

    async def main() -> str:
        async with fanfold.aopen("run", window=400_000, meter="characters/4") as chat:
            await chat.say("go")
            call = fanfold.Call("c1", "bash", "{}")
            await chat.add(fanfold.Message("assistant", (call,)))
            await chat.answer(call, chunks())
            return (await chat.output("o1")).text()

    assert asyncio.run(main()) == BIG


def test_a_stream_that_breaks_off_leaves_the_call_open() -> None:
    def broken() -> Any:
        yield "x" * 2_000_000
        raise OSError("the pipe broke")

    chat = opened()
    call = ask(chat, "c1")
    with pytest.raises(OSError, match="pipe broke"):
        chat.answer(call, broken())
    chat.answer(call, "second try")
    assert shown(chat) == "second try"


def test_a_stream_is_not_read_for_a_call_that_nobody_made() -> None:
    stream = iter(["a"])
    with pytest.raises(NotFound):
        opened().answer("c9", stream)
    assert next(stream) == "a"


def test_binary_bytes_come_back_as_they_were_and_are_shown_as_a_note() -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    chat = opened()
    give(chat, "c1", data)
    assert shown(chat) == "[binary data, image/png, 5,128 bytes; ref=o1]"
    assert chat.output("o1").bytes() == data


def test_bytes_that_are_nearly_text_come_back_as_they_were() -> None:
    chat = opened()
    give(chat, "c1", b"caf\xe9 au lait, as in Latin-1")
    assert shown(chat) == "caf\ufffd au lait, as in Latin-1"
    assert chat.output("o1").bytes() == b"caf\xe9 au lait, as in Latin-1"


@pytest.mark.parametrize("data", [b"\0", b"\x00\x01", b"\xff" * 9, b"\x1f\x8b" + bytes(18), bytes(63)])
def test_data_that_is_shorter_than_a_note_about_it_is_shown_as_it_is(data: bytes) -> None:
    chat = opened()
    give(chat, "c1", data)
    assert shown(chat) == data.decode("utf-8", "replace")
    assert chat.output("o1").bytes() == data


@pytest.mark.parametrize(
    "data", [bytes(64), b"\x89PNG\r\n\x1a\n" + bytes(59), b"SQLite format 3\0" + bytes(60)]
)
def test_a_note_about_data_is_never_longer_than_the_data(data: bytes) -> None:
    chat = opened()
    give(chat, "c1", data)
    assert shown(chat).startswith("[binary data, ")
    assert len(shown(chat)) <= len(data)


def test_a_lone_surrogate_comes_back_as_it_was() -> None:
    chat = opened()
    give(chat, "c1", "\ud800" + BIG)
    assert chat.output("o1").text() == "\ud800" + BIG


def test_a_picture_is_an_output_too() -> None:
    chat = opened()
    give(chat, "c1", [Image("image/png", "iVBORw0KGgo=")])
    assert (chat.output("o1").media, chat.output("o1").bytes()) == ("image/png", b"\x89PNG\r\n\x1a\n")


def test_parts_of_several_kinds_are_kept_in_the_entry() -> None:
    chat = opened()
    parts = (Text("the page"), Image("image/png", "iVBORw0KGgo="))
    entry = give(chat, "c1", parts)
    assert result_of(entry.message).parts == parts
    assert chat.output("o1").lines()[0] == "the page"


PICTURE = Image("image/png", "iVBORw0KGgo=")


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (["the page", PICTURE], (Text("the page"), PICTURE)),
        ((PICTURE, "caption", Text("more")), (PICTURE, Text("caption"), Text("more"))),
        ([{"title": "Home"}, PICTURE, 7], (Text('{"title":"Home"}'), PICTURE, Text("7"))),
        (["a", Text("b")], (Text("a"), Text("b"))),
        (["a", "b"], (Text('["a","b"]'),)),
        ([], (Text("[]"),)),
    ],
)
def test_a_list_with_a_part_in_it_is_a_list_of_parts(given: Any, parts: tuple[Any, ...]) -> None:
    entry = give(opened(), "c1", given)
    assert result_of(entry.message).parts == parts


def test_what_json_cannot_write_beside_a_picture_is_refused() -> None:
    with pytest.raises(BadInput, match="not object"):
        give(opened(), "c1", [object(), PICTURE])


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(BadInput, match="texts or bytes, not int"):
        give(opened(), "c1", iter([1, 2]))


def test_references_are_numbered_by_session_also_after_it_is_opened_again() -> None:
    store = fanfold.Memory()
    with opened(store=store) as chat:
        give(chat, "c1", "one")
        give(chat, "c2", "two")
    with opened(store=store) as chat:
        give(chat, "c3", "three")
        assert [found.ref for found in chat.outputs()] == ["o3", "o2", "o1"]
        assert chat.output("o1").text() == "one"


def test_outputs_in_a_re_sent_history_are_shaped_and_kept_too() -> None:
    chat = opened()
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": numbered(20_000)},
    ]
    chat.merge(history)
    assert "ref=o1" in shown(chat)
    assert chat.merge(history).new == 0
    assert chat.output("o1").text() == numbered(20_000)


def test_a_fork_finds_the_outputs_that_its_view_names() -> None:
    chat = opened()
    give(chat, "c1", BIG)
    for edits in (True, False):
        fork = chat.fork(f"fork {edits}", edits=edits)
        assert "ref=o1" in shown(fork)
        assert fork.output("o1").text() == BIG
        give(fork, "c2", "more")
        assert fork.output("o2").text() == "more"


def test_a_fork_without_edits_shows_outputs_as_they_were_shaped_on_arrival() -> None:
    chat = opened()
    give(chat, "c1", numbered(20_000))
    assert shown(chat.fork("afresh", edits=False)) == shown(chat)


def test_without_filters_an_output_is_shown_whole() -> None:
    chat = opened(filters=[])
    give(chat, "c1", numbered(20_000))
    assert shown(chat) == numbered(20_000)


def test_a_filter_of_ones_own_sees_tool_and_arguments() -> None:
    seen: list[Any] = []

    def short(text: str, tool: str, arguments: Any) -> str:
        seen.append((tool, arguments))
        return "short, ref={ref}"

    chat = opened(filters=[short, clip()])
    give(chat, "c1", "a long text " * 9)
    assert shown(chat) == "short, ref=o1"
    assert seen == [("bash", {"cmd": "ls"})]


def test_erasing_an_output_by_its_reference_destroys_its_blob() -> None:
    store = fanfold.Memory()
    chat = opened(store=store)
    give(chat, "c1", BIG)
    assert len(store.blobs("default")) == 2
    chat.erase("o1", "a secret")
    assert store.blobs("default") == []
    with pytest.raises(fanfold.Gone, match="a secret"):
        chat.output("o1")


def test_an_erased_output_that_comes_again_is_found_again() -> None:
    chat = opened()
    entry = give(chat, "c1", "hello")
    chat.erase(entry.id, "oops")
    chat.rewind(-2)
    chat.answer("c1", "hello", again=True)
    assert chat.output("o2").text() == "hello"


def test_an_output_that_a_client_re_sends_changed_has_a_reference_beside_the_first() -> None:
    talk = [said("Go."), replied(None, called("c1")), returned("c1", "whole " * 900), replied("Yes.")]
    cut = returned("c1", "cut by the client " * 300)
    with fanfold.open("run", window=9_000, strategy=elide(keep=0, share=100)) as chat:
        chat.merge([*talk, said("On.")])
        chat.merge([*talk[:2], cut, talk[3], said("On."), replied("Yes."), said("Go on.")])
        assert chat.compact(force=True).status == "reduced"
        assert chat.output("o1").text() == talk[2]["content"]
        assert chat.output("o2").text() == cut["content"]
        assert "ref=o2" in chat.view().messages[2].results[0].text


def test_a_long_text_beside_a_picture_is_clipped_and_the_picture_stays() -> None:
    picture = Image("image/png", data="iVBORw0KGgo=")
    text = "a line of the page\n" * 10_000
    chat = opened(400_000)
    chat.say("go")
    call = fanfold.Call("c1", "browse", "{}")
    chat.add(fanfold.Message("assistant", (call,)))
    chat.answer(call, [fanfold.Text(text), picture])
    (result,) = chat.view().messages[-1].results
    assert result.parts[1] == picture
    assert len(result.text) < 60_000
    assert "o1" in result.text
    assert chat.output("o1").text().startswith(text)
    chat.undo()
    assert chat.view().messages[-1].results[0].parts == (fanfold.Text(text), picture)


def test_a_text_of_megabytes_beside_a_picture_is_clipped_and_the_picture_stays() -> None:
    chat = opened()
    give(chat, "c1", [PICTURE, BIG])
    (result,) = chat.view().messages[-1].results
    assert result.parts[1:] == (PICTURE,)
    assert len(result.text) < 60_000
    assert chat.output("o1").text() == BIG


LONG = "a line of the page\n" * 10_000
DATA = "iVBORw0KGgo="
SHOT = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
SENT: dict[str, list[Any]] = {
    "anthropic": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "browse", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": LONG}, SHOT],
                }
            ],
        },
    ],
    "openai.responses": [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c1", "name": "browse", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": LONG},
                {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "browse", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "browse",
                        "response": {"output": LONG},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": DATA}}],
                    }
                }
            ],
        },
    ],
}


@pytest.mark.parametrize("dialect", SENT)
@pytest.mark.parametrize("how", ["merge", "add"])
def test_a_long_text_beside_a_picture_is_clipped_however_it_comes(dialect: str, how: str) -> None:
    model = {"anthropic": "claude-opus-4-6", "openai.responses": "gpt-5.2", "gemini": "gemini-3-pro-preview"}
    with fanfold.open("run", window=400_000, dialect=dialect, model=model[dialect]) as chat:
        if how == "merge":
            chat.merge(SENT[dialect])
        else:
            for body in SENT[dialect]:
                chat.add(body)
        (result,) = chat.view().messages[-1].results
        assert "ref=o1" in result.text
        assert len(result.text) < 60_000
        assert isinstance(result.parts[1], Image)
        sent = str(chat.request(max_tokens=1_000))
        assert sent.count(DATA) == 1, "the picture goes out beside the clipped text"
        assert len(sent) < 70_000
        assert chat.merge(SENT[dialect]).new == 0
        chat.undo()
        assert LONG.strip() in chat.view().messages[-1].results[0].text


def test_a_placeholder_takes_the_place_of_text_and_picture() -> None:
    chat = opened(strategy=elide(keep=0, share=100))
    give(chat, "c1", [LONG, PICTURE])
    chat.add(replied("Seen."))
    chat.request()
    (part,) = chat.view().messages[-2].results[0].parts
    assert "ref=o1" in part.text
    assert "image/png" in part.text


def test_a_short_text_beside_a_picture_stays_as_it_is() -> None:
    parts = (fanfold.Text("a page"), Image("image/png", data="iVBORw0KGgo="))
    chat = opened(400_000)
    chat.say("go")
    call = fanfold.Call("c1", "browse", "{}")
    chat.add(fanfold.Message("assistant", (call,)))
    chat.answer(call, list(parts))
    assert chat.view().messages[-1].results[0].parts == parts


def test_the_end_of_a_stream_does_not_begin_within_a_long_escape_sequence() -> None:
    sequence = "\x1bPq" + "#0~~@@vv" * 6_000 + "\x1b\\"
    chat = opened()
    give(chat, "c1", iter(["first\n" * 3_000_000, sequence, "z" * (64 * 1024 - 20_000)]))
    assert not shown(chat).replace(sequence, "").count("vv#")


@pytest.mark.parametrize("unit", ["\u20ac", "\x1b[38;5;123mab"])
def test_the_end_of_a_long_last_line_begins_with_a_whole_character_or_sequence(unit: str) -> None:
    chat = opened()
    give(chat, "c1", iter(["first\n" * 3_000_000, unit * 300_001]))
    _, _, end = shown(chat).rpartition("left out …]\n")
    assert end.startswith(("\u20ac", "ab\x1b[", "\x1b[38;5;123m", "b\x1b["))


@pytest.mark.parametrize("size", [4_600, 60_000])
def test_a_filter_never_makes_a_row_larger_in_tokens(size: int) -> None:
    chat = opened(model="gpt-4o", meter=None)
    give(chat, "c1", " " * size)
    whole = opened(model="gpt-4o", meter=None, filters=[])
    give(whole, "c1", " " * size)
    assert chat.view().rows[-1].tokens <= whole.view().rows[-1].tokens
