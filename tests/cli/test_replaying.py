"""fanfold replay."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Run, talk


def test_policies_are_compared(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    ran = run(
        "replay",
        "talk.json",
        "--policy",
        "none,window",
        "--window",
        "1k",
        "--html",
        "page.html",
        "--workers",
        "1",
    )
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["policy", "none", "window"]
    assert "<svg" in (tmp_path / "page.html").read_text()
    figures = json.loads(run("replay", "t*.json", "--policy", "window", "--json", "--workers", "1").out)
    assert figures["policies"]["window"]["calls"] == 2


def test_what_cannot_be_replayed_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()[:1]))
    assert "There is no model call in these files." in run("replay", "talk.json").err
    assert "There is no policy 'magic'" in run("replay", "talk.json", "--policy", "magic").err
    assert run("replay", "none.json").code == 2
    assert "no file fits this pattern" in run("replay", "*.yaml").err
    assert "There is no engine 'rays'" in run("replay", "talk.json", "--engine", "rays").err


def test_cached_prompts_expire_by_the_recorded_times(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    ran = run("replay", "talk.json", "--policy", "none", "--cache-ttl", "5m", "--workers", "1")
    assert ran.out.splitlines()[-2:] == [
        "Cached prompts expire after 5m: 0 of 2 calls came too late.",
        "No time was recorded around 1 of 2 calls: nothing expires before these.",
    ]
    assert (
        "'soon' is no time; write 300, 90s, 5m or 1h."
        in run("replay", "talk.json", "--cache-ttl", "soon").err
    )
