"""F21: overruns by a few tokens, because messages are counted one by one and not the whole request."""

from __future__ import annotations

import openai
import pytest

import fanfold
from fanfold.testing.provider import Provider

from .naive import chatter, connected, tokens

TOOLS = [
    {
        "type": "function",
        "function": {"name": "read", "description": "Reads. " * 20, "parameters": {"type": "object"}},
    }
]


def test_the_naive_sum_is_below_the_window_and_the_request_is_not() -> None:
    history = chatter(200, words=6)
    window = tokens(history) + 1
    with Provider(window=window) as provider:
        client = connected(provider)
        with pytest.raises(openai.BadRequestError):
            client.create(model="gpt-4o", messages=history, tools=TOOLS)


@pytest.mark.parametrize("window", range(1_000, 1_020, 3))
def test_the_whole_request_is_counted(window: int) -> None:
    """The provider here counts characters over four, and so does the session; frame and tools are in both counts."""
    with Provider(window=window) as provider:
        client = connected(provider)
        with fanfold.open("run", window=window, tools=TOOLS, filters=()) as chat:
            for body in chatter(60, words=20):
                chat.add(body)
                if body["role"] == "user":
                    request = {"model": "gpt-4o", **chat.request(max_tokens=100)}
                    client.create(**request)
        assert provider.rejected == []
