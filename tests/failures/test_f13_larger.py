"""F13: the result is larger than the input."""

from __future__ import annotations

import fanfold
from fanfold.testing import FakeModel

from .naive import compacted, loop, tokens

BABBLE = "Let me tell you everything once more, in other words. " * 2_000


def test_the_naive_manager_swallows_a_summary_larger_than_what_it_sums_up() -> None:
    history = loop(20)
    assert tokens(compacted(history, lambda _: BABBLE)) > tokens(history)


def test_it_is_refused_or_cut_and_the_view_never_grows() -> None:
    def copying(question: fanfold.Ask) -> str:
        return "\n".join(message.text for message in question.messages) + BABBLE

    for model in (FakeModel(BABBLE), FakeModel(copying)):
        with fanfold.open("run", window=8_000, summarizer=model, filters=()) as chat:
            chat.merge(loop(20))
            before = chat.view()
            outcome = chat.compact(force=True)
            assert outcome.after <= outcome.before
            if outcome.status != "reduced":
                assert chat.view().messages == before.messages


def test_where_it_is_refused_nothing_changes() -> None:
    def larger(view: fanfold.View, budget: fanfold.Budget) -> fanfold.core.plan.Plan:
        text = yield from fanfold.ask(view.messages, "Sum up.")
        yield fanfold.Fold(view.offered[1].covers, text)

    with fanfold.open("run", window=8_000, strategy=larger, summarizer=FakeModel(BABBLE), filters=()) as chat:
        chat.merge(loop(20))
        before = chat.view()
        assert chat.compact(force=True).status == "refused-larger"
        assert chat.view().messages == before.messages
