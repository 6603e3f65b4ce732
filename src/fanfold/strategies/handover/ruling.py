"""Ruling: what counts as a rule of the user's. Digests keep by it, and replay counts by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from fanfold.text.cutting import bytes_of
from fanfold.text.patterns import finder, linear, pattern

LONGEST = 400
"""Characters of a rule; a longer line is a text, of which the sentences are looked at."""
SENTENCE = pattern(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
"""What stands between two sentences."""
_READ = 50_000
"""Characters of a line that are searched for rules."""
_ENDLESS, _BEGINNING = 4_000, 40
"""Characters of a long sentence that is a rule because it begins like one, and of that beginning."""
_SHORTEST = 5
"""Bytes of a rule: one word of English says nothing, two signs of Japanese may."""

_UNIT = r"(?:second|minute|hour|day|week|month|year|page|line|dozen|hundred|thousand|million)"
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)\b"
_NUMBER = rf"(?:[$€£¥~]?\d|{_COUNT}|(?:an?|one|half an?) {_UNIT})"
_MONTH = r"(?:january|february|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber)"
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|to(?:day|night|morrow)|noon|midnight|eo[dwm])"
_DATE = (
    rf"(?:{_MONTH}|(?:the )?\d{{1,2}}(?:st|nd|rd|th)|\d{{1,2}} {_MONTH}|20\d\d|q[1-4]|\d{{1,2}}/\d{{1,2}})"
)
_HOUR = r"(?:\d{1,2}(?::\d\d)?\s?(?:[ap]\.?m|o['’]clock|utc|hours)|\d{1,2}:\d\d)"
_WHEN = rf"(?:the end|(?:end of|next|this) [a-z]+|{_DAY}|{_DATE}|{_HOUR})"
_PLAIN = r"[\w\-]*(?:[^d\W]|[^e\W]d)"
"""A word that does not end like a participle: "no emojis" is a rule, "no errors encountered" a report."""
_SOME = "[0-9０-９一二三四五六七八九十百千万数]"
_DEED = (
    "(?:変更|削除|編集|使用|利用|実行|追加|修正|公開|送信|上書き|コミット|プッシュ|マージ|デプロイ|省略|出力)"
)
_STRICT = (
    r"\b(?:must|mustn['’]?t|musn['’]?t|shall|never|always|do not|don['’]?t|only|until|mandatory|forbidden)\b",
    r"\b(?:prohibited|not (?:allowed|permitted)|(?:you|we|they|nobody) may not|under no circumstances)\b",
    r"\b(?:on no account|refrain from|off[- ]limits)\b",
    rf"(?:^|[.!?:;] )[\s\-*•>_(\d.)]*no(?: {_PLAIN}){{1,7}}(?:[.!;]|\s*$)",
    r"\b(?:at (?:most|least)|not? (?:more|less|fewer|later|earlier|sooner|longer|larger|older) than|not exceed)\b",
    rf"\b(?:max|min)imum\b[^.]{{0,40}}{_NUMBER}",
    rf"\b(?:max\.?|min\.?|exactly|cap|budget)(?: (?:of|is|at))?:? {_NUMBER}",
    rf"\b(?:up to|under|below|within|exceed(?:s|ing)?|(?:less|fewer) than) {_NUMBER}",
    rf"\b(?:keep|limit|restrict) [^.]{{1,40}} to {_NUMBER}|[≤≥]\s*\d",
    r"\b(?:the limit|limit(?:ed)? (?:is|of|to)|limit: |capped at|deadlines?|due date)\b",
    rf"\b(?:by|before|till|due|due (?:by|on|at|is)) {_WHEN}\b|\bbefore \d",
    r"必ず|絶対|必須|禁止|禁[じず]|厳禁|厳守|しないで|しないこと|のみ|だけ|決して|(?:^|[^非正異通日平])常に",
    r"以内|以上|以下|未満|までに|期限|締め?切り?|〆切|納期|期日|上限|下限|限度",
    rf"最[大小多少高低長短](?:でも?|は)?{_SOME}|{_SOME}[^、。\s]{{0,4}}まで",
    r"(?:曜日?|今日|本日|明日|今週|来週|今月|来月|月末|年内)まで",
    r"ないで(?:ください|下さい|ほし|欲し|くれ|ね|[。！]|$)|ないこと(?:[。！、]|$)|[てで]は(?:いけ|なら)",
    r"ちゃ(?:だめ|ダメ|いけ)|(?:なければ|なくては|ないと|ねば)(?:なら|いけ)|超え(?:ない|ては)|に限(?:る|り|定)",
    rf"[うくぐすつぬぶむる]な(?:よ|[。！!、]|$)|{_DEED}しない(?:[。！]|よう|$)",
)
_MILD = (
    r"\b(?:does not|should(?:n['’]?t| not)|can(?:not| not|['’]?t)|may not|without|avoid|requires?d?|limits?)\b",
    r"\b(?:important|make sure|ensure|stay (?:under|below|within|in|away|out|off))\b",
    r"\bleave [^.]{1,40} (?:alone|as is|untouched|unchanged)\b",
    r"使わない|変えない|触らない|一切|不可|だめ|ダメ|ないように|まで(?:に|は)|ください|下さい|避け|控え",
)


def _any(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Finds any of some patterns, however wide their words stand apart."""
    return finder(_wide(patterns))


def _wide(patterns: Iterable[str]) -> str:
    return "|".join(patterns).replace(" ", r"[\s\x{a0}\x{3000}]+")


strict = _any(_STRICT)
"""Whether a text forbids, demands or limits something, rather than merely sounds like it."""
_ruling = _any((*_STRICT, *_MILD))


def orders(text: str) -> Iterator[str]:
    """The sentences of an output that command or forbid; a long output is searched at once, and not line by line."""
    raw, end = text.encode("utf-8", "replace"), -1
    for found in linear(f"(?i){_wide(_STRICT)}").finditer(raw):
        if found.start() > end:
            start, end = raw.rfind(b"\n", 0, found.start()) + 1, raw.find(b"\n", found.end())
            end = end if end >= 0 else len(raw)
            line = raw[start : min(end, start + _READ)].decode("utf-8", "replace")
            yield from (one for one in SENTENCE.split(line) if strict(one))


def rules(texts: Iterable[str]) -> Iterator[str]:
    """What a person's messages rule, verbatim: whole lines, of very long ones the sentences."""
    for text in texts:
        yield from _rules(text)


@lru_cache(maxsize=64)  # a plan asks for the same rules several times
def _rules(text: str) -> tuple[str, ...]:
    lines = map(str.strip, text.splitlines())
    return tuple(piece for line in lines for piece in _pieces(line) if _is_rule(piece))


def _pieces(line: str) -> Iterable[str]:
    return [line] if len(line) <= LONGEST else map(str.strip, SENTENCE.split(line[:_READ]))


def _is_rule(text: str) -> bool:
    if len(text) > LONGEST:
        return len(text) <= _ENDLESS and strict(text[:_BEGINNING])
    return bytes_of(text) >= _SHORTEST and _ruling(text)
