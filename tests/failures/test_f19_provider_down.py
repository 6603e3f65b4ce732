"""F19: the provider is down, and the manager raises or collapses the context."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import Outcome
from fanfold.asking import Breaker, Careful, OpenAI
from fanfold.testing.provider import Fail, Provider, Turn

from .naive import Body, compacted, loop


def down(messages: list[Body]) -> str:
    raise ConnectionError("503")


def test_the_naive_manager_raises() -> None:
    with pytest.raises(ConnectionError):
        compacted(loop(20), down)


def test_the_naive_manager_collapses_the_context() -> None:
    def quiet(messages: list[Body]) -> str:
        try:
            return down(messages)
        except ConnectionError:
            return ""

    assert "Never push." not in str(compacted(loop(20), quiet))


def test_fanfold_falls_back_and_asks_again_at_the_next_natural_point() -> None:
    told: list[Outcome] = []
    good = Turn("<summary>They read files; nothing found yet.</summary>")
    hours = [0.0]
    with Provider(lambda request: Fail.server_error() if hours[0] < 1 else good) as provider:
        model = OpenAI("light", base_url=provider.openai_base_url, api_key="any")
        asked = Careful(
            model, retries=1, pause=0.0, breaker=Breaker(2, 900.0, clock=lambda: hours[0] * 3_600)
        )
        with fanfold.open("run", window=3_000, summarizer=asked, on_edit=told.append, filters=()) as chat:
            for number, body in enumerate(loop(240)):
                hours[0] = number / 300
                chat.add(body)
                if body["role"] != "assistant":
                    chat.request()
            assert "Never push." in "".join(message.text for message in chat.view().messages)
    kinds = [outcome.strategy for outcome in told if outcome.status == "reduced"]
    assert kinds[0] == "auto"
    assert kinds[-1] == "story"
    assert any("is not asked for now" in str(outcome.error) for outcome in told)
