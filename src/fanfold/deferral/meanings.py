"""Words that mean the same, in English and Japanese, as `words.txt` has them; and the stems of English words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

_DERIVED = (
    ("ification", "ify"),
    ("ription", "ribe"),
    ("ysis", "yze"),
    ("ytics", "yze"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ment", ""),
    ("eries", "er"),
    ("ery", "er"),
    ("ability", "able"),
    ("ness", ""),
    ("ied", "y"),
    ("gnee", "gn"),
)
"""Endings that make another kind of word of a verb: `notification` is read as `notify`."""
_ENDINGS = ("ing", "ion", "ed", "er")
_UNCUT = frozenset(("comment", "document", "element", "moment", "segment", "query"))
_KANJI = r"[\u3400-\u9fff\uf900-\ufaff々]"
_HIRAGANA = r"[\u3041-\u309f]"
_KATAKANA = r"[\u30a1-\u30ff]"


class Meanings(NamedTuple):
    """The meanings of words, each named by the first word of its line."""

    of: Mapping[str, tuple[str, ...]]
    """By the stem of an English word, a phrase with hyphens, or a Japanese word as it is found."""
    verbs: frozenset[str]
    phrases: Mapping[str, str]
    """Words that only together have a meaning, as they stand in a text, each with its key."""
    japanese: re.Pattern[str]
    """A Japanese word that has a meaning, the longest first."""


@cache
def meanings() -> Meanings:
    """What `words.txt` says; read when something is searched for the first time."""
    known: dict[str, dict[str, None]] = {}
    verbs, written, verbal = set[str](), dict[str, None](), False
    for at, line in enumerate(_lines()):
        if line.startswith("["):
            verbal = line == "[verbs]"
            continue
        words, meaning = line.split(), f"={line.split()[0]}:{at}"
        verbs |= {meaning} if verbal else set()
        for word in words:
            key = stem(word) if word.isascii() and "-" not in word else word.removesuffix("~")
            known.setdefault(key, {})[meaning] = None
            written[word] = None
    japanese = sorted((word for word in written if not word.isascii()), key=len, reverse=True)
    phrases = {word.replace("-", " "): word for word in written if "-" in word}
    found = {word: tuple(several) for word, several in known.items()}
    return Meanings(found, frozenset(verbs), phrases, re.compile(_pattern(japanese)))


def _lines() -> Iterator[str]:
    text = (files("fanfold.deferral") / "words.txt").read_text(encoding="utf-8")
    yield from (line for line in text.splitlines() if line and not line.startswith("#"))


def _pattern(words: Iterable[str]) -> str:
    """One of these words. They stand by their first letters, which `re` looks for quickly."""
    by_letter = defaultdict[str, list[str]](list)
    for word in words:
        by_letter[word[0]].append(_rest(word))
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())


def _rest(word: str) -> str:
    """What stands behind the first letter of a word."""
    stemmed = word.removesuffix("~")
    if stemmed != word:
        return f"{stemmed[1:]}(?={_HIRAGANA})"
    if len(word) == 1:  # 人 is a person, but not in 人気
        return f"(?<!{_KANJI}{word})(?!{_KANJI})"
    return word[1:]


def japanese_words(text: str) -> list[re.Match[str]]:
    """The words in a Japanese text that have a meaning. In a run of katakana, each follows another or begins it."""
    found: list[re.Match[str]] = []
    for word in meanings().japanese.finditer(text):
        before = text[word.start() - 1 : word.start()]
        follows = bool(found) and found[-1].end() == word.start()
        if follows or not (re.match(_KATAKANA, word[0]) and re.match(_KATAKANA, before)):
            found.append(word)
    return found


def phrases_in(text: str) -> list[str]:
    """The phrases in a text that have a meaning."""
    lowered = text.lower()
    return [key for phrase, key in meanings().phrases.items() if phrase in lowered]


def meanings_of(word: str) -> tuple[str, ...]:
    """The meanings of a word that was cut to its stem."""
    return meanings().of.get(word, ())


def is_verb(word: str) -> bool:
    """Whether a word says what is done, and not with what."""
    return not meanings().verbs.isdisjoint(meanings_of(stem(word.lower())))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """An English word without its ending, crudely: `queries` and `query`, `created` and `creation` are the same."""
    if len(word) < 4:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is", "ytics")):
        word = word[:-1]
    for ending, plain in () if word in _UNCUT else _DERIVED:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + plain
            break
    return _cut(word).removesuffix("e")


def _cut(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (4 if ending == "ion" else 3):
            word = word.removesuffix(ending)
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word
