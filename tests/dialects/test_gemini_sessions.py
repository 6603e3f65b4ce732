"""Sessions in Gemini's dialect: a long loop against the scripted provider, and talks that came from elsewhere."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from gemini_wire import NEWER, SIGNATURE, THREE, call, model, response, text, user, written
from google import genai

import fanfold
from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking, Wire
from fanfold.core.record import Frame
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.testing.provider import Provider, Turn
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check

TOOLS = [
    {"functionDeclarations": [{"name": "grep", "parametersJsonSchema": {"type": "object"}}, {"name": "read"}]}
]
THINKING = {"thinkingConfig": {"includeThoughts": True}}


def script(steps):
    def script(request):
        """Parallel calls of one name, thoughts, words now and then, and at last an answer."""
        if request.number >= steps:
            return Turn("Found it.", thinking="So there.")
        calls = [("grep", {"n": request.number}), ("grep", {"n": -1}), ("read", {})][: 1 + request.number % 3]
        return Turn("Let me look." if request.number % 4 == 0 else "", calls=calls, thinking="Where is it?")

    return script


def over_http(address, request, stream):
    """What the provider answers to a REST body: one response, or chunks."""
    name, body = request["model"], {key: value for key, value in request.items() if key != "model"}
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    connection = HTTPConnection(urlsplit(address).netloc)
    connection.request("POST", f"/v1beta/models/{name}:{verb}", json.dumps(body))
    answer = connection.getresponse()
    told = answer.read().decode()
    connection.close()
    assert answer.status == 200, told
    return [json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: ")] or json.loads(
        told
    )


def received(chat, answer):
    """The reply, recorded from a response or from chunks."""
    if not isinstance(answer, list | Iterator):
        return chat.receive(answer)
    with chat.listen(answer) as stream:
        for _ in stream:
            pass
    return stream.reply


def looped(chat, ask, steps):
    """A tool loop to its end; results come in another order than the calls, and a person speaks now and then."""
    chat.say("Where is the bug?")
    for step in range(steps + 1):
        reply = received(chat, ask(step, "a hint" if step % 7 == 0 else None))
        for asked in reversed(reply.calls):
            chat.answer(asked, f"a.py:{step} " * 20)
        if step % 50 == 49:
            chat.say("Go on, please.")
    assert reply.text.endswith("Found it.")
    assert chat.stats()["edits"] > 0


@pytest.mark.parametrize(
    ("name", "steps"), [("gemini-2.5-pro", 80), (THREE, 80), pytest.param(THREE, 200, marks=pytest.mark.slow)]
)
def test_a_long_loop_in_a_small_window_is_never_refused(name, steps):
    opened = fanfold.open("loop", model=name, dialect="gemini", window=4_000, tools=TOOLS, system="Be brief.")
    with Provider(script(steps)) as provider, opened as chat:

        def ask(step, context):
            request = chat.request(max_tokens=900, context=context, generationConfig=THINKING)
            return over_http(provider.gemini_base_url, request, stream=step % 5 == 0)

        looped(chat, ask, steps)
    assert [each.verdict for each in provider.requests] == ["accepted"] * (steps + 1)


def test_the_official_sdk_takes_what_a_session_gives():
    opened = fanfold.open("sdk", model=THREE, dialect="gemini", window=1_600, tools=TOOLS, system="Be brief.")
    with Provider(script(20)) as provider, opened as chat:
        client = genai.Client(api_key="any", http_options={"base_url": provider.gemini_base_url})
        models = client.models

        def ask(step, context):
            config = {
                "automatic_function_calling": {"disable": True},
                "thinking_config": {"include_thoughts": True},
            }
            request = chat.request(max_tokens=300, context=context, config=config)
            return (
                models.generate_content(**request) if step % 2 else models.generate_content_stream(**request)
            )

        looped(chat, ask, 20)
    assert [each.verdict for each in provider.requests] == ["accepted"] * 21


def test_a_client_that_sends_its_whole_history_is_served_from_the_recorded_one():
    history = [user(text("Where?"))]
    with fanfold.open("merge", model=THREE, dialect="gemini", window=3_000) as chat:
        for step in range(60):
            chat.merge({"contents": history, "systemInstruction": {"parts": [text("Be brief.")]}})
            request = chat.request(max_tokens=200)
            assert check("gemini", request, JudgeTerms(THREE, foreign=True)) is None
            assert chat.pressure(max_tokens=200).tokens <= 2_800
            signed = {"signed": SIGNATURE} if step % 2 else {}
            history += [
                model(call(id=f"c{step}", **signed), call("read")),
                user(response(id=f"c{step}"), response("read", "x " * 90)),
            ]
        assert chat.merge({"contents": history}).known == len(history) - 2


def judged(messages):
    """What the scripted provider says to messages that came from elsewhere."""
    given = written(*messages, dialect=NEWER)
    allowed = NEWER.allow(given, {})
    assert NEWER.check(allowed.rows, {}) == []
    request = NEWER.encode(Frame(), allowed.rows, {"model": THREE})
    assert check("gemini", request, JudgeTerms(THREE)) is None
    return request["contents"]


CHAT = [
    {"role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]},
    {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"n": 1}'}},
        {"id": "c2", "type": "function", "function": {"name": "-odd name", "arguments": "broken"}},
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
    {"role": "user", "content": "And?"},
]  # fmt: skip


def test_a_talk_from_chat_completions_goes_on():
    chat = dialect_named("openai.chat")
    sent = judged([chat.message(body) for body in CHAT])
    assert sent[0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    assert [part["functionCall"]["args"] for part in sent[1]["parts"]] == [{"n": 1}, {"arguments": "broken"}]
    assert [part["functionResponse"]["name"] for part in sent[2]["parts"]] == ["grep", "_-odd_name"]
    assert sent[3] == user(text("And?"))


FOREIGN = {
    "anthropic": [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "grep", "input": {"n": 1}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "one"}]},
            {"type": "text", "text": "And?"},
        ]},
    ],
    "openai.responses": [
        {"role": "user", "content": "Look"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": '{"n": 1}'},
        {"type": "function_call", "call_id": "c2", "name": "grep", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FOREIGN if name in DIALECTS])
def test_a_talk_from_elsewhere_goes_on(name):
    dialect = dialect_named(name)
    messages = [dialect.message(body) for body in FOREIGN[name]]
    sent = judged(messages)
    assert [content["role"] for content in sent[:3]] == ["user", "model", "user"]
    assert all(set(part) == {"functionResponse"} for part in sent[2]["parts"])
    thinking = [part for message in messages for part in message.parts if isinstance(part, Thinking)]
    assert sum(len(NEWER.lost(message)) for message in messages) == len(thinking)


def test_what_has_no_form_here_becomes_a_note():
    parts = (
        Opaque("anthropic", {"type": "server_tool_use"}),
        Image(url="file-123"),
        Document(name="a.pdf", url="file-9"),
        Document(text="words"),
        Thinking("hm", "sig"),
        Opaque("cut", {"call": {}}),
    )
    (content,) = NEWER.wire(Message("user", parts, Wire("anthropic", {})))
    assert content["parts"] == [
        text("[a block of anthropic that cannot be shown here]"),
        text("[an image that cannot be shown here]"),
        text("[a document that cannot be shown here: a.pdf]"),
        text("words"),
    ]


def test_pictures_in_a_result_go_inside_it_where_the_model_takes_them():
    result = Message("tool", (Result("c1", (Text("see"), Image("image/png", "AA==")), name="grep"),))
    (newer,), (older,) = NEWER.wire(result), dialect_named("gemini", "gemini-2.5-pro").wire(result)
    assert newer["parts"][0]["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    ]
    assert older["parts"][0]["functionResponse"]["response"] == {
        "output": "see\n[an image that cannot be shown here: image/png]"
    }


def test_what_gemini_said_can_be_said_again_from_its_parts():
    body = model(text("so"), call(id="a"), call())
    read = NEWER.message(body)
    assert NEWER.wire(Message(read.role, read.parts)) == (body,)
    assert read.calls == (Call("a", "grep", "{}"), Call("grep", "grep", "{}"))


def test_a_broken_content_is_repaired_even_if_a_part_of_it_was_elided_first():
    history = [
        user(text("Look")),
        model(call(id="a", signed=SIGNATURE)),
        user(response(id="a", output="x " * 3_000), text("And?")),
    ]
    with fanfold.open("elided", model=THREE, dialect="gemini", window=2_000) as chat:
        chat.merge({"contents": history})
        chat.compact(force=True)
        sent = chat.request(max_tokens=200)["contents"]
    assert [set(part) for part in sent[2]["parts"]] == [{"functionResponse"}]
    assert sent[3] == user(text("And?"))
