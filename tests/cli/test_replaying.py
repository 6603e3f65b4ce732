"""fanfold replay."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from conftest import Run, talk
from fanfold.cli import saying
from fanfold.replay import Played, Score, remarks
from fanfold.replay.report import HEAD, rows
from fanfold.testing import called, replied, returned, said
from fanfold.testing import talk as grown


def test_policies_are_compared(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    ran = run(
        "replay",
        "talk.json",
        "--policy",
        "none,drop_oldest",
        "--window",
        "1k",
        "--html",
        "page.html",
        "--workers",
        "1",
    )
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["policy", "none", "drop_oldest"]
    assert "<svg" in (tmp_path / "page.html").read_text()
    apart = ("--policy", "none", "--policy", "drop_oldest")
    figures = json.loads(run("replay", "t*.json", *apart, "--json", "--workers", "1").out)
    assert list(figures["policies"]) == ["none", "drop_oldest"]
    assert figures["policies"]["drop_oldest"]["calls"] == 2


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


def test_what_fails_is_named_and_counted_and_the_rest_is_scored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    (tmp_path / "cut.json").write_text(json.dumps(talk())[:-9])
    both = ("replay", ".", "--policy", "drop_oldest", "--workers", "1")
    ran = run(*both, "--html", "page.html")
    remark = "1 file or conversation could not be replayed, and is not counted."
    assert (ran.code, ran.out.splitlines()[-1]) == (1, remark)
    assert ran.err.startswith("fanfold: cut.json: line 1, column ")
    assert remark in (tmp_path / "page.html").read_text()
    told = json.loads(run(*both, "--json").out)
    assert (told["failed"][0]["source"], told["policies"]["drop_oldest"]["calls"]) == ("cut.json", 2)
    assert run("replay", "cut.json").err.splitlines()[-1] == "fanfold: Nothing could be replayed."
    assert run("replay", "cut.json").code == 2


def test_what_is_no_text_is_shown_as_such(run: Run, tmp_path: Path) -> None:
    order = "a81f2c9d-1111-4222-8333-abcdefabcdef"
    messages = [said("Look."), replied("", called("c", "find", "{}")), returned("c", f"\ud83d {order}")]
    for step in range(30):
        messages += [
            replied("", called(f"c{step}", "find", "{}")),
            returned(f"c{step}", "nothing here " * 60),
        ]
    messages.append(replied("", called("last", "cancel", json.dumps({"order": order}))))
    (tmp_path / "cut\udcff.json").write_text(json.dumps(messages))
    ran = run(
        "replay", ".", "--policy", "drop_oldest", "--window", "2k", "--html", "page.html", "--workers", "1"
    )
    assert (ran.code, ran.err) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tool: \ufffd <mark>" in page
    assert "cut\ufffd.json" in page


def test_conversations_of_one_name_are_told_apart(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(talk()))
    ran = run("replay", ".", "--policy", "none", "--workers", "1", "--json", "--html", "page.html")
    names = [one["conversation"] for one in json.loads(ran.out)["conversations"]]
    assert names == ["a/run.json#1", "b/run.json#1"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "2 conversations" in page
    assert all(f"<b>{name}</b>" in page for name in names)


def test_each_file_and_policy_counts_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    (tmp_path / "link.json").symlink_to("talk.json")
    ran = run("replay", ".", "talk.json", "t*.json", "--policy", "none,none", "--workers", "1", "--json")
    assert json.loads(ran.out)["policies"]["none"]["calls"] == 2
    for none in (",", "", " , "):
        ran = run("replay", "talk.json", "--policy", none)
        assert (ran.code, ran.err.startswith("fanfold: No policy was named")) == (2, True)


def test_a_page_does_not_take_the_place_of_a_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    (tmp_path / "link.html").symlink_to("talk.json")
    for traces, html in (("talk.json", "talk.json"), (".", "talk.json"), ("talk.json", "link.html")):
        ran = run("replay", traces, "--policy", "none", "--workers", "1", "--html", html)
        assert (ran.code, ran.err) == (
            2,
            f"fanfold: {html} is one of the traces; write the page to another file.\n",
        )
    assert json.loads((tmp_path / "talk.json").read_text()) == talk()
    for _ in range(2):
        assert run("replay", ".", "--policy", "none", "--workers", "1", "--html", "page.html").code == 0


def test_it_is_said_that_only_tight_calls_are_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    arguments = ("replay", "talk.json", "--policy", "none", "--workers", "1", "--window", "200", "--tight")
    ran = run(*arguments, "--html", "page.html")
    remark = "Only calls whose unreduced request exceeds 85% of the window are counted: 1 of 2."
    assert ran.out.splitlines()[-1] == remark
    assert remark in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_unknown_price_is_a_dash(run: Run, tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    (tmp_path / "plain.json").write_text(json.dumps(talk), encoding="utf-8")
    ran = run("replay", "plain.json", "--window", "8k", "--policy", "none")
    head, row = (line.split("  ") for line in ran.out.splitlines()[:2])
    cells = dict(zip(filter(None, map(str.strip, head)), filter(None, map(str.strip, row)), strict=True))
    assert cells["$"] == "–"


def test_a_page_that_cannot_be_written_is_told_before_the_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("[", encoding="utf-8")
    ran = run("replay", "broken.json", "--html", "nowhere/page.html")
    assert ran.code == 2
    assert "There is no folder nowhere to write the page to." in ran.err


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_table_fits_the_terminal_and_names_what_it_leaves_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    (tmp_path / "plain.json").write_text(json.dumps(talk), encoding="utf-8")
    whole = run("replay", "plain.json", "--window", "8k").out.splitlines()[0]
    monkeypatch.setattr(saying, "terminal_width", lambda: width)
    out = run("replay", "plain.json", "--window", "8k").out
    assert max(map(len, out.splitlines())) <= width
    assert out.startswith("policy")
    told = (
        " ".join(out.splitlines())
        .partition("Left out, because the terminal is narrow: ")[2]
        .partition(". A wider")[0]
        .split(", ")
    )
    shown = [name for name in whole.split("  ") if name.strip() and name.strip() not in told]
    assert told
    assert len(shown) + len(told) == len([name for name in whole.split("  ") if name.strip()])


def test_a_window_in_which_nothing_fits_is_told_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(grown(6, 4)))
    ran = run("replay", "talk.json", "--window", "100", "--workers", "1")
    assert ran.code == 1
    told = ran.out.splitlines()[0]
    assert told.startswith(
        "Nothing fits a window of 100 tokens: all 30 requests of drop_oldest and default are"
    )
    assert re.search(r"the shortest with [\d,]+ tokens\. A window of [\d,]+ would hold the longest\.", told)
    assert told in json.loads(run("replay", "talk.json", "--window", "100", "--json").out)["remarks"]
    assert run("replay", "talk.json", "--window", "100", "--policy", "none").code == 0


def test_requests_that_are_over_though_reduced_are_told() -> None:
    some = Played(
        conversation="a", policy="default", score=Score(calls=31, over=2), tight=Score(), windows=()
    )
    assert remarks([some]) == ["Even reduced, 2 of 31 requests of default would not fit the window."]
    assert remarks([msgspec.structs.replace(some, policy="none")]) == []


def test_columns_without_figures_are_left_out_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(grown(6, 4)))
    monkeypatch.setattr(saying, "terminal_width", lambda: 80)
    out = run("replay", "talk.json", "--window", "700", "--workers", "1").out
    _, trail = out.split("\n\n")
    assert {"person's words", "said", "files read", "mean"} <= set(re.split(r"  +", trail.splitlines()[0]))
    assert "failures" in trail.partition("Left out")[2]


def test_costs_that_differ_are_not_written_alike() -> None:
    one, other = Score(calls=1, prompt=64_000), Score(calls=1, prompt=61_000)
    same = rows({"one": one, "other": other})
    at = HEAD.index("cost M")
    assert [row[at] for row in same[1:]] == ["0.080", "0.076"]
    assert [row[at] for row in rows({"one": one, "two": one})[1:]] == ["0.08", "0.08"]
