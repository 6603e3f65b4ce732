"""Every command that reads a conversation reads every format, whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transcript_builders import every_format, read

from fanfold.cli import main

EVERY = every_format()


@pytest.mark.parametrize("name", EVERY)
def test_whatever_import_reads_stats_and_fit_read_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """(19.20)"""
    monkeypatch.chdir(tmp_path)
    Path("talk").write_bytes(EVERY[name])
    whole = read(EVERY[name])
    messages = [message for conversation in whole for message in conversation.messages]
    said = sum(message.get("role") != "system" for message in messages)  # it goes with the tools
    capfd.readouterr()
    assert main(("stats", "talk", "--json")) == 0
    counted = json.loads(capfd.readouterr().out)
    assert (counted["conversations"], counted["messages"]) == (len(whole), said)
    assert main(("fit", "talk", "--window", "100k", "--json")) == 0
    out, report = capfd.readouterr()
    assert len(out.splitlines()) == len(whole)
    assert [one["dialect"] for one in json.loads(report)] == [conversation.dialect for conversation in whole]
    assert main(("import", "talk", "--store", "sqlite:agent.db", "--json")) == 0
    assert len(json.loads(capfd.readouterr().out)) == len(whole)


@pytest.mark.parametrize("command", ["stats", "fit", "import"])
@pytest.mark.parametrize(
    "line",
    [{"type": "progress", "sessionId": "s1"}, {"type": "session.info", "data": {}}, {"type": "turn.started"}],
)
def test_a_file_of_which_nothing_is_read_is_an_error(
    command: str,
    line: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """(19.20)"""
    monkeypatch.chdir(tmp_path)
    Path("talk.jsonl").write_text(f"{json.dumps(line)}\n" * 2)
    window = ["--window", "8k"] if command == "fit" else []
    assert main((command, "talk.jsonl", *window)) == 2
    assert "there is no message in it that can be read" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["talk.jsonl"]
