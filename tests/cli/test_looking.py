"""ls, show, why, diff: what is there, what the model sees, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pytest

import fanfold
from conftest import Run
from fanfold.cli import views
from fanfold.testing import called, replied, response


def test_full_is_what_the_model_would_see_now_in_the_list_and_in_the_view(run: Run, store: str) -> None:
    with fanfold.open("talk", store=store, window=1_000) as chat:
        said = [chat.say(f"Look {n}. " + "The disk hums. " * 60).id for n in range(6)]
        chat.fold(said[:5], "They looked.")
        chat.request(max_tokens=100)
    assert run("undo", "talk").code == 0
    listed = next(one for one in json.loads(run("ls", "--json").out) if one["name"] == "talk")
    shown = json.loads(run("show", "talk", "--json").out)
    assert shown["tokens"] > shown["room"]
    assert (listed["tokens"], listed["room"]) == (shown["tokens"], shown["room"])


def test_the_store_is_found_by_its_usual_name_and_in_the_environment(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("ls").out == run("ls", "-s", store).out
    monkeypatch.setenv("FANFOLD_STORE", store)
    assert "run " in run("ls").out


def test_the_tenant_of_the_settings_is_whose_sessions_are_looked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fanfold.toml").write_text('store = "sqlite:shop.db"\ntenant = "acme"\n')
    with fanfold.open("orders", model="gpt-5.2") as chat:
        chat.say("Hello.")
    assert "orders" in run("ls").out
    assert run("show", "orders").code == 0
    assert "orders" not in run("ls", "--tenant", "default").out
    monkeypatch.setenv("FANFOLD_TENANT", "other")
    assert "orders" not in run("ls").out
    assert run("import", "--help").code == 0


def test_a_view_is_shown_with_the_ids_that_other_commands_take(run: Run, store: str) -> None:
    ran = run("show", "run", "--ids")
    first = ran.out.splitlines()[2].split()[0]
    assert run("why", "run", first).out == f"{first} is in view   2023-11-14 22:13\n"


def test_a_view_is_shown_as_a_request_showed_it(run: Run, store: str) -> None:
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        chat.add({"role": "assistant", "content": "Mended."})
        chat.say("Thank you.")
        chat.request()
    assert "Thank you." in run("show", "run", "--request", "-1").out
    assert "Thank you." not in run("show", "run", "--request", "1").out
    ran = run("diff", "run", "1", "2")
    assert [line[:1] for line in ran.out.splitlines()[1:]] == ["+", "+"]
    assert "Thank you." in ran.out


def test_what_was_hidden_is_seen_explained_and_brought_back(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert "would be folded" in run("fold", "run", ids[1], ids[3], "It looked.", "--dry-run").out
    assert "It looked." not in run("show", "run").out
    assert run("fold", "run", ids[1], ids[3], "It looked.").out.startswith("e1 folded 3 rows")
    assert "It looked." in run("show", "run").out
    assert "hidden by e1" in run("why", "run", ids[2]).out
    assert "line 7: ERROR" in run("cat", "run", "e1").out
    assert run("undo", "run", "e1").code == 0
    assert "It looked." not in run("show", "run").out
    assert run("redo", "run").code == 0
    assert "It looked." in run("show", "run").out
    assert run("undo", "run", "e1").code == 0
    assert run("release", "run", "e1").out == "e1 is released: what came back may be reduced again.\n"


def test_what_is_shortened_is_told_as_the_model_sees_it_and_how_it_comes_back(
    run: Run, shortened: str
) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    head, edit, cause, back = run("why", "run", ids[2]).out.splitlines()
    seen = '"[tool output trimmed; ref=o1; 40 lines]"'
    assert head == f"{ids[2]} is in view, but shortened by e1: the model sees {seen}   2023-11-14 22:15"
    assert edit.startswith("  e1 shortened")
    assert cause.strip() == (
        "made because `compact` asked for it; the view had 320 tokens before; no request was sent with it yet"
    )
    assert back == f"To bring it back: fanfold undo run {ids[2]}"
    assert run("why", "run", "o1").out == run("why", "run", ids[2]).out
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    *_, back = run("why", "run", "o1").out.splitlines()
    assert back == f"To bring it back: fanfold undo run {ids[2]}"
    assert run(*back.partition("fanfold ")[2].split()).code == 0
    assert "To bring it back" not in run("why", "run", "o1").out
    assert " is in view   " in run("why", "run", "o1").out


def test_everything_that_looks_speaks_json(run: Run, store: str) -> None:
    listed = json.loads(run("ls", "--json").out)
    assert (listed[0]["name"], listed[0]["messages"], listed[0]["requests"]) == ("run", 5, 2)
    shown = json.loads(run("show", "run", "--json").out)
    assert [row["role"] for row in shown["rows"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert json.loads(run("why", "run", shown["rows"][1]["id"], "--json").out)["visible"] is True


def test_a_session_that_is_not_there_is_named_with_those_that_are(run: Run, store: str) -> None:
    ran = run("show", "walk")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "fanfold: There is no session 'walk' here; there are run.\n"


def test_a_store_that_is_not_there_is_not_made(run: Run) -> None:
    ran = run("ls", "--store", "sqlite:none.db")
    assert ran.code == 2
    assert "There is no store sqlite:none.db" in ran.err
    assert run("ls", "--store", "sqlite:none.db").code == 2


@pytest.mark.parametrize("command", [("inspect", "--host", "0.0.0.0"), ("ls", "--store")])
def test_no_store_is_made_of_an_empty_file(run: Run, command: tuple[str, ...]) -> None:
    empty = Path("empty.db")
    empty.touch()
    ran = run(*command, "sqlite:empty.db")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        "fanfold: empty.db is an empty file: no session was ever stored in it. Name another"
    )
    assert empty.read_bytes() == b""
    assert [file.name for file in Path().glob("empty.db*")] == ["empty.db"]


def test_requests_are_counted_from_the_end_without_a_double_dash(run: Run, store: str) -> None:
    """(19.21)"""
    ran = run("diff", "run", "-2", "-1")
    assert (ran.code, ran.out) == (0, run("diff", "run", "0", "1").out)
    assert (
        run("diff", "run", "-s", store, "-2", "-1", "--json").out
        == run("diff", "run", "0", "1", "--json").out
    )
    assert "No such option" not in run("diff", "run", "--", "-2", "-1").err
    assert run("diff", "run", "--jsom", "-1").code == 2


def test_an_edit_is_explained_by_its_name(run: Run, store: str) -> None:
    """(19.21)"""
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[3], "It looked.").code == 0
    first, folded, covers = run("why", "run", "e1").out.splitlines()
    assert first.startswith("e1 stands   2")
    assert folded.startswith("  e1 folded 3 rows by a person, ")
    assert covers == f"  covers {ids[1]} {ids[2]} {ids[3]}"
    assert run("fold", "run", "e1", ids[4], "All of it.").code == 0
    assert run("why", "run", "e1").out.startswith("e1 is hidden by e2")
    assert run("undo", "run", "e1", "--through").code == 0
    lines = run("why", "run", "e1").out.splitlines()
    assert lines[0].startswith("e1 is undone")
    assert any("undid e1" in line for line in lines)
    assert run("why", "run", "e9").err.startswith(
        "fanfold: There is no edit 'e9' in this session; `fanfold show`"
    )
    assert json.loads(run("why", "run", "e1", "--json").out)["entry"] == "e1"


def test_a_list_tells_of_client_model_and_parent(run: Run, store: str) -> None:
    """Columns in which nothing stands are left out."""
    assert "client" not in run("ls").out
    with fanfold.open(
        "sub", model="gpt-5.2", labels={"client": "codex", "parent": "run"}, store=store
    ) as chat:
        chat.say("Hello.")
        chat.request()
    heading, *rows = run("ls").out.splitlines()
    assert heading.split() == [
        "session",
        "messages",
        "requests",
        "edits",
        "made",
        "last",
        "client",
        "model",
        "full",
        "parent",
    ]
    assert rows[-1].split()[-4:] == ["codex", "gpt-5.2", "0%", "run"]


@pytest.mark.parametrize(
    ("model", "prompt", "price"),
    [("house-1", 900, "–"), ("gpt-5.2", 900, "<$0.01"), ("gpt-5.2", 60_000, "$0.11")],
)
def test_a_list_says_what_a_session_cost(run: Run, store: str, model: str, prompt: int, price: str) -> None:
    with fanfold.open("billed", model=model, window=90_000, store=store) as chat:
        chat.say("Hello.")
        chat.request()
        chat.receive(response(replied("Hi."), prompt=prompt))
    assert price in next(line for line in run("ls").out.splitlines() if line.startswith("billed")).split()


@pytest.mark.parametrize("width", [60, 64])
def test_what_why_says_fits_the_terminal(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[3], "It looked.").code == 0
    whole = run("why", "run", "e1").out
    monkeypatch.setattr(views, "terminal_width", lambda: width)
    shown = run("why", "run", "e1").out.splitlines()
    assert max(map(len, shown)) <= width < max(map(len, whole.splitlines()))
    assert " ".join(" ".join(shown).split()) == " ".join(whole.split())
    assert not [line for line in shown if line.split()[-1].count("-") == 2], (
        "a date and its time stay together"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("more", [(), ("--ids",)])
def test_a_view_fits_the_terminal(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch, width: int, more: tuple[str, ...]
) -> None:
    run("note", "run", "a-rather-long-name-of-a-note", "state " * 30, "--store", store)
    whole = run("show", "run", *more, "--store", store).out.splitlines()
    assert max(map(len, whole)) > 60
    monkeypatch.setattr(views, "terminal_width", lambda: width)
    shown = run("show", "run", *more, "--store", store).out.splitlines()
    assert max(map(len, shown)) <= width
    assert len(shown) >= len(whole)
    for line in whole[1:]:
        assert any(cut.split()[:3] == line.split()[:3] for cut in shown), "who speaks and the tokens stay"


@pytest.mark.parametrize("said", ["Never delete anything. ", "消してはいけません。"])
def test_a_view_uses_the_whole_width_of_the_terminal(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """What was said is cut first, at the edge, and not why a row looks so. A Japanese sign is two wide."""
    run("note", "run", "why", said * 40, "--store", store)
    monkeypatch.setattr(views, "terminal_width", lambda: 60)
    lines = run("show", "run", "--store", store).out.splitlines()
    (note,) = (line for line in lines if "[note: why]" in line)
    assert note.endswith(" note"), "the edit that made the row"
    wide = [sum(1 + (east_asian_width(sign) in "WF") for sign in line) for line in lines[1:]]
    assert 58 <= max(wide) <= 60


def test_a_hand_over_is_printed_as_the_model_reads_it(run: Run, store: str) -> None:
    assert run("show", "run", "--hand-over").out.startswith("Nothing is folded here")
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[2], "It looked.\nLine 7 has it.").code == 0
    text = run("show", "run", "--hand-over").out
    assert text.endswith("It looked.\nLine 7 has it.\n")
    with fanfold.open("run", store=store) as chat:
        assert text == chat.view().rows[0].messages[0].text + "\n"
    assert json.loads(run("show", "run", "--hand-over", "--json").out)[0]["id"] == "e1"


def test_a_model_that_nobody_knows_is_refused_but_where_its_window_is_told(run: Run) -> None:
    with fanfold.open("run", store="sqlite:agent.db", model="my-own", window=8_000) as chat:
        chat.say("Hello.")
    for command in (("show", "run"), ("compact", "run", "--dry-run")):
        told = run(*command, "--model", "gpt-99")
        assert (told.code, "gpt-99" in told.err) == (2, True), told
    assert run("show", "run", "--model", "my-own").code == 0
    assert run("show", "run", "--model", "gpt-99", "--window", "8k").code == 0
    assert run("show", "run", "--model", "gpt-5.2").code == 0


TOOL = {
    "type": "function",
    "function": {"name": "read", "description": "Read a file. " * 9, "parameters": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        ({}, "frame"),
        ({"tools": [TOOL]}, "tools"),
        ({"system": "Be brief."}, "system"),
        ({"system": "Be brief.", "tools": [TOOL]}, "system"),
    ],
)
def test_the_rows_that_are_shown_come_to_the_total_above_them(
    run: Run, store: str, frame: dict[str, Any], says: str
) -> None:
    with fanfold.open("framed", model="gpt-4o", store=store, recall=False, **frame) as chat:
        chat.say("Find it.")
        chat.add({"role": "assistant", "content": "Here it is."})
    head, *rows = run("show", "framed").out.splitlines()
    total = int(head.split("   ")[1].split()[0])
    assert sum(int(row.split()[2].replace(",", "")) for row in rows) == total
    assert rows[0].split()[1] == says
    assert ("1 tool" in rows[0]) == ("tools" in frame)


def test_an_older_note_of_the_same_name_names_the_one_that_replaced_it(run: Run, store: str) -> None:
    for text in ("alpha", "beta"):
        run("note", "run", "plan", text)
    run("note", "run", "mood", "calm")
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]

    def notes() -> list[str]:
        return [line.split("[note: ")[1] for line in run("show", "run").out.splitlines() if "[note:" in line]

    both = ["e1 note, replaced by e2", "e2 note", "e3 note"]
    assert [one.rpartition("   ")[2].strip() for one in notes()] == both
    assert run("fold", "run", ids[0], ids[2], "They looked.").code == 0
    assert [one[:10] for one in notes()] == ["plan] beta", "mood] calm"]
    run("undo", "run")
    assert [one.rpartition("   ")[2].strip() for one in notes()] == both


def test_the_edits_that_stand_are_the_same_ones_everywhere(run: Run, store: str) -> None:
    with fanfold.open("far", window=6_000, store=store, recall=True) as chat:
        for number in range(40):
            chat.add(replied(f"I look at {number}.", called(f"c{number}", "bash", "{}")))
            chat.answer(f"c{number}", "all is well\n" * 50)
            chat.add(replied("Found it. " + "A quoting bug. " * 20))
            chat.request(max_tokens=300)
        fates = [one.fate for one in chat.edits()]
    stand = fates.count("stands")
    assert 0 < stand < len(fates)
    assert f"{stand} edits stand" in run("show", "far").out
    assert json.loads(run("stats", "far", "--json").out)["edits"] == stand
    (row,) = (one for one in json.loads(run("ls", "--json").out) if one["name"] == "far")
    assert row["edits"] == len(fates)
    assert "edits made" in run("ls").out.splitlines()[0]
