"""A provider forgets a cached prompt that nobody used for a while: told by the times that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanfold.replay import Cache, Score, Shown, remarks, replay, totals, traces
from fanfold.replay.player import SessionPlayer
from fanfold.testing import called, replied, returned, said

MINUTE = 60


def talk(minutes: list[float | None]) -> list[dict[str, Any]]:
    """A request and some steps, each answered so many minutes after the beginning."""
    messages = [said("Look through the shop. " * 300), replied("", called("c0", "find", "{}"))]
    for step, minute in enumerate(minutes):
        message = returned(f"c{step}", "nothing here")
        messages += [message if minute is None else {**message, "timestamp": 1_700_000_000 + minute * MINUTE}]
        messages += [replied("On.", called(f"c{step + 1}", "find", "{}"))]
    return messages


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Steps after one, three, twelve and 73 minutes."""
    path = tmp_path / "talk.json"
    first, *rest = talk([1, 3, 12, 73])
    path.write_text(json.dumps([{**first, "timestamp": 1_700_000_000}, *rest]))
    return path


def test_a_call_is_made_when_what_came_before_it_was_said(file: Path) -> None:
    (trace,) = traces([file])
    assert [(call.time or 0) - 1_700_000_000 for call in trace.calls] == [0, 60, 180, 720, 4_380]


def test_what_nobody_used_for_longer_than_the_ttl_is_sent_uncached(file: Path) -> None:
    def played(ttl: float | None) -> Score:
        return totals(replay([file], ["none"], workers=1, cache_ttl=ttl))["none"]

    always, five, hour = played(None), played(5 * MINUTE), played(60 * MINUTE)
    assert (always.expired, five.expired, hour.expired) == (0, 2, 1)
    assert always.cached > hour.cached > five.cached > 1_024
    assert (always.prompt, always.resent) == (five.prompt, five.resent)
    assert five.untimed == 0


def shown(*blocks: tuple[str, int]) -> Shown:
    """A request of some blocks."""
    return Shown(tuple(key.encode() for key, _ in blocks), tuple(n for _, n in blocks), ("",) * len(blocks))


def cached(since: float | None, ttl: float | None = 300.0) -> int:
    """What is cached of a request that came so many seconds after an equal one."""
    request, score = shown(("system", 2_000)), Score()
    score.take(request, None, Cache(ttl=ttl), None)
    score.take(request, request, Cache(ttl=ttl), None, since)
    return score.cached


def test_the_ttl_itself_is_too_late() -> None:
    assert (cached(299.9), cached(300.0)) == (2_000, 0)
    assert cached(10_000.0, ttl=None) == 2_000


def test_without_times_nothing_expires_and_the_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(talk([None, 2, None, 99])))
    played = replay([path], ["none"], workers=1, cache_ttl=300)
    assert (played[0].score.expired, played[0].score.untimed) == (0, 4)
    assert cached(None) == 2_000
    assert remarks(played, cache_ttl=300) == [
        "Cached prompts expire after 5m: 0 of 5 calls came too late.",
        "No time was recorded around 4 of 5 calls: nothing expires before these.",
    ]
    assert remarks(played) == []


def test_what_is_to_last_longer_than_five_minutes_is_written_at_the_price_of_an_hour() -> None:
    def dollars(ttl: float | None) -> float:
        score = Score()
        score.take(shown(("system", 1_000_000)), None, Cache(ttl=ttl), "claude-opus-4-5")
        return score.dollars

    assert (dollars(None), dollars(300), dollars(3_600)) == (6.25, 6.25, 10.0)


def test_a_session_is_told_what_time_it_was(file: Path) -> None:
    (trace,) = traces([file])
    player = SessionPlayer(trace, 100_000, None)
    for call in trace.calls:
        player.show(call.before)
    times = [sent.time - 1_700_000_000 for sent in player.chat._state.log.sent]
    assert times == [0, 60, 180, 720, 4_380]
