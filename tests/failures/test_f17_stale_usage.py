"""F17: stale usage after a compaction triggers the next one at once; manual and automatic ones run twice."""

from __future__ import annotations

import asyncio

import fanfold
from fanfold import Outcome
from fanfold.testing import FakeModel, replied, response

from .naive import Body, chatter, compacted


def test_the_naive_manager_compacts_twice_on_one_bill() -> None:
    history, last_usage, compactions = chatter(40), 1_900, 0

    def check(history: list[Body]) -> list[Body]:
        nonlocal compactions
        if last_usage < 1_600:
            return history
        compactions += 1
        return compacted(history, lambda _: "They talked.")

    history = check(check(history))
    assert compactions == 2


def test_an_edit_voids_the_bill_so_that_one_reduction_follows_from_it() -> None:
    told: list[Outcome] = []
    with fanfold.open(
        "run", window=4_000, summarizer=FakeModel("They talked."), on_edit=told.append, filters=()
    ) as chat:
        chat.merge(chatter(30))
        chat.request()
        assert told == []
        chat.receive(response(replied("Yes."), prompt=3_590))
        chat.settle()
        chat.settle()
        chat.say("And?")
        chat.request()
        assert [outcome.status for outcome in told] == ["reduced"]


def test_a_manual_and_an_automatic_reduction_at_once_are_one() -> None:
    asked = []

    async def slow(question: fanfold.Ask) -> str:
        asked.append(question)
        await asyncio.sleep(0.01)
        return "They talked."

    async def run() -> None:
        async with fanfold.aopen("run", window=4_000, summarizer=slow, filters=()) as chat:
            await chat.merge(chatter(60))
            await asyncio.gather(chat.compact(), chat.request(), chat.settle())
            folds = [row for row in (await chat.view()).rows if row.kind == "fold"]
            assert len(folds) == 1

    asyncio.run(run())
    assert len({str(question.messages) for question in asked}) == len(asked) <= 2
