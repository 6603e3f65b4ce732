"""Facts: what happened in a message: what was asked and said, what was called, and how that ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fanfold.core.message import Call, Message, Result
from fanfold.strategies.handover.evidence import Ended, ended
from fanfold.strategies.handover.tools import Tools, Use
from fanfold.strategies.handover.words import Words, words_said
from fanfold.text.patterns import pattern

_SENTENCE = pattern(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\n+")
_TELLING = pattern(
    r"\b(?:found|finding|because|root cause|turns out|decid\w+|chose|choos\w+|instead of|rather than|confirmed|"
    r"verified|fix(?:ed|es)|works?\b|passes|passed|fail(?:s|ed|ing)?|the (?:issue|problem|bug|reason|cause)|so I|"
    r"implemented|added|removed|renamed|moved|updated|pushed|committed|merged|created|completed?|done|"
    r"recommend\w*|should|conclu\w+|not needed|no longer|remaining|next step|blocked|depends on|open question)\b"
    r"|原因|決め|決定|採用|方針|ため|修正|実装|追加|削除|更新|完了|成功|失敗|確認|問題|判明|必要|残り|次に|変更|作成",
    2,
)
_WORD = 16
"""Characters of a sentence that is no more than a word or two."""
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
_EMPTY = pattern(r"\A[\W_]*\Z")


class Asked(msgspec.Struct, frozen=True, gc=False):
    """Words in the user's mouth."""

    entry: str
    words: Words


class Said(msgspec.Struct, frozen=True, gc=False):
    """What the agent said."""

    entry: str
    first: str
    """Its first sentence."""
    telling: tuple[str, ...]
    """Sentences in which it concludes, chooses or reports."""
    report: bool
    """Whether it says this to the person, and calls nothing."""
    waits: bool = False
    """Whether it only waits for something that runs, and concludes nothing."""


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
        waits = bool(used) and all(use.session and not use.subject for _, use in used)
        yield _said(entry, text, report=not used, waits=waits)
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
        report = _said(entry, text, report=True)
        answer = " / ".join(report.telling[:4]) or report.first
    runs = _RUNNING.search(text[:_HEAD]) if known.kind in ("shell", "agent", "other") else None
    return DoneCall(
        entry,
        known,
        ended(result, use),
        handle=next(filter(None, runs.groups())) if runs else "",
        closed=_CLOSED.search(text[:_HEAD]) is not None,
        address=f"{entry}#{number}",
        lines=text.count("\n") + (not text.endswith("\n")) if text else 0,
        size=len(text),
        answer=answer,
    )


def _said(entry: str, text: str, *, report: bool, waits: bool = False) -> Said:
    pieces = [piece.strip(" \t*#>-") for piece in _SENTENCE.split(text[:8_000])]
    pieces = [piece for piece in pieces if len(piece) > 3 and not piece.startswith(("```", "|"))]
    first = pieces.pop(0) if pieces else text.strip()[:200]
    if len(first) <= _WORD and pieces:  # "Perfect!" says nothing by itself
        first = f"{first} {pieces.pop(0)}"
    telling = [piece for piece in pieces if len(piece) > 12 and _TELLING.search(piece)]
    waits = waits and not _TELLING.search(first)
    kept = tuple(telling[: 24 if report else 4])
    return Said(entry=entry, first=first, telling=kept, report=report, waits=waits)
