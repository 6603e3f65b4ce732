"""import, export, gc, doctor, init, models."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import fanfold
from conftest import OUTPUT, Run, talk


def test_what_is_exported_can_be_imported(run: Run, store: str, tmp_path: Path) -> None:
    assert run("export", "run", "-o", "run.jsonl").code == 0
    assert run("import", "run.jsonl", "--store", "sqlite:other.db").out == "run: 5 messages (fanfold)\n"
    assert run("show", "run", "-s", "sqlite:other.db").out == run("show", "run").out
    assert run("cat", "run", "o1", "-s", "sqlite:other.db").out == OUTPUT
    assert run("export", "run").out == (tmp_path / "run.jsonl").read_text()


def test_transcripts_of_other_tools_are_imported(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps(message) for message in talk()]
    (tmp_path / "talk.jsonl").write_text("\n".join(lines))
    assert run("import", "talk.jsonl").out.startswith("talk: 5 messages")
    assert run("import", "talk.jsonl").out.startswith("talk-2: 5 messages")
    assert run("grep", "talk", "ERROR").out == "o1:7:line 7: ERROR\n"


def test_an_imported_conversation_has_no_room_and_no_bill_yet(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "Hello"}\n')
    assert run("import", "talk.jsonl").code == 0
    (told,) = json.loads(run("ls", "--json").out)
    assert (told["messages"], told["requests"], told["prompt"], told["room"]) == (1, 0, 0, 0)
    assert run("stats", "--cost", "talk").out == "No request went out yet.\n"


def test_a_sealed_store_is_read_with_the_key_from_the_environment(
    run: Run, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("export", "run", "-o", "run.jsonl").code == 0
    monkeypatch.setenv("FANFOLD_KEY", "5a" * 32)
    assert run("import", "run.jsonl", "--store", "sqlite:sealed.db").code == 0
    assert b"vendor" not in (tmp_path / "sealed.db").read_bytes()
    assert run("cat", "run", "o1", "-s", "sqlite:sealed.db").out == OUTPUT
    assert run("doctor", "-s", "sqlite:sealed.db").code == 0
    assert "takes no key" in run("show", "run").err
    monkeypatch.delenv("FANFOLD_KEY")
    for command in (("ls",), ("show", "run"), ("doctor",)):
        ran = run(*command, "-s", "sqlite:sealed.db")
        assert ran.code != 0
        assert "FANFOLD_KEY" in ran.err


def test_the_key_of_a_store_is_changed(
    run: Run, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(19.6) Both keys are told by the environment."""
    assert run("export", "run", "-o", "run.jsonl").code == 0
    monkeypatch.setenv("FANFOLD_KEY", "5a" * 32)
    assert run("import", "run.jsonl", "--store", "sqlite:sealed.db").code == 0
    monkeypatch.setenv("FANFOLD_NEW_KEY", "6b" * 32)
    ran = run("rekey", "--store", "sqlite:sealed.db")
    assert (ran.code, ran.out) == (0, "sqlite:sealed.db is sealed with the new key.\n")
    assert "another key" in run("show", "run", "-s", "sqlite:sealed.db").err
    monkeypatch.setenv("FANFOLD_KEY", "6b" * 32)
    assert run("cat", "run", "o1", "-s", "sqlite:sealed.db").out == OUTPUT
    monkeypatch.delenv("FANFOLD_KEY")
    assert "no key to change" in run("rekey", "--store", "sqlite:agent.db").err


def test_an_export_is_read_from_standard_input(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = run("export", "run").out.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    assert run("import", "-", "--name", "again").code == 0
    assert "again" in run("ls").out


def test_the_doctor_tells_what_is_wrong(run: Run, store: str, tmp_path: Path) -> None:
    assert run("doctor", "--store", store).code == 0
    file = tmp_path / "agent.db"
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    ran = run("doctor", "--look-only")
    assert ran.code == 1
    assert "DAMAGE" in ran.out


def test_nothing_is_collected_that_is_referred_to(run: Run, store: str) -> None:
    assert run("gc", "run").out == "Everything is still referred to.\n"


def test_settings_to_begin_with(run: Run, tmp_path: Path) -> None:
    assert run("init").code == 0
    assert "[models." in (tmp_path / "fanfold.toml").read_text()
    ran = run("init")
    assert (ran.code, ran.err) == (2, "fanfold: fanfold.toml is there already; --force replaces it.\n")
    assert run("init", "--force").code == 0


def test_models_are_listed_by_name_or_its_beginning(run: Run) -> None:
    assert len(run("models").out.splitlines()) > 300
    assert (
        json.loads(run("models", "claude-sonnet-4-5-20250929", "--json").out)[0]["name"]
        == "claude-sonnet-4-5"
    )
    assert run("models", "DeepSeek-V3.1").out.splitlines()[1].split()[-3:] == ["–", "–", "–"]
    ran = run("models", "gtp-4o")
    assert ran.code == 2
    assert "Did you mean gpt-4o?" in ran.err


@pytest.mark.parametrize("depth", [200, 2_000, 100_000])
@pytest.mark.parametrize(
    "line", ['{"kind":"entry","entry":%s}', '{"kind":"record","record":%s}', '{"kind":"blob","id":%s}']
)
def test_a_deeply_nested_line_of_an_export_is_named(run: Run, tmp_path: Path, line: str, depth: int) -> None:
    """(19.21)"""
    head = '{"kind":"session","format":1,"name":"deep"}'
    (tmp_path / "deep.jsonl").write_text(f"{head}\n{line % ('[' * depth + ']' * depth)}\n")
    ran = run("import", "deep.jsonl")
    assert ran.code == 2
    assert ran.err.startswith("fanfold: Line 2 of this export")


def test_an_entry_nested_just_deep_enough_to_be_read_is_named(run: Run, store: str, tmp_path: Path) -> None:
    """(19.21)"""
    (tmp_path / "run.jsonl").write_text(run("export", "run").out)
    for depth in range(900, 1_000):
        nested = '"more":' + "[" * depth + "]" * depth + ","
        deep = (tmp_path / "run.jsonl").read_text().replace('"body":{', '"body":{' + nested, 1)
        (tmp_path / "deep.jsonl").write_text(deep)
        ran = run("import", "deep.jsonl", "--name", "deep")
        assert (ran.code, ran.err.startswith("fanfold: Line ")) == (2, True)


@pytest.mark.parametrize("depth", [200, 2_000, 100_000])
def test_a_deeply_nested_line_of_a_transcript_is_named(run: Run, tmp_path: Path, depth: int) -> None:
    """(19.21)"""
    nested = '{"a":' * depth + "1" + "}" * depth
    lines = ['{"role":"user","content":"hi"}', f'{{"role":"assistant","content":"x","more":{nested}}}', ""]
    (tmp_path / "deep.jsonl").write_text("\n".join(lines))
    for command in ("import", "stats"):
        ran = run(command, "deep.jsonl")
        assert (ran.code, "nested" in ran.err) == (2, True)


def test_what_is_erased_already_is_said_and_so_are_forks_that_show_it_erased(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fork", "run", "other").code == 0
    dry = run("erase", "run", ids[0], "--reason", "secret", "--dry-run").out
    assert dry == (
        f"{ids[0]} would be destroyed for good. The session other would show it as erased, too. Nothing was erased.\n"
    )
    done = run("erase", "run", ids[0], "--reason", "secret", "--yes").out
    assert done.splitlines()[-1] == "The session other shows it as erased, too."
    again = run("erase", "run", ids[0], "--reason", "secret", "--dry-run").out
    assert again == f"{ids[0]} is erased already (secret). Nothing was erased.\n"


def test_the_doctor_says_of_how_many_tenants_the_sessions_are(run: Run, store: str) -> None:
    assert "1 session, " in run("doctor").out
    with fanfold.open("theirs", store=store, tenant="other", window=8_000) as chat:
        chat.say("Hello.")
    assert "2 sessions of 2 tenants, " in run("doctor").out


def test_an_imported_session_is_listed_as_it_was_where_it_came_from(
    run: Run, store: str, tmp_path: Path
) -> None:
    assert run("export", "run", "-o", "run.jsonl").code == 0
    listed = run("ls").out
    assert "full" in listed
    assert run("import", "run.jsonl", "--store", "sqlite:new.db").code == 0
    assert run("ls", "--store", "sqlite:new.db").out == listed
