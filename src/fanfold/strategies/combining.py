"""Strategies made from strategies. A list of them is tried in order; these choose."""

from __future__ import annotations

from collections.abc import Callable

from fanfold.core.budget import Budget
from fanfold.core.plan import Plan, Strategy, name_of, run
from fanfold.core.view import View


def either(*strategies: Strategy) -> Strategy:
    """The first strategy that changes anything."""

    def first_of(view: View, budget: Budget) -> Plan:
        for strategy in strategies:
            after = yield from run(strategy, view, budget)
            if after.tokens < view.tokens:
                return

    first_of.__name__ = "either(" + ", ".join(map(name_of, strategies)) + ")"
    return first_of


def when(test: Callable[[View, Budget], bool], strategy: Strategy) -> Strategy:
    """The strategy, on views that pass a test."""

    def conditional(view: View, budget: Budget) -> Plan:
        if test(view, budget):
            yield from run(strategy, view, budget)

    conditional.__name__ = name_of(strategy)
    return conditional
