"""Tools that wait, in four dialects, against a scripted provider that knows the rules of native deferral."""

from itertools import pairwise
from typing import Any

import pytest

import fanfold
from fanfold.testing.provider import Provider
from fanfold.testing.provider.cache import chain
from fanfold.testing.provider.paths import APIS
from fanfold.testing.provider.tokens import quarter

from .deferring import KINDS, Agent, names_of
from .sdks import Chat, Sdk, ask

each = pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])


def prefixes(agent: Agent, requests: list[Any]) -> list[bool]:
    """Whether each prompt begins with the one before it, as the provider reads them."""
    api = next(api for api in APIS.values() if api.__name__.endswith(agent.kind.api))
    found = [chain(api.blocks(request.body, quarter)) for request in requests]
    return [two[: len(one)] == one for one, two in pairwise(found)]


@each
@pytest.mark.parametrize(
    "count", [pytest.param(10, marks=pytest.mark.slow), 94, pytest.param(400, marks=pytest.mark.slow)]
)
def test_an_agent_finds_and_calls_its_tools_and_nothing_is_refused(kind: type[Sdk], count: int) -> None:
    agent = Agent(kind, count, seed=count)
    provider = agent.run()
    assert provider.rejected == []
    assert len(provider.requests) == 3 * len(agent.wanted) + 1


@each
def test_a_prompt_changes_its_beginning_only_where_a_tool_is_loaded_and_natively_never(
    kind: type[Sdk],
) -> None:
    agent = Agent(kind, 94, seed=7, by_name=True)
    requests = list(agent.run().requests)
    grown = prefixes(agent, requests)
    same = [names_of(one.body) == names_of(two.body) for one, two in pairwise(requests)]
    assert grown == same if not agent.native else all(grown)
    assert sum(same) >= len(same) - len(agent.wanted)


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        pytest.param(
            kind,
            strategy,
            id=f"{kind.__name__}-{strategy}",
            marks=() if (at + nth) % 2 == 0 else pytest.mark.slow,
        )
        for at, kind in enumerate(KINDS)
        for nth, strategy in enumerate(("auto", "elide"))
    ],
)
def test_nothing_is_refused_where_reductions_hide_searches_and_calls(kind: type[Sdk], strategy: str) -> None:
    agent = Agent(kind, 94, seed=5, window=16_000, strategy=strategy, filters=())
    sizes: list[int] = []
    agent.told["hooks"] = fanfold.Hooks(after_edit=lambda outcome: sizes.append(outcome.after))
    provider = agent.run(output="It worked. " * 400)
    assert provider.rejected == []
    assert len(provider.requests) == 3 * len(agent.wanted) + 1
    assert sizes


@each
def test_what_is_called_was_offered(kind: type[Sdk]) -> None:
    agent = Agent(kind, 94, seed=3)
    for at, request in enumerate(agent.run().requests):
        which, phase = divmod(at, 3)
        if phase == 0 or which >= len(agent.wanted):
            continue
        name = agent.wanted[which].name
        assert name in names_of(request.body) or name in str(
            request.body.get("messages", request.body.get("input"))
        )


def test_a_tool_that_came_is_named_as_what_broke_the_cache() -> None:
    agent = Agent(Chat, 94, seed=7, by_name=True)
    with Provider(agent.script, window=200_000, cache_minimum=256) as provider:
        sdk = agent.kind(provider)
        with fanfold.open("run", **agent.told) as chat:
            chat.say("Do what is to be done. " * 100)
            ask(sdk, chat, stream=False)
            ask(sdk, chat, stream=False)
            use, billed = chat.cache(), provider.requests[-1]
    assert use.broken is not None
    assert (use.broken.cause, use.broken.by, use.broken.where) == ("tools", "model", agent.wanted[0].name)
    assert use.read == billed.cached
