"""Quotes: what is shown of an output, without the words of its call, when only the call is erased."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

import msgspec

from fanfold.core.draft import PINNED
from fanfold.core.edit import TRIMMED, Elide
from fanfold.core.log import Log
from fanfold.core.message import text_of
from fanfold.outputs.notices import LATER, OWN, SIZE
from fanfold.text.patterns import pattern

_WORD = pattern(r"\w+")
_BEGINNING = TRIMMED.partition("{")[0]
_NAME = 3
"""Letters of the shortest word that is looked for inside longer ones."""


class Quotes(msgspec.Struct, frozen=True):
    """Tells what quotes a call and does not stand in the output that the call gave."""

    asked: str
    asked_words: frozenset[str]
    asked_pairs: frozenset[tuple[str, str]]
    said: frozenset[str]
    """The lines of the output."""
    said_words: frozenset[str]
    said_pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, asked: str, said: str) -> Quotes:
        """What quotes a call that asked this, and whose output said that."""
        own, lines = _words(asked), said.split("\n")
        words = [_words(line) for line in lines]
        return cls(
            asked.casefold(),
            frozenset(own),
            frozenset(pairwise(own)),
            frozenset(lines),
            frozenset(chain.from_iterable(words)),
            frozenset(chain.from_iterable(map(pairwise, words))),
        )

    def has(self, line: str) -> bool:
        """Whether a line may quote the call: with a word of it, or two in a row, that the output does not have."""
        if line in self.said:
            return False
        words = _words(OWN.sub("\n", line))
        pairs = set(pairwise(words)) & self.asked_pairs
        return not pairs <= self.said_pairs or any(map(self._is_asked, set(words) - self.said_words))

    def _is_asked(self, word: str) -> bool:
        """Whether a word stands in the call, or is made with one of it; scripts without spaces have long words."""
        if word in self.asked or self._is_made_with_a_word(word):
            return True
        return not word.isascii() and any(two in self.asked for two in map("".join, pairwise(word)))

    def _is_made_with_a_word(self, word: str) -> bool:
        if len(word) ** 2 > len(self.asked_words):
            return any(len(one) >= _NAME and one in word for one in self.asked_words)
        pieces = (word[at:end] for at in range(len(word)) for end in range(at + _NAME, len(word) + 1))
        return any(piece in self.asked_words for piece in pieces)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def stub_with_ref(reason: str, edit: Elide) -> str:
    """What stands in the place of words that an edit showed of something else than what is erased."""
    return f"[erased: {reason}]" if edit.ref is None else f"[erased: {reason}; ref={edit.ref}]"


def without_call(log: Log, edit: Elide, asked: str, stub: str, text: str) -> str:
    """A text that an edit shows of an output, with a stub in the place of lines that quote the call."""
    quotes = Quotes.of(asked, "\n".join(map(text_of, log.bodies(edit.entry))))
    told, heading, pinned = text.partition(PINNED)
    if told.startswith(_BEGINNING):
        end = len(told.rstrip())
        told = _placeholder(told[:end], quotes) + told[end:]
    return "\n".join(_lines(told, quotes, stub)) + heading + pinned


def _placeholder(told: str, quotes: Quotes) -> str:
    """A placeholder that says how much the output was, and what stood in it, but nothing of what was asked."""
    head = ";".join(told.removesuffix("]").split(";", 2)[:2])
    sizes = list(SIZE.finditer(told))
    if not sizes:
        return f"{head}]"
    size = max(sizes, key=lambda one: (one[2] is not None, one.start()))
    excerpt = told[size.end() :].removesuffix("]").split("; ")[1:]
    kept = (one for one in excerpt if not LATER.search(one) and not quotes.has(one))
    return f"{'; '.join([head, size[1], *kept])}]"


def _lines(told: str, quotes: Quotes, stub: str) -> Iterator[str]:
    """The lines of a text, with one stub for all that quote the call."""
    missing = False
    for at, line in enumerate(told.split("\n")):
        if not (at == 0 and line.startswith(_BEGINNING)) and quotes.has(line):
            if not missing:
                yield stub
            missing = True
        else:
            yield line
