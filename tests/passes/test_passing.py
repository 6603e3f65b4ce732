"""How passes work together, and what becomes of a stranger's that does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import fanfold
from fanfold import BadInput
from fanfold.testing import called, replied


def failing(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
    raise KeyError("lines")


def counting(text: str, tool: str, arguments: Mapping[str, Any]) -> Any:
    return len(text)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (failing, "The pass 'failing' failed at 'cat': KeyError: 'lines'."),
        (counting, "The pass 'counting' gives back a text or None, not int."),
    ],
)
def test_a_pass_that_fails_is_named_and_the_call_still_waits(one: Any, said: str) -> None:
    with fanfold.open("run", window=9_000, passes=[one]) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        with pytest.raises(BadInput, match=said):
            chat.answer("c1", "line\n" * 50)
        assert len(chat.view().messages) == 2, "nothing is half recorded"
