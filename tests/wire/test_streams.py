"""Streams are heard whichever way the SDK gives them, and recorded like whole replies."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold
from fanfold import Message
from fanfold.testing.provider import Turn

from .loops import TASK, opening, output, provided, script
from .sdks import SDKS, Anthropic, Chat, Responses, Sdk, ask

HELPERS: dict[type[Sdk], Callable[[Any], Callable[..., Any]]] = {
    Chat: lambda client: client.chat.completions.stream,
    Responses: lambda client: client.responses.stream,
    Anthropic: lambda client: client.messages.stream,
}


@pytest.mark.parametrize("sdk", HELPERS, ids=lambda sdk: sdk.__name__)
def test_the_stream_helpers_of_the_sdks_are_heard_too(sdk: type[Sdk]) -> None:
    turn = Turn("Let me look.", [("grep", {"path": "a"}), ("read", {"path": "b"})], "First I look around.")
    with provided(sdk, [turn]) as provider, fanfold.open("run", **opening(sdk)) as chat:
        client = sdk(provider)
        chat.say(TASK)
        request = chat.request(max_tokens=sdk.reply, **sdk.params)
        with HELPERS[sdk](client.client)(**request) as stream, chat.listen(stream) as events:
            for _ in events:
                pass
    assert events.reply is not None
    assert events.reply.text == "Let me look."
    assert [call.args for call in events.reply.calls] == [{"path": "a"}, {"path": "b"}]


def recorded(sdk: type[Sdk], stream: bool) -> list[Message]:
    with provided(sdk, script(3)) as provider, fanfold.open("run", **opening(sdk)) as chat:
        client = sdk(provider)
        chat.say(TASK)
        for step in range(3):
            for call in ask(client, chat, stream).calls:
                chat.answer(call, output(call.args["path"], step))
        return list(chat.view().messages)


@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.__name__)
def test_a_streamed_reply_says_what_the_whole_one_says(sdk: type[Sdk]) -> None:
    whole, streamed = ([_told(message) for message in recorded(sdk, stream)] for stream in (False, True))
    assert streamed == whole


def _told(message: Message) -> tuple[Any, ...]:
    """What a message says, without the ids and signatures that the server derives from the request."""
    calls = [(call.name, call.args) for call in message.calls]
    return message.role, message.text, calls, [result.text for result in message.results]
