"""F4: a forced reduction frees nothing and reports success."""

from __future__ import annotations

from functools import partial

import fanfold
from fanfold import Budget, Fold, Hooks, Note, View
from fanfold.config.events import Event, Reduced
from fanfold.core.plan import Outcome, Plan, Strategy

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
    with fanfold.open("run", window=50_000, strategy=idle, filters=()) as chat:
        chat.merge(chatter(10))
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.saved, outcome.decisions) == ("refused-larger", 0, ())


def test_force_means_force_though_the_window_is_nearly_empty() -> None:
    with fanfold.open("run", window=50_000, filters=()) as chat:
        chat.merge(chatter(10))
        first = chat.compact(force=True)
        assert (first.status, first.saved > 0) == ("reduced", True)
        assert chat.view().tokens == first.after


def remember(view: View, budget: Budget) -> Plan:
    yield Note("state", "all is well, " * 60)


def shorten(view: View, budget: Budget) -> Plan:
    yield Fold(view.offered[0].covers, "said")


class Patient:
    """A strategy that notes something in the background."""

    settling: Strategy = staticmethod(remember)

    def __call__(self, view: View, budget: Budget) -> Plan:
        yield from remember(view, budget)

    def settles(self, view: View, budget: Budget) -> bool:
        return True


def test_what_only_noted_something_has_reduced_nothing() -> None:
    events: list[Event] = []
    ended: list[Outcome] = []
    hooks = Hooks(on_event=events.append, after_edit=ended.append)
    with fanfold.open("run", window=50_000, strategy=Patient(), hooks=hooks) as chat:
        chat.merge(chatter(10))
        for reduce in (chat.settle, partial(chat.compact, force=True)):
            outcome = reduce()
            assert outcome is not None
            assert (outcome.status, outcome.saved < 0, len(outcome.decisions)) == ("noop", True, 1)
            assert chat.view().tokens == outcome.after
    assert [outcome.status for outcome in ended] == ["noop", "noop"]
    assert [event.status for event in events if isinstance(event, Reduced)] == ["noop", "noop"]


def test_a_note_that_takes_more_than_another_strategy_saved_is_no_success() -> None:
    with fanfold.open("run", window=50_000, strategy=[remember, shorten], fallback=(), filters=()) as chat:
        chat.merge(chatter(10))
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.saved < 0, len(outcome.decisions)) == ("noop", True, 2)
