"""F18: a failed summary is marked as processed, and the span is never summarised."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.testing import FakeModel

from .naive import Body, chatter


class Marking:
    """Sums up twenty messages at a time, and notes how far it came before it knows."""

    def __init__(self) -> None:
        self.done = 0
        self.summed: list[Body] = []

    def sum_up(self, history: list[Body], *, line: bool) -> None:
        span = history[self.done : self.done + 20]
        self.done += 20
        if not line:
            raise ConnectionError("no line")
        self.summed += span


def test_the_naive_manager_moves_its_mark_first() -> None:
    history, naive = chatter(40), Marking()
    with pytest.raises(ConnectionError):
        naive.sum_up(history, line=False)
    for _ in range(3):
        naive.sum_up(history, line=True)
    assert history[0] not in naive.summed, "the first span is summed up by nobody"


def test_a_failed_reduction_records_no_edit_and_the_span_is_asked_for_again() -> None:
    model = FakeModel(ConnectionError("no line"), "They talked.")
    with fanfold.open(
        "run", window=2_500, strategy="summarize", summarizer=model, summarizer_window=100_000, filters=()
    ) as chat:
        chat.merge(chatter(30))
        outcome = chat.compact()
        assert (outcome.status, outcome.decisions) == ("failed", ())
        assert not any(row.why for row in chat.view().rows)
        assert chat.compact().status == "reduced"
        assert model.asked[0].messages == model.asked[1].messages
