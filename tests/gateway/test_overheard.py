"""What passes by is understood in the same way, however it was cut and however its events are written."""

import pytest

from fanfold.gateway.stream import Overheard

STREAMS = {
    "without names": b'data: {"a": 1}\n\ndata: {"b": "\\n\\ndata: "}\n\ndata: [DONE]\n\n',
    "with names": b'event: one\ndata: {"a": 1}\n\nevent: two\ndata: {"type": "message_stop"}\n\n',
    "both": b'data: {"a": 1}\n\nevent: two\ndata: {"type": "response.completed"}\n\n',
    "several lines of data": b'data: {"a":\ndata: 1}\n\ndata: [DONE]\n\n',
    "a comment": b': wait\n\ndata: {"a": 1}\n: more\n\ndata: [DONE]\n\n',
    "empty events": b'data: {"a": 1}\n\n\n\ndata: {"b": 2}\n\ndata: [DONE]\n\n',
    "another line end": b'data: {"a": 1}\r\n\r\ndata: [DONE]\r\n\r\n',
    "no JSON": b"data: {\n\ndata: [DONE]\n\n",
    "no blank": b'data:{"a": 1}\n\ndata: [DONE]\n\n',
    "not whole": b'data: {"a": 1}\n\ndata: {"b"',
    "nothing": b"",
}


def one_by_one(data):
    heard = Overheard("text/event-stream", None, streams=True)
    for at in range(len(data)):
        heard.hear(data[at : at + 1])
    return heard.events, heard.ended


@pytest.mark.parametrize("size", [1, 7, 30, 1_000])
@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)
def test_a_stream_that_is_read_later_says_what_it_says_event_by_event(data, size):
    heard = Overheard("text/event-stream", None, streams=True)
    for at in range(0, len(data), size):
        heard.pass_by(data[at : at + size])
    assert (heard.events, heard.ended) == one_by_one(data)
