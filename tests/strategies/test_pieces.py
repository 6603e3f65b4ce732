"""Pictures give way when they do not fit: one by one, and no more of them than needed."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import Budget

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5_000}}
IDS = [f"c{number}" for number in range(10)]
CALLS = [{"type": "tool_use", "id": id, "name": "shot", "input": {}} for id in IDS]


def results(*content: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": list(content)} for id in IDS]


def requested(*bodies: dict[str, Any], window: int) -> str:
    budget = Budget(window=window, reserve=0)
    with fanfold.open("run", dialect="anthropic", budget=budget, filters=()) as chat:
        chat.say("Never delete files. Look at the pages.")
        for body in bodies:
            chat.add(body)
        request = str(chat.request(max_tokens=1))
        assert chat.view().tokens <= window
        return request


def cost() -> int:
    """Tokens of a picture."""
    with fanfold.open("run", dialect="anthropic", window=100_000) as chat:
        chat.add({"role": "user", "content": [PICTURE] * 10})
        return chat.view().tokens // 10


def test_of_many_pictures_that_are_new_those_are_seen_that_fit() -> None:
    room = 6 * cost() + 1_200
    shown = requested(
        {"role": "assistant", "content": CALLS}, {"role": "user", "content": results(PICTURE)}, window=room
    )
    assert 5 <= shown.count("'type': 'image'") <= 6
    assert "Never delete files." in shown


def test_of_the_pictures_in_a_request_those_are_seen_that_fit() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Compare them."}, *[PICTURE] * 10]}
    shown = requested({"role": "assistant", "content": "Send them."}, asked, window=6 * cost() + 600)
    assert 5 <= shown.count("'type': 'image'") <= 6
    assert "Compare them." in shown


@pytest.mark.parametrize("words", ["Page one.", "Page one. " * 40])
def test_what_a_result_says_beside_its_picture_stays(words: str) -> None:
    page = results({"type": "text", "text": words}, PICTURE)[:1]
    calls = {"role": "assistant", "content": CALLS[:1]}
    shown = requested(calls, {"role": "user", "content": page}, window=cost())
    assert "'type': 'image'" not in shown
    assert words in shown
