"""A file that cannot be written can be looked at: in a folder that can, in one that cannot, and beside its writer."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fanfold
from builders import calls, tell
from fanfold import SQLite, StoreFailed
from fanfold.cli.app import run
from fanfold.stores.scripts import statement
from fanfold.testing import talk

NOBODY = 65534
LARGE = "a line of the log\n" * 100_000


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can reach: root's own are closed to those who may not write."""
    folder = Path(tempfile.mkdtemp(prefix="fanfold-read-only-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    for made in folder.parent.glob(f"{folder.name}*"):
        made.chmod(0o755)
        shutil.rmtree(made)


def recorded(folder: Path) -> SQLite:
    store = SQLite(folder / "a.db")
    with fanfold.open("run", window=90_000, store=store) as chat:
        tell(chat, *talk(2))
        tell(chat, calls("c1"))
        chat.answer("c1", LARGE)
    return store


def write_protect(folder: Path, *, folder_too: bool) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555 if folder_too else 0o777)


def by_a_reader(work: Callable[[], Any]) -> Any:
    """What a process gives back that has no more rights than the file says."""
    for path in (Path(fanfold.__file__).parent / "stores" / "sql" / "sqlite").glob("*.sql"):
        statement("sqlite", path.stem)  # read now: where only root may enter the clone, the child cannot
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            answer = work()
        except BaseException as error:
            answer = "".join(traceback.format_exception(error))
        try:
            os.write(writing, msgspec.json.encode(answer))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return msgspec.json.decode(data)


def looked_at(path: Path) -> dict[str, Any]:
    """Everything that can be done without writing."""
    store = SQLite(path)
    file = io.BytesIO()
    fanfold.export_session(store, "run", file)
    with fanfold.open("run", window=90_000, store=store) as chat:
        return {
            "sessions": store.sessions("default"),
            "messages": len(chat.view().messages),
            "output": chat.outputs()[0].text() == LARGE,
            "found": store.find("default", str(chat.head)[:9]) == [chat.head],
            "lines": len(file.getvalue().splitlines()),
            "doctor": str(fanfold.doctor(store)).splitlines()[1:],
        }


def command(*words: str) -> tuple[int, str]:
    shown = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(shown):
        code = run(words)
    shown.seek(0)
    return code, shown.read()


def copied(folder: Path) -> Path:
    """A copy that can be written, to compare with. What is needed is imported while it is looked at."""
    return Path(shutil.copytree(folder, folder.with_name(folder.name + "-copy"))) / "a.db"


@pytest.mark.parametrize("folder_too", [False, True])
@pytest.mark.parametrize("filled", [False, True])
def test_what_cannot_be_written_can_be_looked_at(folder: Path, folder_too: bool, filled: bool) -> None:
    store = recorded(folder)
    if filled:
        store.find("default", "")  # whoever looks fills the register
    store.close()
    expected = looked_at(copied(folder))
    assert expected["output"]
    assert expected["doctor"] == ["All is well."]
    write_protect(folder, folder_too=folder_too)
    assert by_a_reader(lambda: looked_at(folder / "a.db")) == expected
    assert (folder / "a.db").exists()


def test_what_its_writer_has_not_moved_into_the_file_yet_is_seen(folder: Path) -> None:
    store = recorded(folder)
    expected = looked_at(copied(folder))
    assert (folder / "a.db-wal").stat().st_size
    write_protect(folder, folder_too=True)
    assert by_a_reader(lambda: looked_at(folder / "a.db")) == expected
    store.close()


def test_a_journal_that_cannot_be_read_is_not_passed_over(folder: Path) -> None:
    """A writer was killed, and the file brought where nothing can be written."""
    store = recorded(folder)
    brought = folder / "brought"
    shutil.copytree(folder, brought, ignore=shutil.ignore_patterns("*-shm", "brought"))
    looked_at(copied(brought))
    store.close()
    write_protect(brought, folder_too=True)
    assert "Copy both to another folder" in by_a_reader(lambda: looked_at(brought / "a.db"))


def written_to(path: Path) -> list[str]:
    """What is said to whoever tries to write, and how many messages are there after it."""
    store, said = SQLite(path), list[str]()
    chat = fanfold.open("run", window=90_000, store=store)
    before = len(chat.view().messages)
    for verb in (
        lambda: chat.say("Hello."),
        lambda: chat.erase(str(chat.head), "no"),
        lambda: store.put_blob("default", [b"small"]),
        lambda: store.put_blob("default", [b"x" * 2_000_000]),
        lambda: store.create("default", "new", []),
    ):
        with pytest.raises(StoreFailed) as caught:
            verb()  # type: ignore[no-untyped-call]
        said.append(f"{type(caught.value).__name__}: {caught.value}")
    assert len(chat.view().messages) == before
    return said


@pytest.mark.parametrize("folder_too", [False, True])
def test_whoever_tries_to_write_is_told_so(folder: Path, folder_too: bool) -> None:
    recorded(folder).close()
    looked_at(copied(folder))
    write_protect(folder, folder_too=folder_too)
    said = by_a_reader(lambda: written_to(folder / "a.db"))
    assert [one.partition(":")[0] for one in said] == ["StoreFailed"] * 5
    assert all("cannot be written" in one for one in said)


def test_an_older_file_that_cannot_be_written_is_named(folder: Path) -> None:
    store = recorded(folder)
    store.database.plain("PRAGMA user_version = 4")
    store.close()
    write_protect(folder, folder_too=True)
    assert "Open it once where it can be written" in by_a_reader(lambda: SQLite(folder / "a.db").file.name)


def test_the_commands_that_look_work(folder: Path) -> None:
    recorded(folder).close()
    words = [["ls"], ["show", "run"], ["export", "run"], ["grep", "run", "line"], ["doctor"]]
    commands = [[*one, "--store", f"sqlite:{folder / 'a.db'}"] for one in words]
    copy = copied(folder)
    expected = [command(*one, "--store", f"sqlite:{copy}") for one in words]
    write_protect(folder, folder_too=True)
    found = by_a_reader(lambda: [command(*one) for one in commands])
    assert [code for code, _ in found] == [0] * len(words)
    assert [text.replace(str(folder), "") for _, text in found] == [
        text.replace(str(copy.parent), "") for _, text in expected
    ]
