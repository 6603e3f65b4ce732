"""F20: cutting "at a user message" drops everything or nothing where the tail is one tool loop."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.strategies import digest, drop_oldest, summarize
from fanfold.testing import FakeModel

from .naive import Body, loop, tokens, verdict


def cut_at_a_user_message(history: list[Body], most: int) -> list[Body]:
    for start, body in enumerate(history):
        if body["role"] == "user" and tokens(history[start:]) <= most:
            return history[start:]
    return []


def test_the_naive_cut_drops_everything() -> None:
    assert cut_at_a_user_message(loop(40), 1_000) == []


@pytest.mark.parametrize("strategy", [drop_oldest(), digest(), summarize(split="turn")])
def test_fanfold_cuts_between_blocks(strategy: object) -> None:
    with fanfold.open(
        "run", window=2_000, strategy=strategy, summarizer=FakeModel("They read."), filters=()
    ) as chat:  # type: ignore[arg-type]
        chat.merge(loop(60))
        request = chat.request()
        assert verdict(request["messages"]) is None
        kept = [row for row in chat.view().rows if row.kind == "entry"]
        assert len(kept) >= 5, "the newest steps are there"
        assert chat.view().tokens <= 1_800
