"""What each command prints, to the letter: for people and for programs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from builders import golden
from conftest import Run, talk
from fanfold.cli.app import COMMANDS

SCENES = {
    "init": ("init", "init", "init --force --json"),
    "completion": ("completion fish", "completion tcsh"),
    "fit": (
        "fit talk.json --window 100 --reserve 20 --meter characters/4 --explain -o short.json",
        "fit talk.json --window 100 --reserve 20 --meter characters/4 --json -o short.json",
        "fit talk.json --window 20",
    ),
    "stats": (
        "stats talk.json --meter characters/4 --plot plot.svg",
        "stats talk.json --meter characters/4 --json",
        "stats none.json",
    ),
    "models": ("models gpt-4o", "models gpt-4o --json", "models gtp-4o"),
    "ls": ("ls", "ls --json", "ls --tenant nobody"),
    "show": ("show run --ids", "show run --window 500", "show run --request -1 --json", "show walk"),
    "why": (
        "why run {2}",
        'fold run {1} {2} "It looked."',
        "why run {2}",
        "why run {2} --json",
        "why run e1",
        "why run zz",
    ),
    "cache": ("cache run", "cache run --all", "cache run --json", "cache walk"),
    "diff": ("diff run -2 -1", "diff run 0 1 --json", "diff run 0 7"),
    "cat": ("cat run o1 --offset 6 --limit 2", "cat run o1 --offset 6 --limit 2 --json", "cat run o9"),
    "grep": ("grep run error o1 -i -B 1", "grep run ERR --json", "grep run nowhere", "grep run ("),
    "search": ("search error", "search ERROR --session run -m 1 --json", "search nowhere"),
    "compact": (
        "compact run",
        'compact run --focus "the error" --force --dry-run',
        "compact run --window 300 --dry-run",
        "compact run --window 300 --dry-run --json",
        "compact run --window 300",
        'compact run --focus " "',
    ),
    "fold": (
        'fold run {1} {2} "It looked." --dry-run',
        'fold run {1} {2} "It looked." --dry-run --json',
        'fold run {1} {2} "It looked."',
        'fold run {2} {2} "Half a pair."',
    ),
    "undo": (
        'fold run {1} {2} "It looked."',
        "undo run",
        "redo run",
        "undo run e1 --json",
        "undo run e9",
        'fold run {1} {3} "It looked."',
        "undo run {3} --dry-run",
        "undo run {3}",
    ),
    "redo": (
        'fold run {1} {2} "It looked."',
        "undo run",
        "redo run",
        "undo run",
        "redo run --json",
        "redo run",
    ),
    "release": (
        'fold run {1} {2} "It looked."',
        "undo run",
        "release run e1",
        "release run e1 --json",
        "release run e9",
    ),
    "pin": ("pin run {0}", 'pin run "Never touch vendor/." --json', "pin run", "show run"),
    "unpin": ("pin run {0}", "unpin run {0}", "pin run {0}", "unpin run {0} --json", "unpin run {0}"),
    "note": ('note run plan "1. mend"', 'note run plan "2. test" --json', "show run"),
    "rewind": ("rewind run --turns 1", "rewind run {0} --json", "rewind run zz"),
    "forward": ("rewind run {0}", "forward run", "rewind run {0}", "forward run --json", "forward run"),
    "fork": ("fork run again", "fork run afresh --fresh --json", "ls"),
    "import": ("import talk.json --name first", "import talk.json --name first --json", "import none.jsonl"),
    "export": ("export run -o run.jsonl", "export run -o run.jsonl --json", "export walk"),
    "gc": (
        "gc run",
        "gc run --json",
        'fold run {1} {2} "It looked."',
        "gc run",
        "gc run --now",
        "gc run --hidden",
        "gc run --hidden --now --json",
        "undo run",
    ),
    "erase": (
        "erase run o1",
        "erase run o1 --reason secret --yes",
        "erase run {0} --reason secret --yes --json",
        "show run",
    ),
    "doctor": ("doctor", "doctor --look-only --json", "doctor --store sqlite:none.db"),
    "rekey": ("rekey", "rekey --store sqlite:none.db"),
    "inspect": ("inspect sqlite:none.db", "inspect --host 0.0.0.0"),
    "serve": ("serve --check", "serve --check --json", "serve --print codex", "serve --print nobody"),
    "mcp": ("mcp run --json", "mcp walk"),
}
"""The commands of each scene, on a store with one session; {0}, {1} … are the ids of its rows."""
ELSEWHERE = {"demo", "exam", "replay", "requests"}
"""They print what they measured on this machine: see tests/test_demo.py, test_replaying.py, test_examining.py, and
gateway/test_journal.py."""
_NOW = re.compile(r"20(?!23)\d\d-\d\d-\d\d \d\d:\d\d|\b(?!1700)\d{10}\.\d+")
"""Times that are not those of the store."""


def test_every_command_has_its_scene() -> None:
    assert {*SCENES, *ELSEWHERE} == set(COMMANDS)


@pytest.mark.parametrize("name", SCENES)
def test_a_command_prints_this(run: Run, store: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    played = "\n".join(scene(run, line.format(*ids)) for line in SCENES[name])
    golden(f"cli/{name}", _NOW.sub("…", played))


def scene(run: Run, line: str) -> str:
    """A command as it looks in a terminal: what was typed, what came, and the exit code if it is not 0."""
    ran = run(*shlex.split(line))
    return f"$ fanfold {line}\n{ran.out}{ran.err}{f'[{ran.code}]' if ran.code else ''}"
