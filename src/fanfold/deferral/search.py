"""Search for tools by what they do, without a model: BM25 over names, descriptions and parameters.

Names are split into words, English words are cut to their stems, and Japanese runs into pairs of letters. Words that
mean the same (`words.txt`: "ticket" and "issue", "delete" and 削除) find each other, with less weight. So do katakana
and the English word that they sound like, and words that are misspelt, cut short or written together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from math import log
from typing import Any

from fanfold.deferral.meanings import japanese_words, meanings, meanings_of, phrases_in, stem
from fanfold.deferral.sounds import sounds_of_english, sounds_of_katakana
from fanfold.dialects.tools import Function

_WORDS = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u30a1-\u30ff\uff66-\uff9f]+|[\u3041-\u309f\u3400-\u9fff\uf900-\ufaff々]+"
)
_CAMELS = re.compile(r"\b[A-Za-z]+[a-z][A-Z][A-Za-z]*\b")
"""Words that are written together, such as JavaScript: they are found whole, too."""
_SATURATION, _LENGTH = 1.2, 0.2
"""BM25's k1 and b: how soon a repeated word stops counting, and how much long descriptions lose."""
_NAME, _FIRST, _ABOUT, _TAKES = 3.0, 2.0, 0.5, 0.25
"""What a word counts in a name, in the first sentence of the description, in the rest of it, and in a parameter."""
_KIN = 0.9
"""What a word of the same meaning counts."""
_SOUND, _GUESS = 0.9, 0.7
"""What a word counts that sounds the same in the other language, and one that may be meant."""
_DEED = 0.5
"""What a word counts that only says what is done: there is much to create and to list, but few tools for a label."""
_WHOLE = 1.5
"""What it counts that all words of a name were asked for: `create_issue` before `create_issue_comment`."""
_HARMLESS = 0.02
"""Where nothing else decides, a tool that only looks comes first."""
_EVERYWHERE = (
    "a all an and any are as at be by can do every for from given has have how i if in into is it its me my need of "
    "on one or our out please so some that the their them then there these this to tool tools up use used "
    "using want we who will with you your mcp の を に は が で と する した して ます から"
)
_STOPWORDS = frozenset(_EVERYWHERE.split())
_READING = frozenset(map(stem, ("list", "get", "search", "read", "find", "fetch", "show")))
_SHORT, _LONG = 3, 5
"""The letters that a word has at least that another one may begin with, and one that may be misspelt."""

Unit = Mapping[str, float]
"""One word of a query: each token that it may stand for, and what that counts."""


def split_words(text: str) -> list[str]:
    """The words of a text or a name, as they are compared."""
    found = phrases_in(text)
    for word in (*_WORDS.findall(text), *_CAMELS.findall(text)):
        if word.isascii():
            found.append(stem(word.lower()) if word.lower() not in _STOPWORDS else word.lower())
        elif len(word) == 1 or _is_katakana(word):
            found.append(word)
        if not word.isascii():
            found += [word[i : i + 2] for i in range(len(word) - 1)]
    return [word for word in found if word not in _STOPWORDS]


def _is_katakana(word: str) -> bool:
    return "\u30a1" <= word[0] <= "\u30ff"


def _tokens(text: str) -> Iterator[str]:
    """What a text of a tool is found by: its words, what they mean, and what they sound like in the other language."""
    words = split_words(text)
    yield from words
    japanese = () if text.isascii() else [found[0] for found in japanese_words(text)]
    yield from (meaning for word in (*words, *japanese) for meaning in meanings_of(word))
    for word in _WORDS.findall(text):
        if word.isascii():
            yield from (f"en:{sound}" for sound in sounds_of_english(word))
        elif _is_katakana(word):
            yield from (f"ja:{sound}" for sound in sounds_of_katakana(word))


def _units(query: str) -> Iterator[Unit]:
    """The words of a query, each with what it may stand for."""
    yield from (dict.fromkeys(meanings_of(phrase), _KIN) for phrase in phrases_in(query))
    for word in (*_WORDS.findall(query), *_CAMELS.findall(query)):
        if word.isascii():
            if word.lower() not in _STOPWORDS:
                cut = stem(word.lower())
                yield {f"ja:{sound}": _SOUND for sound in sounds_of_english(word)} | _meant(cut)
        else:
            yield from _japanese(word)


def _meant(word: str) -> dict[str, float]:
    return dict.fromkeys(meanings_of(word), _KIN) | {word: 1.0}


def _japanese(run: str) -> Iterator[Unit]:
    """The words of a run of Japanese letters: those with a meaning, and pairs of letters between them."""
    known = japanese_words(run)
    if _is_katakana(run):
        pieces = [run[found.start() : found.end()] for found in known]
        left = run[known[-1].end() :] if known else run
        yield from (_loan(piece) for piece in (*pieces, left) if piece)
        return
    covered = set[int]()
    for found in known:
        pairs = range(found.start(), found.end() - 1)
        covered |= {found.start() - 1, *range(found.start(), found.end())}
        yield {run[i : i + 2]: 1.0 for i in pairs} | dict.fromkeys(meanings_of(found[0]), _KIN)
    pairs_left = (run[i : i + 2] for i in range(len(run) - 1) if i not in covered)
    yield from ({pair: 1.0} for pair in pairs_left if pair not in _STOPWORDS and not _is_hiragana(pair))


def _loan(word: str) -> Unit:
    said = {f"en:{sound}": _SOUND for sound in sounds_of_katakana(word)}
    return said | {word[i : i + 2]: _KIN for i in range(len(word) - 1)} | _meant(word)


def _is_hiragana(pair: str) -> bool:
    return all("\u3041" <= letter <= "\u309f" for letter in pair)


class ToolSearch:
    """The tools of a frame, ready to be searched."""

    def __init__(self, tools: Sequence[Function]) -> None:
        self._names = [tool.name for tool in tools]
        self._words = [list(dict.fromkeys(split_words(tool.name))) for tool in tools]
        self._counts = [_count(tool) for tool in tools]
        self._sizes = [sum(counts.values()) for counts in self._counts]
        self._usual = sum(self._sizes) / len(tools) if tools else 1.0
        self._holders = defaultdict[str, list[int]](list)
        for at, counts in enumerate(self._counts):
            for word in counts:
                self._holders[word].append(at)

    def find(self, query: str) -> list[tuple[str, float]]:
        """The tools that have to do with a query, the best first, each with its score."""
        asked = list({tuple(unit): _weigh(self._guess(unit)) for unit in _units(query)}.values())
        every = {token for unit in asked for token in unit}
        scored = [
            (self._score(at, worths, len(asked), every), -at) for at, worths in self._worths(asked).items()
        ]
        return [(self._names[-at], score) for score, at in sorted(scored, reverse=True)]

    def _guess(self, unit: Unit) -> Unit:
        """A word that no tool has, as one that it may be meant for."""
        word = next(reversed(list(unit)), "")
        if any(token in self._holders for token in unit) or not word.isalpha() or not word.isascii():
            return unit
        return {
            token: _GUESS for token in self._holders if token.isascii() and _may_mean(word, token)
        } or unit

    def _worths(self, asked: Sequence[Unit]) -> dict[int, list[float]]:
        """The tools that have something of what was asked for, each with what every word of it says for it."""
        found = defaultdict[int, list[float]](list)
        for unit in asked:
            best: dict[int, float] = {}
            for token, counts in unit.items():
                for at in self._holders.get(token, ()):
                    best[at] = max(best.get(at, 0.0), counts * self._worth(at, token))
            for at, worth in best.items():
                found[at].append(worth)
        return found

    def _score(self, at: int, worths: Sequence[float], asked: int, every: Container[str]) -> float:
        # Who has something of every word that was asked for comes before who has much of one.
        score = sum(worths) * (len(worths) / asked)
        named = self._words[at]
        covered = sum(map(partial(_cover, every), named))
        harmless = _HARMLESS if not _READING.isdisjoint(named) else 0.0
        return score * (1 + harmless + (_WHOLE * covered / len(named) if named else 0.0))

    def _worth(self, at: int, word: str) -> float:
        """What one word of a query says for one tool that has it, by BM25."""
        count, having = self._counts[at][word], len(self._holders[word])
        rare = log(1 + (len(self._names) - having + 0.5) / (having + 0.5))
        length = 1 - _LENGTH + _LENGTH * self._sizes[at] / self._usual
        return rare * count * (_SATURATION + 1) / (count + _SATURATION * length)


def _cover(every: Container[str], word: str) -> float:
    """How far a word of a name was asked for: itself, or by what it means."""
    if word in every:
        return 1.0
    return _KIN if any(kin in every for kin in meanings_of(word)) else 0.0


def _weigh(unit: Unit) -> Unit:
    """A word with what it counts: less where all that it means is something that is done."""
    meant = [token for token in unit if token.startswith("=")]
    deed = _DEED if meant and meanings().verbs.issuperset(meant) else 1.0
    return {token: deed * counts for token, counts in unit.items()}


def _may_mean(word: str, other: str) -> bool:
    """Whether a word may stand for another: it is cut short, lengthened, has one wrong letter, or holds the other."""
    short, long = sorted((word, other), key=len)
    if len(short) >= _SHORT and long.startswith(short):
        return True
    if len(word) < _LONG:
        return False
    return _one_off(word, other) or (len(other) > _SHORT and word.endswith(other))


def _one_off(word: str, other: str) -> bool:
    """Whether one letter is wrong, missing, too many, or changed places with the next."""
    if abs(len(word) - len(other)) > 1 or len(other) < _LONG - 1:
        return False
    same = next(
        (i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other))
    )
    a, b = word[same:], other[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])


def _count(tool: Function) -> dict[str, float]:
    """How much each word says about a tool."""
    found: dict[str, float] = {}
    first, _, rest = (tool.description or "").replace("。", ". ").partition(". ")
    texts = ((_NAME, tool.name), (_FIRST, first), (_ABOUT, rest), *_parameters(tool.schema))
    for weight, text in texts:
        for word, times in Counter(_tokens(text)).items():
            found[word] = found.get(word, 0.0) + weight * times
    return found


def _parameters(schema: Any) -> Iterator[tuple[float, str]]:
    """The names and descriptions of what a tool takes."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        about = one.get("description") if isinstance(one, Mapping) else None
        yield _TAKES, f"{name} {about if isinstance(about, str) else ''}"
