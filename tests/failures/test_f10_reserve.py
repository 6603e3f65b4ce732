"""F10: the reply's reserve is ignored: input and max_tokens together exceed the window."""

from __future__ import annotations

import openai
import pytest

import fanfold
from fanfold.testing.provider import Provider

from .naive import chatter, connected, tokens

WINDOW, REPLY = 4_000, 1_500


def test_a_naive_history_that_fits_is_refused_with_its_reply() -> None:
    history = chatter(40)
    while tokens(history) > WINDOW * 0.9:
        del history[0]
    with Provider(window=WINDOW) as provider:
        client = connected(provider)
        with pytest.raises(openai.BadRequestError):
            client.create(model="gpt-4o", messages=[*history, *chatter(40)], max_tokens=REPLY)


def test_the_reserve_of_each_request_is_part_of_the_budget() -> None:
    with Provider(window=WINDOW) as provider, fanfold.open("run", window=WINDOW, filters=()) as chat:
        client = connected(provider)
        chat.merge([*chatter(80), {"role": "user", "content": "And?"}])
        for reply in (100, REPLY, 3_000):
            request = chat.request(max_tokens=reply)
            client.create(**{"model": "gpt-4o", **request})
            assert chat.view().tokens + reply <= WINDOW
        assert provider.rejected == []
