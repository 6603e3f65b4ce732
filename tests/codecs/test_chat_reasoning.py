"""Models of other makers that want their reasoning back, through Chat Completions."""

from __future__ import annotations

import openai
import pytest

import fanfold
from fanfold.testing.provider import Provider, Turn

MODELS = ("deepseek-v4-pro", "kimi-k2.6")
ASKED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}
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
        thinking, silent = chat.request(), chat.request(extra_body={"thinking": {"type": "disabled"}})
    assert Provider().check("chat", thinking) is None
    assert thinking["messages"][1] == {**ASKED, "reasoning_content": " "}
    assert silent["messages"][1] == ASKED


def test_other_models_get_what_was_recorded() -> None:
    with fanfold.open("run", model="gpt-5.2", tools=TOOLS) as chat:
        chat.merge([{"role": "user", "content": "Go."}, ASKED])
        assert chat.request()["messages"][1] == ASKED
