"""How filters work together, and what becomes of an output at which one fails: it is kept, whatever a filter does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import fanfold
from fanfold import Hooks
from fanfold.config.events import FilterFailed
from fanfold.outputs.filters import clip, prune
from fanfold.testing import called, replied, returned

LONG = "a line\n" * 20_000
HUGE = "a line\n" * 400_000


def failing(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
    raise KeyError("lines")


def counting(text: str, tool: str, arguments: Mapping[str, Any]) -> Any:
    return len(text)


def asked(filters: list[Any], told: list[Any]) -> fanfold.Session:
    """A session in which a tool was called."""
    chat = fanfold.open("run", window=400_000, filters=filters, hooks=Hooks(on_event=told.append))
    chat.say("go")
    chat.add(replied(None, called("c1", "cat")))
    return chat


@pytest.mark.parametrize(
    ("one", "error"),
    [
        (failing, "KeyError: 'lines'"),
        (counting, "BadInput: it returns a text or None, not int"),
    ],
)
@pytest.mark.parametrize("output", ["two\nlines", LONG, HUGE])
def test_an_output_at_which_a_filter_fails_is_kept_and_the_failure_is_told(
    one: Any, error: str, output: str
) -> None:
    told: list[Any] = []
    with asked([one, clip()], told) as chat:
        entry = chat.answer("c1", output)
        assert chat.output("o1").text() == output
        assert told == [FilterFailed("o1", "cat", one.__name__, error)]
        failure = f"the filter {one.__name__} failed: {error.partition(':')[0]}"
        assert failure in [line.strip() for line in str(chat.why(entry.id)).splitlines()]


def test_the_other_filters_go_on_and_the_reason_names_the_one_that_failed() -> None:
    with asked([failing, clip()], []) as chat:
        entry = chat.answer("c1", LONG)
        (decision,) = chat.why(entry.id).edits
        assert decision.why == "clip; failing failed: KeyError"
        assert "ref=o1" in chat.view().messages[-1].results[0].text


def test_a_re_sent_output_at_which_a_filter_fails_is_kept_too() -> None:
    told: list[Any] = []
    with asked([failing], told) as chat:
        chat.add(returned("c1", "two\nlines"))
        assert chat.view().messages[-1].results[0].text == "two\nlines"
        assert [event.name for event in told] == ["failing"]


@pytest.mark.parametrize("depth", [99, 100, 101, 250, 400, 500, 900, 5_000])
@pytest.mark.parametrize("tree", [("[", "]"), ('{"children": [', "]}"), ('{"a": ', "}")])
def test_a_tree_of_any_depth_is_kept_and_no_filter_fails_at_it(depth: int, tree: tuple[str, str]) -> None:
    told: list[Any] = []
    text = tree[0] * depth + "1" + tree[1] * depth
    with asked([prune(tools=["cat"]), clip()], told) as chat:
        chat.answer("c1", text)
        assert chat.output("o1").text() == text
        assert told == []
