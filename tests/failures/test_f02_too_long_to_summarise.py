"""F2: already over the limit, so that the summary request itself does not fit."""

from __future__ import annotations

import openai
import pytest

import fanfold
from fanfold.asking import OpenAI
from fanfold.testing import FakeModel
from fanfold.testing.provider import Provider, Turn

from .naive import connected, loop

SMALL = 1_500
SUMMARY = Turn("<summary>They read files and found nothing.</summary>")


def test_the_naive_summary_request_is_refused() -> None:
    with Provider(SUMMARY, window=SMALL) as provider:
        client = connected(provider)
        whole = str(loop(60))
        with pytest.raises(openai.BadRequestError):
            client.create(model="gpt-5.2", messages=[{"role": "user", "content": whole}])


def test_fanfold_puts_the_question_in_pieces_that_fit() -> None:
    with Provider(SUMMARY, window=SMALL) as provider:
        model = OpenAI("small", base_url=provider.openai_base_url, api_key="any")
        with fanfold.open("run", window=4_000, summarizer=model, summarizer_window=1_000, filters=()) as chat:
            chat.merge(loop(60))
            assert chat.view().tokens > 4_000
            chat.request()
            assert chat.view().rows[1].reason == "story"
        assert provider.rejected == []
        assert len(provider.requests) > 1


def test_a_question_that_would_take_too_many_pieces_is_not_begun() -> None:
    """Nothing is paid for an account that could not be finished."""
    model = FakeModel("They looked.")
    with fanfold.open("run", window=8_000, summarizer=model, summarizer_window=300, filters=()) as chat:
        chat.merge(loop(200))
        outcome = chat.compact()
        assert (outcome.status, outcome.strategy) == ("reduced", "auto")
        assert "pieces" in str(outcome.error)
        assert model.calls == 0
