"""Files that commands write: whole or not at all, and what is no plain file is left what it is."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from conftest import Run
from fanfold.cli.files import atomic_file


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with atomic_file(pipe) as file:
        file.write(b"whole")
    reader.join(10)
    assert got == [b"whole"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_and_what_it_points_at_is_written(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    with atomic_file(tmp_path / "link.json") as file:
        file.write(b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_the_longest_name_is_written(tmp_path: Path) -> None:
    with atomic_file(tmp_path / ("n" * 255)) as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == ["n" * 255]


def test_a_folder_that_is_not_there_is_named_as_it_was_typed(run: Run, store: str) -> None:
    ran = run("export", "run", "-o", "none/out.jsonl")
    assert (ran.code, ran.err) == (3, "fanfold: none/out.jsonl: no such file or directory.\n")


def test_a_write_protected_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "kept.json"
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everything
    with pytest.raises(PermissionError, match="kept"), atomic_file(target):
        pass
    assert target.read_text() == "old"


def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "secret.json"
    target.write_text("old")
    target.chmod(0o600)
    with atomic_file(target) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        file.write(b"new")
    assert (stat.S_IMODE(target.stat().st_mode), target.read_text()) == (0o600, "new")


def test_an_interrupt_right_after_the_file_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = os.open

    def made(path: str, flags: int, rights: int) -> None:
        os.close(create(path, flags, rights))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", made)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "out.json"):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("before", [None, 0o644, 0o640])
def test_an_export_is_readable_by_its_owner_only(
    run: Run, store: str, tmp_path: Path, before: int | None
) -> None:
    """(19.21)"""
    target = tmp_path / "run.jsonl"
    if before is not None:
        target.write_text("old")
        target.chmod(before)
    assert run("export", "run", "-o", "run.jsonl").code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_private_file_is_private_before_it_is_whole(tmp_path: Path) -> None:
    """(19.21)"""
    with atomic_file(tmp_path / "run.jsonl", private=True) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_other_files_have_the_usual_rights(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        with atomic_file(tmp_path / "short.json") as file:
            file.write(b"{}")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "short.json").stat().st_mode) == 0o644
