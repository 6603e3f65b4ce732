"""A search never runs in the event loop; the session waits for it, the loop does not (19.18)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import AsyncSession, Call, Memory, SQLite
from fanfold.outputs import grep as searching
from fanfold.testing import replied

Verb = Callable[[AsyncSession], Awaitable[Any]]
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
SEARCHES = {
    "tool_output_cache_grep": {"ref_id": "o1", "pattern": "needle"},
    "tool_output_cache_search": {"pattern": "needle"},
}
READS = {"tool_output_cache": {"ref_id": "o1"}}


class Gate:
    """Holds every search until it is opened, and knows in which threads they run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.threads: list[threading.Thread] = []
        whole = searching.blocks

        def held(*args: Any, **options: Any) -> Any:
            self.threads.append(threading.current_thread())
            self.entered.set()
            assert self.open.wait(10), "nobody opened the gate: the search holds up the loop"
            return whole(*args, **options)

        monkeypatch.setattr(searching, "blocks", held)

    async def entry(self) -> None:
        while not self.entered.is_set():
            await asyncio.sleep(0.001)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def call(name: str) -> Call:
    return Call("r1", name, json.dumps({**SEARCHES, **READS}[name]))


def reply(name: str) -> dict[str, Any]:
    body = {"id": "r1", "type": "function", "function": {"name": name, "arguments": call(name).raw}}
    message = {"role": "assistant", "content": None, "tool_calls": [body]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


async def streamed(chat: AsyncSession, name: str) -> None:
    async def events() -> Any:
        function = {"name": name, "arguments": call(name).raw}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "r1", "type": "function", "function": function}],
        }
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}

    async with chat.listen(events()) as heard:
        async for _ in heard:
            pass


WAYS: dict[str, Callable[[AsyncSession, str], Awaitable[Any]]] = {
    "recall": lambda chat, name: chat.recall(call(name)),
    "receive": lambda chat, name: chat.receive(reply(name)),
    "receive a reply": lambda chat, name: chat.receive(chat._state.dialect.reply(reply(name))),
    "listen": streamed,
}


async def opened(store: Any = None) -> AsyncSession:
    chat = fanfold.aopen("run", window=90_000, recall=True, tools=TOOLS, store=store)
    await chat.say("Go.")
    await chat.add({"role": "assistant", "content": None, "tool_calls": [_bash()]})
    await chat.answer("c1", "hay\nneedle\nhay\n")
    return chat


def _bash() -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("way", WAYS)
def test_the_loop_goes_on_while_a_session_searches(way: str, name: str, gate: Gate) -> None:
    """(19.18)"""

    async def run() -> str:
        chat = await opened()
        search = asyncio.ensure_future(WAYS[way](chat, name))
        await gate.entry()
        gate.open.set()
        answer = await search
        return answer if way == "recall" else (await chat.view()).messages[-1].results[0].text

    assert "needle" in asyncio.run(run())
    assert all(thread.name.startswith("fanfold-search") for thread in gate.threads)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_verbs_that_are_called_while_a_session_searches_follow_in_their_order(
    store: str, gate: Gate, tmp_path: Path
) -> None:
    """(19.18)"""
    kept = SQLite(tmp_path / "a.db") if store == "sqlite" else Memory()

    async def run() -> tuple[list[str], list[str]]:
        chat = await opened(kept)
        search = asyncio.ensure_future(chat.receive(reply("tool_output_cache_search")))
        await gate.entry()
        said = [asyncio.ensure_future(chat.say(f"{n}")) for n in range(3)]
        await asyncio.sleep(0.02)
        assert not any(one.done() for one in said)
        other = fanfold.aopen("other", window=9_000, store=kept)
        await other.say("meanwhile")
        gate.open.set()
        await asyncio.gather(search, *said)
        await chat.say("3")
        return (
            [message.text for message in (await chat.view()).messages[-5:]],
            [message.text for message in (await other.view()).messages],
        )

    mine, others = asyncio.run(run())
    assert mine[1:] == ["0", "1", "2", "3"]
    assert others == ["meanwhile"]


def test_a_search_that_was_given_up_does_not_hold_up_the_loop_either(gate: Gate) -> None:
    """(19.18)"""

    async def run() -> str:
        chat = await opened()
        search = asyncio.ensure_future(chat.recall(call("tool_output_cache_search")))
        await gate.entry()
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        said = asyncio.ensure_future(chat.say("And now?"))
        await asyncio.sleep(0.02)
        assert not said.done()
        gate.open.set()
        await said
        return (await chat.view()).messages[-1].text

    assert asyncio.run(run()) == "And now?"


@pytest.mark.parametrize(
    "verb",
    [
        lambda chat: chat.recall(call("tool_output_cache")),
        lambda chat: chat.receive(reply("tool_output_cache")),
        lambda chat: chat.receive({"choices": [{"index": 0, "message": replied("Done.")}]}),
    ],
    ids=["recall", "receive", "receive a text"],
)
def test_what_searches_nothing_needs_no_thread(verb: Verb) -> None:
    async def run() -> None:
        chat = await opened()
        with pytest.raises(StopIteration):
            verb(chat).__await__().send(None)  # type: ignore[attr-defined]

    asyncio.run(run())


def test_a_session_that_searches_goes_on_in_another_loop() -> None:
    async def begun() -> AsyncSession:
        chat = await opened()
        await chat.recall(call("tool_output_cache_search"))
        return chat

    async def gone_on(chat: AsyncSession) -> str:
        await chat.say("And now?")
        return await chat.recall(call("tool_output_cache_search"))

    assert "o1:2:needle" in asyncio.run(gone_on(asyncio.run(begun())))
