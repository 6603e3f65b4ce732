"""The tool loop: sync and async, in every dialect, with the official SDKs against the scripted provider."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Budget, View, loop
from fanfold.testing import FakeModel, called, replied, response
from fanfold.testing.provider import Provider, Turn
from wire.loops import TASK, opening, output, script
from wire.sdks import QUICK, Sdk

each = pytest.mark.parametrize("kind", QUICK, ids=[kind.__name__ for kind in QUICK])
STEPS = 12


def read(path: str) -> str:
    return output(path, 7)


TOOLS = {"read": read, "grep": read}


@each
def test_a_loop_runs_to_its_end(kind: type[Sdk]) -> None:
    with Provider(script(STEPS), window=100_000) as provider, fanfold.open("run", **opening(kind)) as chat:
        sdk = kind(provider)
        chat.say(TASK)
        reply = loop.run(
            chat,
            lambda request: sdk.call(sdk.client, request, False),
            TOOLS,
            max_tokens=sdk.reply,
            **sdk.params,
        )
        assert (reply.done, reply.text) == (True, "Found it.")
        assert provider.rejected == []
        assert len(provider.requests) == STEPS + 1


@each
def test_the_same_awaited(kind: type[Sdk]) -> None:
    async def later(provider: Provider) -> Any:
        sdk = kind(provider)

        async def tool(path: str) -> str:
            return read(path)

        async with fanfold.aopen("run", **opening(kind)) as chat:
            await chat.say(TASK)
            reply = await loop.arun(
                chat,
                lambda request: sdk.call(sdk.later, request, False),
                {"read": tool, "grep": read},
                max_tokens=sdk.reply,
                **sdk.params,
            )
        await sdk.close()
        return reply

    with Provider(script(STEPS), window=100_000) as provider:
        assert asyncio.run(later(provider)).text == "Found it."
        assert provider.rejected == []


def scripted(*bodies: dict[str, Any]) -> Any:
    """A provider that says one thing after the other, and keeps what it was asked."""
    asked: list[dict[str, Any]] = []

    def send(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return response(bodies[min(len(asked), len(bodies)) - 1], prompt=10)

    return send, asked


class Watching:
    """A strategy that notes when it is asked whether there is something to do."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, view: View, budget: Budget) -> None: ...

    def settles(self, view: View, budget: Budget) -> bool:
        self.seen.append(view.messages[-1].role)
        return False

    @property
    def settling(self) -> Watching:
        return self


@pytest.mark.parametrize(
    ("points", "seen"),
    [
        (loop.POINTS, ["assistant", "tool", "assistant", "assistant"]),
        (("reply",), ["assistant", "assistant"]),
        (("tools",), ["tool"]),
        (("end",), ["assistant"]),
        ((), []),
    ],
)
def test_there_are_three_points_at_which_a_session_may_reduce(points: Any, seen: list[str]) -> None:
    """A18"""
    watching = Watching()
    send, _ = scripted(replied("", called("c1", "read", path="a")), replied("Done."))
    with fanfold.open("run", window=9_000, strategy=watching) as chat:
        chat.say("Go.")
        loop.run(chat, send, TOOLS, points=points)
    assert watching.seen == seen


def test_a_full_window_is_reduced_by_the_last_bill_before_the_next_request() -> None:
    """A18: judged by the usage that is known."""
    bills = iter((3_000, 8_200, 60))

    def send(request: dict[str, Any]) -> dict[str, Any]:
        bill = next(bills)
        body = replied("", called(f"c{bill}", "read", path="a")) if bill != 60 else replied("Done.")
        return response(body, prompt=bill)

    told: list[fanfold.Outcome] = []
    with fanfold.open("run", window=10_000, summarizer=FakeModel("They read."), on_edit=told.append) as chat:
        chat.say("Go.")
        for n in range(40):
            chat.add(replied(f"{n} " + "words " * 90))
        chat.say("Read.")
        loop.run(chat, send, TOOLS, points=("reply",))
    assert [outcome.status for outcome in told] == ["reduced"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (called("c1", "read", path="a", more=1), "TypeError"),
        (called("c1", "write", path="a"), "There is no tool 'write'. Known are: read, grep."),
        (called("c1", "read", raw="{path:"), "are no JSON object"),
    ],
)
def test_what_goes_wrong_in_a_tool_is_told_to_the_model(call: Any, says: str) -> None:
    send, asked = scripted(replied("", call), replied("I see."))
    with fanfold.open("run", window=9_000) as chat:
        chat.say("Go.")
        assert loop.run(chat, send, TOOLS).done
    assert says in asked[1]["messages"][-1]["content"]


def test_a_loop_that_never_ends_is_ended() -> None:
    numbers = iter(range(1_000))

    def send(request: dict[str, Any]) -> dict[str, Any]:
        return response(replied("", called(f"c{next(numbers)}", "read", path="a")))

    with fanfold.open("run", window=9_000) as chat:
        chat.say("Go.")
        assert not loop.run(chat, send, TOOLS, most=5).done
    assert next(numbers) == 5


def test_a_request_that_is_too_long_is_made_shorter_and_sent_again() -> None:
    with Provider(Turn("Done."), window=2_000) as provider:
        sdk = QUICK[0](provider)
        with fanfold.open("run", window=20_000, model="gpt-4o") as chat:
            for n in range(40):
                chat.say(f"{n} " + "words " * 60)
                chat.add(replied("Yes."))
            chat.say("Go.")
            reply = loop.run(
                chat, lambda request: sdk.call(sdk.client, request, False), TOOLS, max_tokens=100
            )
        assert reply.done
        assert len(provider.rejected) >= 1


def test_what_else_goes_wrong_is_raised() -> None:
    def send(request: dict[str, Any]) -> Any:
        raise ConnectionError("no line")

    with fanfold.open("run", window=9_000) as chat:
        chat.say("Go.")
        with pytest.raises(ConnectionError, match="no line"):
            loop.run(chat, send, TOOLS)


@pytest.mark.parametrize("options", [{"most": 0}, {"points": ("midnight",)}])
def test_settings_without_sense_are_refused(options: Any) -> None:
    with fanfold.open("run", window=9_000) as chat, pytest.raises(BadSetting):
        loop.run(chat, lambda request: None, {}, **options)
