"""The working set: whether what the next calls work on is still there after a reduction.

Files: each file that one of the next calls reads or changes, and that was read or written before. Its newest known
content is in view, or a reference in view brings it back with one call; and its name is in view, so that it can be read
again. Handles: each command or agent that runs on,
and that a later call waits for or types into; its number has to stand in view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fanfold.core.message import Call, Message
from fanfold.replay.score import Recall
from fanfold.replay.shown import Player, Shown
from fanfold.replay.trail import acts
from fanfold.replay.trail.steps import Step, steps

NEXT = 20
"""So many calls after a reduction are looked at."""
_OPENED = re.compile(
    r"running with session ID (\d+)|running in (?:the )?background with ID: ?([\w-]+)|^agentId: ([\w-]+)",
    re.M,
)
_HEAD = 600
"""Characters of an output in which a tool says that something runs on."""


class _Touch(NamedTuple):
    """What a step showed or wrote of a file."""

    number: int
    path: str
    text: str


class Working:
    """Knows what each call of a conversation works on."""

    def __init__(self, messages: Sequence[Message]) -> None:
        found = steps(messages)
        self._touches = [touch for step in found for touch in _touches(step)]
        self._opened = [
            (number, handle)
            for number, message in enumerate(messages)
            for result in message.results
            for handle in _handles(result.text)
        ]
        self._calls = [(number, call) for number, message in enumerate(messages) for call in message.calls]
        self.files, self.named, self.handles = Recall(), Recall(), Recall()

    def look(self, shown: Shown, player: Player, before: int, until: int) -> None:
        """Count what is there after a reduction: `until` is the number of messages after the next calls."""
        newest = {touch.path: touch.text for touch in self._touches if touch.number < before}
        later = [call for number, call in self._calls if number >= before]
        soon = [call for number, call in self._calls if before <= number < until]
        for path in dict.fromkeys(path for call in soon for path in _paths(call)):
            if text := newest.get(path, "").strip():
                visible = text in shown.text or _stands_in_lines(text, shown.texts)
                self.files.count(visible, not visible and player.near(_longest(text), shown))
                self.named.count(path.rpartition("/")[2] in shown.text, near=False)
        for handle in dict.fromkeys(handle for number, handle in self._opened if number < before):
            if any(_names(call, handle) for call in later):
                self.handles.count(_stands(handle, shown.text), near=False)


def _touches(step: Step) -> Iterator[_Touch]:
    if step.ended is False:
        return
    for change in acts.changes(step.call.name, step.args):
        yield _Touch(step.number, change.path, change.text)
    for path in acts.reads(step.call.name, step.args):
        yield _Touch(step.number, path, step.output)


def _paths(call: Call) -> Iterator[str]:
    args = acts.arguments(call)
    yield from (change.path for change in acts.changes(call.name, args) if change.path)
    yield from acts.reads(call.name, args)


def _handles(text: str) -> Iterator[str]:
    for found in _OPENED.finditer(text[:_HEAD]):
        yield next(filter(None, found.groups()))


def _names(call: Call, handle: str) -> bool:
    """Whether a call waits for something that runs, or types into it."""
    return any(str(value) == handle for value in acts.arguments(call).values())


def _stands(handle: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(handle)}\b", text) is not None


def _stands_in_lines(text: str, blocks: Iterable[str]) -> bool:
    """Whether the lines stand in one block of the view, whole and in order: in a patch, each has a mark before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and any(lines[0] in block and _in_order(lines, block) for block in blocks)


def _in_order(lines: Sequence[str], block: str) -> bool:
    shown = (line.strip().removeprefix("+").strip() for line in block.splitlines())
    return all(any(line == other for other in shown) for line in lines)


def _longest(text: str) -> str:
    """The line by which a content is recognised in what a reference brings back."""
    return max((line.strip() for line in text.splitlines()), key=len)
