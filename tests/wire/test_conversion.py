"""A conversation recorded from one provider goes on with another; what cannot carry over is named."""

import json
from functools import cache
from itertools import permutations

import pytest

import fanfold
from fanfold import Message, Session
from fanfold.core.message import Thinking
from fanfold.testing.provider import Provider

from . import promises
from .loops import TASK, Run, opening, output, provided, script
from .sdks import QUICK, Sdk, ask

PAIRS = tuple(permutations(QUICK, 2))
each_pair = pytest.mark.parametrize(
    ("one", "other"), PAIRS, ids=[f"{one.__name__}-{other.__name__}" for one, other in PAIRS]
)


def steps(sdk: Sdk, chat: Session, count: int) -> None:
    """Some steps of a loop, every call answered."""
    for step in range(count):
        reply = ask(sdk, chat)
        for call in reply.calls:
            chat.answer(call, output(call.args["path"], step))


@cache
def recorded(sdk: type[Sdk]) -> list[Message]:
    """What a session in this dialect recorded of a loop that is not over."""
    with provided(sdk, script(4)) as provider, fanfold.open("run", **opening(sdk)) as chat:
        chat.say(TASK)
        steps(sdk(provider), chat, 3)
        return told(chat)


def told(chat: Session) -> list[Message]:
    """Everything that was recorded, in order."""
    tree = chat._state.log.tree
    return [tree[id].message for id in tree.path(chat.head)]


@each_pair
def test_a_loop_begun_with_one_provider_ends_with_another(one: type[Sdk], other: type[Sdk]) -> None:
    messages = recorded(one)
    with provided(other, script(7)) as provider, fanfold.open("run", **opening(other)) as chat:
        looped = Run(provider, chat, said=list(messages))
        for message in messages:
            chat.add(message)
        client = other(provider)
        steps(client, chat, 7)
        assert ask(client, chat).text.endswith("Found it.")
        promises.nothing_was_rejected(looped)
        promises.every_request_fits(looped)
        assert told(chat)[: len(messages)] == messages


@each_pair
def test_thinking_that_cannot_carry_over_is_named(one: type[Sdk], other: type[Sdk]) -> None:
    messages = recorded(one)
    with Provider(script(4)) as provider, fanfold.open("run", **opening(other, window=20_000)) as chat:
        entries = [chat.add(message) for message in messages]
        ask(other(provider), chat)
        thoughts = {
            f"{entry.id}#{nth}"
            for entry in entries
            for nth, part in enumerate(entry.message.parts)
            if isinstance(part, Thinking)
        }
        left_out = {said for said in chat.sent()[0].left_out if "#" in said}
    assert bool(thoughts) is (one.api != "chat")
    assert {said for said in left_out if ":" not in said} == thoughts
    assert b"First I look around" not in provider.requests[0].raw


@each_pair
def test_a_signature_that_cannot_carry_over_is_named(one: type[Sdk], other: type[Sdk]) -> None:
    messages = recorded(one)
    with fanfold.open("run", **opening(other, window=20_000)) as chat:
        entries = [chat.add(message) for message in messages]
        request = chat.request(max_tokens=other.reply, **other.params)
        signed = {
            f"{entry.id}#{nth}: thought signature"
            for entry in entries
            for nth, part in enumerate(entry.message.parts)
            if one.api == "gemini" and not isinstance(part, Thinking) and was_signed(entry.message, nth)
        }
        assert {said for said in chat.sent()[0].left_out if said.endswith("signature")} == signed
    assert bool(signed) is (one.api == "gemini")
    assert "houghtSignature" not in json.dumps(request) or other.api == "gemini"


def was_signed(message: Message, nth: int) -> bool:
    """Whether a part had a signature on Gemini's wire."""
    part = message.wire.body["parts"][nth] if message.wire is not None else {}
    return "thoughtSignature" in part or "thought_signature" in part


@each_pair
def test_calls_results_and_words_carry_over(one: type[Sdk], other: type[Sdk]) -> None:
    messages = recorded(one)
    with Provider(script(4)) as provider, fanfold.open("run", **opening(other, window=20_000)) as chat:
        for message in messages:
            chat.add(message)
        ask(other(provider), chat)
    sent = provider.requests[0].raw.decode()
    for message in messages:
        for call in message.calls:
            assert call.args["path"] in sent
        for result in message.results:
            assert all(line in sent for part in result.parts for line in part.text.splitlines())
        assert message.text in sent
