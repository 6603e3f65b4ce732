"""Sessions in the Anthropic dialect against the scripted provider, with the official SDK."""

import asyncio

import anthropic
import pytest
from anthropic_wire import (
    DIALECT,
    JUDGE,
    PARAMS,
    assistant,
    broken_rules,
    repaired,
    result,
    rows,
    text,
    thought,
    use,
    user,
    verdict,
)

import fanfold
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.testing.provider import Fail, Provider, Turn

STEPS = 200
TOOL = {"name": "grep", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}
MODEL = "claude-opus-4-5"
THINKING = {"type": "enabled", "budget_tokens": 1_024}
OPEN = {
    "dialect": "anthropic",
    "model": MODEL,
    "window": 12_000,
    "system": "You fix bugs. " * 40,
    "tools": [TOOL],
}


def script(request):
    """Parallel calls now and then, thinking now and then, and an end."""
    number = request.number
    if number >= STEPS:
        return Turn("Found it.", thinking="At last.")
    calls = [("grep", {"pattern": f"x{number}-{i}"}) for i in range(1 + number % 3)]
    return Turn("Looking." if number % 2 else "", calls=calls, thinking="Hm." if number % 4 == 0 else "")


def output(number):
    return f"line {number}: " + "abc def " * (300 if number % 17 == 0 else 40)


def loop(chat, ask, *, steps):
    """A tool loop; gives back the share of the prompt that was cached, request by request."""
    shares = []
    chat.say("Where is the bug?")
    for number in range(steps):
        reply = ask(chat, chat.request(max_tokens=1_500, thinking=THINKING))
        shares.append(reply.usage.cache_read / reply.usage.prompt)
        if reply.done:
            break
        for call in reply.calls:
            chat.answer(call, output(number), error=number % 11 == 0)
        if number % 23 == 0:
            chat.note("plan", f"step {number}")
    return shares


def whole(client):
    return lambda chat, request: chat.receive(client.messages.create(**request))


def streamed(client):
    def ask(chat, request):
        with chat.listen(client.messages.create(**request, stream=True)) as events:
            for _ in events:
                pass
        return events.reply

    return ask


@pytest.mark.parametrize(("way", "steps"), [(whole, STEPS + 1), (streamed, 60)])
def test_a_long_loop_in_a_small_window_never_meets_a_400(way, steps):
    with Provider(script, cache_minimum=256) as provider, fanfold.open("run", **OPEN) as chat:
        client = anthropic.Anthropic(base_url=provider.anthropic_base_url, api_key="any", max_retries=0)
        shares = loop(chat, way(client), steps=steps)
        assert provider.rejected == []
        assert len(shares) == steps
        assert sum(share > 0.5 for share in shares) > 0.8 * len(shares)
        assert chat.stats()["requests"] == steps


def test_the_same_for_asyncio():
    async def run():
        with Provider(script) as provider:
            client = anthropic.AsyncAnthropic(
                base_url=provider.anthropic_base_url, api_key="any", max_retries=0
            )
            async with fanfold.aopen("run", **OPEN) as chat, client:
                await chat.say("Where is the bug?")
                for number in range(30):
                    request = await chat.request(max_tokens=1_500, thinking=THINKING)
                    reply = await chat.receive(await client.messages.create(**request))
                    for call in reply.calls:
                        await chat.answer(call, output(number))
            assert provider.rejected == []

    asyncio.run(run())


def test_a_stream_that_broke_off_is_recorded_and_the_talk_goes_on():
    story = [
        Turn("One.", thinking="Hm."),
        Fail.cut(Turn("Two and a half.", thinking="Hm."), 6),
        Turn("Three."),
    ]
    with Provider(story) as provider, fanfold.open("run", **OPEN) as chat:
        client = anthropic.Anthropic(base_url=provider.anthropic_base_url, api_key="any", max_retries=0)
        for _ in range(3):
            chat.say("And?")
            request = chat.request(max_tokens=1_500, thinking=THINKING)
            try:
                with chat.listen(client.messages.create(**request, stream=True)) as events:
                    for _ in events:
                        pass
            except Exception:
                continue
        assert provider.rejected == []


def test_a_history_that_a_client_sends_again_and_again_is_one_conversation():
    history = [{"role": "user", "content": "Where is the bug?"}]
    with fanfold.open("run", **OPEN) as chat:
        for number in range(40):
            chat.merge({**PARAMS, "messages": history, "system": "You fix bugs.", "tools": [TOOL]})
            request = chat.request(max_tokens=1_500, thinking=THINKING)
            assert JUDGE.check("anthropic", request) is None
            history.append(assistant(thought(), use(f"t{number}")))
            history.append(user(result(f"t{number}", output(number), cache_control={"type": "ephemeral"})))
        assert chat.stats()["messages"] == len(history) - 2


TALKS = {
    "openai.chat": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c|1", "type": "function", "function": {"name": "grep", "arguments": "{"}},
            {"id": "c2", "type": "function", "function": {"name": "grep", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "tool", "tool_call_id": "c|1", "content": ""},
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    ],
    "openai.responses": [
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "abc"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "grep", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "web_search_call", "id": "w1", "status": "completed"},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "grep", "args": {}}, "thoughtSignature": "abc"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "grep", "response": {"output": "one"}}}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("dialect", sorted(set(TALKS) & set(DIALECTS)))
def test_a_talk_with_another_provider_can_be_continued(dialect):
    other = dialect_named(dialect)
    messages = [other.message(body) for body in TALKS[dialect]]
    some = rows(*messages)
    mended = repaired(some)
    assert broken_rules(mended) == set()
    assert verdict(mended) == ""
    kept = [row for row, now in zip(some, mended, strict=True) if row is now]
    assert len(kept) >= len(some) - 1, "conversion alone makes it legal, all but what was broken before"


def test_what_was_said_in_another_dialect_is_sent_in_this_one():
    other = dialect_named("openai.chat")
    some = rows(*(other.message(body) for body in TALKS["openai.chat"][:4]))
    messages = DIALECT.encode(DIALECT.frame((), ()), some, PARAMS)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0] == user(text("hi"))
    assert [block["content"] for block in messages[2]["content"]] == ["two", ""]


def test_the_sdk_sends_a_request_without_a_limit_unstreamed_whatever_the_model_could_reply() -> None:
    from anthropic import Anthropic

    from fanfold.testing.provider import Provider, Turn

    with Provider([Turn("Here I am.")]) as provider, fanfold.open("a", model="claude-sonnet-5") as chat:
        chat.say("Hello")
        client = Anthropic(base_url=provider.anthropic_base_url, api_key="any")
        assert chat.receive(client.messages.create(**chat.request())).text == "Here I am."
