"""F4: a forced reduction frees nothing and reports success."""

from __future__ import annotations

import fanfold
from fanfold import Budget, Fold, View
from fanfold.plan import Plan

from .naive import chatter, tokens


def test_the_naive_manager_hides_what_was_hidden_and_is_proud_of_it() -> None:
    history = [{**body, "hidden": number < 10} for number, body in enumerate(chatter(10))]

    def force() -> str:
        for body in history[: len(history) // 2]:
            body["hidden"] = True
        return "success"

    before = tokens([body for body in history if not body["hidden"]])
    assert force() == "success"
    assert tokens([body for body in history if not body["hidden"]]) == before


def idle(view: View, budget: Budget) -> Plan:
    yield Fold(view.offered[0].covers, "longer than before, " * 50)


def test_fanfold_reports_success_only_with_fewer_tokens() -> None:
    with fanfold.open("run", window=50_000, strategy=idle, passes=()) as chat:
        chat.merge(chatter(10))
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.saved, outcome.decisions) == ("refused-larger", 0, ())


def test_force_means_force_though_the_window_is_nearly_empty() -> None:
    with fanfold.open("run", window=50_000, passes=()) as chat:
        chat.merge(chatter(10))
        first = chat.compact(force=True)
        assert (first.status, first.saved > 0) == ("reduced", True)
        assert chat.view().tokens == first.after
