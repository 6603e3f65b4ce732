"""Talk: what of a person's words matters most, where not all of them can stay.

What forbids, limits, states, wants or prefers something ranks before questions, and those before small talk. Where a
later sentence changes a value, the earlier one is replaced.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from fanfold.strategies.handover.ruling import SENTENCE, strict
from fanfold.text.patterns import finder, pattern

_SMALL = pattern(
    r"\A\W*(?:(?:ok(?:ay)?|thanks?(?: you| a lot)?|thank you|great|nice|cool|perfect|hi|hello|hey|good (?:morning|"
    r"evening|night)|yes|yep|no problem|sure|lol|haha|awesome|got it|sounds good|bye|see you|interesting|wow|go on|"
    r"ありがとう\w*|了解\w*|はい|うん|おはよう\w*|こんにちは|すごい\w*|なるほど|お疲れ\w*|よろしく\w*|続けて)[\W_]*)+\Z",
    2,
)
_WANTS = finder(
    r"\b(?:i|we)(?:['’](?:d|m|re|ll|ve))? (?:want|need|would like|am|are|have|live|work|use|prefer|like|love|hate|plan|"
    r"moved|decided|chose|go with|going to|must|can(?:not|['’]t))\b|\b(?:my|our) \w+|\b(?:goal|aim|deadline|budget|"
    r"allerg\w+|prefer\w*|favou?rite|call me|name is|instead|rather|actually|from now on|no longer|change\w*|remember|"
    r"important|limit|address|password|account|version|port)\b|"
    r"(?:私|僕|俺|うち|弊社|我々)[のはがも]|好き|嫌い|苦手|たい(?:です|と|。|$)|ほしい|欲しい|希望|目標|目的|予算|締切|アレルギー|"
    r"やっぱり|変更|代わりに|ではなく|覚えて|住んで|名前は|必要|使って|にして"
)
_VALUE = pattern(r"\d|[A-Z][a-z]+|[A-Z]{2,}|[「『\"'`]|[\u30a0-\u30ff]{2,}")
_CHANGES = finder(
    r"\b(?:actually|instead|no longer|change\w*|correct\w*|rather|now|update\w*|moved|switch\w*|from now on|"
    r"not .{1,30} but|make (?:it|that)|sorry|scratch that|forget)\b|"
    r"やっぱり|変更|訂正|ではなく|じゃなく|代わりに|今は|これから|改め|修正"
)
_WORD = pattern(r"[a-z]{3,}|[\u4e00-\u9fff]{2,}|[\u30a0-\u30ff]{2,}")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for with that this you are was have has not but now please our your from will can use its all any "
        "want need would like should must never always only make let actually instead change changed correct update "
        "moved longer",
    )
)
_NAME = pattern(
    r"(?:(?<!\A)(?<![.!?:]\s)(?<![A-Za-z\d])|(?:(?<=\A)|(?<=\s))(?=[A-Za-z]+[^\x00-\x7f]))"
    r"[A-Z][A-Za-z]*[a-z]\w*?(?![a-zA-Z\d])"
)
"""A name: a word with a capital letter, but for the first of an English sentence."""
_ANNOUNCED = 16
"""Characters of a sentence that says no more than that something changes."""
RULES = 4
"""The rank of what forbids, demands or limits."""
_LEAST = 0.4
"""The share of words that two sentences about the same names have in common."""
_SAME = 0.5
"""The same for sentences that share no name, of the words of both."""


@lru_cache(maxsize=1_000)
def rank(sentence: str) -> int:
    """How much a sentence matters: 4 what forbids, demands or limits, 3 what states or wants, 0 small talk."""
    if _SMALL.match(sentence) or not any(map(str.isalnum, sentence)):
        return 0
    if strict(sentence):
        return RULES
    if _WANTS(sentence) or (_CHANGES(sentence) and names_something(sentence)):
        return 3
    if sentence.rstrip().endswith(("?", "？")):
        return 1
    return 2 if _VALUE.search(sentence) else 1


def names_something(sentence: str) -> bool:
    """Whether there is a name or a number in a sentence; its first letter says nothing."""
    return _VALUE.search(sentence[1:]) is not None


@lru_cache(maxsize=1_000)
def weighty(text: str, replaced: frozenset[str] = frozenset(), least: int = 3) -> str:
    """The sentences of a text that matter, but for those that a later one replaced."""
    pieces = [piece.strip() for piece in SENTENCE.split(text) if piece.strip()]
    return " ".join(piece for piece in pieces if piece not in replaced and rank(piece) >= least)


def pieces(text: str) -> list[tuple[str, str]]:
    """The sentences of a text, each with what stands between it and the next one."""
    found, at = [], 0
    for gap in SENTENCE.finditer(text):
        found.append((text[at : gap.start()], gap[0]))
        at = gap.end()
    return [(piece, gap) for piece, gap in (*found, (text[at:], "")) if piece.strip()]


@lru_cache(maxsize=8)  # a plan asks several times, and always for the same
def replaced(texts: tuple[str, ...]) -> frozenset[str]:
    """The sentences of which a later one changes the value."""
    seen: list[tuple[str, _About]] = []
    gone: set[str] = set()
    for text in texts:
        changes = False
        for piece in (piece.strip() for piece, _ in pieces(text[:4_000])):
            changes = bool(_CHANGES(piece)) or (changes and len(piece) > _ANNOUNCED)
            if not 8 < len(piece) <= 240 or rank(piece) < 1:
                continue
            about = _about(piece)
            if changes or len(about.names) > 1:  # others replace nothing
                gone.update(
                    old for old, known in seen[-200:] if old != piece and about.replaces(known, changes)
                )
            seen.append((piece, about))
            changes = changes and len(piece) <= _ANNOUNCED  # "Correction." is about the sentence behind it
    return frozenset(gone)


class _About(NamedTuple):
    """What a sentence is about: its words, and the names in it, among them the value."""

    words: frozenset[str]
    names: frozenset[str]

    def replaces(self, old: _About, changes: bool) -> bool:
        """Whether this sentence changes the value that another one gave."""
        shared = len(self.words & old.words)
        least = min(len(self.words), len(old.words))
        if len(self.names) > 1 and len(old.names) > 1:
            if not self.names & old.names or self.names == old.names:
                return False
            return shared >= _LEAST * least if changes else self.words == old.words
        return changes and 2 * shared >= max(2, _SAME * (len(self.words) + len(old.words)))


@lru_cache(maxsize=1_000)
def _about(sentence: str) -> _About:
    names = frozenset(_NAME.findall(sentence))
    known = {name.lower() for name in names}
    words = frozenset(_WORD.findall(sentence.lower()))
    return _About(words - _COMMON - known, names)
