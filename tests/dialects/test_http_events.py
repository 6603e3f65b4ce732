"""Events are read beside the bytes, however the bytes are cut, and no byte is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.dialects.http import events
from fanfold.dialects.http.events import (
    ArrayReader,
    EventReader,
    SseReader,
    StreamEvent,
    event_reader,
    write_comment,
    write_event,
)


def read(reader: EventReader, chunks: list[bytes]) -> list[StreamEvent]:
    found = [event for chunk in chunks for event in reader.feed(chunk)]
    return found + reader.close()


def said(found: list[StreamEvent]) -> list[tuple[str, bytes | None, bool]]:
    return [(event.name, event.data, event.whole) for event in found if event.data is not None]


def cuts(data: bytes) -> st.SearchStrategy[list[bytes]]:
    places = st.lists(st.integers(0, len(data)), max_size=8).map(sorted)
    return places.map(lambda at: [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)])


STREAM = (
    b"\xef\xbb\xbf: hello\n\n"
    b'event: message_start\ndata: {"a": 1}\n\n'
    b"\n\n: ping\n"
    b"data: one\ndata:two\nid: 7\nretry: 10\nunknown: x\n\n"
    b"data\n\n"
    b"event: only a name\n\n"
    b"data: Gr\xc3\xbc\xc3\x9fe \xe2\x80\xa8\x0b end\n\n"
    b"data: [DONE]\n\n"
)
TOLD = [
    ("message_start", b'{"a": 1}', True),
    ("", b"one\ntwo", True),
    ("", b"", True),
    ("", "Grüße \u2028\x0b end".encode(), True),
    ("", b"[DONE]", True),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_is_read_the_same_cut_at_every_byte_and_with_every_end_of_line(end: bytes) -> None:
    data = STREAM.replace(b"\n", end)
    for at in range(len(data) + 1):
        found = read(SseReader(), [data[:at], data[at:]])
        assert said(found) == TOLD
        assert b"".join(event.raw for event in found) == data
    bytewise = read(SseReader(), [data[i : i + 1] for i in range(len(data))])
    assert said(bytewise) == TOLD
    assert b"".join(event.raw for event in bytewise) == data


@given(
    st.data(), st.lists(st.sampled_from([b"data: a", b"event: b", b": c", b"\n", b"\r\n", b"\r", b"data:"]))
)
def test_no_cut_changes_what_is_read(data: st.DataObject, pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    found = read(SseReader(), data.draw(cuts(stream)))
    assert said(found) == said(read(SseReader(), [stream]))
    assert b"".join(event.raw for event in found) == stream


def test_an_event_comes_out_as_soon_as_its_blank_line_began() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\r\n") == []
    assert [event.data for event in reader.feed(b"\r")] == [b"1"]
    assert [event.data for event in reader.feed(b"\ndata: 2\r\n\r\n")] == [b"2"]


def test_half_an_event_at_the_end_is_told_as_such() -> None:
    (event,) = read(SseReader(), [b'event: x\ndata: {"a"'])
    assert (event.name, event.data, event.whole, event.json()) == ("x", b'{"a"', False, None)


def test_an_endless_event_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LONGEST", 1_000)
    for reader in (SseReader(), ArrayReader()):
        found = [event for _ in range(50) for event in reader.feed(b'{"data: ' + b"x" * 99)]
        assert len(found) == 5
        assert not any(event.whole for event in found)


def test_what_is_written_is_read() -> None:
    data = {"text": "a\nb\r\u2028\ud800", "n": 1.5, "big": 2**70}
    stream = write_event(data, "delta") + write_comment("wait") + write_event([1])
    found = [event for event in read(SseReader(), [stream]) if event.data is not None]
    assert [event.json() for event in found] == [{**data, "text": "a\nb\r\u2028\ufffd"}, [1]]
    assert found[0].name == "delta"


ELEMENTS = [{"a": 'x"]}\\'}, {"b": [{"c": "["}], "d": "é"}, {"e": '\\"'}]
ARRAY = "[" + "\n,\r\n".join(json.dumps(one, indent=1, ensure_ascii=False) for one in ELEMENTS) + "\n]\n"


def test_an_array_is_read_element_by_element_cut_at_every_byte() -> None:
    data = ARRAY.encode()
    for at in range(len(data) + 1):
        found = read(ArrayReader(), [data[:at], data[at:]])
        assert [event.json() for event in found if event.data is not None] == ELEMENTS
        assert b"".join(event.raw for event in found) == data
        assert all(event.whole for event in found)
    bytewise = read(ArrayReader(), [data[i : i + 1] for i in range(len(data))])
    assert [event.json() for event in bytewise if event.data is not None] == ELEMENTS


def test_an_element_comes_out_as_soon_as_it_ends_and_half_of_one_is_told_as_such() -> None:
    reader = ArrayReader()
    assert [event.json() for event in reader.feed(b'[{"a": 1}')] == [{"a": 1}]
    assert reader.feed(b',\n{"b": "{') == []
    (rest,) = reader.close()
    assert (rest.raw, rest.data, rest.whole) == (b',\n{"b": "{', b'{"b": "{', False)


def test_an_object_alone_is_one_event() -> None:
    (event,) = read(ArrayReader(), [b' {"error": {"code": 400}}'])
    assert (event.json(), event.whole) == ({"error": {"code": 400}}, True)


def test_the_content_type_tells_which_reader_is_needed() -> None:
    assert isinstance(event_reader("text/event-stream; charset=utf-8"), SseReader)
    assert isinstance(event_reader(None), SseReader)
    assert isinstance(event_reader("application/json; charset=UTF-8"), ArrayReader)
