"""Ruling: what counts as a rule of the user's. Digests keep by it, and replay counts by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from fanfold.patterns import finder, pattern

LONGEST = 400
"""Characters of a rule; a longer line is a text, of which the sentences are looked at."""
SENTENCE = pattern(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
"""What stands between two sentences."""
_READ = 50_000
"""Characters of a line that are searched for rules."""
_STRICT = (
    r"\b(?:must|never|always|do not|don['’]t|only|at most|at least|no more than|no less than|deadlines?|forbidden|"
    r"until)\b|\bbefore \d|"
    r"必ず|絶対|必須|禁止|しないで|しないこと|のみ|だけ|以内|以上|以下|未満|までに|期限|厳守"
)
_MILD = (
    r"\b(?:does not|should(?:n['’]t| not)|can(?:not|['’]t)|without|requires?d?|limits?|important|make sure|ensure|"
    r"stay (?:under|below|within|in)|under no circumstances|avoid|"
    r"(?:by|before) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|"
    r"してはいけ|してはならな|使わない|変えない|触らない|不可|だめ|ダメ|ないように|締め?切り?|まで(?:に|は)|ください|下さい|避け"
)

strict = finder(_STRICT)
"""Whether a text forbids, demands or limits something, rather than merely sounds like it."""
_ruling = finder(f"{_STRICT}|{_MILD}")


def rules(texts: Iterable[str]) -> Iterator[str]:
    """What a person's messages rule, verbatim: whole lines, of very long ones the sentences."""
    for text in texts:
        yield from _rules(text)


@lru_cache(maxsize=64)  # a plan asks for the same rules several times
def _rules(text: str) -> tuple[str, ...]:
    lines = text.splitlines() if _ruling(text) else ()
    return tuple(piece.strip() for line in lines for piece in _pieces(line) if _is_rule(piece))


def _pieces(line: str) -> list[str]:
    return [line] if len(line.strip()) <= LONGEST else SENTENCE.split(line[:_READ])


def _is_rule(text: str) -> bool:
    return 4 < len(text.strip()) <= LONGEST and _ruling(text)
