"""Echoes: words that an output had before the agent or the person said them.

Agents repeat what they read, and people paste what they saw, without marks. A hand-over puts such a stretch in marks:
an order that somebody planted in a file does not become the agent's decision or the person's rule because it was said
again. Six words in a row, or twelve Japanese letters, are no accident; a path counts as one word.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fanfold.strategies.handover.tongue import cite
from fanfold.text.patterns import pattern

_LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
_ATOM = pattern(rf"[{_LETTERS}]|[^\W{_LETTERS}]+(?:[./:@_+-]+[^\W{_LETTERS}]+)*")
_MARKUP = pattern(r"<[^<>]{1,200}>|\\[nt]")
"""What stands between words in pages and strings, and is not said."""
_WORDS, _SIGNS = 6, 12
"""Words, and Japanese letters, that are said again."""
_READ = 2_000_000
"""Characters of outputs that are compared, the newest first."""

Gram = tuple[str, ...]
Prints = Collection[int]
"""The hashes of all grams of an output: eight bytes each, and a thousand are compared in a blink."""
Outputs = Callable[[], Iterable[tuple[str, str]]]
"""What was recorded, in order: an entry, and what a tool said in it, if one did."""


class SaidLine(NamedTuple):
    """A line that is compared: its text, and the entry in which it was said."""

    text: str
    entry: str


class Echoes:
    """What tools said, for the lines of one hand-over; nothing is read until something is compared."""

    def __init__(self, outputs: Outputs, memory: dict[Any, Any]) -> None:
        self._outputs = outputs
        self._memory = memory
        """What goes with the session: an output is read once."""
        self._read: tuple[dict[str, int], list[tuple[int, Prints]]] | None = None
        self._looked_up: set[Gram] = set()
        """What was compared already: a plan asks several times, and mostly for the same lines."""
        self._first: dict[Gram, int] = {}

    def mark(self, lines: Sequence[SaidLine]) -> list[str]:
        """These lines, each stretch that an earlier output had in marks; what stands in marks stays as it is."""
        grams = {gram for line in lines for gram, _, _ in _grams(line.text)}
        if not grams:
            return [line.text for line in lines]
        order, outputs = self._known()
        self._look_up(grams - self._looked_up, outputs)
        return [_marked(line.text, self._first, order.get(line.entry, len(order))) for line in lines]

    def _look_up(self, new: set[Gram], outputs: Iterable[tuple[int, Prints]]) -> None:
        """Find the first output that has each of these."""
        self._looked_up |= new
        wanted = {hash(gram): gram for gram in new}
        left = set(wanted)
        for at, prints in outputs:
            if not left:
                return
            found = left.intersection(prints)
            self._first.update((wanted[one], at) for one in found)
            left -= found

    def _known(self) -> tuple[dict[str, int], list[tuple[int, Prints]]]:
        """Where each entry stands, and the newest outputs in order."""
        if self._read is None:
            told = list(self._outputs())
            order = {entry: at for at, (entry, _) in enumerate(told)}
            found, left = list[tuple[int, Prints]](), _READ
            known: dict[str, Prints] = self._memory.get("prints", {})
            kept: dict[str, Prints] = {}
            for entry, whole in reversed(told):
                if whole and left > 0:
                    text = whole[:left]
                    kept[text] = known[text] if text in known else _prints(text)
                    found.append((order[entry], kept[text]))
                    left -= len(text)
            self._memory["prints"] = kept
            self._read = order, found[::-1]
        return self._read


def is_whole(text: str) -> bool:
    """Whether a text is one echo and nothing else."""
    return text.startswith("«") and text.count("«") == 1 and not any(map(str.isalnum, text.partition("»")[2]))


def _prints(text: str) -> Prints:
    words = _ATOM.findall(_MARKUP.sub(" ", text.lower()))
    sizes = (_WORDS,) if text.isascii() else (_WORDS, _SIGNS)
    return array(
        "q", {hash(gram) for size in sizes for gram in zip(*(words[i:] for i in range(size)), strict=False)}
    )


@lru_cache(maxsize=2_048)  # a plan writes the same lines several times, and so does the next one
def _grams(text: str) -> tuple[tuple[Gram, int, int], ...]:
    """What is compared of a text, each with where it begins and ends."""
    atoms = [(found[0], found.start(), found.end()) for found in _ATOM.finditer(text.lower())]
    words = [word for word, _, _ in atoms]
    letters = (
        [len(word) == 1 and word > "\u3000" for word in words] if not text.isascii() else [False] * len(words)
    )
    return tuple(
        (tuple(words[at : at + size]), atoms[at][1], atoms[at + size - 1][2])
        for size, japanese in ((_WORDS, False), (_SIGNS, True))
        for at in range(len(atoms) - size + 1)
        if any(letters[at : at + size]) is japanese
    )


def _marked(text: str, first: dict[Gram, int], before: int) -> str:
    """A text with its echoes in marks."""
    spans = sorted((start, end) for gram, start, end in _grams(text) if first.get(gram, before) < before)
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
