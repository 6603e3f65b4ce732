"""A function as the model to ask: it has a time limit, as a model has, and never runs in the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import fanfold
from fanfold import Answer, Ask
from fanfold.asking import Careful
from fanfold.core.message import user
from fanfold.testing import said
from strategies.kinds import GOAL, steps

QUESTION = Ask((user("a"),), "Sum up.")
LONG_TALK = [said(GOAL), *steps(0, 14)]
SUMMARY = "<summary>They work on it.</summary>"


@pytest.fixture
def hangs() -> Iterator[Callable[[Ask], str]]:
    """A function that gives no answer before the test is over."""
    over = threading.Event()

    def hanging(question: Ask) -> str:
        over.wait(120)
        return "never"

    yield hanging
    over.set()


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit that `open` gives a function, made short."""
    monkeypatch.setitem(Careful.__init__.__kwdefaults__, "timeout", 0.05)


async def compacted(ask: Any) -> Any:
    async with fanfold.aopen("run", window=3_000, summarizer=ask, filters=()) as chat:
        await chat.merge(LONG_TALK)
        return await chat.compact(force=True)


@pytest.mark.usefixtures("short_limit")
def test_a_function_that_hangs_is_not_waited_for(hangs: Callable[[Ask], str]) -> None:
    """(19.18)"""
    began = time.monotonic()
    with fanfold.open("run", window=3_000, summarizer=hangs, filters=()) as chat:
        chat.merge(LONG_TALK)
        assert "hanging: TimeoutError: no answer within 0.05 s" in str(chat.compact(force=True).error)
        assert chat.request()["messages"]
    assert time.monotonic() - began < 60


def test_a_function_that_hangs_holds_up_neither_a_request_nor_the_event_loop(
    hangs: Callable[[Ask], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """(19.18)"""
    monkeypatch.setitem(Careful.__init__.__kwdefaults__, "timeout", 0.5)

    async def run() -> tuple[Any, int]:
        working = asyncio.ensure_future(compacted(hangs))
        turns = 0
        while not working.done():
            turns += 1
            await asyncio.sleep(0.005)
        return await working, turns

    outcome, turns = asyncio.run(run())
    assert "no answer within 0.5 s" in str(outcome.error)
    assert turns >= 3


@pytest.mark.usefixtures("short_limit")
def test_a_coroutine_that_hangs_is_not_waited_for() -> None:
    """(19.18)"""

    async def hanging(question: Ask) -> str:
        await asyncio.sleep(120)
        return "never"

    assert "no answer within 0.05 s" in str(asyncio.run(compacted(hanging)).error)


def test_a_session_waits_two_minutes_for_a_function() -> None:
    assert fanfold.open("run", window=900, summarizer=lambda question: "Yes.")._ask.timeout == 120


class Called:
    async def __call__(self, question: Ask) -> str:
        return SUMMARY


async def coroutine(question: Ask, text: str = SUMMARY) -> str:
    await asyncio.sleep(0)
    return text


@pytest.mark.parametrize(
    "ask",
    [
        lambda question: SUMMARY,
        lambda question: Answer(SUMMARY),
        lambda question: coroutine(question),
        coroutine,
        partial(coroutine, text=SUMMARY),
        Called(),
    ],
    ids=["text", "answer", "gives a coroutine", "is a coroutine", "partial", "object"],
)
def test_an_asynchronous_session_asks_functions_of_every_kind(ask: Any) -> None:
    assert asyncio.run(compacted(ask)).strategy == "story"


def test_a_coroutine_runs_in_the_event_loop_and_a_plain_function_beside_it() -> None:
    """(19.18)"""
    threads: list[int] = []

    def plain(question: Ask) -> str:
        threads.append(threading.get_ident())
        return SUMMARY

    async def awaited(question: Ask) -> str:
        return plain(question)

    asyncio.run(compacted(plain))
    asyncio.run(compacted(awaited))
    assert threads[0] != threading.get_ident() == threads[-1]


@pytest.mark.parametrize("awaited", [False, True])
def test_ctrl_c_in_a_function_reaches_whoever_waits_for_it(awaited: bool) -> None:
    def interrupted(question: Ask) -> str:
        raise KeyboardInterrupt

    careful = Careful(interrupted, timeout=5)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(careful.later(QUESTION)) if awaited else careful(QUESTION)


def test_a_function_that_fails_again_and_again_is_spared_for_a_while() -> None:
    calls: list[Ask] = []

    def fails(question: Ask) -> str:
        calls.append(question)
        raise ConnectionError("no line")

    with fanfold.open("run", window=3_000, summarizer=fails, filters=()) as chat:
        errors = []
        for _ in range(5):
            for body in LONG_TALK:
                chat.add(body)
            errors.append(str(chat.compact(force=True).error))
    assert len(calls) == 3
    assert "fails: ConnectionError: no line" in errors[0]
    assert "fails failed 3 times in a row and is not asked for now" in errors[-1]


def test_a_model_that_requests_while_it_is_asked_is_told_so_and_does_not_wait_for_itself() -> None:
    """The thread in which a model is called is a part of the request that asks it."""
    told: list[str] = []

    class Meddling:
        name = "meddling"

        def complete(self, *question: Any) -> str:
            try:
                chat.request()
            except fanfold.BadInput as error:
                told.append(str(error))
            return SUMMARY

    with fanfold.open("run", window=3_000, summarizer=Careful(Meddling(), timeout=5), filters=()) as chat:
        chat.merge(LONG_TALK)
        assert chat.compact(force=True).strategy == "story"
    assert "is a part of it" in told[0]
