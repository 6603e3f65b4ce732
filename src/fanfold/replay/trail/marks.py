"""Marks: the words by which each piece of the trail is recognised in a request.

Nine kinds, each found by a plain rule. A mark counts from when it was made; of a plan, of a file's change and of a
check only the newest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from fanfold.core.message import Message
from fanfold.replay.trail import acts
from fanfold.replay.trail.steps import Step, steps

KINDS = (
    "person's words", "plan", "files edited", "newest change", "commands run", "outcome of checks", "failures", "said",
    "files read",
)  # fmt: skip

_WORDS, _COMMAND, _LINE, _SENTENCE = 120, 60, 100, 120
"""Characters by which a message, a command, a line and a sentence are recognised."""
_SHORT = 8
"""Characters of a line or a sentence; shorter ones stand anywhere by chance."""
_LINES = 3
"""So many lines say what a change is."""
_INJECTED = re.compile(
    r"\A\s*(?:<(?!https?:)[a-zA-Z_-]+[> ]|This session is being continued|Caveat: |\[Request interrupted"
    r"|Base directory for this skill|# AGENTS\.md instructions|Here is a demonstration|\[?Image)"
)
"""What clients write in a person's name."""
_TESTING = re.compile(
    r"\b(?:py\.?test|jest|vitest|mocha|rspec|phpunit|unittest|tox|nox|ctest|go test|cargo (?:nextest|test)|"
    r"(?:npm|yarn|pnpm|bun|make|mise|just|gradle\w*|mvn|mix|dotnet|swift|deno|playwright)"
    r"(?: run)?(?: \S+)? ?[\w:-]*test\w*)\b"
)
_LINTING = re.compile(
    r"\b(?:eslint|ruff|flake8|pylint|golangci-lint|biome|clippy|go vet|shellcheck|lint\w*|prettier|gofmt)\b"
)
_TYPES = re.compile(r"\b(?:mypy|pyright|type-?check\w*|tsc)\b")
_BUILDING = re.compile(r"\b(?:go build|cargo (?:build|check)|make|build)\b")
_CHECKS = (("test", _TESTING), ("types", _TYPES), ("lint", _LINTING), ("build", _BUILDING))
_COUNTED = re.compile(
    r"\b\d+ (?:\w+ ){0,2}(?:pass(?:ed|ing)?|fail(?:ed|ing|ures?|s)?|errors?|warnings?|problems?|issues?|skipped)\b"
    r"|\bTests?: +\d+ \w|^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\))|\bChecked \d+ files|\bFound \d+|\bRan \d+ tests?",
    re.I,
)
_WRONG = re.compile(
    r"error|fail|fatal|exception|panic|cannot|can't|could not|not found|no such|denied|invalid|undefined|unexpected"
    r"|unknown|missing|conflict|timed? ?out|エラー|失敗|見つかりません",
    re.I,
)
_BESIDE = re.compile(r"Exit code|[$>] |\(pass\)|✓|✔|PASS\b|ok\b")
"""Lines around a failure: its code, the command repeated, and what went well."""
_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n|:\s*$")


class Mark(msgspec.Struct, frozen=True):
    """A piece of the trail."""

    kind: str
    number: int
    """It counts in requests that hold the message of this number."""
    needles: tuple[str, ...]
    """It is there if one of these stands there, with one space between words."""
    until: int | None = None
    """It counts no more in requests that hold the message of this number: something newer has come."""


def squeeze(text: str) -> str:
    """A text with one space between words: how lines are broken does not matter."""
    return " ".join(text.split())


def marks(messages: Sequence[Message]) -> list[Mark]:
    """The trail of a conversation, in order."""
    done = steps(messages)
    found = [
        *_alone("person's words", _requests(messages)),
        *_newest("plan", _plans(done)),
        *_alone(
            "files edited", ((step.number, _tail(one.path)) for step, one in _file_changes(done) if one.path)
        ),
        *_newest_of_each("newest change", _lines_changed(done)),
        *_alone("commands run", _commands(done)),
        *_newest_of_each("outcome of checks", _outcomes(done)),
        *_alone("failures", _failures(done)),
        *_alone("said", _sayings(messages)),
        *_alone("files read", _read(done)),
    ]
    return sorted(found, key=lambda mark: mark.number)


Needles = tuple[str, ...]
Found = Iterator[tuple[int, Needles]]
Groups = list[tuple[int, list[Needles]]]
Sorted = list[tuple[str, int, list[Needles]]]
"""Groups of marks by their sort, which is a file or a kind of check."""


def _alone(kind: str, found: Found) -> Iterator[Mark]:
    """Each once, from when it came first."""
    seen: set[Needles] = set()
    for number, needles in found:
        if needles not in seen and any(needles):
            seen.add(needles)
            yield Mark(kind, number, needles)


def _newest(kind: str, found: Groups) -> Iterator[Mark]:
    """Of several groups, each until the next."""
    ends = [number for number, _ in found[1:]]
    for (number, group), end in zip(found, [*ends, None], strict=False):
        yield from (Mark(kind, number, needles, end) for needles in dict.fromkeys(group))


def _newest_of_each(kind: str, found: Sorted) -> Iterator[Mark]:
    """Of groups of several sorts, each until the next of its sort."""
    for sort in dict.fromkeys(sort for sort, _, _ in found):
        yield from _newest(kind, [(number, group) for one, number, group in found if one == sort])


def _requests(messages: Sequence[Message]) -> Found:
    for number, message in enumerate(messages):
        if message.is_request and message.text.strip() and not _INJECTED.match(message.text):
            yield number, (squeeze(message.text)[:_WORDS].strip(),)


def _plans(done: Sequence[Step]) -> Groups:
    """Each state of the plan; tasks that are added one by one are one plan until all are done."""
    found: Groups = []
    tasks = _Tasks()
    for step in done:
        items = acts.plan(step.args) or tasks.take(step)
        if items:
            found.append((step.number, [(squeeze(item)[:_WORDS].strip(),) for item in items]))
    return found


class _Tasks:
    """A plan to which tasks are added one by one."""

    def __init__(self) -> None:
        self._all: dict[str, str] = {}
        self._open: set[str] = set()

    def take(self, step: Step) -> list[str] | None:
        """The whole plan, if this step adds something to it."""
        if added := acts.task(step.call.name, step.args):
            if not self._open:
                self._all = {}
            key = next(iter(re.findall(r"#(\d+)", step.output)), str(len(self._all) + 1))
            self._all[key] = added
            self._open.add(key)
            return list(self._all.values())
        if step.args.get("status") in ("completed", "deleted", "cancelled"):
            self._open.discard(str(step.args.get("taskId", "")))
        return None


def _file_changes(done: Sequence[Step]) -> Iterator[tuple[Step, acts.FileChange]]:
    for step in done:
        if step.ended is not False and not step.output.startswith("The user doesn't want"):
            yield from ((step, change) for change in acts.changes(step.call.name, step.args))


def _lines_changed(done: Sequence[Step]) -> Sorted:
    """The first lines of each change that has any, by the file."""
    found: Sorted = []
    for step, change in _file_changes(done):
        lines = [line for line in map(squeeze, change.text.splitlines()) if len(line) >= _SHORT]
        if lines:
            found.append((change.path, step.number, [(line[:_LINE].strip(),) for line in lines[:_LINES]]))
    return found


def _commands(done: Sequence[Step]) -> Found:
    for step in done:
        if text := acts.command(step.args):
            ways = dict.fromkeys(squeeze(one)[:_COMMAND].strip() for one in (text, acts.bare(text)))
            yield step.number, tuple(ways)


def _outcomes(done: Sequence[Step]) -> Sorted:
    """The last line with a count in the output of each check; where packages are told one by one, one that failed."""
    found: Sorted = []
    for step in done:
        sort = next((sort for sort, check in _CHECKS if step.command and check.search(step.command)), None)
        lines = [squeeze(line) for line in step.output.splitlines() if _COUNTED.search(line)] if sort else []
        if sort and lines:
            line = next((line for line in reversed(lines) if line.startswith("FAIL")), lines[-1])
            found.append((sort, step.number, [(line[:_LINE].strip(),)]))
    return found


def _failures(done: Sequence[Step]) -> Found:
    for step in done:
        if step.ended is False:
            lines = [line for line in map(squeeze, step.output.splitlines()) if len(line) >= _SHORT]
            lines = [line for line in lines if not _BESIDE.match(line)]
            wrong = [line for line in lines if _WRONG.search(line)] or lines[-1:]
            yield step.number, tuple(line[:_LINE].strip() for line in wrong[:1])


def _sayings(messages: Sequence[Message]) -> Found:
    for number, message in enumerate(messages):
        if message.role == "assistant":
            parts = (squeeze(part.strip(" \t#*->")) for part in _END.split(message.text))
            yield (
                number,
                tuple(part[:_SENTENCE].strip() for part in [p for p in parts if len(p) >= _SHORT][:1]),
            )


def _read(done: Sequence[Step]) -> Found:
    for step in done:
        if step.ended is not False:
            for path in acts.reads(step.call.name, step.args):
                yield step.number, _tail(path)


def _tail(path: str) -> tuple[str, ...]:
    """The last two segments of a path, however they are parted."""
    parts = [part for part in re.split(r"[/\\]+", path.strip()) if part not in ("", ".", "~")][-2:]
    return tuple(dict.fromkeys(("/".join(parts), "\\".join(parts)))) if parts else ()
