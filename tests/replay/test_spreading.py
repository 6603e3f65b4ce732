"""The same replay in one process, on all cores and on a Ray cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fanfold.core.errors import BadInput, BadSetting, MissingExtra
from fanfold.replay import Played, Score, replay, traces
from fanfold.replay.spreading import AHEAD, spread
from fanfold.testing import called, replied, returned, said

POLICIES = ["none", "drop_oldest", "digest"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Conversations of different lengths."""
    for number in range(4):
        messages = [said(f"Look through shop {number}.")]
        for step in range(5 + 10 * number):
            messages.append(replied(f"Step {step}.", called(f"c{step}", "find", json.dumps({"page": step}))))
            messages.append(returned(f"c{step}", f"order {number}-{step}: " + "nothing here " * 40))
        (tmp_path / f"talk{number}.json").write_text(json.dumps([*messages, replied("Done.")]))
    return tmp_path


def bytes_of(played: list[Played]) -> bytes:
    """Everything but the time that it took."""

    def timeless(score: Score) -> Score:
        return msgspec.structs.replace(score, seconds=0.0)

    return msgspec.json.encode(
        [msgspec.structs.replace(one, score=timeless(one.score), tight=timeless(one.tight)) for one in played]
    )


def test_all_cores_find_what_one_finds_in_the_same_order(folder: Path) -> None:
    one = replay([folder], POLICIES, window=2_500, workers=1)
    assert [played.policy for played in one] == POLICIES * 4
    assert bytes_of(replay([folder], POLICIES, window=2_500, workers=2)) == bytes_of(one)


@pytest.mark.slow
def test_a_ray_cluster_finds_the_same_to_the_bit(folder: Path) -> None:
    ray = pytest.importorskip("ray")
    found = replay([folder], POLICIES, window=2_500, engine="ray")
    assert bytes_of(found) == bytes_of(replay([folder], POLICIES, window=2_500, workers=2))
    assert not ray.is_initialized(), "what was started for it is ended"


@pytest.mark.slow
def test_a_cluster_that_is_there_already_is_used_and_left_alone(folder: Path) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        assert len(replay([folder], ["drop_oldest"], window=2_500, engine="ray", workers=2)) == 4
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_a_missing_ray_is_named_by_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'fanfold\[ray\]'"):
        replay([folder], POLICIES, engine="ray")


def test_an_engine_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(BadSetting, match=r"There is no engine 'rays'.*ray"):
        replay([folder], POLICIES, engine="rays")


def test_only_as_much_work_is_read_as_is_soon_done() -> None:
    read = 0

    def work() -> Iterator[int]:
        nonlocal read
        for number in range(100):
            read += 1
            yield -number

    results = spread(abs, work(), workers=2)
    assert [next(results), next(results)] == [(0, 0), (-1, 1)]
    assert read <= 2 * AHEAD + 1
    assert list(results) == [(-number, number) for number in range(2, 100)]


def test_a_pattern_stands_for_files(folder: Path) -> None:
    names = [trace.name for trace in traces([f"{folder}/talk[12].json", folder / "**" / "talk3*"])]
    assert [name.partition("#")[0] for name in names] == ["talk1.json", "talk2.json", "talk3.json"]
    with pytest.raises(BadInput, match="no file fits this pattern"):
        list(traces([folder / "walk*"]))
