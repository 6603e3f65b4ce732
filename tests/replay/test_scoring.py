"""How requests are scored, worked out by hand: the policy here shows what the test says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fanfold.replay import (
    Cache,
    Recall,
    Score,
    Shown,
    Trace,
    Trail,
    play,
    replay,
    rows,
    running,
    traces,
    trail_rows,
)  # fmt: skip
from fanfold.replay.needs import FEW, First, needs
from fanfold.replay.trail.kept import Share
from fanfold.testing import called, picture, replied, returned, said

URL = "https://shop.example/list?x=1&y=22"
FIRST = "Look through the shop.\nNever refund more than 10 dollars."


def recorded(folder: Path, messages: Sequence[Any]) -> Trace:
    """A conversation in a file, read as a trace."""
    path = folder / "talk.json"
    path.write_text(json.dumps(messages))
    (trace,) = traces([path])
    return trace


def talk() -> list[Any]:
    """Three calls of the model."""
    step = [
        replied("", called("c0", "find", "{}")),
        returned("c0", "one hat"),
        replied("", called("c1", "find", "{}")),
    ]
    return [said(FIRST), *step, returned("c1", "two hats"), replied("Done.")]


class Scripted:
    """A policy that shows these texts, call by call."""

    def __init__(self, *shows: str) -> None:
        self.shows = iter(shows)

    def show(self, count: int) -> Shown:
        """The next."""
        text = next(self.shows)
        return Shown((text.encode(),), (10,), (text,))

    def near(self, text: str, shown: Shown) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """Nothing is left to do."""


def scored(trace: Trace, *shows: str, window: int = 1_000) -> Score:
    """What a policy gets that shows this."""
    return play(trace, "scripted", window, lambda trace, window: Scripted(*shows)).score


def test_an_output_is_whole_if_the_first_request_behind_it_shows_all_of_it(tmp_path: Path) -> None:
    trace = recorded(tmp_path, talk())
    score = scored(trace, FIRST, f"{FIRST} one hat", f"{FIRST} one hat two ha…")
    assert (score.outputs, score.whole) == (2, 1)
    late = scored(trace, FIRST, FIRST, f"{FIRST} one hat two hats")
    assert (late.outputs, late.whole) == (2, 1)
    assert scored(trace, "", "", "", window=9).outputs == 0  # a fifth of that window is less than either


def test_of_the_last_five_results_those_count_that_were_whole_when_they_arrived(tmp_path: Path) -> None:
    trace = recorded(tmp_path, talk())
    score = scored(trace, FIRST, f"{FIRST} one hat", f"{FIRST} two hats")
    assert (score.newest, score.newest_whole) == (3, 2)  # the first result is gone at the last request
    never = scored(trace, FIRST, FIRST, f"{FIRST} one hat two hats")
    assert (never.newest, never.newest_whole) == (1, 1)
    many = [
        one
        for i in range(7)
        for one in (replied("", called(f"d{i}", "f", "{}")), returned(f"d{i}", f"hat {i};"))
    ]
    seven = recorded(tmp_path, [said(FIRST), *many, replied("Done.")])
    everything = "".join(f"hat {i};" for i in range(7))
    assert scored(seven, *[everything] * 8).newest == 0 + 1 + 2 + 3 + 4 + 5 + 5 + 5


def test_the_trail_counts_where_a_request_had_to_be_reduced(tmp_path: Path) -> None:
    trace = recorded(tmp_path, talk())
    assert scored(trace, FIRST, FIRST, "").trail == Trail()
    tight = scored(trace, FIRST, FIRST, "", window=10)
    assert tight.trail.share("person's words") == pytest.approx(2 / 3)


def test_a_rule_counts_in_every_request_after_it_was_stated(tmp_path: Path) -> None:
    rule, other = "Never refund more than 10 dollars.", "Always be polite."
    trace = recorded(tmp_path, [*talk(), said(f"Go on.\n{other}"), replied("On it.")])
    score = scored(trace, rule, "Never refund.", rule, f"{rule} {other}")
    assert (score.rules_stated, score.rules_kept) == (5, 4)
    assert scored(trace, "", "", "", "", window=50).rules_stated == 0  # they take more than a tenth of it


def test_the_first_request_stands_there_or_not(tmp_path: Path) -> None:
    trace = recorded(tmp_path, talk())
    score = scored(trace, FIRST, "Look through the shop.", f"- {FIRST}")
    assert (score.begun, score.begun_kept) == (3, 2)
    long = recorded(tmp_path, [said("Look through the shop. " * 100), *talk()[1:]])
    cut = scored(long, "Look through the shop. " * 9, "Look through the shop.", "", window=500)
    assert (cut.begun, cut.begun_kept) == (3, 1)  # it is recognised by its beginning


def test_the_first_request_counts_from_when_it_was_made(tmp_path: Path) -> None:
    shown = {"role": "user", "content": [picture()]}
    trace = recorded(tmp_path, [shown, replied("Nice."), said("Now fix it."), replied("Done.")])
    score = scored(trace, "", "Now fix it.")
    assert (score.begun, score.begun_kept) == (1, 1)


@pytest.mark.parametrize("ampersand", ["&", "\\u0026"])
def test_it_does_not_matter_how_a_program_writes_its_json(tmp_path: Path, ampersand: str) -> None:
    raw = json.dumps({"url": URL}).replace("&", ampersand)
    steps = [[replied("", called(f"c{i}", "get", raw)), returned(f"c{i}", "ok")] for i in range(3)]
    trace = recorded(tmp_path, [said(f"Read {URL}"), *(message for step in steps for message in step)])
    wanted = [[(need.text, need.fresh) for need in some if not need.loose] for some in needs(trace)]
    assert wanted == [[(URL, True)], [(URL, False)], [(URL, False)]]


def test_words_are_found_inside_others_however_many_they_are() -> None:
    words = {"header_1", "header_12", "parse_header_1", "nowhere_1"}
    for more in (0, FEW):
        first = First([*words, *(f"other_{number}" for number in range(more))])
        first.look("header_2 [parse_header_12]", 3)
        first.look("header_1", 7)
        before = {word: [first.before(word, number) for number in (3, 4)] for word in words}
        assert before == {word: [False, word != "nowhere_1"] for word in words}


def test_what_replies_needed_is_looked_for_once_however_many_policies_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def counted(trace: Trace) -> Any:
        looked.append(trace.name)
        return needs(trace)

    monkeypatch.setattr(running, "needs", counted)
    recorded(tmp_path, talk())
    assert len(replay([tmp_path / "talk.json"], ["none", "drop_oldest", "digest"], workers=1)) == 3
    assert len(looked) == 1


def dollars(tokens: int, model: str) -> float:
    """The price of one request of so many tokens."""
    score = Score()
    score.take(Shown((b"a",), (tokens,), ("",)), None, Cache(least=1_024), model)
    return score.dollars


def test_what_is_too_short_to_be_cached_is_not_written_to_the_cache() -> None:
    assert dollars(1_023, "claude-opus-4-5") == pytest.approx(1_023 * 5.00 / 1e6)
    assert dollars(1_024, "claude-opus-4-5") == pytest.approx(1_024 * 6.25 / 1e6)
    assert dollars(1_024, "gpt-4o") == pytest.approx(1_024 * 2.50 / 1e6)  # nothing is charged for writing


def test_the_table_shows_every_figure_in_its_place() -> None:
    score = Score(
        calls=4, prompt=2_000_000, cached=500_000, resent=100_000, peak=9_000, over=1, faults=2, asked=3, seconds=0.5,
        all=Recall(10, 9), fresh=Recall(8, 6, 1), loose=Recall(5, 1), begun=4, begun_kept=3, rules_stated=8,
        rules_kept=7, outputs=5, whole=2, newest=8, newest_whole=6, dollars=1.234, false=5,
        trail=Trail({"plan": Share(2, 1.0), "said": Share(1, 1.0)}),
    )  # fmt: skip
    head, row, nothing = rows({"mine": score, "idle": Score()})
    assert dict(zip(head, row, strict=True)) == {
        "policy": "mine", "calls": "4", "M tokens": "2.00", "tokens/call": "500,000", "cached": "25.0%",
        "cost M": "1.93", "$": "1.23", "re-sent": "5.0%", "peak": "9,000", "over": "1", "400": "2", "asked": "3",
        "trail": "75%", "false": "5", "names in view": "90.0%", "needed names in view": "75.0%",
        "one call away": "87.5%", "code words in view": "20.0%", "first request kept": "75.0%", "rules": "87.5%",
        "shown whole": "40.0%", "last five whole": "75.0%", "ms/call": "125.0",
    }  # fmt: skip
    assert nothing[14:22] == ("–",) * 8  # nothing was needed: to keep all of nothing says nothing
    assert (nothing[7], nothing[12], nothing[22]) == ("0.0%", "–", "0.0")


def test_the_trail_has_a_table_of_its_own() -> None:
    kept = Trail({"plan": Share(2, 1.0), "said": Share(1, 1.0)})
    head, row, nothing = trail_rows({"mine": Score(trail=kept), "idle": Score()})
    shown = dict(zip(head, row, strict=True))
    assert {what: share for what, share in shown.items() if share != "–"} == {
        "policy": "mine", "plan": "50%", "said": "100%", "mean": "75%",
    }  # fmt: skip
    assert set(nothing[1:]) == {"–"}
    assert trail_rows({"idle": Score()}) == []
