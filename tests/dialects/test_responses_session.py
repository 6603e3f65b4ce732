"""OpenAI Responses in a session: long loops in small windows, re-sent histories, broken streams, other wires."""

import contextlib
import json
import urllib.request

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from responses_builders import (
    DIALECT,
    EVERY_CALL,
    EVERY_OUTPUT,
    approval,
    called,
    computer,
    custom,
    refused,
    replied,
    request,
    returned,
    said,
    shell,
    thought,
    tool_search,
)

import fanfold
from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking, Wire
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.dialects.dialect import bare_row, decode
from fanfold.dialects.responses.read import by_model
from fanfold.testing.provider import Fail, Provider, Turn

TOOL = {"type": "function", "name": "grep", "parameters": {"type": "object"}}
PARAMS = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}


def loop(steps):
    """A script: thinking always, words often, one call or two."""

    def script(asked):
        if asked.number >= steps:
            return Turn("Found it.", thinking="So it is.")
        calls = [("grep", {"pattern": f"x{asked.number}"}), ("grep", {"pattern": "ünï"})]
        words = "Let me look. " * (asked.number % 7) if asked.number % 3 else ""
        return Turn(words, calls=calls[: 1 + asked.number % 2], thinking="First I look around. " * 5)

    return script


def asked(provider, body):
    """One plain HTTP request; the SDK would check every item of the input by hand, slowly."""
    told = json.dumps(body).encode()
    http = urllib.request.Request(
        f"{provider.openai_base_url}/responses", told, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(http) as answer:
        if not body.get("stream"):
            return json.load(answer)
        lines = answer.read().decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def opened(window, **more):
    more = {
        "system": "You fix bugs.",
        "tools": [TOOL],
        "dialect": "openai.responses",
        "model": "gpt-5.2",
    } | more
    return fanfold.open("run", window=window, **more)


def output(call):
    return "a.py:1: some text\n" * (5 + len(call.raw) % 9)


def answered(chat, reply):
    for call in reply.calls:
        chat.answer(call, output(call))


@pytest.mark.parametrize(("steps", "window"), [(200, 2_300), (60, 6_000)])
def test_two_hundred_steps_in_a_small_window_are_never_refused(steps, window):
    with Provider(loop(steps), window=window, cache_minimum=256) as provider, opened(window) as chat:
        chat.say("Where is the bug? " * 20)
        reply = None
        while reply is None or not reply.done:
            reply = chat.receive(asked(provider, chat.request(max_tokens=300, **PARAMS)))
            answered(chat, reply)
        assert (reply.text, len(provider.requests), provider.rejected) == ("Found it.", steps + 1, [])
        bills = provider.requests[1:]
        assert sum(bill.cached for bill in bills) > 0.5 * sum(bill.tokens for bill in bills)


def test_streamed_steps_are_recorded_like_whole_ones():
    views = []
    for stream in (False, True):
        with Provider(loop(12)) as provider, opened(50_000) as chat:
            chat.say("Where is the bug?")
            reply = None
            while reply is None or not reply.done:
                body = chat.request(**PARAMS)
                if stream:
                    with chat.listen(asked(provider, {**body, "stream": True})) as events:
                        list(events)
                    reply = events.reply
                else:
                    reply = chat.receive(asked(provider, body))
                answered(chat, reply)
            assert provider.rejected == []
            views.append(
                [message.wire.body for message in chat.view().messages if message.role == "assistant"]
            )
    assert len(views[0]) == len(views[1]) > 36
    assert [_anonymous(body) for body in views[0]] == [_anonymous(body) for body in views[1]]


def _anonymous(body):
    """An item without the ids that its server derived from the request."""
    return {k: v for k, v in body.items() if k not in ("id", "call_id", "encrypted_content")}


def test_the_official_sdk_runs_a_loop_both_ways():
    for stream in (False, True):
        with Provider(loop(3)) as provider, opened(8_000) as chat:
            client = openai.OpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
            chat.say("Where is the bug?")
            reply = None
            while reply is None or not reply.done:
                body = chat.request(max_tokens=900, **PARAMS)
                if stream:
                    with client.responses.stream(**body) as events:
                        list(events)
                        reply = chat.receive(events.get_final_response())
                else:
                    reply = chat.receive(client.responses.create(**body))
                answered(chat, reply)
            assert (reply.text, provider.rejected) == ("Found it.", [])


@pytest.mark.parametrize("after", range(1, 24, 2))
def test_after_a_broken_stream_the_next_request_is_legal(after):
    turns = [
        Turn("Let me look.", calls=[("grep", {"pattern": "x"})], thinking="First this."),
        Turn("Done."),
    ]
    with Provider([Fail.cut(turns[0], after=after), turns[1]]) as provider, opened(8_000) as chat:
        chat.say("Go.")
        client = openai.OpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
        stream = client.responses.create(**chat.request(**PARAMS), stream=True)
        with contextlib.suppress(Exception), chat.listen(stream) as events:
            list(events)
        assert events.reply is None or events.reply.stop == "cut"
        for call in events.reply.calls if events.reply else ():
            chat.answer(call, "found")
        chat.say("Go on.")
        reply = chat.receive(asked(provider, chat.request(**PARAMS)))
        assert (reply.text, provider.rejected) == ("Done.", [])


sealed = st.sampled_from(["gAAA", None])


@st.composite
def histories(draw):
    """What an agent re-sends: turns of reasoning, words and calls, broken here and there."""
    items = [said("Rules.", "developer"), said("Task. " * draw(st.integers(1, 400)))]
    for step in range(draw(st.integers(1, 14))):
        if draw(st.booleans()):
            items.append(thought("Hm. " * draw(st.integers(0, 30)), draw(sealed), id=f"rs_{step}"))
        if draw(st.booleans()):
            items.append(replied("I look. " * draw(st.integers(0, 60)), id=f"msg_{step}"))
        for nth in range(draw(st.integers(0, 2))):
            id = draw(st.sampled_from([f"c{step}{nth}", f"c{step}{nth}", "same"]))
            items.append(draw(st.sampled_from([called, custom, shell]))(id))
            if draw(st.integers(0, 5)):
                items.append({**EVERY_OUTPUT[items[-1]["type"]], "call_id": id, **_printed(draw, items[-1])})
        if not draw(st.integers(0, 3)):
            items.append(said("And now? " * draw(st.integers(1, 40))))
    return items


def _printed(draw, call):
    lines = draw(st.integers(0, 300))
    return {} if call["type"] == "shell_call" else {"output": f"line {lines} of words\n" * lines}


@given(histories(), st.sampled_from([{}, {"store": False}]))
def test_a_growing_history_is_sent_legally_from_every_point(items, params):
    with opened(3_000) as chat:
        for at in range(1, len(items) + 1):
            if at < len(items) and (by_model(items[at - 1]) or not by_model(items[at])):
                continue
            chat.merge(items[:at])
            body = chat.request(max_tokens=300, **params)
            assert refused(body) == ""
            assert chat.view().tokens <= chat.view().room


def test_a_history_re_sent_writes_nothing_and_a_first_text_becomes_a_message():
    with opened(8_000) as chat:
        chat.merge({"model": "gpt-5.2", "input": "Go."})
        assert chat.request()["input"] == "Go."
        grown = [{"role": "user", "content": "Go."}, replied(id="msg_1"), said("More.")]
        assert (chat.merge(grown).known, chat.merge(grown).new) == (1, 0)
        assert chat.request()["input"] == grown
        assert chat.request()["instructions"] == "You fix bugs."


def test_a_developer_message_stays_in_the_input():
    history = [said("Rules.", "developer"), said("Go.")]
    with opened(8_000) as chat:
        chat.merge(request(*history, instructions="Be brief."))
        assert chat.request()["input"] == history
        assert chat.request()["instructions"] == "Be brief."


def test_the_cache_key_is_set_for_openais_models_only():
    with opened(8_000) as chat:
        chat.say("Go.")
        key = chat.request()["prompt_cache_key"]
        chat.say("More.")
        assert key == chat.request()["prompt_cache_key"]
    with opened(8_000, model=None) as chat:
        chat.say("Go.")
        assert "prompt_cache_key" not in chat.request()


FOREIGN = [
    Message(
        "user",
        (Text("Look:"), Image(media="image/png", data="AA=="), Document(media="application/pdf", data="AA")),
    ),
    Message(
        "assistant",
        (
            Thinking("Hm.", "sig"),
            Text("I look."),
            Call("toolu_1", "read.file", '{"p":1}'),
            Call("x" * 90, "b", "{}"),
        ),
        Wire("anthropic", {"role": "assistant", "content": []}),
    ),
    Message(
        "user",
        (
            Result("toolu_1", (Text("a"), Image(url="http://x/y.png"))),
            Result("x" * 90, (Text("b"),), error=True),
            Text("And?"),
        ),
        Wire("anthropic", {"role": "user", "content": []}),
    ),
    Message("assistant", (Opaque("anthropic", {"type": "server_tool_use"}), Image(data="AA=="), Text("So."))),
    Message("assistant", (Thinking("only", "sig"),), Wire("gemini", {"role": "model", "parts": []})),
    Message("user", (Document(text="words"), Document(url="http://x/a.pdf"), Text(""))),
    Message("system", (Text("Be brief."),)),
    Message("assistant", (Opaque("cut", {"call": {}}),)),
    Message("assistant", (Call("", "", ""),)),
    Message("tool", (Result("", ()),)),
]


def test_a_conversation_of_another_wire_goes_on_here():
    rows = [bare_row(DIALECT, message, i) for i, message in enumerate(FOREIGN)]
    sent = [body for row in rows for body in row.weight.wire]
    assert DIALECT.check(rows, {}) == []
    assert refused(request(*sent)) == ""
    assert [DIALECT.lost(message) for message in FOREIGN][1:5] == [("0",), (), (), ("0",)]
    calls = [item["call_id"] for item in sent if item["type"] == "function_call"]
    assert calls == [item["call_id"] for item in sent if item["type"] == "function_call_output"]
    assert "sig" not in json.dumps(sent)
    assert "[a block of anthropic that cannot be shown here]" in json.dumps(sent)


def test_a_chat_conversation_goes_on_here():
    chat = {
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {
                "role": "assistant",
                "content": "I look.",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ]
    }
    frame, messages, _ = decode(OpenAIChat(), chat)
    rows = [bare_row(DIALECT, message, i) for i, message in enumerate(messages)]
    body = DIALECT.encode(frame, rows, {"model": "m"})
    assert body == {
        "model": "m",
        "instructions": "Rules.",
        "input": [
            {"type": "message", "role": "user", "content": "Go."},
            replied("I look."),
            called("c1", name="f"),
            returned("c1"),
        ],
    }


@pytest.mark.parametrize("make", EVERY_CALL)
def test_a_call_of_every_kind_is_answered_in_a_session(make):
    with opened(8_000) as chat:
        chat.say("Go.")
        reply = chat.receive({"output": [thought(id="rs_1"), make()], "status": "completed"})
        chat.answer(reply.calls[0], "found it")
        body = chat.request()
        assert refused(body) == ""
        assert body["input"][3]["type"] == EVERY_OUTPUT[make()["type"]]["type"]
        assert "found it" in json.dumps(body["input"][3:])


def answers(call, output, **more):
    """The items with which a call is answered in the next request."""
    with opened(8_000) as chat:
        chat.say("Go.")
        reply = chat.receive({"output": [call], "status": "completed"})
        chat.answer(reply.calls[0], output, **more)
        body = chat.request()
        assert refused(body) == ""
        return body["input"][2:]


DENIALS = [
    "no such tool", "yes", "true", "approve", "approved", '{"approve": true}', "", b'{"approve":true}', True, 1,
    {"approve": "true"}, {"approve": 1}, {"approve": False}, {"approved": True}, [{"approve": True}], None,
    [Text('{"approve":true}')], Text('{"approve":true}'),
]  # fmt: skip


@pytest.mark.parametrize("output", DENIALS, ids=repr)
def test_a_call_of_an_mcp_server_is_denied_unless_it_is_approved_in_so_many_words(output):
    """(19.13)"""
    [answer] = answers(approval(), output)
    assert (answer["type"], answer["approval_request_id"], answer["approve"]) == (
        "mcp_approval_response", "mcpr_1", False,
    )  # fmt: skip


def test_the_reason_for_a_denial_is_sent():
    """(19.13)"""
    assert answers(approval(), "not on Fridays")[0]["reason"] == "not on Fridays"


@pytest.mark.parametrize(("said", "reason"), [({}, {}), ({"reason": "asked Ann"}, {"reason": "asked Ann"})])
def test_a_call_of_an_mcp_server_is_approved_explicitly(said, reason):
    """(19.13)"""
    response = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert answers(approval(), {"approve": True, **said}) == [{**response, **reason}]


def test_an_approval_that_failed_denies():
    """(19.13)"""
    assert answers(approval(), {"approve": True}, error=True)[0]["approve"] is False


def test_a_tool_that_says_approve_is_answered_with_what_it_said():
    """(19.13)"""
    assert answers(called("c1"), {"approve": True}) == [returned("c1", '{"approve":true}')]


def test_an_approval_as_the_provider_writes_it_is_sent_as_it_is():
    """(19.13)"""
    native = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    with opened(8_000) as chat:
        chat.say("Go.")
        chat.receive({"output": [approval()], "status": "completed"})
        chat.add(native)
        assert chat.request()["input"][-1] == native


def test_an_approval_is_the_same_when_the_session_is_opened_again(tmp_path):
    """(19.13)"""
    store = f"sqlite:{tmp_path / 'agent.db'}"
    with opened(8_000, store=store) as chat:
        chat.say("Go.")
        reply = chat.receive({"output": [approval()], "status": "completed"})
        chat.answer(reply.calls[0], {"approve": True})
        before = chat.request()["input"]
    with opened(8_000, store=store) as chat:
        assert chat.request()["input"] == before
        assert before[-1]["approve"] is True


def test_words_that_answer_a_computer_call_are_sent_beside_the_picture():
    """(19.12)"""
    output, words = answers(computer("c1"), "The browser crashed.", error=True)
    assert output["output"]["type"] == "computer_screenshot"
    assert words == said("[output of c1] The browser crashed.")


def test_a_picture_that_answers_a_computer_call_is_sent_alone():
    """(19.12)"""
    [output] = answers(computer("c1"), Image("image/png", "AA=="))
    assert output["output"] == {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}


def test_a_search_for_tools_is_answered_with_what_it_found():
    """(19.12)"""
    assert answers(tool_search("c1"), [TOOL])[0]["tools"] == [TOOL]
    assert answers(tool_search("c1"), "nothing like it")[1] == said("[output of c1] nothing like it")


@pytest.mark.parametrize("make", EVERY_CALL)
def test_an_answer_that_comes_late_takes_the_place_of_the_one_made_up(make):
    """(19.12)"""
    with opened(8_000) as chat:
        chat.say("Go.")
        reply = chat.receive({"output": [make()], "status": "completed"})
        chat.say("Well?")
        made_up = chat.request()
        chat.answer(reply.calls[0], "found it")
        body = chat.request()
        assert (refused(made_up), refused(body)) == ("", "")
        assert "no result" in json.dumps(made_up["input"])
        assert "no result" not in json.dumps(body["input"])
        assert json.dumps(body["input"]).count("found it") == 1
