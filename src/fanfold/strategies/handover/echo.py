"""Echoes: words that an output had before the agent or the person said them.

Agents repeat what they read, and people paste what they saw, without marks. A hand-over puts such a stretch in marks:
an order that somebody planted in a file does not become the agent's decision or the person's rule because it was said
again. Six words in a row, or twelve Japanese letters, are no accident; a path counts as one word.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, Literal, NamedTuple

from fanfold.strategies.handover.bare import UNSEEN, bare, beyond_ascii, decoded
from fanfold.strategies.handover.hearsay import Order, is_told_again, ordering, orders_in
from fanfold.strategies.handover.ruling import strict
from fanfold.strategies.handover.tongue import cite
from fanfold.text.patterns import pattern

_LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
_FIRST = "\u3000"
"""All signs behind it may be letters that are words by themselves."""
_INNER, _ENDS = "./:@+-", "./:@+-_"
"""Signs that stand within a word, and those that are none of it at its ends."""
_ATOM = pattern(rf"[{_LETTERS}]|[^\W{_LETTERS}]+(?:[{UNSEEN}{_INNER}]+[^\W{_LETTERS}]+)*")
_SMALL = bytes(
    ord(chr(one).lower()) if chr(one).isalnum() or chr(one) in f"_{_INNER}" else 32 for one in range(128)
) + bytes(128)
"""ASCII in small letters, and all that stands between words as spaces: ten times as fast as a pattern."""
_WORDY = pattern(rf"[\w{_LETTERS}{UNSEEN}]")
"""What may stand in a word."""
_MARKUP = pattern(r"<[^<>]{1,200}>|\\[nt]")
"""What stands between words in pages and strings, and is not said."""
_CUT = pattern(r"\s+\S+…")
"""Half a word, at which a line was cut."""
_WORDS, _SIGNS = 6, 12
"""Words, and Japanese letters, that are said again."""
_PARTS = {_WORDS: (5, 2), _SIGNS: (9, 4)}
"""So many of them in a row are kept of an output, from every second or fourth on: whatever is said again has some."""
_READ = 2_000_000
"""Characters of outputs that are compared, the newest first."""

Row = tuple[str, ...]
"""Six words in a row, or twelve letters."""


Way = Literal["said", "told", "done"]
"""Said: by whoever it was, in the same words. Told: by the agent, orders in other words, too. Done: orders only."""


class SaidLine(NamedTuple):
    """A line that is compared: its text, the entry in which it was said, and what counts."""

    text: str
    entry: str
    way: Way = "said"


class ToolWords(NamedTuple):
    """An entry in which something happened, and what a tool said there, if one did."""

    entry: str
    text: str = ""


class Echoes:
    """What tools said, for the lines of one hand-over; nothing is read until something is compared."""

    def __init__(self, heard: tuple[ToolWords, ...], memory: dict[Any, Any]) -> None:
        self._heard = heard
        """All that happened, in order."""
        self._memory = memory
        """What goes with the session: an output is read once, and a line is compared once."""

    def mark(self, lines: Sequence[SaidLine]) -> list[str]:
        """These lines, each stretch that an earlier output had in marks; what stands in marks stays as it is."""
        known: _Compared = self._memory.setdefault("echoes", _Compared())
        known.follow(self._heard)
        return known.mark(lines)


class _Volume(NamedTuple):
    """Outputs that were read together.

    Of each, the hashes of every second five words in a row are kept. Whatever six words are said again, five of them
    are among these; where none of them is, nothing else is looked at.
    """

    hashes: dict[str, array[int]]
    """By the outputs."""
    all: frozenset[int]
    size: int
    """Characters of the outputs."""


class _Compared:
    """What was read of outputs, and how lines look that were compared with the outputs before them."""

    def __init__(self) -> None:
        self._heard: tuple[ToolWords, ...] = ()
        self._order: dict[str, int] = {}
        """Where each entry stands."""
        self._places: dict[str, int] = {}
        """Where each output stands first."""
        self._volumes: list[_Volume] = []
        """The newest outputs, oldest first."""
        self._read: set[str] = set()
        """The outputs in the volumes."""
        self._marked: dict[SaidLine, str] = {}
        self._orders: dict[str, list[Order]] = {}
        """What was ordered in the outputs, where somebody asked."""

    def follow(self, heard: tuple[ToolWords, ...]) -> None:
        """Read the outputs that are new, and forget those that are too old."""
        if heard is self._heard:
            return
        start = len(self._heard)
        if heard[:start] != self._heard:  # something was folded around a row, rewound, replaced or erased
            start, self._order, self._places, self._marked = 0, {}, {}, {}
        self._heard = heard
        for at in range(start, len(heard)):
            self._order[heard[at].entry] = at
            self._places.setdefault(heard[at].text[:_READ], at)
        new: dict[str, array[int]] = {}
        left = _READ
        for _, whole in heard[: start - len(heard) - 1 : -1] if start < len(heard) else ():
            text = whole[:_READ]
            if left <= 0:
                break
            if text and text not in self._read:
                new[text] = _hashes(_words(decoded(text)))
                self._read.add(text)
            left -= len(text)
        if new:
            self._volumes.append(_Volume(new, frozenset().union(*new.values()), sum(map(len, new))))
            self._forget_old()

    def _forget_old(self) -> None:
        sizes = accumulate(one.size for one in reversed(self._volumes))
        kept = sum(size < _READ for size in sizes) + 1
        if kept < len(self._volumes):
            for old in self._volumes[:-kept]:
                self._read.difference_update(old.hashes)
                for text in old.hashes:
                    self._orders.pop(text, None)
            del self._volumes[:-kept]
            # What an output had that is too old now may stand in a later one, too.
            self._marked = {line: told for line, told in self._marked.items() if told == line.text}

    def mark(self, lines: Sequence[SaidLine]) -> list[str]:
        """These lines with their echoes in marks."""
        fresh = list(dict.fromkeys(line for line in lines if line not in self._marked))
        suspects = {line: list(_rows_in(line.text)) for line in self._suspects(fresh)}
        first = self._find({row for rows in suspects.values() for row, _, _ in rows})
        told = dict[SaidLine, str]()
        for line in fresh:
            rows = suspects.get(line, ())
            before = self._order.get(line.entry)
            end = len(self._heard) if before is None else before
            spans = [(at, to) for row, at, to in rows if first.get(row, end) < end]
            if line.way == "done":
                spans = [(at, to) for at, to in _joined(spans) if strict(line.text[at:to])]
            elif line.way == "told":
                spans += self._retold(line.text, end)
            told[line] = _marked(line.text, spans)
            if before is not None:  # nothing that is read later stands before it
                self._marked[line] = told[line]
        return [told[line] if line in told else self._marked[line] for line in lines]

    def _retold(self, text: str, end: int) -> Iterator[tuple[int, int]]:
        """The sentences of a line that are orders of earlier outputs in other words."""
        for sentence, order in ordering(text):
            if any(
                is_told_again(order, self._ordered(output))
                for output in self._read
                if self._places.get(output, end) < end
            ):
                at = text.find(sentence)
                yield at, at + len(sentence.rstrip(" .。!！"))

    def _ordered(self, output: str) -> list[Order]:
        if output not in self._orders:
            self._orders[output] = orders_in(output)
        return self._orders[output]

    def _suspects(self, lines: Sequence[SaidLine]) -> Iterator[SaidLine]:
        """The lines of which some part stands in an output: quick to tell, and of most lines none does."""
        parts = {line: frozenset(_hashes(_words_in(line.text), step=1)) for line in lines}
        asked = frozenset().union(*parts.values())
        known = frozenset().union(*(asked & volume.all for volume in self._volumes))
        return (line for line in lines if not known.isdisjoint(parts[line]))

    def _find(self, rows: set[Row]) -> dict[Row, int]:
        """The first output that has each of these, as far as there is one."""
        first: dict[Row, int] = {}
        parts = {hash(part) for row in rows for part in _rows(row, _PARTS[len(row)][0])}
        for volume in self._volumes:
            hits = parts & volume.all
            for text, hashes in volume.hashes.items() if hits else ():
                if text in self._places and not hits.isdisjoint(hashes):
                    words, at = _words(decoded(text)), self._places[text]
                    found = rows.intersection(chain(*(_rows(words, size) for size in _sizes(words))))
                    first.update((row, min(at, first.get(row, at))) for row in found)
        return first


def is_whole(text: str) -> bool:
    """Whether a text is one echo and nothing else."""
    return text.startswith("«") and text.count("«") == 1 and not any(map(str.isalnum, text.partition("»")[2]))


def _hashes(words: Sequence[str], step: int = 0) -> array[int]:
    """The hashes of parts of a text: of some that no echo can do without, or of all from each `step` on."""
    found = array("q")
    for size in _sizes(words):
        length, apart = _PARTS[size]
        found.extend(map(hash, _rows(words, length, step or apart)))
    return found


def _sizes(words: Sequence[str]) -> Sequence[int]:
    """How many words in a row are compared: Japanese letters only where there are any."""
    return (_WORDS, _SIGNS) if max(words, default="") > _FIRST else (_WORDS,)


def _rows(words: Sequence[str], size: int, step: int = 1) -> Iterator[Row]:
    """So many words in a row, from each word on, or from some."""
    return zip(*(words[at::step] for at in range(size)), strict=False)


def _words(text: str) -> list[str]:
    """The words of an output that was decoded."""
    said = _MARKUP.sub(" ", text) if "<" in text or "\\" in text else text
    if _is_plain(said):
        return _split(said)
    return list(filter(None, map(str.strip, _ATOM.findall(said.lower()), repeat(_ENDS))))


def _is_plain(text: str) -> bool:
    """Whether the words of a text are in ASCII; arrows, dashes and the like stand between words."""
    return _WORDY.search(beyond_ascii(text)) is None


def _split(text: str) -> list[str]:
    """The words of a plain text, as `_ATOM` finds them."""
    pieces = text.encode("ascii", "replace").translate(_SMALL).decode("ascii").split()
    return list(filter(None, map(str.strip, pieces, repeat(_ENDS))))


def _words_in(text: str) -> list[str]:
    """The words of a line."""
    return _split(text) if _is_plain(text) else [word for word, _, _ in _atoms(text)]


def _atoms(text: str) -> list[tuple[str, int, int]]:
    """The words of a line, each with where it begins and ends."""
    found = ((bare(one[0]).strip(_ENDS), one.start(), one.end()) for one in _ATOM.finditer(text.lower()))
    return [atom for atom in found if atom[0]]


def _rows_in(text: str) -> Iterator[tuple[Row, int, int]]:
    """What is compared of a line, each with where it begins and ends."""
    atoms = _atoms(text)
    words = [word for word, _, _ in atoms]
    letters = (
        [len(word) == 1 and word > _FIRST for word in words] if not text.isascii() else [False] * len(words)
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
        end = cut.end() if (cut := _CUT.match(text, end)) else end
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
