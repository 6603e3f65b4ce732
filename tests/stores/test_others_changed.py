"""Others change a session in which nothing is written just now: the next request is made of what they left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import fanfold
from fanfold.core.errors import DoesNotFit, Moved
from fanfold.stores.sqlite import SQLite
from fanfold.testing import called, replied, response

SECRET = "the password is plover"


def opened(folder: Path, window: int, on_moved: str) -> fanfold.Session:
    store = SQLite(folder / "agent.db")
    return fanfold.open("run", store=store, model="gpt-5.2", window=window, on_moved=on_moved)


@pytest.fixture
def told(tmp_path: Path) -> tuple[fanfold.Session, fanfold.Session]:
    """An agent that sent a secret, and somebody in another process."""
    agent = opened(tmp_path, 100_000, "reapply")
    agent.say(SECRET)
    agent.request(max_tokens=500)
    return agent, opened(tmp_path, 100_000, "reapply")


def test_a_request_that_is_made_again_has_nothing_that_was_erased_meanwhile(
    told: tuple[fanfold.Session, fanfold.Session],
) -> None:
    agent, other = told
    other.erase(other.view().rows[0].id, "leak")
    assert SECRET not in json.dumps(agent.request(max_tokens=500))


def test_a_request_that_is_made_again_is_the_same_where_nobody_else_wrote(
    told: tuple[fanfold.Session, fanfold.Session],
) -> None:
    agent, _ = told
    assert agent.request(max_tokens=500) == agent.request(max_tokens=500)
    assert len(agent.requests()) == 1


def test_who_raises_when_somebody_wrote_first_does_so_for_a_request_that_is_made_again(
    tmp_path: Path,
) -> None:
    agent = opened(tmp_path, 100_000, "raise")
    agent.say(SECRET)
    agent.request(max_tokens=500)
    other = opened(tmp_path, 100_000, "reapply")
    other.erase(other.view().rows[0].id, "leak")
    with pytest.raises(Moved):
        agent.request(max_tokens=500)
    assert SECRET not in json.dumps(agent.request(max_tokens=500))


def stuck(folder: Path) -> tuple[fanfold.Session, fanfold.Session, list[str]]:
    """An agent whose request does not fit, because somebody brought too much back."""
    agent = opened(folder, 12_000, "reapply")
    agent.say("Watch the disk.")
    for step in range(3):
        counted = agent.request(max_tokens=500).sent.tokens
        agent.receive(response(replied("I look.", called(f"c{step}", "look", "{}")), prompt=counted + 3))
        agent.answer(
            f"c{step}", "\n".join(f"row {step} {n} the disk hums and all is well" for n in range(700))
        )
    agent.request(max_tokens=500)
    other = opened(folder, 12_000, "reapply")
    hidden = [one.decision.id for one in other.edits() if one.kind == "elide" and one.fate == "stands"]
    for edit in hidden:
        other.undo(edit)
    agent.say("Go on.")
    with pytest.raises(DoesNotFit):
        agent.request(max_tokens=500)
    return agent, other, hidden


def test_an_agent_that_is_stuck_goes_on_when_somebody_else_released_what_is_too_much(tmp_path: Path) -> None:
    agent, other, hidden = stuck(tmp_path)
    for edit in hidden:
        other.release(edit)
    assert agent.request(max_tokens=500).sent.tokens <= 12_000


def test_what_somebody_else_released_is_seen_after_a_refresh(tmp_path: Path) -> None:
    agent, other, hidden = stuck(tmp_path)
    assert len(agent.view().exempt) == len(hidden)
    for edit in hidden:
        other.release(edit)
    agent.refresh()
    assert not agent.view().exempt


def test_an_awaited_agent_that_is_stuck_goes_on_too(tmp_path: Path) -> None:
    agent, other, hidden = stuck(tmp_path)
    agent.close()

    async def go_on() -> int:
        store = SQLite(tmp_path / "agent.db")
        async with fanfold.aopen(
            "run", store=store, model="gpt-5.2", window=12_000, on_moved="reapply"
        ) as own:
            with pytest.raises(DoesNotFit):
                await own.request(max_tokens=500)
            for edit in hidden:
                other.release(edit)
            return (await own.request(max_tokens=500)).sent.tokens

    assert asyncio.run(go_on()) <= 12_000
