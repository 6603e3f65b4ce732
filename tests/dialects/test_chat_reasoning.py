"""Models of other makers that want their reasoning back, through Chat Completions."""

from __future__ import annotations

import openai
import pytest

import fanfold
from fanfold.dialects.dialect import decode, encode
from fanfold.dialects.registry import dialect_named
from fanfold.testing.provider import Provider, Turn

MODELS = ("deepseek-v4-pro", "kimi-k2.6")
ASKED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}
CALL = fanfold.Call("c1", "read", "{}")
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
SCRIPT = [Turn(calls=[("read", {})], thinking="Which?"), Turn("So.", thinking="Clear.")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_loop_sends_the_reasoning_back_as_it_came(model: str, stream: bool) -> None:
    with Provider(SCRIPT) as provider, fanfold.open("run", model=model, tools=TOOLS) as chat:
        client = openai.OpenAI(base_url=provider.openai_base_url, api_key="any")
        chat.say("Read it.")
        while True:
            answer = client.chat.completions.create(**chat.request(), stream=stream)
            if stream:
                with chat.listen(answer) as events:
                    list(events)
            reply = events.reply if stream else chat.receive(answer)
            if reply.done:
                break
            chat.answer(reply.calls[0], "contents")
        sent = provider.requests[-1].body["messages"]
    assert provider.rejected == []
    assert [body.get("reasoning_content") for body in sent] == [None, "Which?", None]


@pytest.mark.parametrize("model", MODELS)
def test_a_call_without_reasoning_goes_with_a_placeholder(model: str) -> None:
    with fanfold.open("run", model=model, tools=TOOLS) as chat:
        chat.merge([{"role": "user", "content": "Go."}, ASKED])
        thinking = chat.request()
        left_out = chat.sent()[0].left_out
        silent = chat.request(extra_body={"thinking": {"type": "disabled"}})
    assert Provider().check("chat", thinking) is None
    assert thinking["messages"][1] == {**ASKED, "reasoning_content": " "}
    assert silent["messages"][1] == ASKED
    assert left_out == ("reasoning: a blank one is sent where there is none (1)",)


@pytest.mark.parametrize("model", MODELS)
def test_what_another_dialect_said_piece_by_piece_is_one_message_with_one_placeholder(model: str) -> None:
    pieces = [fanfold.Message("assistant", (part,)) for part in (fanfold.Text("I look."), CALL)]
    with fanfold.open("run", model=model, tools=TOOLS) as chat:
        chat.say("Go.")
        for piece in pieces:
            chat.add(piece)
        chat.answer(CALL, "contents")
        request = chat.request()
    assert Provider().check("chat", request) is None
    assert request["messages"][1] == {**ASKED, "content": "I look.", "reasoning_content": " "}


@pytest.mark.parametrize("model", MODELS)
def test_a_request_read_and_written_stays_as_it_was(model: str) -> None:
    request = {"model": model, "messages": [{"role": "user", "content": "Go."}, ASKED]}
    dialect = dialect_named("openai.chat", model)
    assert encode(dialect, *decode(dialect, request)) == request


def test_other_models_get_what_was_recorded() -> None:
    with fanfold.open("run", model="gpt-5.2", tools=TOOLS) as chat:
        chat.merge([{"role": "user", "content": "Go."}, ASKED])
        assert chat.request()["messages"][1] == ASKED
