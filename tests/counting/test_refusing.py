"""The provider says "too long": what is learned, and when another try is worth it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fanfold
from fanfold import Budget, Memory, Session
from fanfold.core.message import assistant
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.session.bill import MOST

SAID = {
    "openai": "This model's maximum context length is 6000 tokens. However, your messages resulted in {asked} tokens.",
    "anthropic": "prompt is too long: {asked} tokens > 6000 maximum",
    "gemini": "The input token count ({asked}) exceeds the maximum number of tokens allowed (6000).",
    "bedrock": "ValidationException: Input is too long for requested model.",
    "mistral": "Prompt contains {asked} tokens, too large for model with 6000 maximum context length",
    "xai": "This model's maximum prompt length is 6000 but the request contains {asked} tokens.",
    "groq": "Please reduce the length of the messages or completion.",
    "vllm": "This model's maximum context length is 6000 tokens and your request has {asked} input tokens",
    "llama.cpp": "request ({asked} tokens) exceeds the available context size (6000 tokens), try increasing it",
    "ollama": "input length exceeds the context length",
    "openrouter": "This endpoint's maximum context length is 6000 tokens. However, you requested about {asked} tokens",
}


def talk(window: int | None = 20_000, messages: int = 40, **rest: Any) -> Session:
    """A session of some 10,000 tokens, four characters each."""
    chat = fanfold.open("run", **{"window": window, "meter": "characters/4", "clock": lambda: 0.0, **rest})
    for number in range(messages):
        chat.add(
            {"role": "user" if number % 2 == 0 else "assistant", "content": f"{number:04} " + "word " * 199}
        )
    chat.say("Go on.")
    return chat


def sent(chat: Session) -> int:
    chat.request(max_tokens=500)
    return chat.sent()[0].tokens


@pytest.mark.parametrize("provider", SAID)
def test_it_reduces_and_says_try_again(provider: str) -> None:
    chat = talk()
    before = sent(chat)
    assert chat.refused(SAID[provider].format(asked=before)) is True
    assert sent(chat) < before


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "vllm"])
def test_the_true_limit_holds_from_then_on(provider: str) -> None:
    chat = talk()
    assert chat.refused(SAID[provider].format(asked=sent(chat))) is True
    for number in range(60):
        chat.say(f"{number} " + "word " * 100)
        assert sent(chat) <= 6_000


@pytest.mark.parametrize("model", ["gpt-5", "gpt-4.1", "gpt-4o"])
def test_a_server_that_allows_far_less_than_the_model_still_gets_long_requests(model: str) -> None:
    """Room for the reply is a share of the window that the server has, not of the one that the model is known for."""
    chat = talk(None, model=model, messages=70)
    chat.request()
    before = chat.sent()[0].tokens
    said = f"This model's maximum context length is 16000 tokens. However, your messages resulted in {before} tokens."
    assert before > 16_000
    assert chat.refused(said) is True
    sizes = []
    for number in range(60):
        chat.say(f"{number} " + "word " * 400)
        chat.add(assistant("Yes."))
        chat.say("Go on.")
        chat.request()
        sizes.append(chat.sent()[0].tokens)
    assert 10_000 < max(sizes) <= 14_400


def test_the_providers_count_teaches_the_scale() -> None:
    chat = talk(messages=12)
    counted = sent(chat)
    assert chat.refused(f"prompt is too long: {counted * 3} tokens > 6000 maximum") is True
    assert 3 * sent(chat) < 7_000


def test_without_figures_it_is_taken_for_a_tenth_too_long() -> None:
    chat = talk()
    before = sent(chat)
    assert chat.refused("Input is too long for requested model.")
    assert chat.pressure().room <= 0.9 * before


@pytest.mark.parametrize(
    "error",
    [
        "Rate limit reached: 30000 tokens per min",
        "Invalid API key",
        ValueError("odd"),
        None,
        7,
        {"status": 429},
    ],
)
def test_anything_else_changes_nothing(error: object) -> None:
    chat = talk()
    before = sent(chat)
    assert chat.refused(error) is False
    assert sent(chat) == before
    assert chat.pressure(max_tokens=500).room == 19_500


def test_before_any_request_there_is_nothing_to_try_again() -> None:
    assert talk().refused("prompt is too long") is False


def test_it_cannot_loop() -> None:
    chat = talk(messages=200, window=100_000)
    tries, last = 0, sent(chat)
    while chat.refused("prompt is too long"):
        tries += 1
        assert sent(chat) < last, "every try is smaller than the one before"
        last = sent(chat)
        assert tries < 20
    assert chat.refused("prompt is too long") is False


def test_an_answer_lets_it_be_refused_again() -> None:
    chat = talk(messages=400, window=200_000)
    for _ in range(MOST + 2):
        sent(chat)
        assert chat.refused("prompt is too long") is True
        sent(chat)
        chat.receive(Reply((assistant("Yes."),)))
        chat.say("more " * 400)


def test_a_single_message_that_cannot_shrink_is_not_tried_again() -> None:
    chat = fanfold.open("run", window=20_000, meter="characters/4", fallback=())
    chat.say("word " * 200)
    sent(chat)
    assert chat.refused("prompt is too long") is False


def test_a_limit_below_the_reply_asked_for_is_not_tried_again() -> None:
    chat = talk(window=None, budget=Budget(window=20_000))
    chat.request(max_tokens=8_000)
    assert chat.refused("prompt is too long: 10000 tokens > 20 maximum") is False


def test_too_many_bytes_lower_the_bytes() -> None:
    chat = talk()
    before = sent(chat)
    size = chat.view().size
    assert chat.refused("413 Request Entity Too Large") is True
    assert chat.view().size <= 0.9 * size
    assert sent(chat) < before


def test_a_refused_request_leaves_its_rows_unseen() -> None:
    chat = talk()
    newest = chat.head
    sent(chat)
    assert chat.refused("prompt is too long") is True
    assert newest in chat.view().fresh


def test_what_a_refusal_taught_is_stored_with_the_session() -> None:
    store = Memory()
    chat = talk(store=store)
    assert chat.refused(SAID["anthropic"].format(asked=sent(chat))) is True
    room = chat.pressure().room
    chat.close()
    again = fanfold.open("run", window=20_000, meter="characters/4", store=store)
    assert again.pressure().room <= room + 2_000 < 18_000


def test_the_async_session_does_the_same() -> None:
    async def main() -> bool:
        chat = fanfold.aopen("run", window=20_000, meter="characters/4")
        for number in range(40):
            role = "user" if number % 2 == 0 else "assistant"
            await chat.add({"role": role, "content": f"{number:04} " + "word " * 199})
        await chat.say("Go on.")
        await chat.request()
        return await chat.refused(SAID["anthropic"].format(asked=10_000))

    assert asyncio.run(main()) is True


def bill(chat: Session, prompt: int, text: str = "Yes.") -> None:
    chat.receive(Reply((assistant(text),), TokenUsage(input=prompt, output=1)))


def taught(store: Memory, name: str, model: str = "gpt-5.2") -> Session:
    """A session whose provider bills twice the count."""
    chat = fanfold.open(name, model=model, meter="characters/4", store=store)
    for _ in range(5):
        chat.say("word " * 400)
        bill(chat, 2 * sent(chat))
    return chat


def test_the_next_session_of_the_same_model_starts_from_what_was_learned() -> None:
    store = Memory()
    taught(store, "first")
    second, other = (
        fanfold.open(name, model=model, meter="characters/4", store=store)
        for name, model in (("second", "gpt-5.2"), ("other", "gpt-4o"))
    )
    for chat in (second, other):
        chat.say("word " * 400)
    assert second.pressure().tokens == pytest.approx(1_000, rel=0.05)
    assert other.pressure().tokens == pytest.approx(500, rel=0.05)


def test_a_running_session_learns_nothing_from_another() -> None:
    store = Memory()
    running = fanfold.open("running", model="gpt-5.2", meter="characters/4", store=store)
    running.say("word " * 400)
    before = running.pressure().tokens
    taught(store, "other")
    assert running.pressure().tokens == before


def test_a_session_opened_again_knows_what_it_learned() -> None:
    store = Memory()
    chat = taught(store, "run")
    chat.say("word " * 400)
    before = chat.pressure().tokens
    chat.close()
    again = fanfold.open("run", model="gpt-5.2", meter="characters/4", store=store)
    assert again.pressure().tokens == pytest.approx(before, rel=0.05)
