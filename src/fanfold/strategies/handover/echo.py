"""Echoes: words that an output had before the agent or the person said them.

Agents repeat what they read, and people paste what they saw, without marks. A hand-over puts such a stretch in marks:
an order that somebody planted in a file does not become the agent's decision or the person's rule because it was said
again. Six words in a row, or twelve Japanese letters, are no accident; a path counts as one word.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fanfold.core.message import Result
from fanfold.strategies.handover.tongue import cite
from fanfold.strategies.handover.words import Words
from fanfold.text.patterns import pattern

_LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
_INNER = "./:@+-"
"""Signs that stand within a word, and not at its ends."""
_ATOM = pattern(rf"[{_LETTERS}]|[^\W{_LETTERS}]+(?:[{_INNER}]+[^\W{_LETTERS}]+)*")
_SMALL = bytes(
    ord(chr(one).lower()) if chr(one).isalnum() or chr(one) in f"_{_INNER}" else 32 for one in range(128)
) + bytes(128)
"""ASCII in small letters, and all that stands between words as spaces: ten times as fast as a pattern."""
_MARKUP = pattern(r"<[^<>]{1,200}>|\\[nt]")
"""What stands between words in pages and strings, and is not said."""
_WORDS, _SIGNS = 6, 12
"""Words, and Japanese letters, that are said again."""
_READ = 2_000_000
"""Characters of outputs that are compared, the newest first."""

Row = tuple[str, ...]
"""Six words in a row, or twelve letters."""


class SaidLine(NamedTuple):
    """A line that is compared: its text, and the entry in which it was said."""

    text: str
    entry: str


class Heard(NamedTuple):
    """An entry in which something happened, and what a tool said there, if one did."""

    entry: str
    by: Result | Words | None

    @property
    def text(self) -> str:
        """What the tool said, as far as it is compared."""
        return self.by.text[:_READ] if self.by is not None else ""


class Echoes:
    """What tools said, for the lines of one hand-over; nothing is read until something is compared."""

    def __init__(self, heard: tuple[Heard, ...], memory: dict[Any, Any]) -> None:
        self._heard = heard
        """All that happened, in order."""
        self._memory = memory
        """What goes with the session: an output is read once, and a line is compared once."""

    def mark(self, lines: Sequence[SaidLine]) -> list[str]:
        """These lines, each stretch that an earlier output had in marks; what stands in marks stays as it is."""
        known: _Compared = self._memory.setdefault("echoes", _Compared())
        known.follow(self._heard)
        return known.mark(lines)


class _Output(NamedTuple):
    """What was read of an output."""

    at: int
    """Where it stands among all that happened."""
    text: str
    hashes: array[int]
    """Of every second five words in a row, eight bytes each. Whatever six words are said again, five of them are among
    these; and of an output that has none of them nothing else is looked at."""


class _Compared:
    """What was read of outputs, and how lines look that were compared with the outputs before them."""

    def __init__(self) -> None:
        self._heard: tuple[Heard, ...] = ()
        self._order: dict[str, int] = {}
        """Where each entry stands."""
        self._outputs: list[_Output] = []
        """The newest, in order."""
        self._marked: dict[SaidLine, str] = {}

    def follow(self, heard: tuple[Heard, ...]) -> None:
        """Read the outputs that are new, and forget those that are too old or gone."""
        if heard is self._heard:
            return
        start, known = len(self._heard), self._outputs
        if heard[:start] != self._heard:  # something was folded around a row, rewound, replaced or erased
            start = 0
            self._order, self._outputs, self._marked = {}, [], {}
        self._heard = heard
        self._order.update((heard[at].entry, at) for at in range(start, len(heard)))
        hashes = {one.text: one.hashes for one in known} if not start else {}
        new, left = list[_Output](), _READ
        for at in range(len(heard) - 1, start - 1, -1):
            if left > 0 and (text := heard[at].text):
                new.append(_Output(at, text, hashes.get(text) or _hashes(text)))
                left -= len(text)
        self._outputs += reversed(new)
        self._forget_old()

    def _forget_old(self) -> None:
        left = _READ
        for many, one in enumerate(reversed(self._outputs)):
            if left <= 0:
                del self._outputs[: len(self._outputs) - many]
                # What an output had that is too old now may stand in a later one, too.
                self._marked = {line: told for line, told in self._marked.items() if told == line.text}
                return
            left -= len(one.text)

    def mark(self, lines: Sequence[SaidLine]) -> list[str]:
        """These lines with their echoes in marks."""
        new = {line: list(_rows_in(line.text)) for line in lines if line not in self._marked}
        first = self._find({row for rows in new.values() for row, _, _ in rows})
        told = dict[SaidLine, str]()
        for line, rows in new.items():
            before = self._order.get(line.entry)
            end = len(self._heard) if before is None else before
            told[line] = _marked(line.text, [(at, to) for row, at, to in rows if first.get(row, end) < end])
            if before is not None:  # nothing that is read later stands before it
                self._marked[line] = told[line]
        return [told[line] if line in told else self._marked[line] for line in lines]

    def _find(self, rows: set[Row]) -> dict[Row, int]:
        """The first output that has each of these, as far as there is one."""
        first: dict[Row, int] = {}
        parts = {hash(part) for row in rows for part in (row[1:], row[:-1])}
        for one in self._outputs if parts else ():
            if not parts.isdisjoint(one.hashes):
                words = _words(one.text)
                found = rows & {row for size in (_WORDS, _SIGNS) for row in _rows(words, size)}
                first.update(dict.fromkeys(found, one.at))
                rows -= found
                parts = {hash(part) for row in rows for part in (row[1:], row[:-1])} if found else parts
        return first


def is_whole(text: str) -> bool:
    """Whether a text is one echo and nothing else."""
    return text.startswith("«") and text.count("«") == 1 and not any(map(str.isalnum, text.partition("»")[2]))


def _hashes(text: str) -> array[int]:
    words = _words(text)
    found = array("q")
    for size in (_WORDS,) if text.isascii() else (_WORDS, _SIGNS):
        found.extend(map(hash, _rows(words, size - 1, step=2)))
    return found


def _rows(words: Sequence[str], size: int, step: int = 1) -> Iterator[Row]:
    """So many words in a row, from each word on, or from every second."""
    return zip(*(words[at::step] for at in range(size)), strict=False)


def _words(text: str) -> list[str]:
    """The words of an output."""
    said = _MARKUP.sub(" ", text) if "<" in text or "\\" in text else text
    if not said.isascii():
        return _ATOM.findall(said.lower())
    pieces = said.encode("ascii").translate(_SMALL).decode("ascii").split()
    return [word for piece in pieces if (word := piece.strip(_INNER))]


def _rows_in(text: str) -> Iterator[tuple[Row, int, int]]:
    """What is compared of a line, each with where it begins and ends."""
    atoms = [(found[0], found.start(), found.end()) for found in _ATOM.finditer(text.lower())]
    words = [word for word, _, _ in atoms]
    letters = (
        [len(word) == 1 and word > "\u3000" for word in words] if not text.isascii() else [False] * len(words)
    )
    for size, japanese in ((_WORDS, False), (_SIGNS, True)):
        for at in range(len(atoms) - size + 1):
            if any(letters[at : at + size]) is japanese:
                yield tuple(words[at : at + size]), atoms[at][1], atoms[at + size - 1][2]


def _marked(text: str, echoes: Iterable[tuple[int, int]]) -> str:
    """A text with its echoes in marks."""
    spans = sorted(echoes)
    told, at = "", 0
    for start, end in _joined(spans):
        if text.rfind("«", 0, start) <= text.rfind("»", 0, start):
            lines = (
                cite(line.strip()) for line in text[start:end].split("\n")
            )  # no mark opens here and closes there
            told += text[at:start] + "\n".join(lines)
            at = end
    return told + text[at:]


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that overlap or touch, as one."""
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last is not None and start <= last[1] + 1:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last
