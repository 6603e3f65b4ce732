"""The provider fails: what was recorded stays as it was, and the loop goes on without a refusal."""

import asyncio
from itertools import chain

import pytest

import fanfold
from fanfold import Session
from fanfold.dialects.dialect import Reply
from fanfold.strategies import digest
from fanfold.testing.provider import Fail, Provider, Turn

from .loops import RECALL, TASK, opening, output, provided, script
from .sdks import QUICK, Sdk, aask, ask

each_sdk = pytest.mark.parametrize("sdk", QUICK, ids=lambda sdk: sdk.__name__)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

LOOKING = Turn("Let me look.", [("grep", {"path": "a"}), ("read", {"path": "ünï"})], "First I look around.")
FOUND = Turn("Found it.", thinking="So there.")


def failing(sdk: Sdk, chat: Session, stream: bool) -> Exception:
    """The error that the SDK raises."""
    try:
        ask(sdk, chat, stream)
    except Exception as error:
        return error
    raise AssertionError("the provider did not fail")


def heard(sdk: Sdk, chat: Session) -> Reply | None:
    """What was recorded of a stream, broken off or not."""
    stream = sdk.call(sdk.client, chat.request(max_tokens=sdk.reply, **sdk.params), True)
    try:
        with chat.listen(stream) as events:
            for _ in events:
                pass
    except fanfold.FanfoldError:
        raise
    except Exception:  # whatever the SDK makes of it
        return events.reply
    return events.reply


def answer(chat: Session, reply: Reply | None) -> None:
    for call in reply.calls if reply else ():
        chat.answer(call, output(call.args["path"], 3))


FAULTS = (Fail.rate_limit(), Fail.server_error(), Fail.overloaded(), Fail.garbage(), Fail.close())


@both_ways
@each_sdk
def test_after_a_failure_the_same_bytes_are_sent_again(sdk: type[Sdk], stream: bool) -> None:
    turns = chain.from_iterable((fault, LOOKING) for fault in FAULTS)
    with provided(sdk, turns) as provider, fanfold.open("run", **opening(sdk)) as chat:
        client = sdk(provider)
        chat.say(TASK)
        for _ in FAULTS:
            head = chat.head
            failing(client, chat, stream)
            assert chat.head == head
            answer(chat, ask(client, chat, stream))
    assert [each.verdict for each in provider.requests] == ["failed", "accepted"] * len(FAULTS)
    failed, again = provider.requests[::2], provider.requests[1::2]
    assert [each.raw for each in failed] == [each.raw for each in again]


@each_sdk
def test_a_reply_that_breaks_off_halfway_is_not_recorded(sdk: type[Sdk]) -> None:
    with provided(sdk, [Fail.cut(LOOKING, after=0)]) as provider, fanfold.open("run", **opening(sdk)) as chat:
        head = chat.say(TASK).id
        failing(sdk(provider), chat, stream=False)
        assert chat.head == head


WAYS_TO_BREAK = {"the connection breaks": Fail.cut, "the provider says so": Fail.error_event}


@pytest.mark.parametrize("breaks", WAYS_TO_BREAK)
@each_sdk
def test_a_loop_goes_on_wherever_its_streams_are_cut(sdk: type[Sdk], breaks: str) -> None:
    """Every second time a person says so, else the model is simply asked again."""
    cuts = [WAYS_TO_BREAK[breaks](LOOKING, after) for after in range(1, 22)]
    with provided(sdk, [*cuts, FOUND]) as provider, fanfold.open("run", **opening(sdk)) as chat:
        client = sdk(provider)
        chat.say(TASK)
        for number, _ in enumerate(cuts):
            answer(chat, heard(client, chat))
            if number % 2:
                chat.say("You were cut off. Go on.")
        assert ask(client, chat, stream=True).text.endswith("Found it.")
    assert [(each.rule, each.reason) for each in provider.rejected] == []


MIDST = {"chat": 3, "responses": 6, "anthropic": 4, "gemini": 2}
"""After so many events of a stream some of its words have come, and some have not."""


@each_sdk
def test_what_came_of_a_cut_stream_is_recorded_as_cut(sdk: type[Sdk]) -> None:
    long = Turn("A long story about a bug that nobody found. " * 5)
    with (
        provided(sdk, [Fail.cut(long, MIDST[sdk.api])]) as provider,
        fanfold.open("run", **opening(sdk)) as chat,
    ):
        chat.say(TASK)
        reply = heard(sdk(provider), chat)
        assert reply is not None
        assert reply.stop == "cut"
        assert 0 < len(reply.text) < len(long.text)
        assert long.text.startswith(reply.text)
        assert chat.view().messages[-1].text == reply.text


def narrowed(provider: Provider, sdk: type[Sdk], room: int) -> Provider:
    """The provider, taking prompts of less tokens than the session was told; some count the reply as well."""
    provider.window = room + (sdk.reply if sdk.api in ("chat", "anthropic") else 0)
    return provider


def asked(sdk: Sdk, chat: Session, stream: bool) -> Reply:
    """The reply, at the second try if the session says that it is worth one."""
    try:
        return ask(sdk, chat, stream)
    except Exception as error:
        if not chat.refused(error):
            raise
        return ask(sdk, chat, stream)


@both_ways
@each_sdk
def test_a_refusal_as_too_long_is_learned_from(sdk: type[Sdk], stream: bool) -> None:
    terms, room = {**opening(sdk), "strategy": digest()}, 1_400 + RECALL
    with provided(sdk, script(12)) as provider, fanfold.open("run", **terms) as chat:
        narrowed(provider, sdk, room)
        client, reply = sdk(provider), None
        chat.say(TASK)
        while reply is None or not reply.done:
            reply = asked(client, chat, stream)
            for call in reply.calls:
                chat.answer(call, output(call.args["path"], len(provider.requests)))
    assert len(provider.rejected) == 1
    assert provider.rejected[0].tokens > room
    assert len(provider.requests) == 14


@each_sdk
def test_a_refusal_is_learned_from_asynchronously_too(sdk: type[Sdk]) -> None:
    async def refused_once() -> str:
        client = sdk(provider)
        async with fanfold.aopen("run", **opening(sdk)) as chat:
            await chat.say(TASK)
            for number in range(6):
                await chat.add(fanfold.Message("assistant", (fanfold.Text(f"Thought {number}. " * 40),)))
                await chat.say("And?")
            with pytest.raises(Exception, match=r"exceed|too long|maximum") as raised:
                await aask(client, chat)
            assert await chat.refused(raised.value)
            reply = await aask(client, chat)
        await client.close()
        return reply.text

    with narrowed(provided(sdk, FOUND), sdk, 1_100 + RECALL) as provider:
        assert asyncio.run(refused_once()).endswith("Found it.")
    assert [each.verdict for each in provider.requests] == ["rejected", "accepted"]
