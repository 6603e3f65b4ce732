"""Facts: what happened in a message: what was asked and said, what was called, and how that ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fanfold.core.message import Call, Message, Result
from fanfold.strategies.handover.answering import OpenQuestion, question_in
from fanfold.strategies.handover.evidence import Ended, ended
from fanfold.strategies.handover.letters import letter
from fanfold.strategies.handover.statements import Manner, Statement, statements
from fanfold.strategies.handover.tools import Tools, Use
from fanfold.strategies.handover.words import Words, words_said
from fanfold.text.patterns import pattern

_RUNNING = pattern(
    r"running with session ID (\d{1,20})|running in (?:the )?background with ID: ?([\w-]{1,80})|"
    r"^agentId: ([\w-]{1,80})|\A\{\"agent_id\": ?\"([\w-]{1,80})\"",
    8,
)
"""How tools say that something runs on, and by which number or name it is asked for later."""
_CLOSED = pattern(
    r"<status>(?:completed|failed|killed)</status>|\"status\": ?\"(?:completed|failed|shutdown)\""
)
_HEAD = 600
"""Characters of an output in which a tool says whether something runs on."""
_REPORTED = 6
"""Statements of what a sub-agent reports."""
_EMPTY = pattern(r"\A[\W_]*\Z")


class Asked(msgspec.Struct, frozen=True, gc=False):
    """Words in the user's mouth."""

    entry: str
    words: Words


class Said(msgspec.Struct, frozen=True, gc=False):
    """What the agent said."""

    entry: str
    statements: tuple[Statement, ...]
    """What it said, piece by piece."""
    report: bool
    """Whether it says this to the person, and calls nothing."""
    question: OpenQuestion | None = None
    """What it asks the person, where it then waits for an answer."""

    @property
    def first(self) -> str:
        """What it says first."""
        return self.statements[0].text

    @property
    def announces(self) -> bool:
        """Whether it says only what comes next, or that something goes on."""
        return not any(statement.worth > 0 for statement in self.statements)


class DoneCall(msgspec.Struct, frozen=True, gc=False):
    """A call, and how it ended."""

    entry: str
    """The entry of the output, or of the call while there is none."""
    use: Use
    ended: Ended = Ended()
    address: str = ""
    """Where the output stands: `entry#part`."""
    lines: int = 0
    size: int = 0
    """Characters of the output."""
    handle: str = ""
    """By which something is asked for that runs on after it."""
    closed: bool = False
    """Whether it says that what it asked for has ended."""
    answer: str = ""
    """What a person answered, or a list keeps; the beginning of a short output."""

    @property
    def source(self) -> str:
        """Where it is recorded: its output, or its entry while there is none."""
        return self.address or self.entry


Item = Asked | Said | DoneCall


def items(messages: Iterable[tuple[str, Message]], tools: Tools) -> Iterator[Item]:
    """What happened in some messages, each with the id of its entry, in order."""
    calls: dict[str, Use] = {}
    running: dict[str, str] = {}
    for entry, message in messages:
        yield from read(entry, message, tools, calls, running)
    for use in calls.values():
        yield DoneCall("", use)


def read(
    entry: str, message: Message, tools: Tools, calls: dict[str, Use], running: dict[str, str]
) -> Iterator[Item]:
    """What happened in a message: `calls` and `running` are those that wait for their end, and are kept up to date."""
    text, used = message.text, list(_uses(entry, message, tools)) if message.calls else []
    waiting = {**calls, **_resumed(calls, running)} if running else calls
    steps = [
        (part, step_of(entry, number, part, waiting.get(part.call)))
        for number, part in enumerate(message.parts)
        if isinstance(part, Result)
    ]
    if message.is_request and text.strip():
        yield Asked(entry, words_said(message))
    elif message.role == "assistant" and not _EMPTY.match(text):
        waits = all(use.session and not use.subject for _, use in used)
        yield _said(entry, text, "report" if not used else "waiting" if waits else "passing")
    yield from (_said(entry, words, "letter") for _, use in used if (words := _written(use)))
    calls.update(used)
    for part, step in steps:
        calls.pop(part.call, None)
        if step.handle and step.use.kind == "shell":
            running[step.handle] = step.use.subject
        yield step


def _uses(entry: str, message: Message, tools: Tools) -> Iterator[tuple[str, Use]]:
    """What the calls of a message do; of those that change files, where they stand."""
    for number, part in enumerate(message.parts):
        if isinstance(part, Call):
            use = tools.use(part)
            yield part.id, msgspec.structs.replace(use, at=f"{entry}#{number}") if use.changes else use


def _resumed(calls: dict[str, Use], running: dict[str, str]) -> dict[str, Use]:
    """Calls that wait for a command that runs already, as that command."""
    return {
        id: msgspec.structs.replace(use, subject=running[use.session])
        for id, use in calls.items()
        if use.session in running and not use.subject
    }


def step_of(entry: str, number: int, result: Result, use: Use | None) -> DoneCall:
    """A call that ended."""
    text = result.text
    known = use or Use("other", result.name or "tool", "")
    answer = text[:1_200] if known.kind in ("ask", "plan") or len(text) <= 160 else ""
    if known.kind == "agent":
        answer = _reported(text)
    head = text[:_HEAD]
    may_run = known.kind in ("shell", "agent", "other") and ("running" in head or "agent" in head)
    runs = _RUNNING.search(head) if may_run else None
    return DoneCall(
        entry,
        known,
        ended(result, use),
        handle=next(filter(None, runs.groups())) if runs else "",
        closed="status" in head and _CLOSED.search(head) is not None,
        address=f"{entry}#{number}",
        lines=text.count("\n") + (not text.endswith("\n")) if text else 0,
        size=len(text),
        answer=answer,
    )


def _written(use: Use) -> str:
    """What a call says to people."""
    return letter(use.subject) if use.kind == "shell" else ""


def _said(entry: str, text: str, manner: Manner) -> Said:
    report = manner == "report"
    return Said(entry, statements(text, manner), report, question_in(text) if report else None)


def _reported(text: str) -> str:
    """What another agent reports: the statements that are worth most."""
    told = statements(text, "report")
    best = sorted(range(len(told)), key=lambda at: -told[at].worth)[:_REPORTED]
    return " / ".join(told[at].text for at in sorted(best))
