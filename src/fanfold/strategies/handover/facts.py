"""Facts: what happened, read from the log once. Each message is read when it first matters, and what was found is kept.

A fact is found by the content of an entry, so that what was erased or replaced since is read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec

from fanfold.core.message import Call, Message, Result, Text, text_of
from fanfold.core.view import Row, View
from fanfold.strategies.handover.evidence import ANSI, Ended, ended
from fanfold.strategies.handover.tools import Tools, Use
from fanfold.strategies.handover.words import Words, words_of
from fanfold.text.identifiers import identifiers
from fanfold.text.patterns import pattern

_KEPT = 10_000
"""Messages of which facts are kept: those of some long sessions."""
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
_RUNNING = pattern(r"running with session ID (\d+)")
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


class Step(msgspec.Struct, frozen=True, gc=False):
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
    answer: str = ""
    """What a person answered, or a list keeps; the beginning of a short output."""

    @property
    def source(self) -> str:
        """Where it is recorded: its output, or its entry while there is none."""
        return self.address or self.entry


Item = Asked | Said | Step


class Read(msgspec.Struct, frozen=True, gc=False):
    """What was found in one message."""

    message: Message
    """What was read: whatever else stands in the same place later is read anew."""
    asked: Asked | None = None
    said: Said | None = None
    calls: tuple[tuple[str, Use], ...] = ()
    results: tuple[tuple[str, Step], ...] = ()
    """The steps that end here, by their calls."""
    running: tuple[tuple[str, str], ...] = ()
    """Commands that go on, by the number of their session."""


_read: OrderedDict[tuple[str, Tools], Read] = OrderedDict()
_names: OrderedDict[tuple[str, int], tuple[int, tuple[str, ...]]] = OrderedDict()


def items(messages: Iterable[tuple[str, Message]], tools: Tools) -> Iterator[Item]:
    """What happened in some messages, each with the id of its entry, in order."""
    calls: dict[str, Use] = {}
    running: dict[str, str] = {}
    for entry, message in messages:
        found = _facts(entry, message, tools, calls, running)
        if found.asked is not None:
            yield found.asked
        if found.said is not None:
            yield found.said
        calls.update(found.calls)
        running.update(found.running)
        for call, step in found.results:
            calls.pop(call, None)
            yield step
    for use in calls.values():
        yield Step("", use)


def _facts(
    entry: str, message: Message, tools: Tools, calls: dict[str, Use], running: dict[str, str]
) -> Read:
    known = _read.get((entry, tools))
    if known is not None and known.message is message:
        return known
    found = _look(entry, message, tools, {**calls, **_resumed(calls, running)})
    _read[entry, tools] = found
    if len(_read) > _KEPT:
        _read.popitem(last=False)
    return found


def _look(entry: str, message: Message, tools: Tools, calls: dict[str, Use]) -> Read:
    results = tuple(
        (part.call, step_of(entry, number, part, calls.get(part.call)))
        for number, part in enumerate(message.parts)
        if isinstance(part, Result)
    )
    used = tuple((call.id, tools.use(call)) for call in message.calls)
    asked = said = None
    text = message.text
    if message.is_request and text.strip():
        asked = Asked(entry, words_of(text))
    elif message.role == "assistant" and not _EMPTY.match(text):
        said = _said(entry, text, report=not used)
    going = tuple(
        (number[1], step.use.subject)
        for part, (_, step) in zip(message.results, results, strict=True)
        if step.use.kind == "shell" and (number := _RUNNING.search(part.text[:400]))
    )
    return Read(message, asked, said, used, results, going)


def _resumed(calls: dict[str, Use], running: dict[str, str]) -> dict[str, Use]:
    """Calls that wait for a command that runs already, as that command."""
    return {
        id: msgspec.structs.replace(use, subject=running[use.session])
        for id, use in calls.items()
        if use.session in running and not use.subject
    }


def step_of(entry: str, number: int, result: Result, use: Use | None) -> Step:
    """A call that ended."""
    text = result.text
    known = use or Use("other", result.name or "tool", "")
    answer = text[:1_200] if known.kind in ("ask", "plan") or len(text) <= 160 else ""
    if known.kind == "agent":
        report = _said(entry, text, report=True)
        answer = " / ".join(report.telling[:4]) or report.first
    return Step(
        entry,
        known,
        ended(result, use),
        address=f"{entry}#{number}",
        lines=text.count("\n") + (not text.endswith("\n")) if text else 0,
        size=len(text),
        answer=answer,
    )


def _said(entry: str, text: str, *, report: bool) -> Said:
    pieces = [piece.strip(" \t*#>-") for piece in _SENTENCE.split(text[:8_000])]
    pieces = [piece for piece in pieces if len(piece) > 3 and not piece.startswith(("```", "|"))]
    first = pieces.pop(0) if pieces else text.strip()[:200]
    if len(first) <= _WORD and pieces:  # "Perfect!" says nothing by itself
        first = f"{first} {pieces.pop(0)}"
    telling = [piece for piece in pieces if len(piece) > 12 and _TELLING.search(piece)]
    return Said(entry, first, tuple(telling[: 24 if report else 4]), report)


def names_in(entry: str, number: int, part: Result | Text | Call | None, message: Message) -> tuple[str, ...]:
    """The names of a message, or of one output of it; read once."""
    text = text_of(message) if part is None else part.text if not isinstance(part, Call) else part.raw
    print, known = hash(text), _names.get((entry, number))
    if known is not None and known[0] == print:
        return known[1]
    found = tuple(identifiers(ANSI.sub("", text) if "\x1b" in text else text))
    _names[entry, number] = print, found
    if len(_names) > _KEPT:
        _names.popitem(last=False)
    return found


def messages_of(rows: Iterable[Row], view: View) -> Iterator[tuple[str, Message]]:
    """The messages behind some rows, as they were recorded, each with its entry; folds of ours are opened."""
    for row in rows:
        if row.kind == "entry":
            yield row.id, row.whole
        elif row.kind in ("fold", "mend", "drop"):
            for entry in view.behind(row.id) or row.asked:
                message = view.said(entry)
                if message is not None:
                    yield entry, message
