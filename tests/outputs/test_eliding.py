"""Elide: what the model has seen shrinks to a placeholder that says what it was (A5)."""

from __future__ import annotations

import json
from hashlib import sha1
from typing import Any

import pytest
from output_builders import give, opened, shown

import fanfold
from fanfold.config.defaults import meter_for
from fanfold.core.message import assistant
from fanfold.strategies.elide import elide
from fanfold.strategies.price import REWRITE
from fanfold.text.excerpt import excerpt


def talk(chat: fanfold.Session, count: int, size: int = 4_000, tool: str = "read") -> None:
    """Some calls, each with its own arguments and an answer of `size` characters that the model has seen."""
    chat.say("go")
    for i in range(count):
        give(chat, f"c{i}", f"output {i} ".ljust(size, "x"), tool, json.dumps({"path": f"f{i}.py"}))
    chat.add(assistant("I have seen it all."))


def elided(chat: fanfold.Session) -> list[str]:
    """The calls whose results are elided."""
    return [row.results[0] for row in chat.view().rows if row.results and row.reason == "elide"]


def test_outputs_above_their_share_are_elided_oldest_first_down_to_half_of_it() -> None:
    chat = opened(filters=[], strategy=elide(keep=1, share=6_000))
    talk(chat, 8)
    chat.request()
    assert elided(chat) == ["c0", "c1", "c2", "c3", "c4", "c5"]


def test_outputs_within_their_share_stay() -> None:
    chat = opened(filters=[], strategy=elide(keep=1, share=9_000))
    talk(chat, 8)
    chat.request()
    assert elided(chat) == []


@pytest.mark.parametrize(("count", "elides"), [(19, False), (21, True)])
def test_a1_the_share_is_a_quarter_of_the_window_but_at_most_60_000(count: int, elides: bool) -> None:
    chat = opened(400_000, filters=[], strategy=elide())
    talk(chat, count, size=12_000)
    chat.request()
    assert bool(elided(chat)) == elides


def test_a_view_above_its_trigger_is_elided_down_to_its_target() -> None:
    chat = opened(10_000, filters=[], strategy=elide(keep=0, share=1_000_000))
    talk(chat, 8)
    chat.request(max_tokens=500)
    assert chat.view().tokens <= 4_000
    assert elided(chat)[0] == "c0"


def test_the_newest_and_exempt_tools_stay() -> None:
    chat = opened(filters=[], strategy=elide(keep=3, share=1_000, exempt=["plan"]))
    chat.say("go")
    give(chat, "p", "p" * 4_000, tool="plan")
    talk(chat, 6)
    chat.request()
    assert elided(chat) == ["c0", "c1", "c2"]


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_the_newest_stay_also_where_there_are_no_more_than_these(count: int) -> None:
    chat = opened(filters=[], strategy=elide(keep=5, share=100))
    talk(chat, count)
    chat.request()
    assert elided(chat) == []


def test_reads_that_were_repeated_go_before_older_ones() -> None:
    chat = opened(filters=[], strategy=elide(keep=1, share=6_900))
    chat.say("go")
    give(chat, "old", "o" * 4_000, arguments='{"path": "a"}')
    give(chat, "stale", "s" * 16_000, arguments='{"path": "b"}')
    give(chat, "newer", "n" * 8_000, arguments='{"path": "b"}')
    chat.add(assistant("seen"))
    chat.request()
    assert elided(chat) == ["stale"]


def test_outputs_whose_text_came_again_from_another_call_go_before_older_ones() -> None:
    chat = opened(filters=[], strategy=elide(keep=1, share=12_900))
    chat.say("go")
    give(chat, "old", "o" * 4_000, "read", '{"path": "a"}')
    give(chat, "same", "s" * 16_000, "read", '{"path": "b"}')
    give(chat, "again", "s" * 16_000, "bash", '{"cmd": "cat b"}')
    give(chat, "newest", "s" * 16_000, "read", '{"path": "./b"}')
    chat.add(assistant("seen"))
    chat.request()
    assert elided(chat) == ["same", "again"]


def test_what_the_model_has_not_seen_is_not_elided() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100))
    chat.say("go")
    give(chat, "c1", "x" * 8_000)
    chat.request()
    assert elided(chat) == []


def test_eliding_waits_until_it_is_worth_it_again() -> None:
    chat = opened(filters=[], strategy=elide(keep=1, share=6_000))
    talk(chat, 8)
    chat.request()
    before = elided(chat)
    give(chat, "next", "z" * 4_000)
    chat.add(assistant("seen"))
    chat.request()
    assert elided(chat) == before


def test_the_placeholder_names_tool_arguments_size_and_the_error() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100))
    chat.say("go")
    text = (
        "collected 12 items\n"
        + "test ok\n" * 500
        + "E  AssertionError: 3 != 4 in tests/test_a.py:17\n1 failed\n"
    )
    give(chat, "c1", text, "pytest", '{"path": "tests"}')
    chat.add(assistant("I see."))
    chat.request()
    placeholder = shown(chat, -2)
    for part in (
        "ref=o1",
        "pytest(tests)",
        "503 lines",
        "AssertionError",
        "tests/test_a.py:17",
        "1 failed",
    ):
        assert part in placeholder
    assert len(placeholder) < 200


def test_a_plain_placeholder_is_the_documents_own() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100, plain=True))
    talk(chat, 1)
    chat.request()
    assert shown(chat, -2) == "[tool output trimmed; ref=o1]"


def test_what_was_elided_is_found_by_its_reference_and_comes_back_by_undo() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100))
    talk(chat, 1)
    chat.request()
    assert chat.output("o1").text().startswith("output 0")
    chat.undo()
    assert shown(chat, -2).startswith("output 0")


def test_nothing_but_outputs_is_touched_and_the_request_stays_legal() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100))
    talk(chat, 5)
    messages = chat.request()["messages"]
    assert [message["role"] for message in messages] == ["user", *["assistant", "tool"] * 5, "assistant"]


@pytest.mark.parametrize(("keep", "share"), [(-1, None), (1, 0)])
def test_settings_that_make_no_sense_are_refused(keep: int, share: float | None) -> None:
    with pytest.raises(fanfold.BadSetting):
        elide(keep=keep, share=share)


@pytest.mark.parametrize(
    "given", [{"rewrite": "x"}, {"keep": "3"}, {"keep": 1.5}, {"share": "half"}, {"exempt": "bash"}]
)
def test_a_setting_of_another_kind_is_refused_by_its_name(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(fanfold.BadSetting, match=rf"not of the right kind: Expected .* at `\$\.{name}`"):
        elide(**given)


def test_an_excerpt_of_json_tells_its_structure() -> None:
    text = json.dumps({"status": "ok", "rows": [{"id": i} for i in range(40)], "next": None})
    assert excerpt(text).startswith("{status: ok, rows: 40 items, next: None}")


def test_an_excerpt_tells_an_error_wherever_it_stands() -> None:
    lines = [f"step {i} ok" for i in range(30_000)]
    lines[12_000] = "ERROR: disk full on /dev/sda1"
    assert "ERROR: disk full on /dev/sda1" in excerpt("\n".join(lines))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("3 errors, 2 warnings generated", True),
        ("20 errors", True),
        ("0 errors, 2 warnings", False),
        ("no errors", False),
    ],
)
def test_an_excerpt_tells_of_several_errors_and_not_of_none(line: str, told: bool) -> None:
    units = [f"unit {i}" for i in range(50)]
    assert (line in excerpt("\n".join([*units, line, *units]))) == told


def test_an_excerpt_is_short_whatever_the_text() -> None:
    for text in ("", "x" * 100_000, "\n" * 5_000, "error\n" * 9_000, "日本語" * 9_000, "[" * 50_000):
        assert len(excerpt(text).encode()) <= 110


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("error: cannot open src/parser/lexer.py:17\n" * 300, {"path": "src/parser/lexer.py", "line": 17}),
        ("\n".join(f"{n} {sha1(str(n).encode()).hexdigest()}" for n in range(300)), {"cmd": "git log " * 40}),
        ("エラーが発生しました。" * 900, {"質問": "東京の天気はどうですか。" * 30}),
        (json.dumps([{"id": n, "address": f"https://example.org/{n}"} for n in range(300)]), {}),
        ("words " * 9_000, {"path": "/home/user/project/" + "folder/" * 40 + "file.py", "limit": 2_000}),
    ],
)
def test_a_placeholder_takes_a_few_dozen_tokens(text: str, arguments: dict[str, Any]) -> None:
    chat = opened(filters=[], meter="o200k", strategy=elide(keep=0, share=100))
    chat.say("go")
    give(chat, "c1", text, "mcp__files__read_" + "x" * 60, json.dumps(arguments, ensure_ascii=False))
    chat.add(assistant("I see."))
    chat.request()
    placeholder = shown(chat, -2)
    assert placeholder.startswith("[tool output trimmed; ref=o1; mcp__files__read_")
    assert meter_for("o200k", None).text(placeholder) <= 84


def test_a_placeholder_tells_a_path_by_its_end_and_names_whole() -> None:
    chat = opened(filters=[], strategy=elide(keep=0, share=100))
    chat.say("go")
    text = "1\u2192import os\n" + "2\u2192x = load_settings(src/app/config.py)\n" * 100 + "103\u2192}\n"
    give(chat, "c1", text, "read", json.dumps({"path": "/home/user/projects/fanfold/src/parser.py"}))
    chat.add(assistant("I see."))
    chat.request()
    placeholder = shown(chat, -2)
    assert "/src/parser.py)" in placeholder
    assert "import os; " in placeholder, "without the number that the tool put before it"
    assert "src/app/config.py" in placeholder


def growing(rewrite: float | None, calls: int, size: int = 4_000) -> fanfold.Session:
    """A loop of one call after another, a request before each, in a window that is never full."""
    chat = opened(10_000_000, filters=[], strategy=elide(keep=1, share=1_000_000, rewrite=rewrite))
    chat.say("go")
    for i in range(calls):
        chat.request()
        give(chat, f"c{i}", f"output {i} ".ljust(size, "x"), "read", json.dumps({"path": f"f{i}.py"}))
    return chat


def test_outputs_are_elided_when_reading_them_has_cost_as_much_as_writing_anew() -> None:
    chat = growing(REWRITE, 200)
    gone = elided(chat)
    assert gone
    assert gone == [f"c{i}" for i in range(len(gone))], "oldest first"
    assert "c199" not in gone


@pytest.mark.slow
def test_the_dearer_the_cache_the_later_they_go_and_without_a_price_they_stay() -> None:
    gone = [len(elided(growing(price, 200))) for price in (0, REWRITE, 1_000, None)]
    assert gone[0] >= gone[1] > 0
    assert gone[2] == gone[3] == 0


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(fanfold.BadSetting, match="the price is not negative"):
        elide(rewrite=-1)


def test_placeholders_that_are_long_themselves_do_not_stand_in_the_way_of_what_comes_later() -> None:
    chat = opened(200_000, filters=[], meter="o200k", strategy=elide(keep=1, share=4_000))
    chat.say("go")
    for i in range(120):
        chat.request()
        text = "\n".join(sha1(f"{i} {line}".encode()).hexdigest() for line in range(12))
        give(chat, f"c{i}", text, "read", json.dumps({"path": f"f{i}.py"}))
    assert len(elided(chat)) > 100


def test_outputs_above_their_share_stay_where_little_of_them_may_go() -> None:
    """An edit makes the provider read anew what stands behind it: a few tokens are not worth that."""
    chat = opened(filters=[], strategy=elide(keep=2, share=2_500))
    chat.say("go")
    for i, size in enumerate((700, 8_000, 8_000)):
        give(chat, f"c{i}", f"output {i} ".ljust(size, "x"), "read", json.dumps({"path": f"f{i}.py"}))
    chat.add(assistant("I have seen it all."))
    chat.request()
    assert elided(chat) == []
