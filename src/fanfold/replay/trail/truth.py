"""Truth: statements about how something ended that the raw history contradicts.

Only what a policy wrote itself is looked at: what stands in the history is the history's. A line states an outcome by a
mark (`→ failed`, `[ok]`, `exit 1`), or by standing under a heading such as `[failed]`. It is false if what it tells of
can be found in the history, and every such step ended otherwise, by evidence. What cannot be found, or has no evidence,
is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from fanfold.core.message import Message, text_of
from fanfold.replay.shown import Shown
from fanfold.replay.trail import acts
from fanfold.replay.trail.marks import squeeze
from fanfold.replay.trail.steps import Step, steps

_SIGN = r"(?:→|⇒|->|=>|—|–|:|\(|\[|;|,)\s*"
_BAD = re.compile(
    rf"{_SIGN}(?:failed|failure|exit(?:ed)?(?: with)?(?: code| status)? [1-9]\d*|失敗|✗|✘|❌)"
    r"|(?:→|⇒|->|=>|\[)\s*error(?!\w|:)|(?:failed|失敗)[.。]?$",  # `(error)` is often code that is quoted
    re.I,
)
_GOOD = re.compile(
    rf"{_SIGN}(?:ok\b|passed|succeeded|success\b|done\b|exit(?:ed)?(?: with)?(?: code| status)? 0\b|成功|✓|✔|✅)",
    re.I,
)
_HEADING = re.compile(
    r"\A(?:\[|#{1,6} |\*\*)?(?:failed|failures?|errors?|失敗\S*?)(?:[,:、 ][^\]]{0,60})?(?:\]|\*\*)?:?\Z",
    re.I,
)
_OTHER_HEADING = re.compile(r"\A(?:\[[^\]]*\]|#{1,6} .*|\*\*[^*]+\*\*:?)\Z")
_ITEM = re.compile(r"\A\s*(?:[-*•]|\d+\.)\s+")
_SOLVED = re.compile(r"solved|fixed|then|resolved|解決|修正", re.I)
"""A line that tells of both ends contradicts neither."""
_QUOTE, _START = 12, 40
"""Characters by which a text is found in an output, and by which a command is."""


class Claim(msgspec.Struct, frozen=True):
    """A line that says how something ended."""

    line: str
    good: bool
    passage: str
    """The line, from the heading above it where it is that which says so: if this stands in the history, so it was."""


def claims(text: str) -> Iterator[Claim]:
    """The statements of outcome in a text."""
    heading: int | None = None
    lines = text.splitlines()
    for number, raw in enumerate(lines):
        line = raw.strip()
        if _HEADING.match(line):
            heading = number
        elif _OTHER_HEADING.match(line) or line.startswith("…"):
            heading = None  # what stands behind a gap need not belong to it
        else:
            start = heading if heading is not None and _ITEM.match(raw) else number
            bad, good = start < number or _BAD.search(line) is not None, _GOOD.search(line) is not None
            if bad != good and not _SOLVED.search(line):
                bare = _ITEM.sub("", line)
                passage = bare if start == number else "\n".join(lines[start : number + 1])
                yield Claim(squeeze(bare), good, squeeze(passage))


class Witness:
    """Knows how each step of a conversation ended, and compares what requests say."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._steps = steps(messages)
        self._outputs = [squeeze(step.output) for step in self._steps]
        self._commands = [squeeze(acts.bare(step.command or "")) for step in self._steps]
        self._said: list[str] = []
        """All messages so far."""
        self._seen: set[str] = set()
        self.false: list[str] = []
        """The false statements, each once."""

    def hear(self, shown: Shown, before: int) -> None:
        """Take in a request after so many messages."""
        self._said += [
            squeeze(text_of(message, unescaped=True)) for message in self._messages[len(self._said) : before]
        ]
        for text in shown.texts:
            if text not in self._seen:
                self._seen.add(text)
                for claim in claims(text):
                    if self._is_false(claim, before):
                        self.false.append(claim.line)
        self.false = list(dict.fromkeys(self.false))

    def _is_false(self, claim: Claim, before: int) -> bool:
        about = self._about(claim.line, before)
        if not about or any(step.ended is not (not claim.good) for step in about):
            return False
        return not any(claim.passage in text for text in self._said)

    def _about(self, line: str, before: int) -> list[Step]:
        """The steps that a line tells of: by their command, by tool and file, else by a piece of their output."""
        known = [(n, step) for n, step in enumerate(self._steps) if step.number < before]
        ran = [
            step
            for n, step in known
            if len(self._commands[n]) >= _QUOTE and self._commands[n][:_START] in line
        ]
        if ran:
            return ran
        named = [step for _, step in known if line.startswith(f"{step.call.name} ") and _names(line, step)]
        if named:
            return named
        pieces = [piece.strip(" .…\"'`") for piece in re.split(r"→|->|…|\[\w+\]", line)]
        pieces = [piece for piece in pieces if len(piece) >= _QUOTE]
        return [step for n, step in known if any(piece in self._outputs[n] for piece in pieces)]


def _names(line: str, step: Step) -> bool:
    """Whether a line has a path that the call was given, or at least how it ends."""
    paths = [text for text in step.args.values() if isinstance(text, str) and "/" in text and " " not in text]
    return any("/".join(path.split("/")[-2:]) in line for path in paths)
