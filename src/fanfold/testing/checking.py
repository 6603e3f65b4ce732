"""What the checks of `fanfold.testing` have in common: an AssertionError with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Broken(Exception):
    """A source broke off."""


def must_raise(error: type[Exception], work: Callable[[], object]) -> None:
    """An error must be raised, and is."""
    try:
        work()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised where it must be.")


def gives_nothing(work: Callable[[], Sequence[object]]) -> bool:
    """Whether somebody who has no right to it gets nothing, or is refused."""
    try:
        return not work()
    except Exception:  # a store may say so in its own words
        return True


def sure(true: bool, sentence: str) -> None:
    """Something must be true, and is."""
    if not true:
        raise AssertionError(sentence)
