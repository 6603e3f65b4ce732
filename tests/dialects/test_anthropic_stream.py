"""A stream gives the same reply as the whole response; a broken one gives what came."""

import pytest
from anthropic.types import Message as SdkMessage
from anthropic_wire import DIALECT, assistant, served, text, thought, use

from fanfold.core.errors import BadMessage
from fanfold.core.message import Opaque, Text, Thinking

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 0,
    "output_tokens": 7,
}
CONTENT = [
    thought("hm hm"),
    text("Let me look."),
    use(input={"pattern": "x", "n": 1}),
    use("t2", input={}),
    served(),
]
WHOLE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": CONTENT}
WHOLE |= {"stop_reason": "tool_use", "stop_sequence": None, "usage": USAGE}
PIECES = {
    "thinking": [{"type": "thinking_delta", "thinking": "hm "}, {"type": "thinking_delta", "thinking": "hm"}],
    "text": [{"type": "text_delta", "text": "Let me "}, {"type": "text_delta", "text": "look."}],
}
PIECES["thinking"].append({"type": "signature_delta", "signature": "c2ln"})


def deltas(block):
    if block["type"] == "tool_use" and block["input"]:
        halves = ('{"pattern": "x"', ', "n": 1}')
        return [{"type": "input_json_delta", "partial_json": half} for half in ("", *halves)]
    return PIECES.get(block["type"], [])


def opened(block):
    empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
    return {**block, **empty.get(block["type"], {})}


def events():
    begun = {**WHOLE, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    made = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for at, block in enumerate(CONTENT):
        made.append({"type": "content_block_start", "index": at, "content_block": opened(block)})
        made += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas(block)]
        made.append({"type": "content_block_stop", "index": at})
    ending = {"stop_reason": "tool_use", "stop_sequence": None}
    made.append(
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7, "input_tokens": None}}
    )
    return [*made, {"type": "message_stop"}]


def heard(some):
    assembly = DIALECT.assembly()
    for event in some:
        assembly.feed(event)
    return assembly


def test_a_whole_response_is_a_message_that_can_be_sent_back():
    reply = DIALECT.reply(WHOLE)
    assert reply.messages[0].wire.body == assistant(*CONTENT)
    assert [call.id for call in reply.calls] == ["t1", "t2"]
    assert (reply.stop, reply.usage.output, reply.usage.cache_read) == ("tool_use", 7, 5)
    assert not reply.done


def test_the_official_sdks_object_will_do():
    assert DIALECT.reply(SdkMessage.model_validate(WHOLE)) == DIALECT.reply(WHOLE)


def test_what_only_the_client_knows_is_not_sent_back():
    reply = DIALECT.reply({**WHOLE, "content": [text("{}", parsed_output={})]})
    assert reply.messages[0].wire.body == assistant(text("{}"))


def test_what_is_no_response_is_refused():
    for odd in ({"type": "error", "error": {}}, "x", []):
        with pytest.raises(BadMessage, match="no `content`"):
            DIALECT.reply(odd)


def test_a_stream_gives_the_same_reply():
    assembly = heard(events())
    assert assembly.complete
    assert assembly.reply() == DIALECT.reply(WHOLE)


def test_a_stream_that_comes_twice_gives_the_same_reply():
    assert heard([*events(), *events()]).reply() == DIALECT.reply(WHOLE)
    assert heard([*events()[:7], *events()]).reply() == DIALECT.reply(WHOLE)


@pytest.mark.parametrize("size", range(len(events())))
def test_a_stream_cut_anywhere_gives_what_came(size):
    assembly = heard(events()[:size])
    reply = assembly.reply()
    assert not assembly.complete
    assert reply.stop == "cut"
    whole = [block for message in reply.messages if message.wire for block in message.wire.body["content"]]
    for block, wanted in zip(whole, CONTENT, strict=False):
        assert block == wanted or (block["type"] == "text" and wanted["text"].startswith(block["text"]))
    cut = [part for message in reply.messages if not message.wire for part in message.parts]
    assert len(cut) <= 1
    assert all(isinstance(part, Opaque) and part.dialect == "cut" for part in cut)
    for message in reply.messages:
        assert not any(isinstance(part, Thinking) and not part.signature for part in message.parts)


def test_what_was_cut_is_recorded_and_never_sent():
    half = [event for event in events() if event["type"] != "content_block_stop"][:6]
    (message,) = heard(half).reply().messages
    assert message.parts == (Opaque("cut", {"thinking": "hm hm"}),)
    assert DIALECT.wire(message) == ()


def test_arguments_that_are_no_json_are_cut_even_in_a_whole_stream():
    story = [event for event in events() if event.get("delta", {}).get("partial_json") != ', "n": 1}']
    reply = heard(story).reply()
    assert [call.id for call in reply.calls] == ["t2"]
    assert reply.messages[1].parts[0].body["call"]["input"] == '{"pattern": "x"'


def test_citations_and_compactions_come_in_deltas_too():
    story = [
        {"type": "message_start", "message": WHOLE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "compaction_delta", "content": "so far"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": text("", citations=None)},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "citations_delta", "citation": {"a": 1}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_stop"},
    ]
    (message,) = heard(story).reply().messages
    compacted = {"type": "compaction", "content": "so far"}
    assert message.wire.body["content"] == [compacted, text("x", citations=[{"a": 1}])]
    assert message.parts[1] == Text("x")
