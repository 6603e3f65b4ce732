"""The working set: what the next calls need of files and of what runs, counted by hand."""

from __future__ import annotations

import json
from typing import Any

from fanfold.core.message import Call, Message, assistant, result, user
from fanfold.replay import Shown
from fanfold.replay.score import Recall
from fanfold.replay.working import Working


class Recalling:
    """A player whose references bring back one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def show(self, count: int) -> Shown:
        raise AssertionError

    def near(self, text: str, shown: Shown) -> bool:
        return text in self.text

    def close(self) -> None:
        """Nothing is open."""


def did(id: str, name: str, output: str, **args: Any) -> list[Message]:
    return [assistant("", Call(id, name, json.dumps(args))), result(id, output)]


def looked(before: list[Message], after: list[Message], shown: str, recalled: str = "") -> Working:
    working = Working([*before, *after])
    request = Shown((b"",), (1,), (shown,))
    working.look(request, Recalling(recalled), len(before), len(before) + len(after))
    return working


BODY = "def parse(text):\n    return text.split(',')"
READ = did("c1", "Read", BODY, file_path="/app/parser.py")
AGAIN = did("c9", "Edit", "ok", file_path="/app/parser.py", old_string="a", new_string="b")


def test_a_file_in_work_is_whole_in_view_or_one_call_away_or_lost() -> None:
    before = [user("Go."), *READ]
    assert looked(before, AGAIN, f"Go.\n{BODY}").files == Recall(1, 1, 0)
    assert looked(before, AGAIN, "read parser.py (o1)", recalled=BODY).files == Recall(1, 0, 1)
    lost = looked(before, AGAIN, "read parser.py")
    assert lost.files == Recall(1, 0, 0)
    assert lost.named == Recall(1, 1, 0)


def test_the_newest_content_counts_and_not_an_older_one() -> None:
    newer = did("c2", "Write", "ok", file_path="/app/parser.py", content="def parse():\n    pass")
    before = [user("Go."), *READ, *newer]
    assert looked(before, AGAIN, BODY).files == Recall(1, 0, 0)
    assert looked(before, AGAIN, "def parse():\n    pass").files == Recall(1, 1, 0)


def test_a_file_that_nobody_has_seen_before_is_no_loss() -> None:
    assert looked([user("Go.")], AGAIN, "").files == Recall()


def test_what_runs_and_is_asked_for_later_has_to_stand_in_view() -> None:
    begun = did("c1", "exec_command", "Process running with session ID 4711\nOutput:\n", cmd="npm start")
    waits = did("c2", "write_stdin", "Process exited with code 0", session_id=4711)
    assert looked(begun, waits, "npm start runs as 4711").handles == Recall(1, 1, 0)
    assert looked(begun, waits, "npm start runs, 14711").handles == Recall(1, 0, 0)
    assert looked(begun, [], "").handles == Recall()


def test_what_a_patch_wrote_is_in_view_where_the_patch_is() -> None:
    patch = "*** Begin Patch\n*** Update File: /app/parser.py\n@@\n+def parse():\n+    pass\n*** End Patch"
    before = [user("Go."), *did("c2", "apply_patch", "Success", input=patch)]
    assert looked(before, AGAIN, patch).files == Recall(1, 1, 0)
    assert looked(before, AGAIN, patch.replace("pass", "return")).files == Recall(1, 0, 0)
    # Its lines here and there are not what it wrote.
    assert looked(before, AGAIN, "pass\ndef parse():").files == Recall(1, 0, 0)
    assert looked(before, AGAIN, "async def parse(): # to\n    passage").files == Recall(1, 0, 0)
