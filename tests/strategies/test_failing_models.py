"""A summariser that fails in every way: the session still fits, and says what happened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import fanfold
from fanfold import Hooks, Message, Outcome
from fanfold.asking import Breaker, Careful, Completion
from fanfold.core.message import text_of
from fanfold.strategies import rolling, summarize
from fanfold.testing import said
from laws import grammar
from strategies.kinds import GOAL, RULE, steps

NEVER = threading.Event()


def raises() -> str:
    raise ConnectionError("no line")


def hangs() -> str:
    NEVER.wait(10)
    return "too late"


WAYS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "raises": (raises, "ConnectionError: no line"),
    "hangs": (hangs, "no answer within"),
    "empty": (lambda: "", "the answer was empty"),
    "blank": (lambda: " \n\t", "the answer was empty"),
    "empty tags": (lambda: "<summary> </summary><state_snapshot></state_snapshot>", "the summary was empty"),
    "no text": (lambda: 7, "not with int"),
    "garbage": (lambda: "\x00\ufffd<!doctype html><title>502</title>" * 9, None),
    "huge": (lambda: "word " * 60_000, None),
    "wrong tags": (lambda: "<retain>x</retain><summery>They work.</summery", None),
    "only a scratchpad": (lambda: "<scratchpad>hm", "the summary was empty"),
    "only thinking": (lambda: "<think>They work on the parser.</think>\n", "the summary was empty"),
    "only signs": (lambda: "```\n---\n```", "the summary was empty"),
    "refuses in words": (lambda: "I'm sorry, but I can't help with that.", "the model refused"),
    "refuses after long thoughts": (
        lambda: f"<think>{'hm ' * 200}</think>I'm sorry, I can't.",
        "the model refused",
    ),
    "refuses after thoughts that nothing opens": (
        lambda: f"{'hm ' * 200}</think>I'm sorry, I can't.",
        "the model refused",
    ),
    "refuses": (lambda: Completion("No.", stop="content_filter"), "the model refused"),
    "cut off": (lambda: Completion("They wor", stop="length"), "the answer was cut off"),
}


class Failing:
    """A model that fails in one way, always."""

    name = "failing"

    def __init__(self, do: Callable[[], Any]) -> None:
        self.do = do

    def complete(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> Any:
        return self.do()


@pytest.mark.parametrize(
    "strategy", [summarize(), summarize(style="snapshot"), rolling(threshold=3, turns=2)]
)
@pytest.mark.parametrize("way", WAYS)
def test_the_session_still_fits_and_says_what_happened(way: str, strategy: Any) -> None:
    do, says = WAYS[way]
    told: list[Outcome] = []
    limit = 0.02 if do is hangs else 60
    model = Careful(Failing(do), timeout=limit, retries=0, pause=0.0, breaker=Breaker(1_000))
    hooks = Hooks(after_edit=told.append)
    with fanfold.open(
        "run", window=2_000, strategy=strategy, summarizer=model, hooks=hooks, filters=()
    ) as chat:
        chat.add(said(GOAL))
        for number in range(24):
            for body in steps(number, 1):
                chat.add(body)
            request = chat.request()
            assert grammar.faults(request) == []
            assert chat.view().tokens <= chat._state.terms.budget.room
        text = "\n".join(text_of(message) for message in chat.view().messages)
        assert "Mend the parser" in text
        assert RULE in text
    assert any(outcome.status == "reduced" for outcome in told)
    if says is not None:
        assert says in " ".join(str(outcome.error) for outcome in told)
        assert {outcome.strategy for outcome in told if outcome.status == "reduced"} == {"digest_oldest"}
