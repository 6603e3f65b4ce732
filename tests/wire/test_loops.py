"""The official SDKs run long tool loops through a session, in a window that is much too small for them."""

from collections.abc import Mapping
from typing import Any

import pytest

from . import promises
from .loops import run, script, whole_loop
from .sdks import QUICK, WAYS, Anthropic, Chat, Gemini, Responses, Sdk, Way

LENGTHS = (30, pytest.param(200, marks=pytest.mark.slow))
EACH_WAY = [
    pytest.param(way, id=str(way), marks=() if way.stream == way.awaited else pytest.mark.slow)
    for way in WAYS
]
"""Whole replies are read in turn and streams awaited in any case; the other way round, they run the same code."""
EACH_SDK = [*QUICK, pytest.param(Responses, marks=pytest.mark.slow)]
"""That the SDK of Responses converts what it is given is seen below, in a shorter loop."""
SHORTER = (12, pytest.param(200, marks=pytest.mark.slow))


CACHED = {"openai.chat": 0.80, "openai.responses": 0.75, "anthropic": 0.84, "gemini": 0.85}
"""The least share of all prompts that the cache gives in such a small window; docs/caching.md has a larger one."""


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("sdk", EACH_SDK, ids=lambda sdk: sdk.__name__)
def test_a_long_tool_loop_keeps_every_promise(sdk: type[Sdk], way: Way, steps: int) -> None:
    looped = whole_loop(sdk, steps) if way == WAYS[0] else run(sdk, way, script(steps))
    assert len(looped.requests) == steps + 1
    promises.all_but_the_price(looped, edits=steps // 15)
    promises.a_prompt_without_an_edit_is_read_from_the_cache(looped)
    assert looped.cached > CACHED[sdk.dialect]


class Adaptive(Anthropic):
    """A model that thinks where it likes."""

    model = "claude-opus-4-8"
    params: Mapping[str, Any] = {"thinking": {"type": "adaptive"}}


class Bound(Anthropic):
    """A model whose thinking is void once anything before it changed."""

    model = "claude-opus-5-5"
    params: Mapping[str, Any] = {"thinking": {"type": "adaptive"}}


class Unsigned(Gemini):
    """A model that signs nothing."""

    model = "gemini-2.5-pro"


class Plain(Chat):
    """A model that does not reason."""

    model = "gpt-4.1"


OTHERS = (Adaptive, Bound, Unsigned, Plain, Responses)


@pytest.mark.parametrize("steps", SHORTER)
@pytest.mark.parametrize("sdk", OTHERS, ids=lambda sdk: sdk.__name__)
def test_other_models_keep_every_promise(sdk: type[Sdk], steps: int) -> None:
    looped = run(sdk, WAYS[0], script(steps))
    promises.all_but_the_price(looped, edits=steps // 15)


THINKING = {
    "only at first": lambda step: step == 0,
    "now and then": lambda step: step % 4 == 0,
    "never": lambda step: False,
}


@pytest.mark.parametrize("steps", SHORTER)
@pytest.mark.parametrize("thinks", THINKING)
@pytest.mark.parametrize("sdk", QUICK[1:], ids=lambda sdk: sdk.__name__)
def test_a_model_may_think_as_seldom_as_it_likes(sdk: type[Sdk], thinks: str, steps: int) -> None:
    looped = run(sdk, WAYS[0], script(steps, THINKING[thinks]))
    promises.all_but_the_price(looped, edits=steps // 15)


@pytest.mark.parametrize("steps", SHORTER)
@pytest.mark.parametrize("sdk", QUICK, ids=lambda sdk: sdk.__name__)
def test_a_person_may_speak_in_the_middle_of_a_loop(sdk: type[Sdk], steps: int) -> None:
    looped = run(sdk, WAYS[0], script(steps, lambda step: step % 3 == 0), speaks=lambda step: step % 7 == 3)
    promises.all_but_the_price(looped, edits=steps // 15)
