"""F11: the reduction rewrites the prefix every turn and destroys the prompt cache."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.testing import called, replied, returned, said
from fanfold.testing.provider import Provider, Turn

from .naive import connected, tokens

STEPS = 60


def step(number: int) -> list[dict[str, Any]]:
    """What happens in one step of the loop."""
    call = replied("On.", called(f"c{number}", "read", path=f"f{number}.py"))
    return [call, returned(f"c{number}", "value token queue " * 40)]


def share(provider: Provider) -> float:
    """The part of all prompts that came from the provider's cache."""
    return sum(each.cached for each in provider.requests) / sum(each.tokens for each in provider.requests)


def naive() -> float:
    history = [said("Go on until you find it. " * 20)]
    with Provider(Turn("On."), window=50_000, cache_minimum=256) as provider:
        client = connected(provider)
        for number in range(STEPS):
            history += step(number)
            while tokens(history) > 4_000:
                del history[1:3]
            client.create(model="gpt-4o", messages=history)
        return share(provider)


def with_fanfold() -> float:
    with Provider(Turn("On."), window=50_000, cache_minimum=256) as provider:
        client = connected(provider)
        with fanfold.open("run", window=6_000, filters=()) as chat:
            chat.say("Go on until you find it. " * 20)
            for number in range(STEPS):
                for body in step(number):
                    chat.add(body)
                client.create(**{"model": "gpt-4o", **chat.request()})
        return share(provider)


def test_a_sliding_cut_costs_the_cache_and_recorded_edits_keep_it() -> None:
    bad, good = naive(), with_fanfold()
    assert bad < 0.6
    assert good > 0.75
