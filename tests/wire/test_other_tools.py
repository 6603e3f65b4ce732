"""Tools told in one dialect are offered in another: a stored session goes on elsewhere, reopened or forked."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fanfold
from fanfold import Session
from fanfold.core.edit import RECALL
from fanfold.testing.provider import Provider
from fanfold.testing.provider.wire import Wire, spelled

from .loops import TASK, opening, provided, script
from .sdks import ABOUT, NAMES, SCHEMA, Sdk, ask
from .test_conversion import each_pair, steps


@contextmanager
def reopened(one: type[Sdk], other: type[Sdk], path: Path, **more: Any) -> Iterator[Session]:
    """A session begun with one provider and stored, opened again for another; nothing is told anew."""
    store, wide = f"sqlite:{path / 'talk.db'}", {"window": 30_000}
    with (
        provided(one, script(2)) as provider,
        fanfold.open("talk", store=store, **opening(one, **more) | wide) as chat,
    ):
        chat.say(TASK)
        steps(one(provider), chat, 2)
    with fanfold.open("talk", model=other.model, dialect=other.dialect, store=store, **more, **wide) as chat:
        yield chat


def offered(body: Wire) -> dict[str, tuple[str, Wire]]:
    """The functions in a request, by name, with description and schema, whatever is around them."""
    found = {}
    for tool in body["tools"]:
        for told in spelled(tool, "functionDeclarations") or [tool.get("function", tool)]:
            schema = (
                told.get("parameters") or told.get("input_schema") or spelled(told, "parametersJsonSchema")
            )
            found[told["name"]] = (told["description"], schema)
    return found


@each_pair
def test_a_stored_session_offers_its_tools_in_another_dialect(
    one: type[Sdk], other: type[Sdk], tmp_path: Path
) -> None:
    with reopened(one, other, tmp_path, recall=False) as chat, Provider(script(1)) as provider:
        steps(other(provider), chat, 1)
        assert ask(other(provider), chat).text == "Found it."
    assert [each.reason for each in provider.rejected] == []
    for request in provider.requests:
        assert offered(request.body) == dict.fromkeys(NAMES, (ABOUT, SCHEMA))


@each_pair
def test_the_recall_tools_go_along(one: type[Sdk], other: type[Sdk], tmp_path: Path) -> None:
    with reopened(one, other, tmp_path, recall=True) as chat, Provider(script(1)) as provider:
        steps(other(provider), chat, 1)
    assert [each.reason for each in provider.rejected] == []
    assert offered(provider.requests[0].body).keys() == {*NAMES, *RECALL}


@each_pair
def test_a_fork_goes_on_with_another_provider(one: type[Sdk], other: type[Sdk]) -> None:
    told = opening(one, window=30_000, recall=False)
    with provided(one, script(2)) as provider, fanfold.open("here", **told) as here:
        here.say(TASK)
        steps(one(provider), here, 2)
        there = here.fork("there", model=other.model, dialect=other.dialect, window=30_000)
        with Provider(script(1)) as elsewhere:
            steps(other(elsewhere), there, 1)
        assert [each.reason for each in elsewhere.rejected] == []
        assert offered(elsewhere.requests[0].body) == dict.fromkeys(NAMES, (ABOUT, SCHEMA))
        steps(one(provider), here, 1)
        assert provider.rejected == []


@each_pair
def test_a_session_that_comes_home_sends_its_tools_as_they_came(
    one: type[Sdk], other: type[Sdk], tmp_path: Path
) -> None:
    with reopened(one, other, tmp_path, recall=False) as away:
        away.request(max_tokens=other.reply, **other.params)
        home = away.fork("home", model=one.model, dialect=one.dialect)
        request = home.request(max_tokens=one.reply, **one.params)
    sent = request["config"]["tools"] if one.dialect == "gemini" else request["tools"]
    unmarked = [{key: value for key, value in tool.items() if key != "cache_control"} for tool in sent]
    assert unmarked == list(one.tools)
