"""Talk: what of a person's words matters most, where not all of them can stay.

What forbids, limits, states, wants or prefers something ranks before questions, and those before small talk. Where a
later sentence changes a value, the earlier one is replaced.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
_LEAST = 0.4
"""The share of words that two sentences about the same thing have in common."""


@lru_cache(maxsize=1_000)
def rank(sentence: str) -> int:
    """How much a sentence matters: 4 what forbids, demands or limits, 3 what states or wants, 0 small talk."""
    if _SMALL.match(sentence) or not any(map(str.isalnum, sentence)):
        return 0
    if strict(sentence):
        return 4
    if _WANTS(sentence):
        return 3
    if sentence.rstrip().endswith(("?", "？")):
        return 1
    return 2 if _VALUE.search(sentence) else 1


def weighty(text: str, replaced: frozenset[str] = frozenset(), least: int = 3) -> str:
    """The sentences of a text that matter, but for those that a later one replaced."""
    pieces = [piece.strip() for piece in SENTENCE.split(text) if piece.strip()]
    return " ".join(piece for piece in pieces if piece not in replaced and rank(piece) >= least)


@lru_cache(maxsize=8)  # a plan asks several times, and always for the same
def replaced(texts: tuple[str, ...]) -> frozenset[str]:
    """The sentences of which a later one changes the value."""
    seen: list[tuple[str, frozenset[str]]] = []
    gone: set[str] = set()
    for text in texts:
        for piece in (piece.strip() for piece in SENTENCE.split(text[:4_000])):
            if not 8 < len(piece) <= 240 or rank(piece) < 2:
                continue
            words = frozenset(_WORD.findall(piece.lower())) - _COMMON
            if _CHANGES(piece):
                gone.update(old for old, about in seen[-200:] if old != piece and _alike(about, words))
            seen.append((piece, words))
    return frozenset(gone)


def _alike(old: frozenset[str], new: frozenset[str]) -> bool:
    return bool(old) and len(old & new) >= max(1, _LEAST * min(len(old), len(new))) and bool(old & new)
