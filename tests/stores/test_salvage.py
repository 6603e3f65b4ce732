"""What can be read of a damaged session is saved, and what cannot is said."""

from __future__ import annotations

import sqlite3
from io import BytesIO
from pathlib import Path

import pytest

import fanfold
from fanfold import Corrupt, NotFound
from fanfold.cli.app import run
from fanfold.session.salvage import export_readable
from fanfold.testing import talk

FLIP = "UPDATE line SET {0} = CAST(substr({0}, 1, 12) || x'00' || substr({0}, 14) AS BLOB) WHERE "

FIFTH = "key = (SELECT key FROM line WHERE message IS NOT NULL ORDER BY key LIMIT 1 OFFSET 4)"


def kept(folder: Path) -> str:
    """A store with a session of some turns."""
    with fanfold.open("run", window=90_000, system="Be brief.", store=f"sqlite:{folder}/a.db") as chat:
        for body in talk(3, 2):
            chat.add(body)
        chat.request()
    return f"sqlite:{folder}/a.db"


def kept_damaged(folder: Path, sql: str) -> str:
    """The same store, changed by a statement."""
    with sqlite3.connect(folder / "a.db") as other:
        assert other.execute(sql).rowcount
    other.close()
    return f"sqlite:{folder}/a.db"


def again(file: BytesIO) -> tuple[list[str], str]:
    """The messages of an export, read into another store, and its system prompt."""
    file.seek(0)
    memory = fanfold.Memory()
    fanfold.import_session(memory, file)
    with fanfold.open("run", store=memory) as chat:
        return [row.messages[0].text for row in chat.view().rows], chat.view().frame.messages[0].text


def test_a_session_that_is_whole_is_exported_as_always(tmp_path: Path) -> None:
    store, mine, usual = kept(tmp_path), BytesIO(), BytesIO()
    found = export_readable(store, "run", mine)
    assert found.lines == fanfold.export_session(store, "run", usual)
    assert mine.getvalue() == usual.getvalue()
    assert found.lost == ()


def test_a_damaged_message_is_replaced_by_a_line_and_named(tmp_path: Path) -> None:
    whole, file = BytesIO(), BytesIO()
    export_readable(kept(tmp_path), "run", whole)
    before, _ = again(whole)
    store = kept_damaged(tmp_path, FLIP.format("message") + FIFTH)
    with pytest.raises(Corrupt):
        fanfold.export_session(store, "run", BytesIO())
    found = export_readable(store, "run", file)
    after, system = again(file)
    (lost,) = found.lost
    assert "The message " in lost
    assert found.messages == len(before) - 1
    assert system == "Be brief."
    differs = [now for was, now in zip(before, after, strict=True) if was != now]
    assert len(differs) == 1
    assert "that stood here is damaged" in differs[0]


def test_a_damaged_record_costs_no_message(tmp_path: Path) -> None:
    whole, file = BytesIO(), BytesIO()
    export_readable(kept(tmp_path), "run", whole)
    store = kept_damaged(tmp_path, FLIP.format("record") + "key % 4294967296 IN (5, 6)")
    found = export_readable(store, "run", file)
    assert [sentence.partition(" is damaged")[0] for sentence in found.lost] == [
        "Line 5 of the session 'run'",
        "Line 6 of the session 'run'",
    ]
    assert again(file) == again(whole)


def test_there_is_nothing_to_save_of_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        export_readable(kept(tmp_path), "other", BytesIO())


def test_commands_name_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(tmp_path)
    store = kept_damaged(tmp_path, FLIP.format("record") + "key % 4294967296 = 5")
    for command in ("show", "export"):
        assert run([command, "run", "--store", store]) == 3
        told = capsys.readouterr().err
        assert "Line 5 of the session 'run'" in told
        assert "`fanfold doctor` says what else is" in told
        assert "--readable` saves what can be read." in told
    assert run(["doctor", "--store", store]) == 1
    out = capsys.readouterr().out
    assert "session 'run', line 5" in out
    assert "`fanfold export SESSION --readable` saves" in out
    assert "fanfold.doctor" not in out
    assert run(["export", "run", "--readable", "-o", str(tmp_path / "saved.jsonl"), "--store", store]) == 1
    assert "messages could be read and saved" in capsys.readouterr().err
    other = f"sqlite:{tmp_path}/b.db"
    assert run(["import", str(tmp_path / "saved.jsonl"), "--store", other]) == 0
    assert run(["show", "run", "--store", other]) == 0


def test_a_file_that_is_cut_off_names_no_way_that_leads_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept(tmp_path)
    data = (tmp_path / "a.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(data[: len(data) // 2])
    assert run(["doctor", "--store", f"sqlite:{tmp_path}/cut.db"]) == 1
    out = capsys.readouterr().out
    assert "says what can be saved" not in out
    assert "--readable" not in out
    assert out.splitlines()[-1] == "What is damaged has to come from a copy."
