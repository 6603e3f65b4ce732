"""What every strategy promises, whoever is asked: pairs stay whole, the view shrinks, the first request stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import fanfold
from fanfold import Budget, Session
from fanfold.core.message import text_of
from fanfold.strategies.handover.layers import MOST
from fanfold.strategies.handover.seal import unsealed
from fanfold.strategies.native import native
from fanfold.testing import FakeModel, called, check_strategy, replied, returned, said
from laws import grammar
from strategies.kinds import (
    GOAL,
    NATIVE,
    RULE,
    STRATEGIES,
    provider_item,
    provider_steps,
    steps,
    summary,
    turns,
)

every = pytest.mark.parametrize("name", STRATEGIES)
shapes = pytest.mark.parametrize("shape", [steps, turns], ids=["one loop", "turns"])
Shape = Callable[[int, int], Iterator[Any]]
ROUNDS = 60
OLD = "It is an old parser and nobody knows it well. " * 30


@every
def test_a_strategy_passes_the_check_for_strategies(name: str) -> None:
    check_strategy(STRATEGIES[name], summarizer=FakeModel(summary))


@cache
def run(
    name: str, shape: Shape, window: int = 3_000, *, recall: bool = False
) -> tuple[Session, FakeModel, list[int]]:
    """A long conversation through one session, made once; gives back the tokens of every request, too."""
    model = FakeModel(summary)
    chat = fanfold.open(
        "run", window=window, strategy=STRATEGIES[name], summarizer=model, filters=(), recall=recall
    )
    sizes = []
    chat.add(said(GOAL))
    for number in range(ROUNDS):
        for body in shape(number, 1):
            chat.add(body)
        request = chat.request()
        assert grammar.faults(request) == []
        sizes.append(chat.view().tokens)
    return chat, model, sizes


@every
@shapes
def test_over_many_rounds_everything_fits_and_little_is_asked(name: str, shape: Shape) -> None:
    chat, model, sizes = run(name, shape)
    assert max(sizes) <= chat._state.terms.budget.room
    reductions = len({d.at for d in chat._state.log.decisions.values() if d.why != "mend"})
    assert 0 < reductions <= ROUNDS // 2, "it reduces all the time, or never"
    assert model.calls <= 2 * reductions, "a question takes two pieces at most here"
    text = "\n".join(text_of(message) for message in chat.view().messages)
    assert "Mend the parser in src/parse/lexer.py" in text
    assert RULE in text


@pytest.mark.parametrize(
    "name", [name for name in STRATEGIES if name.startswith(("auto", "digest", "summ", "roll"))]
)
@shapes
@pytest.mark.parametrize("recall", [False, True], ids=["by heart", "with recall tools"])
def test_a_summary_takes_the_one_before_in_and_does_not_grow(name: str, shape: Shape, recall: bool) -> None:
    chat, _, _ = run(name, shape, 4_000 if recall else 3_000, recall=recall)
    folds = [row for row in chat.view().rows if row.kind == "fold"]
    named = recall and name != "rolling"
    made = sum(d.why == folds[0].reason for d in chat._state.log.decisions.values())
    assert made >= 3
    assert len(folds) <= (MOST if name.startswith(("auto", "digest")) else 1), "summaries pile up"
    assert sum(row.tokens for row in folds) <= chat._state.terms.budget.goal
    assert unsealed(folds[0]) is not None, "its own mark does not hold"
    assert all(("; ref=m" in row.messages[0].text) is named for row in folds), (
        "whoever can look up is told where"
    )


@every
def test_both_kinds_of_session_decide_alike(name: str) -> None:
    bodies = [said(GOAL), *turns(0, 8)]
    budget = Budget(window=2_000)

    async def later() -> Any:
        model = FakeModel(summary)
        async with fanfold.aopen(
            "run", budget=budget, strategy=STRATEGIES[name], summarizer=model.later, filters=()
        ) as chat:
            await chat.merge(bodies)
            await chat.compact(force=True)
            await chat.settle()
            return (await chat.view()).messages

    with fanfold.open(
        "run", budget=budget, strategy=STRATEGIES[name], summarizer=FakeModel(summary), filters=()
    ) as chat:
        chat.merge(bodies)
        chat.compact(force=True)
        chat.settle()
        assert chat.view().messages == asyncio.run(later())


@every
def test_a_long_first_request_is_kept_in_words(name: str) -> None:
    """No strategy loses what was asked first, though it is too long to stay in place."""
    goal = f"{GOAL.splitlines()[0]}\n{OLD}\n{RULE}\n{OLD}"
    with fanfold.open(
        "run", window=3_000, strategy=STRATEGIES[name], summarizer=FakeModel(summary), filters=()
    ) as chat:
        chat.add(said(goal))
        for number in range(40):
            for body in steps(number, 1):
                chat.add(body)
            chat.request()
        text = "\n".join(text_of(message) for message in chat.view().messages)
        assert "Mend the parser in src/parse/lexer.py" in text
        assert RULE in text


@every
def test_a_long_first_request_is_kept_in_words_beside_pinned_lines(name: str) -> None:
    goal, pin = f"{GOAL.splitlines()[0]}\n{OLD}\n{RULE}\n{OLD}", "The key is in slot 7."
    with fanfold.open(
        "run", window=3_000, strategy=STRATEGIES[name], summarizer=FakeModel(summary), filters=()
    ) as chat:
        chat.add(said(goal))
        chat.add(replied(f"I found it.\n{pin}"))
        chat.pin(pin)
        for number in range(40):
            for body in turns(number, 1):
                chat.add(body)
            chat.request()
        text = "\n".join(text_of(message) for message in chat.view().messages)
        assert "Mend the parser in src/parse/lexer.py" in text
        assert RULE in text
        assert pin in text


@every
def test_the_first_request_is_quoted_where_a_new_output_fills_the_window(name: str) -> None:
    with fanfold.open(
        "run", window=3_000, strategy=STRATEGIES[name], summarizer=FakeModel(summary), filters=()
    ) as chat:
        chat.add(said(GOAL))
        for body in turns(0, 4):
            chat.add(body)
        chat.request()
        chat.add(replied("", called("huge", "read", path="all")))
        chat.add(returned("huge", "line of words " * 3_000))
        chat.request()
        text = "\n".join(text_of(message) for message in chat.view().messages)
        assert "Mend the parser in src/parse/lexer.py" in text
        assert "line of words" in text


@pytest.mark.parametrize("goal", [GOAL, f"{GOAL}\n{OLD}"], ids=["a short request", "a long request"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai.responses"])
@pytest.mark.parametrize("name", NATIVE)
def test_behind_an_item_of_the_provider_the_first_request_and_the_newest_item_stay(
    name: str, dialect: str, goal: str
) -> None:
    with fanfold.open(
        "run",
        window=4_000,
        dialect=dialect,
        strategy=[native(), NATIVE[name]],
        summarizer=FakeModel(summary),
        filters=(),
    ) as chat:
        for number, seal in enumerate(["b25l", "dHdv", "dGhyZWU="]):
            chat.say("Go on." if number else goal)
            for body in (*provider_steps(dialect, 100 * number, 3), *provider_item(dialect, seal)):
                chat.add(body)
            chat.say("And then?")
            for step in range(30):
                for body in provider_steps(dialect, 100 * number + 10 + step, 1):
                    chat.add(body)
                wire = str(chat.request(max_tokens=200))
                assert "Mend the parser in src/parse/lexer.py" in wire
                assert RULE in wire
                assert seal in wire
        assert wire.count("compaction") == 1, "items pile up"
        assert chat.view().fits(chat._state.terms.budget)
