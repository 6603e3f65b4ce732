"""What the tab key offers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fanfold
from tests.builders import calls


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path}/agent.db") as chat:
        chat.say("Hello there")
        chat.say("Fix it")
        chat.note("state", "open")
    return tmp_path


def offered(folder: Path, words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    env = {**os.environ, "_FANFOLD_COMPLETE": "bash_complete", "COMP_WORDS": words}
    env["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    done = subprocess.run(
        [sys.executable, "-m", "fanfold"], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def ids(folder: Path) -> list[str]:
    with fanfold.open("run", store=f"sqlite:{folder}/agent.db") as chat:
        return [row.id[:8] for row in chat.view().rows]


def test_sessions_complete(folder: Path):
    assert offered(folder, "fanfold show r") == ["run"]


def test_entries_and_edits_of_a_session_complete_each_once(folder: Path):
    assert offered(folder, "fanfold why run ") == ids(folder)
    assert ids(folder)[-1] == "e1"


def test_an_entry_completes_from_its_first_characters(folder: Path):
    first = ids(folder)[0]
    assert offered(folder, f"fanfold pin run {first[:4]}") == [first]


def test_edits_complete_where_an_edit_is_meant(folder: Path):
    assert offered(folder, "fanfold undo run ") == ["e1"]


def test_a_hidden_message_completes_once_something_is_typed(folder: Path):
    with fanfold.open("run", store=f"sqlite:{folder}/agent.db") as chat:
        hidden, second, *_ = [row.id for row in chat.view().rows]
        chat.fold((hidden, second), "Two greetings.")
    assert hidden[:8] not in offered(folder, "fanfold why run ")
    for verb in ("why", "undo", "release", "erase"):
        assert offered(folder, f"fanfold {verb} run {hidden[:5]}") == [hidden[:8]]


def test_outputs_complete(folder: Path):
    with fanfold.open("run", store=f"sqlite:{folder}/agent.db") as chat:
        chat.add(calls("c1"))
        chat.answer("c1", "all is well")
    assert offered(folder, "fanfold cat run o") == ["o1"]
    assert offered(folder, "fanfold grep run well o") == ["o1"]
    assert offered(folder, "fanfold undo run o") == ["o1"]


@pytest.mark.parametrize(
    ("shell", "completes"),
    [
        (
            "bash",
            'COMP_WORDS=(fanfold show r); COMP_CWORD=2; _fanfold_completion fanfold; echo "${COMPREPLY[@]}"',
        ),
        ("fish", "complete -C 'fanfold show r'"),
    ],
)
def test_a_shell_completes_with_its_lines(shell: str, completes: str, folder: Path):
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    (folder / "bin").mkdir()
    command = folder / "bin" / "fanfold"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fanfold "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    env = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    lines = {"bash": 'eval "$(fanfold completion bash)"', "fish": "fanfold completion fish | source"}[shell]
    done = subprocess.run(
        [program, "-c", f"{lines}; {completes}"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == "run"


def test_a_store_that_is_not_there_offers_nothing_and_says_nothing(tmp_path: Path):
    assert offered(tmp_path, "fanfold why run ") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_lines(shell: str, folder: Path):
    done = subprocess.run(
        [sys.executable, "-m", "fanfold", "completion", shell], capture_output=True, text=True, check=True
    )
    assert f"{shell}_complete" in done.stdout
    assert "_FANFOLD_COMPLETE" in done.stdout
