"""F16: the second summary forgets the first, or summaries pile up."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.core.message import text_of
from fanfold.strategies import digest, summarize
from fanfold.strategies.handover.layers import MOST
from fanfold.testing import FakeModel

from .naive import Body, chatter, compacted, loop, tokens


def test_the_naive_summaries_forget_or_pile_up() -> None:
    def tail_only(messages: list[Body]) -> str:
        return f"They read {len(messages)} messages."

    history = compacted([*loop(10, first="Ticket HAT-123."), *loop(10)], tail_only)
    history = compacted([*history, *loop(10)], tail_only)
    assert "HAT-123" not in str(history)

    def everything(messages: list[Body]) -> str:
        return "Summary: " + " ".join(str(message["content"]) for message in messages)

    first = compacted(loop(20), everything)
    fifth = first
    for _ in range(4):
        fifth = compacted([*fifth, *loop(20)], everything)
    assert tokens(fifth) > tokens(first) * 4


def copying(question: fanfold.Ask) -> str:
    """A summariser that repeats all it reads."""
    return "\n".join(text_of(message) for message in question.messages)


@pytest.mark.parametrize("strategy", [summarize(keep_first=False), digest(keep_first=False)])
@pytest.mark.parametrize("model", [copying, "They read files."])
def test_each_takes_the_last_one_in_and_none_grows(strategy: object, model: object) -> None:
    sizes = []
    with fanfold.open(
        "run", window=4_000, strategy=strategy, summarizer=FakeModel(model), filters=()
    ) as chat:  # type: ignore[arg-type]
        chat.say("Ticket HAT-123. Never close it.")
        for _ in range(8):
            for body in loop(12):
                chat.add(body)
            chat.compact(force=True)
            chat.add({"role": "assistant", "content": "On."})
            folds = [row for row in chat.view().rows if row.kind == "fold"]
            assert 1 <= len(folds) <= MOST, "layers, but few"
            sizes.append(sum(fold.tokens for fold in folds))
            assert any("HAT-123. Never close it." in fold.messages[0].text for fold in folds)
        assert max(sizes) <= chat._state.terms.budget.goal


def test_the_last_summary_is_part_of_the_next_question() -> None:
    model = FakeModel("First summary, of tulips.", "Second summary.")
    with fanfold.open("run", window=8_000, summarizer=model, filters=()) as chat:
        chat.merge(loop(20))
        chat.compact(force=True)
        for body in chatter(20):
            chat.add(body)
        chat.compact(force=True)
        assert any("of tulips" in text_of(message) for message in model.asked[1].messages)
