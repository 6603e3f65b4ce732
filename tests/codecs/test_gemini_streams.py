"""Replies of Gemini, whole, in chunks, cut at every chunk, and blocked."""

import pytest
from gemini_wire import CODEC, SIGNATURE, call, model, text
from google.genai import types

from fanfold.errors import BadMessage
from fanfold.message import Call, Opaque, Text, Thinking
from fanfold.usage import TokenUsage

USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 15}


def chunk(*parts, stop=None, **more):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": stop} if stop else {})], **more}


STREAM = [
    chunk(text("First ", thought=True)),
    chunk(text("look.", thought=True)),
    chunk(text("I'll ")),
    chunk(text("grep.")),
    chunk(text("", thoughtSignature=SIGNATURE)),
    chunk(call(id="a", args={"p": 1}, signed=SIGNATURE), call("read", id="b")),
    chunk(text(""), stop="STOP", usageMetadata=USAGE),
]
WHOLE = {
    "candidates": [
        {
            "content": model(
                text("First look.", thought=True),
                text("I'll grep."),
                text("", thoughtSignature=SIGNATURE),
                call(id="a", args={"p": 1}, signed=SIGNATURE),
                call("read", id="b"),
            ),
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": USAGE,
}


def fed(chunks):
    assembly = CODEC.assembly()
    for each in chunks:
        assembly.feed(each)
    return assembly


def test_a_stream_gives_the_same_reply_as_the_whole_response():
    assembly = fed(STREAM)
    assert assembly.complete
    assert assembly.reply() == CODEC.reply(WHOLE)
    assert assembly.reply().calls == (Call("a", "grep", '{"p":1}'), Call("b", "read", "{}"))
    assert assembly.reply().usage == TokenUsage.of(USAGE)


def test_objects_of_the_sdk_give_the_same_reply():
    chunks = [types.GenerateContentResponse.model_validate(each) for each in STREAM]
    response = types.GenerateContentResponse.model_validate(WHOLE)
    assert fed(chunks).reply().messages[0].parts == CODEC.reply(WHOLE).messages[0].parts
    assert CODEC.reply(response) == CODEC.reply(WHOLE)


@pytest.mark.parametrize("at", range(len(STREAM)))
def test_a_stream_cut_anywhere_is_recorded_as_cut(at):
    assembly = fed(STREAM[:at])
    assert not assembly.complete
    reply = assembly.reply()
    assert reply.stop == "cut"
    assert reply.text == "".join(["", "", "", "I'll ", "I'll grep.", "I'll grep.", "I'll grep."][at])
    parts = [part for message in reply.messages for part in message.parts]
    assert [part for part in parts if isinstance(part, Thinking) and not part.signature] == []
    assert [part.body for part in parts if isinstance(part, Opaque)] == [
        {"thinking": "First " if at == 1 else "First look."}
    ] * (at > 0)


def test_a_call_cut_in_the_middle_is_recorded_and_never_sent():
    reply = fed([chunk(text("so")), chunk(call(willContinue=True))]).reply()
    assert reply.calls == ()
    assert CODEC.wire(reply.messages[0]) == (model(text("so")),)


def test_what_comes_again_after_the_end_is_not_taken_twice():
    assert fed([*STREAM, STREAM[-2], STREAM[-1]]).reply() == CODEC.reply(WHOLE)
    assert fed([*STREAM[:6], STREAM[5], STREAM[6]]).reply() == CODEC.reply(WHOLE)


def test_a_signed_text_is_never_joined_with_an_unsigned_one():
    reply = fed(
        [chunk(text("a")), chunk(text("b", thoughtSignature=SIGNATURE)), chunk(text("c"), stop="STOP")]
    ).reply()
    assert reply.messages[0].wire.body["parts"] == [
        text("a"),
        text("b", thoughtSignature=SIGNATURE),
        text("c"),
    ]


@pytest.mark.parametrize(
    ("response", "stop"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "blocked: SAFETY"),
        ({"prompt_feedback": {}, "candidates": []}, "blocked: no reason given"),
        ({"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]}, "MAX_TOKENS"),
        ({"candidates": [{"finish_reason": "MALFORMED_FUNCTION_CALL"}]}, "MALFORMED_FUNCTION_CALL"),
    ],
)
def test_a_reply_without_content_says_why(response, stop):
    reply = CODEC.reply(response)
    assert (reply.messages, reply.stop, reply.text, reply.done) == ((), stop, "", True)
    assembly = fed([response])
    assert (assembly.complete, assembly.reply().stop) == (True, stop)


def test_a_content_without_a_role_is_the_models():
    reply = CODEC.reply({"candidates": [{"content": {"parts": [text("yes")]}, "finishReason": "STOP"}]})
    assert (reply.messages[0].role, reply.messages[0].parts) == ("assistant", (Text("yes"),))


@pytest.mark.parametrize("response", [{}, {"candidates": []}, [], "no", None])
def test_what_is_no_response_is_refused(response):
    with pytest.raises(BadMessage, match="candidates"):
        CODEC.reply(response)
