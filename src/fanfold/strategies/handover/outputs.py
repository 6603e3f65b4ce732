"""Outputs to look up: by reference, each with a label that tells it from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fanfold.strategies.handover.facts import DoneCall
from fanfold.strategies.handover.sections import Line, Story, below_root, verb
from fanfold.text.cutting import both_ends, short
from fanfold.text.patterns import pattern

_REFS = pattern(r" \((o\d+(?:, o\d+)*)\)")
"""References behind a line or a name, in brackets."""
_SHOWS = pattern(
    r"\s*(?:cd [^&;|]{1,200} && )?(?:sed -n|cat|nl -ba|head|tail)\b(?:\s+(?:-\S+|'[^']*'|\"[^\"]*\"|\d\S*))*\s+"
    r"([\w@./+-]*\w\.\w+)\s*(?:\||\Z)"
)
"""A command that shows a file."""
_BEFORE = pattern(
    r"(?:cd (?:\"[^\"]*\"|\S+) *(?:&&|;) *|export +|"
    r"[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s$`'\"();&|]*) +(?:&& *)?)+"
)
"""What stands before a command proper: the folder that it runs in, and variables."""
_IN_LINE = 4
"""Files in one line about what to look up."""
_TOGETHER = 16
"""Outputs that are named in one line at most."""
_WORTH = 400
"""Characters of an output that is worth a line of its own."""
_SLIGHT, _CALLED, _LABEL = 60, 24, 48
"""Characters of an output that has a reference at least, of what was called, and of a label."""


def labelled(story: Story, told: str) -> Iterator[Line]:
    """Outputs that no other line names by their reference, the largest last; behind them the newest known content of
    files, which is what is looked up most."""
    untold = _untold(story, told, _WORTH)
    known = _contents(story)
    files = [(path, step) for path, step in known.items() if step in untold]
    shown = {step.address for _, step in files}
    worth = (step for step in untold if step.address not in shown and not _is_edit(step))
    rest = sorted(worth, key=lambda step: step.size)
    labels = [_label(step, story) for step in rest]
    counts, seen = Counter(labels), Counter[str]()
    for step, label in zip(rest, labels, strict=True):
        seen[label] += 1
        number = f" #{seen[label]}" if counts[label] > 1 else ""
        yield Line(
            f"{label}{number}, {story.tongue.lines.format(step.lines)}{story.ref(step)}", "", (step.source,)
        )
    for at in range(0, len(files), _IN_LINE):
        some = files[at : at + _IN_LINE]
        names = ", ".join(f"{'/'.join(path.rsplit('/', 2)[-2:])}{story.ref(step)}" for path, step in some)
        yield Line(f"{story.tongue.read} {names}", "", tuple(step.source for _, step in some))


def _contents(story: Story) -> dict[str, DoneCall]:
    """The newest read of each file that was not changed or read again since, the newest last."""
    found: dict[str, DoneCall] = {}
    for step in (*story.steps, *story.later_steps):
        for change in step.use.changes:
            found.pop(change.path, None)
        if path := _read(step):
            found.pop(path, None)
            found[path] = step
    return found


def _read(step: DoneCall) -> str:
    """The file that a step read, and nothing else; of a command that shows several, none is the newest known whole."""
    if step.use.kind == "read":
        return step.use.subject
    shown = _SHOWS.match(step.use.subject) if step.use.kind == "shell" else None
    return shown[1] if shown else ""


def references(story: Story, told: str) -> Iterator[Line]:
    """What is left of the outputs: nothing but references, by what was called; the largest last, as most was in them,
    and answers to edits first."""
    groups: dict[str, list[DoneCall]] = {}
    for step in sorted(_untold(story, told, _SLIGHT), key=_worth):
        called = next(iter(_proper(step.use.subject).split()), "") if step.use.kind == "shell" else ""
        groups.setdefault(short(f"{verb(step)}{called}".strip(), _CALLED), []).append(step)
    places = {step.address: at for at, step in enumerate(story.steps)}
    lines = [
        (called, steps[max(0, end - _TOGETHER) : end])
        for called, steps in groups.items()
        for end in range(len(steps), 0, -_TOGETHER)
    ]
    for called, steps in sorted(lines, key=lambda line: _worth(line[1][-1])):
        some = sorted(steps, key=lambda step: places[step.address])
        refs = ", ".join(story.refs[step.address] for step in some)
        yield Line(f"{called} ({refs})", "", tuple(step.entry for step in some))


def _worth(step: DoneCall) -> tuple[bool, int]:
    """By which outputs are looked up: an answer to an edit hardly ever, a large one rather than a small one."""
    return not _is_edit(step), step.size


def _untold(story: Story, told: str, least: int) -> list[DoneCall]:
    """The steps with an output of more than so many characters that no line names."""
    refs = {ref for some in _REFS.findall(told) for ref in some.split(", ")}
    steps = (step for step in story.steps if step.size > least and step.use.kind != "plan")
    return [step for step in steps if (ref := story.refs.get(step.address)) and ref not in refs]


def _label(step: DoneCall, story: Story) -> str:
    subject = step.use.subject.rsplit("/", 2)[-1] if step.use.kind == "read" else step.use.subject
    told = below_root(" ".join(_proper(subject[:600]).split()), story)
    return both_ends(f"{verb(step)}{told}", _LABEL, _LABEL // 2)


def _proper(command: str) -> str:
    """A command without the folder that it runs in, and without variables."""
    return command[before.end() :] if (before := _BEFORE.match(command)) else command


def _is_edit(step: DoneCall) -> bool:
    """Whether an output is the answer to a change that went well: what was changed stands in the call."""
    return bool(step.use.changes) and step.use.kind != "shell" and step.ended.ok is not False
