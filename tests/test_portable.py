"""Windows and macOS: nothing is called that only some systems have, and files have names that every system takes."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

import mypy
import pytest

import fanfold

SOURCE = Path(__file__).parent.parent / "src" / "fanfold"
STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"
"""Python's own modules, as mypy knows them: which names they have on which system."""
MODULES = ("os", "os/path", "signal", "time", "socket", "_socket", "select", "asyncio", "shutil", "sys", "stat",
           "errno", "multiprocessing", "subprocess", "threading", "locale", "getpass", "mmap", "tempfile",
           "ctypes")  # fmt: skip
ONLY_POSIX_MODULES = {"uvloop"} | {
    path.stem
    for path in STUBS.glob("*.pyi")
    if re.search(r"^if sys\.platform != .win32.:\n", path.read_text(encoding="utf-8"), re.M)
    and not re.search(r"^(?:def |class |[a-z]\w*:)", path.read_text(encoding="utf-8"), re.M)
}
ONLY_POSIX_METHODS = {"add_signal_handler", "remove_signal_handler"}
GUARDS = ("hasattr", "platform", "os.name", "find_spec")
BINARY = 0x8000
"""What `os.O_BINARY` is on Windows."""
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{name}{n}" for name in ("COM", "LPT") for n in range(1, 10))}


def holds(test: ast.expr, system: str) -> bool:
    """Whether a condition of a stub holds on a system; any that does not ask for it does."""
    match test:
        case ast.Compare(
            left=ast.Attribute(attr="platform"), ops=[op], comparators=[ast.Constant(value=name)]
        ):
            return (system == name) == isinstance(op, ast.Eq)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(holds(part, system) for part in parts)
        case ast.BoolOp(values=parts):
            return any(holds(part, system) for part in parts)
    return True


def names(body: list[ast.stmt], system: str) -> Iterator[str]:
    """The names that a stub defines for a system."""
    for one in body:
        match one:
            case ast.If():
                yield from names(one.body if holds(one.test, system) else one.orelse, system)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield one.name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.ImportFrom():
                yield from (alias.asname or alias.name for alias in one.names)


def only_some_have(module: str) -> set[str]:
    """What a module has on Linux, and on Windows or macOS has not."""
    stub = next(path for path in (STUBS / f"{module}.pyi", STUBS / module / "__init__.pyi") if path.exists())
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    here, there = set(names(body, "linux")), set(names(body, "win32")) & set(names(body, "darwin"))
    called = module.strip("_").replace("/", ".")
    return {f"{called}.{name}" for name in here - there}


ONLY_POSIX = set[str]().union(*map(only_some_have, MODULES))


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def unguarded(tree: ast.AST) -> Iterator[str]:
    """What only POSIX has, and no condition or `try` around it asks for."""
    if isinstance(tree, ast.If | ast.IfExp) and any(word in ast.unparse(tree.test) for word in GUARDS):
        return
    if isinstance(tree, ast.Try):
        return
    match tree:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if f"{module}.{name}" in ONLY_POSIX:
            yield f"{tree.lineno}: {module}.{name}"
        case ast.Attribute(attr=name) if name in ONLY_POSIX_METHODS:
            yield f"{tree.lineno}: {name}"
        case ast.Import() if named := {alias.name for alias in tree.names} & ONLY_POSIX_MODULES:
            yield f"{tree.lineno}: import {named}"
        case ast.ImportFrom(module=module) if module in ONLY_POSIX_MODULES:
            yield f"{tree.lineno}: from {module}"
        case ast.ImportFrom(module=module):
            named = {f"{module}.{alias.name}" for alias in tree.names} & ONLY_POSIX
            yield from (f"{tree.lineno}: {name}" for name in sorted(named))
    for child in ast.iter_child_nodes(tree):
        yield from unguarded(child)


NAMED = re.compile(
    rf"\b(?:{'|'.join(one.rpartition('.')[2] for one in ONLY_POSIX | ONLY_POSIX_METHODS | ONLY_POSIX_MODULES)})\b"
)


def files_with(words: re.Pattern[str]) -> dict[Path, str]:
    """Files in which some of these words stand, and their texts: the others need not be parsed."""
    texts = {path: path.read_text(encoding="utf-8") for path in files()}
    return {path: text for path, text in texts.items() if words.search(text)}


def test_nothing_that_only_posix_has_is_called_unasked():
    found = [
        f"{path.relative_to(SOURCE)}:{one}"
        for path, text in files_with(NAMED).items()
        for one in unguarded(ast.parse(text))
    ]
    assert found == []


def test_that_rule_finds_what_it_is_for():
    wrong = "import fcntl\nos.fork()\nif hasattr(signal, 'SIGHUP'):\n    signal.SIGHUP\nloop.add_signal_handler(1, f)"
    wrong += "\nfrom os import getuid, path\nos.sched_getaffinity(0)"
    assert [one.partition(":")[0] for one in unguarded(ast.parse(wrong))] == ["1", "2", "5", "6", "7"]


def test_that_rule_knows_what_other_systems_lack():
    known = {"os.fork", "os.sched_getaffinity", "os.O_DIRECTORY", "signal.SIGKILL", "signal.SIG_BLOCK", "time.tzset",
             "socket.AF_UNIX", "socket.SO_REUSEPORT", "select.epoll"}  # fmt: skip
    assert known <= ONLY_POSIX
    assert {"fcntl", "pwd", "grp", "resource", "termios", "pty", "syslog"} <= ONLY_POSIX_MODULES
    assert not ONLY_POSIX & {"os.open", "os.path.join", "signal.SIGINT", "signal.SIGTERM", "socket.AF_INET"}


def test_that_rule_reads_every_folder():
    assert {path.relative_to(SOURCE).parts[0] for path in files() if path.parent != SOURCE} == {
        path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))
    }


def without_encoding(text: str) -> Iterator[str]:
    """Text files that are opened in whatever encoding the system likes."""
    has_own = re.search(r"def open\(|import .*\bopen\b", text)  # then `open` opens a session
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or "encoding" in {keyword.arg for keyword in node.keywords}:
            continue
        match node.func:
            case ast.Attribute(
                value=ast.Name(id="self" | "folder")
            ):  # a folder of an exam writes UTF-8 itself
                continue
            case ast.Attribute(attr="read_text" | "write_text"):
                yield f"{node.lineno}: {ast.unparse(node.func)}"
            case ast.Name(id="open") if not has_own and not any(
                "b" in ast.unparse(one) for one in node.args[1:2]
            ):
                yield f"{node.lineno}: open"


def test_text_files_are_read_and_written_in_utf_8():
    texts = files_with(re.compile(r"read_text|write_text|open\("))
    found = [
        f"{path.relative_to(SOURCE)}:{one}" for path, text in texts.items() for one in without_encoding(text)
    ]
    assert found == []


def test_that_rule_finds_text_files_too():
    wrong = "open('a')\nopen('a', 'rb')\npath.read_text()\npath.write_text('b', encoding='utf-8')"
    assert list(without_encoding(wrong)) == ["1: open", "3: path.read_text"]


def is_windows_name(path: str) -> bool:
    """Whether Windows takes every part of a path as a file's name."""
    parts = PureWindowsPath(path).parts
    return all(
        not re.search(r'[<>:"|?*\x00-\x1f]', part)
        and not part.endswith((" ", "."))
        and part.partition(".")[0].upper() not in RESERVED
        for part in parts
    )


@pytest.mark.parametrize("name", ["a/b:c", "CON", "what?", "über/ünter", "nul.txt", "end."])
def test_files_that_a_store_makes_have_names_that_windows_takes(name: str, tmp_path: Path):
    """Whatever sessions and tenants are called."""
    options = {"tenant": name, "store": f"sqlite:{tmp_path}/agent.db", "window": 50_000}
    with fanfold.open(name, tools=[], **options) as chat:
        chat.say("Look")
        chat.add({"role": "assistant", "tool_calls": [_call("c1")]})
        chat.answer("c1", "line\n" * 500_000)
    made = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert len(made) > 1
    assert [path for path in made if not is_windows_name(path)] == []


def test_outputs_are_kept_under_the_rules_that_windows_has_for_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """No folder can be opened, nothing is renamed to a name that is taken, and some flags do not exist."""
    real_open, real_rename = os.open, os.rename

    def open_file(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if not rest and os.path.isdir(path):  # rmtree, with its own rules, gives more
            raise PermissionError(13, "Permission denied", str(path))
        if ".blobs" in str(path) and not rest:
            assert flags & BINARY, "it would write a carriage return before every line feed"
        return real_open(path, flags & ~BINARY, mode, **rest)

    def rename(one: Any, other: Any, **rest: Any) -> None:
        if os.path.exists(other):
            raise FileExistsError(17, "File exists", str(other))
        real_rename(one, other, **rest)

    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "O_BINARY", BINARY, raising=False)
    for flag in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"):
        monkeypatch.delattr(os, flag)
    with fanfold.open("run", store=f"sqlite:{tmp_path}/agent.db", window=50_000, tools=[]) as chat:
        for id in ("c1", "c2"):
            chat.say("Look")
            chat.add({"role": "assistant", "tool_calls": [_call(id)]})
            chat.answer(id, "line\n" * 500_000)
        assert chat.output("o2").lines(500_000, 1) == ["line"]
        chat.erase("o1", "asked to")


def _call(id: str) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": "cat", "arguments": "{}"}}


def test_files_of_the_package_have_names_that_windows_takes():
    kept = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*")]
    assert [path for path in kept if not is_windows_name(path)] == []
    assert len({path.lower() for path in kept}) == len(kept), "two names differ in case only"
