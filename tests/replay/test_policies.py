"""Replay: what a policy cost, kept and lost on a recorded conversation, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanfold.core.errors import BadSetting
from fanfold.core.message import Call, user
from fanfold.replay import Cache, Recall, Score, Shown, play, policy, replay, totals, traces
from fanfold.replay.needs import needs, rules
from fanfold.replay.references import references
from fanfold.testing import called, replied, returned, said

ORDER = "a81f2c9d-1111-4222-8333-abcdefabcdef"


def talk(steps: int = 30) -> list[dict[str, Any]]:
    """An order number in the first output; it is used in the last call only."""
    messages = [said("Look through the shop.\nNever refund more than 10 dollars.")]
    for step in range(steps):
        messages.append(replied(f"Step {step}.", called(f"c{step}", "find", json.dumps({"page": step}))))
        text = f"order {ORDER}" if not step else "nothing here " * 60
        messages.append(returned(f"c{step}", text))
    messages.append(replied("There it was.", called("last", "cancel", json.dumps({"order": ORDER}))))
    return [*messages, returned("last", "done"), replied("Cancelled.")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The conversation in a file."""
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(talk()))
    return path


def test_a_trace_is_cut_into_the_calls_of_its_model(file: Path) -> None:
    (trace,) = traces([file])
    assert len(trace.calls) == 32
    assert [call.before for call in trace.calls[:3]] == [1, 3, 5]


def test_what_a_reply_needed_is_what_stood_there_before(file: Path) -> None:
    (trace,) = traces([file])
    wanted = [[need for need in some if not need.loose] for some in needs(trace)]
    assert [(need.text, need.fresh) for need in wanted[30]] == [(ORDER, True)]
    assert all(not one for i, one in enumerate(wanted) if i != 30)


def test_references_are_values_not_prose() -> None:
    def found(**arguments: Any) -> set[str]:
        return references(Call("c", "t", json.dumps(arguments)))

    assert found(path="src/app/main.py", note="a" * 300) == {"src/app/main.py"}
    assert found(id=12345678, small=123456, to="ana@example.org") == {"12345678", "ana@example.org"}
    assert found(url="https://example.org/a?b=1", hash="9fceb02d", code="HAT-123") == {
        "https://example.org/a?b=1", "9fceb02d", "HAT-123"
    }  # fmt: skip
    assert found(text="two\nlines with 12345678") == set()
    assert references(Call("c", "t", '{"name": "parse_header plainword"}'), loose=True) == {"parse_header"}
    assert references(Call("c", "t", "no json")) == set()


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        (r"C:\Users\ana\report.txt", r"C:\Users\ana\report.txt"),
        (r"edit src\app\main.py now", r"src\app\main.py"),
        ("9FCEB02D", "9FCEB02D"),
        ("cat /home/ana/文書/報告.txt", "/home/ana/文書/報告.txt"),
        ("文書/2024/報告.txt", "文書/2024/報告.txt"),
        ("詳細はsrc/app/main.pyを参照", "src/app/main.py"),
    ],
)
def test_references_are_found_in_every_script_and_system(value: str, reference: str) -> None:
    assert references(Call("c", "t", json.dumps({"value": value}))) == {reference}


def test_rules_are_lines_that_people_state() -> None:
    assert rules(user("Hello there.\nNever touch vendor/.\n必ずテストを実行してください。")) == [
        "Never touch vendor/.",
        "必ずテストを実行してください。",
    ]
    assert rules(user("Just a question?")) == []


def test_with_everything_in_view_nothing_is_lost(file: Path) -> None:
    (played,) = replay([file], ["none"], window=2_000, workers=1)
    assert played.score.fresh == Recall(needed=1, visible=1)
    assert played.score.over > 10
    assert played.score.resent == 0
    assert played.score.share > 0.8
    assert played.lost == ()


def test_a_window_loses_what_a_digest_keeps_in_view(file: Path) -> None:
    found = replay([file], ["drop_oldest", "digest"], window=2_500, workers=2)
    window, digest = (one.score for one in found)
    assert (window.fresh, digest.fresh) == (Recall(needed=1), Recall(needed=1, visible=1))
    (lost,) = found[0].lost
    assert (lost.call, lost.text, lost.user, lost.stood) == (30, ORDER, "cancel", f"tool: order {ORDER}")
    assert digest.rules_kept == digest.rules_stated == 32
    assert all(one.score.over == 0 for one in found)
    assert window.peak <= 2_500


def test_words_of_code_are_counted_beside_identifiers_and_so_is_the_first_request(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    steps = talk()
    steps[2]["content"] += " parse_header"
    steps[-3]["tool_calls"][0]["function"]["arguments"] = json.dumps({"name": "parse_header"})
    path.write_text(json.dumps(steps))
    window, digest = (one.score for one in replay([path], ["drop_oldest", "digest"], window=2_500, workers=1))
    assert (window.loose, window.fresh) == (Recall(needed=1), Recall())
    assert (digest.begun, digest.begun_kept) == (32, 32)
    long = tmp_path / "long.json"
    long.write_text(json.dumps([said("Look through the shop. " * 100), *steps[1:]]))
    (cut,) = replay([long], ["digest"], window=2_500, workers=1)
    assert cut.score.begun_kept == 32


def shown(*blocks: tuple[str, int]) -> Shown:
    """A request of some blocks."""
    return Shown(tuple(key.encode() for key, _ in blocks), tuple(n for _, n in blocks), ("",) * len(blocks))


def test_what_is_cached_is_the_beginning_that_did_not_change() -> None:
    score = Score()
    first = shown(("system", 1_000), ("a", 500), ("b", 300))
    second = shown(("system", 1_000), ("a", 500), ("b", 300), ("c", 100))
    third = shown(("system", 1_000), ("fold", 50), ("b", 300), ("c", 100))
    score.take(first, None, Cache(), None)
    score.take(second, first, Cache(), None)
    assert (score.prompt, score.cached, score.resent) == (3_700, 1_800, 0)
    score.take(third, second, Cache(), "gpt-4o")
    assert (score.cached, score.resent, score.peak) == (1_800, 400, 1_900)
    assert score.cost == 1.25 * (5_150 - 1_800) + 0.1 * 1_800
    assert score.dollars == pytest.approx(1_450 * 2.5 / 1e6)
    score.take(msgspec.structs.replace(third, asked=1, asking=400), third, Cache(), None)
    assert score.cost == 1.25 * (6_600 - 3_250 + 400) + 0.1 * 3_250


def test_scores_add_up(file: Path) -> None:
    (trace,) = traces([file])
    one = play(trace, "drop_oldest", 2_500)
    both = totals([one, one])["drop_oldest"]
    assert (both.calls, both.prompt, both.peak) == (64, 2 * one.score.prompt, one.score.peak)
    assert both.fresh.needed == 2


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(BadSetting, match="There is no policy 'magic'"):
        policy("magic")


def test_thrifty_is_the_default_as_cheap_as_can_be(file: Path) -> None:
    (trace,) = traces([file])
    usual, thrifty = (play(trace, name, 8_000, policy(name)).score for name in ("default", "thrifty"))
    assert thrifty.prompt < usual.prompt
