"""Peers: a process is asked what it would send, and scored by the rules of a replay. The peer here is the example."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from bench.peers import measuring
from bench.peers.__main__ import main
from bench.peers.bars import told
from bench.peers.driver import Answer, Line, PeerPlayer, in_chat
from bench.peers.environments import ROOT, needs, peers, policies
from bench.peers.measuring import Job, Named, measured, score
from bench.peers.table import dearer, interval, table, yardstick
from fanfold.replay import Played, Recall, Score, Trace, Trail, traces
from fanfold.replay.trail.kept import Share
from fanfold.testing import called, replied, returned, said

ORDER = "a81f2c9d-1111-4222-8333-abcdefabcdef"
WINDOW = 2_000
EXAMPLE = [sys.executable, "-m", "bench.peers.example"]


def talk(steps: int = 30) -> list[dict[str, Any]]:
    """An order number in the first output; it is used in the last call only."""
    messages = [said("Look through the shop.")]
    for step in range(steps):
        messages.append(replied(f"Step {step}.", called(f"c{step}", "find", json.dumps({"page": step}))))
        messages.append(returned(f"c{step}", f"order {ORDER}" if not step else "nothing here " * 60))
    return [*messages, replied("There.", called("last", "cancel", json.dumps({"order": ORDER})))]


def recorded(folder: Path, body: Any) -> Trace:
    """A conversation in a file, read as a trace."""
    path = folder / "talk.json"
    path.write_text(json.dumps(body))
    (trace,) = traces([path])
    return in_chat(trace)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """The conversation."""
    return recorded(tmp_path, talk())


@pytest.fixture
def line() -> Iterator[Line]:
    """The example's process."""
    line = Line(EXAMPLE, ROOT, {**os.environ, "PYTHONPATH": str(ROOT / "src")})
    yield line
    line.close()


def test_a_peer_is_asked_before_every_call_and_names_messages_by_their_number(
    trace: Trace, line: Line
) -> None:
    answers = list(line.answers("newest", trace, WINDOW))
    assert len(answers) == len(trace.calls) == 31
    assert [answer.shows for answer in answers[:2]] == [(0,), (0, 1, 2)]
    last = answers[-1]
    assert last.shows[0] == 0
    assert last.shows[1]["content"].startswith("The work so far")  # type: ignore[index]
    assert last.shows[-1] == 60
    assert sum(answer.asked for answer in answers) >= 2
    assert all(answer.seconds > 0 for answer in answers)


def test_a_peer_is_scored_as_a_policy_is(trace: Trace, line: Line) -> None:
    played = score(
        Named("example", "newest"), WINDOW, trace, list(line.answers("newest", trace, WINDOW))
    ).played
    assert played.policy == "example newest"
    assert (played.score.calls, played.score.over) == (31, 0)
    assert played.score.fresh == Recall(needed=1)
    assert [(lost.call, lost.text) for lost in played.lost] == [(30, ORDER)]
    assert played.score.begun_kept == 31
    assert played.score.asking > 1_700 * played.score.asked > 0
    assert played.tight.calls < 31


def test_a_peer_that_gives_up_has_sent_nothing_that_fits(trace: Trace, line: Line) -> None:
    done = score(Named("example", "never"), WINDOW, trace, list(line.answers("never", trace, WINDOW)))
    assert len(done.failed) == done.played.score.over > 10
    assert done.failed[0] == "ValueError: too long"


def shows(trace: Trace, *shows: Any, holds: dict[str, int] | None = None) -> PeerPlayer:
    """A peer that shows this at the first call."""
    return PeerPlayer(trace, WINDOW, [Answer(shows, 0.0, holds=holds or {})])


def test_a_broken_pair_is_a_fault_of_the_peer_unless_it_was_recorded_so(tmp_path: Path, trace: Trace) -> None:
    assert shows(trace, 0, 1, 2).show(3).faults == 0
    assert shows(trace, 0, 2).show(3).faults == 1
    assert shows(trace, 0, 1).show(3).faults == 1
    orphaned = recorded(tmp_path, [*talk(2)[:1], *talk(2)[2:]])
    assert shows(orphaned, 0, 1).show(2).faults == 0


def test_what_a_peer_holds_is_one_call_away_while_its_request_says_so(trace: Trace) -> None:
    player = shows(trace, 0, {"role": "user", "content": "see stash_2"}, holds={"stash_2": 2})
    assert player.near(ORDER, player.show(3))
    silent = shows(trace, 0, holds={"stash_2": 2})
    assert not silent.near(ORDER, silent.show(3))


def test_a_word_inside_another_brings_nothing_back(trace: Trace) -> None:
    player = shows(trace, 0, {"role": "user", "content": "see x1_call_2_0"}, holds={"call_2_0": 2})
    assert not player.near(ORDER, player.show(3))


def test_a_trace_of_another_dialect_is_given_in_chat(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "find", "input": {"page": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "nothing"}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Nothing there."},
    ]
    body = {"model": "claude-opus-4-5", "max_tokens": 99, "system": "Be brief.", "messages": messages}
    trace = recorded(tmp_path, body)
    assert trace.model == "gpt-5.2"
    assert [message["role"] for message in trace.bodies] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [call.before for call in trace.calls] == [1, 3]


def test_what_was_measured_is_remembered(
    tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "CACHE", tmp_path)
    monkeypatch.setattr(measuring, "_asking", lambda peer: "v1")
    monkeypatch.setattr(measuring, "command", lambda peer: EXAMPLE)
    jobs = [
        Job(Named("fanfold", "default"), WINDOW, (trace,)),
        Job(Named("example", "newest"), WINDOW, (trace,)),
    ]
    first = list(measured(jobs, 1))
    monkeypatch.setattr(measuring, "command", lambda peer: ["/does/not/exist"])
    assert msgspec.json.encode(list(measured(jobs, 1))) == msgspec.json.encode(first)
    assert [one.played.policy for one in first] == ["fanfold default", "example newest"]


def test_what_was_measured_is_measured_again_when_the_conversation_or_the_rules_change(
    tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "CACHE", tmp_path)
    tool = {"type": "function", "function": {"name": "f", "description": "Be brief. " * 300}}

    def windows(trace: Trace) -> tuple[int, ...]:
        (one,) = measured([Job(Named("fanfold", "drop_oldest"), 32_000, (trace,))], 1)
        return one.played.windows

    def other(**changed: Any) -> Trace:
        return msgspec.structs.replace(trace, **changed)

    plain = windows(trace)
    assert windows(other(frame={"tools": [tool]}))[0] > plain[0] + 600
    assert windows(other(model="claude-opus-4-5")) != plain
    assert len(list(tmp_path.rglob("*.json.gz"))) == 3
    times = tuple(msgspec.structs.replace(call, time=1.0) for call in trace.calls)
    for one in (other(calls=times), other(name="other")):
        windows(one)
    assert len(list(tmp_path.rglob("*.json.gz"))) == 5
    monkeypatch.setattr(measuring, "_version", lambda place: "v2")
    assert windows(trace) == plain
    assert len(list(tmp_path.rglob("*.json.gz"))) == 6


def test_the_version_of_a_folder_is_that_of_all_that_is_in_it(tmp_path: Path) -> None:
    def version() -> str:
        measuring._version.cache_clear()
        return measuring._version(tmp_path)

    (tmp_path / "code.py").write_text("1")
    first = version()
    (tmp_path / "prompt.md").write_text("Sum up.")
    second = version()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "code.pyc").write_bytes(b"1")
    assert first != second == version()


def test_peers_answers_are_kept_though_the_rules_change(
    tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "CACHE", tmp_path)
    monkeypatch.setattr(measuring, "_asking", lambda peer: "v1")
    monkeypatch.setattr(measuring, "command", lambda peer: EXAMPLE)
    job = Job(Named("example", "newest"), WINDOW, (trace,))
    first = list(measured([job], 1))
    monkeypatch.setattr(measuring, "_scoring", lambda: "v2")
    monkeypatch.setattr(measuring, "command", lambda peer: ["/does/not/exist"])
    (again,) = measured([job], 1)
    assert again.played.windows == first[0].played.windows
    assert len(list(tmp_path.rglob("*.json.gz"))) == 2


@pytest.mark.parametrize(
    ("peers", "told"),
    [
        ("langchian", "There is no peer 'langchian'. Did you mean 'langchain'?"),
        ("langchain:trim", "There is no policy of langchain 'trim'. Did you mean 'trim_messages'?"),
    ],
)
def test_a_peer_that_is_misspelled_is_refused_before_anything_runs(
    tmp_path: Path, peers: str, told: str
) -> None:
    done = CliRunner().invoke(main, [str(tmp_path), "--peers", peers])
    assert done.exit_code == 2
    assert told in done.output


def played(policy: str, cost: int, over: int = 0, seen: int = 5) -> Played:
    """A policy's score on a conversation of ten calls."""
    fresh = Recall(needed=10, visible=seen)
    score = Score(calls=10, prompt=cost, over=over, fresh=fresh)
    return Played("talk", policy, score, score, ())


def test_the_yardstick_is_the_cheapest_peer_that_keeps_the_window() -> None:
    def best(*some: Played) -> str | None:
        return yardstick({one.policy: one.score for one in some}, "fanfold")

    own = played("fanfold default", 10)
    assert best(own, played("a x", 30), played("b y", 20), played("c z", 10, over=2)) == "b y"
    assert best(own, played("a x", 30, over=5), played("c z", 40, over=2)) == "c z"
    assert best(own) is None


def test_the_table_compares_with_the_yardstick() -> None:
    some = [played("fanfold default", 1_000_000, seen=8), played("a x", 2_000_000), played("b y", 4_000_000)]
    head, own, best, _ = table(some, "fanfold")
    assert (own[0], best[0]) == ("fanfold default", "a x (yardstick)")
    assert dict(zip(head, own, strict=True)) | {"/ yardstick": "0.50", "difference": "+30.0"} == dict(
        zip(head, own, strict=True)
    )


def test_the_table_says_which_bars_hold() -> None:
    def scored(policy: str, **figures: Any) -> Played:
        score = Score(calls=100, **figures)
        return Played("talk", policy, score, score, ())

    peer = scored("a x", prompt=1_000_000, fresh=Recall(100, 50), loose=Recall(10, 6))
    own = scored(
        "fanfold default", prompt=1_010_000, resent=60_600, fresh=Recall(100, 92, 7), loose=Recall(10, 6), faults=1,
        begun=10, begun_kept=10, rules_stated=10, rules_kept=9, outputs=200, whole=198, newest=50, newest_whole=47,
        trail=Trail({"plan": Share(2, 1.98), "said": Share(1, 0.74)}), false=1,
    )  # fmt: skip
    assert list(told([own, peer], "fanfold", 32_000)) == [
        "fanfold default: 7 of 14 bars hold at 32,000 tokens",
        "  MISSED  trail, mean of kinds, %: 86.5 ≥ 92",
        "  MISSED  trail, the kind that is kept least, %: 74 ≥ 75",
        "  MISSED  cost / yardstick's: 1.01 ≤ 1",
        "  holds   needed names in view, %: 92 ≥ 92",
        "  holds   code words in view, %: 60 ≥ 60",
        "  holds   in view or one call away, %: 99 ≥ 99",
        "  holds   last five results whole, %: 94 ≥ 94",
        "  holds   first request kept, %: 100 ≥ 100",
        "  MISSED  users' rules in view, %: 90 ≥ 100",
        "  holds   outputs shown whole on arrival, %: 99 ≥ 99",
        "  MISSED  re-sent because of edits, % of tokens: 6 ≤ 5",
        "  holds   requests over the window: 0 ≤ 0",
        "  MISSED  rules of the provider broken: 1 ≤ 0",
        "  MISSED  false statements of outcome: 1 ≤ 0",
    ]
    assert "  MISSED  cost / yardstick's: 1.01 ≤ 0.95" in list(told([own, peer], "fanfold", 100_000))
    assert not [line for line in told([own], "fanfold", 32_000) if "yardstick" in line]


def test_an_interval_is_as_wide_as_the_conversations_differ() -> None:
    others = [played("b", 100)] * 8
    assert interval([played("a", 50)] * 8, others, dearer) == (0.5, 0.5)
    low, high = interval([played("a", 50)] * 4 + [played("a", 150)] * 4, others, dearer)
    assert 0.5 < low < 1.0 < high < 1.5


def test_every_peer_says_which_packages_it_needs_to_the_version() -> None:
    assert len(peers()) == 9
    for path in peers().values():
        source = path.read_text(encoding="utf-8")
        wanted = needs(source)
        assert wanted is not None
        assert all("==" in package for package in wanted.packages)
        assert policies(source)
    assert needs('"""No head."""') is None


def test_the_page_names_the_versions_that_are_measured() -> None:
    page = " ".join((ROOT / "docs" / "replay.md").read_text(encoding="utf-8").split())
    wanted = [needs(path.read_text(encoding="utf-8")) for path in peers().values()]
    named = [package.replace("==", " ") for one in wanted if one for package in one.packages]
    assert [name for name in named if name not in page] == []
