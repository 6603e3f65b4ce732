"""The event loop goes on while a store across a network is waited for; a store at hand is not waited for at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import calls, says
from fanfold import AsyncSession, Memory, SQLite
from fanfold.stores.store import Batch, Blob, Stored

Verb = Callable[[AsyncSession], Awaitable[Any]]


class FarAway(Memory):
    """A store that answers only after the event loop came round."""

    remote = True

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0
        self.waits = threading.Event()
        self._round = threading.Event()

    async def come_round(self) -> None:
        while True:
            self._round.set()
            await asyncio.sleep(0.001)

    def _wait(self) -> None:
        self._round.clear()
        self.waits.set()
        assert self._round.wait(60), "the event loop stands still"
        self.waited += 1

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        self._wait()
        return super().load(tenant, session, after=after, most=most)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        self._wait()
        return super().append(tenant, session, batch, expect=expect)

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        self._wait()
        return super().put_blob(tenant, chunks, holder=holder)

    def let_go(self, tenant: str, holder: str) -> None:
        self._wait()
        super().let_go(tenant, holder)


async def streamed(chat: AsyncSession) -> None:
    async def stream() -> AsyncIterator[dict[str, Any]]:
        delta = {"role": "assistant", "content": "Hi."}
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}

    async with chat.listen(stream()) as events:
        async for _ in events:
            pass


async def refused(chat: AsyncSession) -> None:
    await chat.request(max_tokens=50)
    message = (
        "This model's maximum context length is 900 tokens. However, your messages resulted in 1000 tokens."
    )
    assert await chat.refused({"error": {"message": message, "code": "context_length_exceeded"}})


VERBS: dict[str, Verb] = {
    "say": lambda chat: chat.say("And?"),
    "request": lambda chat: chat.request(max_tokens=50),
    "compact": lambda chat: chat.compact(force=True),
    "refused": refused,
    "answer": lambda chat: chat.answer("open", "x" * 3_000_000),
    "receive": lambda chat: chat.receive({"choices": [{"index": 0, "message": says("Ok.")}]}),
    "listen": streamed,
    "fork": lambda chat: chat.fork("other"),
    "spawn": lambda chat: chat.spawn("open"),
    "erase": lambda chat: chat.erase(str(chat.head), "asked for"),
}


def opened(store: Memory | SQLite, **options: Any) -> AsyncSession:
    return fanfold.aopen("run", window=2_000, meter="characters/4", store=store, **options)


async def prepared(chat: AsyncSession) -> None:
    for n in range(8):
        await chat.say(f"{n} is a number. " * 20)
        await chat.add(says("So it is. " * 20))
    await chat.add(calls("open"))


@pytest.mark.parametrize("verb", VERBS)
def test_the_loop_goes_on_while_a_verb_waits_for_a_store_far_away(verb: str) -> None:
    async def run() -> int:
        store = FarAway()
        rounds = asyncio.ensure_future(store.come_round())
        async with opened(store, system="Be brief.") as chat:
            await prepared(chat)
            before = store.waited
            await VERBS[verb](chat)
            waited = store.waited - before
        rounds.cancel()
        return waited

    assert asyncio.run(run())


def test_a_store_that_cannot_be_reached_says_so_when_the_session_is_entered() -> None:
    async def run() -> None:
        async with fanfold.aopen("run", window=900, store="postgresql://127.0.0.1:1/none?connect_timeout=2"):
            raise AssertionError("nobody is there")

    with pytest.raises(fanfold.StoreFailed, match="cannot be reached"):
        asyncio.run(run())


@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("listen", "answer")])
def test_with_a_store_at_hand_a_verb_is_done_without_a_turn_of_the_loop(verb: str) -> None:
    async def run() -> None:
        chat = opened(Memory())
        await prepared(chat)
        with pytest.raises(StopIteration):
            VERBS[verb](chat).__await__().send(None)  # type: ignore[attr-defined]

    asyncio.run(run())


def test_blobs_in_object_storage_are_waited_for_beside_the_loop(tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    assert SQLite(tmp_path / "a.db", blobs="memory:///").remote
    assert not SQLite(tmp_path / "b.db").remote
    assert not SQLite(tmp_path / "c.db", blobs=tmp_path / "blobs").remote


def test_a_unit_of_work_that_was_given_up_is_done_and_the_next_comes_after_it() -> None:
    async def run() -> list[str]:
        store = FarAway()
        rounds = asyncio.ensure_future(store.come_round())
        async with opened(store) as chat:
            rounds.cancel()  # whoever writes now waits
            store.waits.clear()
            given_up = asyncio.ensure_future(chat.say("given up"))
            while not store.waits.is_set():
                await asyncio.sleep(0.001)
            given_up.cancel()
            rounds = asyncio.ensure_future(store.come_round())
            await chat.say("said")
            said = [message.text for message in (await chat.view()).messages]
        rounds.cancel()
        return said

    assert asyncio.run(run()) == ["given up", "said"]
