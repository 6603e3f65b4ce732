"""fanfold's rules and the scripted provider's were written apart: what one accepts, the other does not refuse."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_bodies import talk

import fanfold
from fanfold.dialects.dialect import bare_row, decode
from fanfold.dialects.registry import dialect_named
from fanfold.testing.provider import Provider

JUDGE = Provider([], foreign_signatures=True)
APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
MODELS = {
    "openai.chat": ("gpt-4o", "gpt-5.2"),
    "openai.responses": ("gpt-5.2",),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-4-8", "claude-3-haiku-20240307"),
    "gemini": ("gemini-2.5-pro", "gemini-3-pro-preview"),
}
THINKING: tuple[dict[str, Any], ...] = (
    {},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"thinking": {"type": "adaptive"}},
)
PAIRS = [(one, other) for one in APIS for other in APIS]


def terms(dialect: str, random: Random) -> dict[str, Any]:
    """A model and parameters of a dialect."""
    model = {"model": random.choice(MODELS[dialect])}
    if dialect == "openai.responses":
        return {**model, "store": random.random() < 0.5}
    return {**model, "max_tokens": 2048, **random.choice(THINKING)} if dialect == "anthropic" else model


@pytest.mark.parametrize("name", APIS)
@given(seed=st.integers(0, 2**32))
def test_a_request_is_refused_by_both_or_by_neither(name: str, seed: int) -> None:
    random = Random(seed)
    params, messages = terms(name, random), talk(name, random)
    dialect = dialect_named(name, params["model"])
    transcript: Any = {"contents" if name == "gemini" else "messages": messages}
    frame, read, _ = decode(dialect, messages if name == "openai.responses" else transcript)
    allowed = dialect.allow([bare_row(dialect, message, at) for at, message in enumerate(read)], params)
    ours = dialect.check(allowed.rows, allowed.params)
    request = dialect.encode(frame, allowed.rows, allowed.params)
    theirs = JUDGE.check(APIS[name], request, model=params["model"])
    assert bool(ours) == (theirs is not None), (ours, theirs, request)


@pytest.mark.parametrize(("dialect", "to"), PAIRS)
@given(seed=st.integers(0, 2**32))
def test_whatever_came_is_sent_legally(dialect: str, to: str, seed: int) -> None:
    random = Random(seed)
    messages, params = talk(dialect, random), terms(to, random)
    model = params.pop("model")
    with fanfold.open("run", model=random.choice(MODELS[dialect]), dialect=dialect, window=20_000) as chat:
        given_ = copy.deepcopy(messages)
        chat.merge(messages)
        assert messages == given_
        with chat.fork("other", dialect=to, model=model) as other:
            request = other.request(**params)
            assert JUDGE.check(APIS[to], request, model=model) is None
            assert other.request(**params) == request
