"""Replies of Gemini, whole, in chunks, cut at every chunk, and blocked."""

import pytest
from gemini_wire import DIALECT, SIGNATURE, call, model, text
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Opaque, Text, Thinking
from fanfold.tokens.usage import usage_of

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
    assembly = DIALECT.assembly()
    for each in chunks:
        assembly.feed(each)
    return assembly


def test_a_stream_gives_the_same_reply_as_the_whole_response():
    assembly = fed(STREAM)
    assert assembly.complete
    assert assembly.reply() == DIALECT.reply(WHOLE)
    assert assembly.reply().calls == (Call("a", "grep", '{"p":1}'), Call("b", "read", "{}"))
    assert assembly.reply().usage == usage_of(USAGE)


def test_objects_of_the_sdk_give_the_same_reply():
    chunks = [types.GenerateContentResponse.model_validate(each) for each in STREAM]
    response = types.GenerateContentResponse.model_validate(WHOLE)
    assert fed(chunks).reply().messages[0].parts == DIALECT.reply(WHOLE).messages[0].parts
    assert DIALECT.reply(response) == DIALECT.reply(WHOLE)


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
    assert DIALECT.wire(reply.messages[0]) == (model(text("so")),)


def test_what_comes_again_after_the_end_is_not_taken_twice():
    assert fed([*STREAM, STREAM[-2], STREAM[-1]]).reply() == DIALECT.reply(WHOLE)
    assert fed([*STREAM[:6], STREAM[5], STREAM[6]]).reply() == DIALECT.reply(WHOLE)


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
    reply = DIALECT.reply(response)
    assert (reply.messages, reply.stop, reply.text, reply.done) == ((), stop, "", True)
    assembly = fed([response])
    assert (assembly.complete, assembly.reply().stop) == (True, stop)


def test_a_content_without_a_role_is_the_models():
    reply = DIALECT.reply({"candidates": [{"content": {"parts": [text("yes")]}, "finishReason": "STOP"}]})
    assert (reply.messages[0].role, reply.messages[0].parts) == ("assistant", (Text("yes"),))


@pytest.mark.parametrize("response", [{}, {"candidates": []}, [], "no", None])
def test_what_is_no_response_is_refused(response):
    with pytest.raises(BadMessage, match="candidates"):
        DIALECT.reply(response)


def piece(path, more=False, **value):
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def growing(*pieces, more=True, **call):
    arguments = {"partialArgs": list(pieces)} if pieces else {}
    return chunk({"functionCall": {**call, **arguments, **({"willContinue": True} if more else {})}})


STREAMED_ARGUMENTS = [
    chunk(
        {"functionCall": {"name": "light", "id": "a", "willContinue": True}, "thoughtSignature": SIGNATURE}
    ),
    growing(piece("$.brightness", numberValue=50.0)),
    growing(piece("$.place.name", more=True, stringValue="New ")),
    growing(piece("$.place.name", more=True, stringValue="Delhi")),
    growing(piece("$.place.name", stringValue="")),
    growing(piece("$.rooms[0]", stringValue="hall"), piece("$.rooms[1]['the \\'size\\'']", numberValue=1.5)),
    growing(piece("$.dim", boolValue=False), piece("$.until", nullValue="NULL_VALUE")),
    growing(more=False),
    chunk({"functionCall": {"name": "read", "id": "b", "args": {}}}),
    chunk(text(""), stop="STOP"),
]
ARGUMENTS = {
    "brightness": 50,
    "place": {"name": "New Delhi"},
    "rooms": ["hall", {"the 'size'": 1.5}],
    "dim": False,
    "until": None,
}


def test_streamed_arguments_are_put_together():
    """(19.12)"""
    reply = fed(STREAMED_ARGUMENTS).reply()
    assert [(each.id, each.name, each.args) for each in reply.calls] == [
        ("a", "light", ARGUMENTS),
        ("b", "read", {}),
    ]
    sent = reply.messages[0].wire.body["parts"]
    assert sent[0] == call("light", id="a", args=ARGUMENTS, signed=SIGNATURE)


def test_streamed_arguments_of_the_sdk_are_put_together():
    """(19.12)"""
    chunks = [types.GenerateContentResponse.model_validate(each) for each in STREAMED_ARGUMENTS]
    assert [each.args for each in fed(chunks).reply().calls] == [ARGUMENTS, {}]


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("stop", [None, "MAX_TOKENS"])
def test_a_call_without_its_last_arguments_is_recorded_and_never_sent(at, stop):
    """(19.12)"""
    reply = fed([*STREAMED_ARGUMENTS[:at], *([chunk(stop=stop)] if stop else [])]).reply()
    assert (reply.calls, reply.stop) == ((), stop or "cut")
    assert DIALECT.wire(reply.messages[0]) == ()


def test_partial_arguments_in_one_piece_are_read():
    """(19.12)"""
    pieces = [piece("$.p", numberValue=1), piece("$.q", more=True, stringValue="x")]
    body = {"functionCall": {"name": "grep", "partialArgs": pieces}}
    assert DIALECT.message(model(body)).calls[0].args == {"p": 1, "q": "x"}
    whole = {"candidates": [{"content": model(body), "finishReason": "STOP"}]}
    assert DIALECT.reply(whole).messages[0].wire.body == model(call("grep", args={"p": 1, "q": "x"}))


names = st.text("abc_d-", min_size=1, max_size=4)
leaves = st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.none()
values = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(names, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=3)
    ),
)


def pieces_of(value, path):
    """A value as pieces, every text cut in two."""
    match value:
        case dict():
            return [each for key, inner in value.items() for each in pieces_of(inner, f"{path}.{key}")]
        case list():
            return [each for at, inner in enumerate(value) for each in pieces_of(inner, f"{path}[{at}]")]
        case str():
            return [piece(path, more=True, stringValue=value[:2]), piece(path, stringValue=value[2:])]
        case bool():
            return [piece(path, boolValue=value)]
        case None:
            return [piece(path, nullValue=None)]
        case _:
            return [piece(path, numberValue=float(value))]


@given(st.dictionaries(names, values, min_size=1, max_size=4))
def test_any_arguments_come_back_from_their_pieces(arguments):
    """(19.12)"""
    chunks = [growing(each) for each in pieces_of(arguments, "$")]
    reply = fed([growing(name="go"), *chunks, growing(more=False), chunk(stop="STOP")]).reply()
    assert reply.calls[0].args == arguments


@given(
    st.lists(
        st.builds(piece, st.text("$.[]'0a\\", max_size=8), st.booleans(), stringValue=st.text(max_size=3))
    )
)
def test_odd_paths_of_arguments_break_nothing(pieces):
    """(19.12)"""
    reply = fed([growing(*pieces, name="go", more=False), chunk(stop="STOP")]).reply()
    assert isinstance(reply.calls[0].args, dict)
