"""The trail of work: found in the calls of many clients by shape, and counted in requests by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanfold.core.message import Call, Message, assistant, result, user
from fanfold.replay import KINDS, Shown, Trail, marks
from fanfold.replay.trail import Watch, steps
from fanfold.replay.trail.kept import Missed, Share


def did(name: str, output: str, *, id: str = "c1", error: bool = False, **args: Any) -> list[Message]:
    """A call of a tool, and its result."""
    return [assistant("", Call(id, name, json.dumps(args))), result(id, output, error=error)]


def found(messages: list[Message], kind: str) -> list[str]:
    """The first words of every mark of a kind."""
    return [mark.needles[0] for mark in marks(messages) if mark.kind == kind]


def test_the_kinds_are_nine() -> None:
    assert len(KINDS) == len(set(KINDS)) == 9


def test_a_persons_words_are_the_beginning_of_each_message_and_no_clients_words() -> None:
    long = "please " * 40
    talk = [
        user("Fix  the\nparser."), user(long), user("<system-reminder>be brief</system-reminder>"),
        user("This session is being continued from a previous one."), user("# AGENTS.md instructions for x"),
    ]  # fmt: skip
    assert found(talk, "person's words") == ["Fix the parser.", long[:120].strip()]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Edit", {"file_path": "/src/cli/main.py", "old_string": "a", "new_string": "def parse(text):"}),
        ("Write", {"file_path": "/src/cli/main.py", "content": "\ndef parse(text):\n"}),
        ("replace", {"file_path": "/src/cli/main.py", "instruction": "i", "new_string": "def parse(text):"}),
        (
            "str_replace_editor",
            {"command": "create", "path": "/src/cli/main.py", "file_text": "def parse(text):"},
        ),
        ("MultiEdit", {"file_path": "/src/cli/main.py", "edits": [{"new_string": "def parse(text):"}]}),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: src/cli/main.py\n@@\n-a\n+def parse(text):\n"},
        ),
        ("exec_command", {"cmd": "cat > src/cli/main.py <<'EOF'\ndef parse(text):\nEOF"}),
        ("mcp__fs__write_file", {"path": "src\\cli\\main.py", "content": "def parse(text):"}),
    ],
)
def test_a_change_is_recognised_by_its_shape(name: str, args: dict[str, Any]) -> None:
    talk = did(name, "done", **args)
    assert found(talk, "files edited") == ["cli/main.py"]
    assert found(talk, "newest change") == ["def parse(text):"]


def test_a_list_of_changes_names_files_without_their_text() -> None:
    talk = did("apply_patch", "completed", changes=[{"path": "/w/src/a.ts", "kind": "update"}])
    assert (found(talk, "files edited"), found(talk, "newest change")) == (["src/a.ts"], [])


@pytest.mark.parametrize(
    ("name", "args", "paths"),
    [
        ("Read", {"file_path": "/w/src/a.ts", "offset": 3, "limit": 9}, ["src/a.ts"]),
        ("open", {"path": "setup.py", "line_number": 4}, ["setup.py"]),
        ("str_replace_editor", {"command": "view", "path": "/w/src/a.ts"}, ["src/a.ts"]),
        (
            "exec_command",
            {"cmd": "sed -n '1,20p' src/a.ts && cat 'docs/b.md' | head -5"},
            ["src/a.ts", "docs/b.md"],
        ),
        ("shell", {"command": ["bash", "-lc", "head -n 20 src/a.ts"]}, ["src/a.ts"]),
        ("Grep", {"path": "/w/src/a.ts", "pattern": "x"}, []),
        ("list_directory", {"path": "/w/src"}, []),
        ("Bash", {"command": "cat > src/a.ts <<EOF\nx\nEOF"}, []),
    ],
)
def test_a_read_is_recognised_by_its_shape(name: str, args: dict[str, Any], paths: list[str]) -> None:
    assert found(did(name, "text", **args), "files read") == paths


def test_what_failed_was_neither_read_nor_changed() -> None:
    talk = [
        *did("Read", "<tool_use_error>File does not exist.</tool_use_error>", file_path="/w/a.ts"),
        *did("Edit", "no match", id="c2", error=True, file_path="/w/b.ts", new_string="let b = 1;"),
    ]
    assert found(talk, "files read") == found(talk, "files edited") == found(talk, "newest change") == []
    assert found(talk, "failures") == ["File does not exist.", "no match"]


def test_only_the_newest_change_of_each_file_counts() -> None:
    talk = [
        *did("Write", "ok", file_path="/w/a.ts", content="let a = 1;"),
        *did("Write", "ok", id="c2", file_path="/w/b.ts", content="let b = 1;"),
        *did("Write", "ok", id="c3", file_path="/w/a.ts", content="let a = 2;"),
    ]
    standing = [
        mark.needles[0] for mark in marks(talk) if mark.kind == "newest change" and mark.until is None
    ]
    assert sorted(standing) == ["let a = 2;", "let b = 1;"]


def test_the_newest_plan_counts_whole_or_task_by_task() -> None:
    first = did("TodoWrite", "ok", todos=[{"content": "Read it", "status": "pending"}])
    second = did("update_plan", "ok", id="c2", plan=[{"step": "Write it", "status": "pending"}])
    plans = [mark for mark in marks([*first, *second]) if mark.kind == "plan"]
    assert [(mark.needles, mark.number, mark.until) for mark in plans] == [
        (("Read it",), 1, 3),
        (("Write it",), 3, None),
    ]
    tasks = [
        *did("TaskCreate", "Task #1 created", id="t1", subject="Read all", description="d"),
        *did("TaskCreate", "Task #2 created", id="t2", subject="Write all", description="d"),
        *did("TaskUpdate", "ok", id="t3", taskId="1", status="completed"),
        *did("TaskUpdate", "ok", id="t4", taskId="2", status="completed"),
        *did("TaskCreate", "Task #3 created", id="t5", subject="Ship it", description="d"),
    ]
    assert [mark.needles[0] for mark in marks(tasks) if mark.kind == "plan" and mark.until is None] == [
        "Ship it"
    ]
    half = marks(tasks[:6])
    assert [mark.needles[0] for mark in half if mark.kind == "plan" and mark.until is None] == [
        "Read all",
        "Write all",
    ]


def test_a_command_is_known_by_its_beginning_also_without_the_shell_around_it() -> None:
    (mark,) = [
        one for one in marks(did("shell", "", command="bash -lc 'git status --short'")) if "run" in one.kind
    ]
    assert mark.needles == ("bash -lc 'git status --short'", "git status --short")
    (long,) = found(did("Bash", "", command="git add " + "x" * 90), "commands run")
    assert long == "git add " + "x" * 52


def test_the_outcome_of_a_check_is_its_last_line_with_a_count_until_it_runs_again() -> None:
    talk = [
        *did("Bash", "1 failed\n12 passed in 3s\nbye", command="pytest -q"),
        *did("Bash", "Found 3 errors.", id="c2", command="npx tsc --noEmit"),
        *did("Bash", "13 passed in 3s", id="c3", command="pytest -q"),
        *did("Bash", "40 tests passed in the log", id="c4", command="cat log.txt"),
    ]
    checks = [(mark.needles[0], mark.until) for mark in marks(talk) if mark.kind == "outcome of checks"]
    assert checks == [("12 passed in 3s", 5), ("Found 3 errors.", None), ("13 passed in 3s", None)]
    go = did("Bash", "FAIL x/cli 1.2s\nok x/git (cached)", command="go test ./...")
    assert found(go, "outcome of checks") == ["FAIL x/cli 1.2s"]


def test_an_outcome_that_comes_later_belongs_to_the_command_that_was_waited_for() -> None:
    talk = [
        *did("exec_command", "Process running with session ID 7\nOutput:\n", cmd="bun test"),
        *did("write_stdin", "Process exited with code 0\nOutput:\n 8 pass", id="c2", session_id=7, chars=""),
    ]
    assert found(talk, "outcome of checks") == ["8 pass"]


@pytest.mark.parametrize(
    ("output", "ended"),
    [
        ("Exit code 1\nboom", False),
        ("Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nboom", False),
        (
            "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nexit code 1 is what we test",
            True,
        ),
        ("Output: boom\nExit Code: 1\nProcess Group PGID: 9", False),
        ("fine\n[Command finished with exit code 0]", True),
        ("error: string | null", None),
        ("The user doesn't want to proceed with this tool use.", None),
        ("3 tests failed", None),
    ],
)
def test_how_a_command_ended_is_taken_from_evidence_and_not_from_words(
    output: str, ended: bool | None
) -> None:
    output = output if output != "error: string | null" else "type: x\n" + output
    (step,) = steps(did("Bash", output, command="make"))
    assert step.ended is ended


def test_where_failures_tell_their_code_what_tells_none_went_well() -> None:
    talk = [*did("Bash", "Exit code 1\nboom", command="make"), *did("Bash", "fine", id="c2", command="ls")]
    assert [step.ended for step in steps(talk)] == [False, True]


@pytest.mark.parametrize("command", ["go test ./... | tail -5", "make test; ls", "make test || true"])
def test_an_exit_code_that_is_another_commands_is_no_evidence_of_success(command: str) -> None:
    good, bad = "Process exited with code 0\nOutput:\nFAIL", "Process exited with code 1\nOutput:\nFAIL"
    assert [step.ended for step in steps(did("exec_command", good, cmd=command))] == [None]
    assert [step.ended for step in steps(did("exec_command", bad, cmd=command))] == [False]
    talk = [*did("Bash", "Exit code 1\nboom", command="make"), *did("Bash", "FAIL", id="c2", command=command)]
    assert [step.ended for step in steps(talk)] == [False, None]


def test_a_failure_is_known_by_its_error_line() -> None:
    talk = did(
        "Bash", "Exit code 1\n$ make all errors\nbuilding\nparser.c:3: error: no ;\nmore", command="make"
    )
    assert found(talk, "failures") == ["parser.c:3: error: no ;"]


def test_what_the_agent_said_is_its_first_sentence_in_any_language() -> None:
    talk = [
        assistant("## The cause is a missing lock. More."),
        assistant("原因はロックの不足でした。直します。"),
        assistant("Ok."),
    ]
    assert found(talk, "said") == ["The cause is a missing lock.", "原因はロックの不足でした。"]


def request(*texts: str) -> Shown:
    """A request of these blocks."""
    return Shown(tuple(text.encode() for text in texts), (1,) * len(texts), texts)


def test_a_mark_counts_from_when_it_was_made_and_each_conversation_once() -> None:
    talk = [
        user("Fix the parser."),
        *did("Read", "text", file_path="/w/src/a.ts"),
        user("And the lexer, too."),
    ]
    watch = Watch(talk)
    watch.look(request("Fix the\n  parser."), 1)
    watch.look(request("nothing", "see src/a.ts"), 3)
    watch.look(request("Fix the parser. And the", "lexer, too."), 4)
    assert watch.trail() == Trail({"person's words": Share(1, 2 / 4), "files read": Share(1, 1 / 2)})
    assert watch.missed(1) == (
        Missed("person's words", "Fix the parser.", 1),
        Missed("files read", "src/a.ts", 1),
    )
    other = Trail({"files read": Share(1, 1.0)})
    assert (watch.trail() + other).share("files read") == 0.75
    assert (watch.trail() + other).mean == (0.5 + 0.75) / 2
    assert Trail().mean is None
