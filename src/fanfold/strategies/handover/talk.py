"""Talk: what of a person's words matters most, where not all of them can stay.

What forbids, limits, states, wants or prefers something ranks before questions, and those before small talk. Where a
later sentence changes a value, the earlier one is replaced.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from fanfold.strategies.handover.ruling import SENTENCE, strict
from fanfold.text.patterns import finder, pattern

_SMALL = pattern(
    r"\A\W*(?:(?:ok(?:ay)?|thanks?(?: you| a lot)?|thank you|great|nice|cool|perfect|hi|hello|hey|good (?:morning|"
    r"evening|night)|yes|yep|no problem|sure|lol|haha|awesome|got it|sounds good|bye|see you|interesting|wow|go on|"
    r"ありがとう\w*|了解\w*|はい|うん|おはよう\w*|こんにちは|すごい\w*|なるほど|お疲れ\w*|よろしく\w*|続けて)[\W_]*)+\Z",
    2,
)
_GRAVE = finder(
    r"\b(?:danger\w*|toxic|poison\w*|unsafe|fatal|lethal|deadly|kill\w*|dies?|breath\w*|allerg\w+|intoleran\w+|"
    r"asthma\w*|"
    r"diabet\w+|epilep\w+|pregnan\w+|seizures?|medicat\w+|medicine|pills?|blood|surgery|deaf|blind|wheelchair|"
    r"injur\w+|"
    r"emergenc\w+|hazard\w*|electrocut\w+|explo\w+|flammable|fire (?:limit|alarm|code)|secret\w*|confidential\w*|"
    r"private|"
    r"nobody|no one|nothing (?:may|can|goes)|not a \w+ more|(?:keep|stays?|stay) (?:out|away|apart|off|within)|"
    r"(?:has|have|needs?) to (?:be|fit|work|end|finish|stay|last|happen)|not enough|too (?:small|narrow|weak|heavy)|"
    r"can['’]?t (?:carry|hold|take|have|eat|drink|do|spend|come|go|be|use|afford)|cannot)\b|"
    r"危険|危ない|危なく|毒|命に|死[にぬん]|息が|呼吸|アレルギ|発作|妊娠|持病|薬を|血[圧糖液]|手術|聞こえない|"
    r"見えない|火災|感電|爆発|"
    r"怪我|事故|秘密|内緒|他言|漏ら|言わない|教えない|誰にも|以外|なしで|収め|しか.{1,12}ない|出せません|"
    r"(?:[らさせけげべめれ]れ|でき|動かせ|使え)ません|(?:[らさせけげべめれ]れ|でき|[かさたなまら]せ|使え)ない|"
    r"倒れる|入らない|触らない"
)
"""What endangers somebody, is not to be told, or sets a bound, in words that are no command."""
_WANTS = finder(
    r"\b(?:i|we)(?:['’](?:d|m|re|ll|ve))? (?:(?:really|also|always|just|do|would) )?(?:want|need|like|am|are|have|"
    r"live|work|"
    r"use|prefer|love|hate|plan|hope|wish|dream|moved|decided|chose|go with|going to|trying|learning|must|"
    r"can(?:not|['’]t)|"
    r"sooner|rather|happier|more of an?)\b|\b(?:my|our) \w+|\b(?:goals?|aim|deadline|budget|dreams?|hop(?:e|ing) to|"
    r"the (?:whole )?point|in the end|so that|should (?:end|know|be)|prefer\w*|favou?rite|any day|by a mile|"
    r"can['’]?t stand|"
    r"call me|named?|called|instead|rather|actually|from now on|no longer|change\w*|remember|important|limit|address|"
    r"password|account|version|port)\b|"
    r"(?:私|僕|俺|うち|弊社|我々)[のはがも]|好き|好み|嫌い|苦手|派なので|たい(?:です|んです|のです|な|と|。|$)|"
    r"ほしい|欲しい|希望|目標|目的|夢|"
    r"望み|ために|のほうが|断然|助かり|うれし|嬉し|落ち着|予算|締切|やっぱり|変更|代わりに|ではなく|覚えて|住んで|"
    r"と呼んで|"
    r"という(?:名|人|犬|猫)|名前は|必要|使って|にして|つもり|予定|計画|考えだ|ゆくゆく|ほうなんで|ちょうどいい|"
    r"最高|楽し|"
    r"勘弁|書いて|見せて|みたいに"
)
_PASSING = finder(
    r"\b(?:last night|yesterday|this (?:morning|afternoon|evening)|tonight|just now|at last|again|still awake|"
    r"reminds me|"
    r"(?:can|would) you believe|unbelievable|typical|jokes?|funny|laugh\w*|telly|tv|episodes?|films?|movies?|match|"
    r"game|"
    r"weather|rain\w*|snow\w*|sunny|sunshine|cloudy|slept|sleep|woke|yawn\w*|tired|kettle|coffee break|lunch|"
    r"you (?:always|never|ever|are|were)|don['’]?t you|isn['’]?t it|doesn['’]?t it)\b|\A\W*(?:ha|haha|oh|wow|ah|"
    r"anyway|well|btw)\b|"
    r"昨日|昨夜|ゆうべ|今朝|さっき|冗談|笑|テレビ|映画|番組|試合|天気|雨|雪|晴れ|眠[れい]|寝|疲れ|お湯|お昼|"
    r"信じられません|"
    r"そういえば|ところで|さて|ですよね|ますよね|でしたっけ|ましたっけ"
)
"""What is said in passing: of the day, the weather, or the talk itself."""
_TOLD = finder(
    r"\b(?:\w{2,}ed|was|were|had|went|came|saw|said|told|left|ate|got|took|gave|made|ran|sat|fell|found|felt|"
    r"bought|met)\b|"
    r"(?:[っいきしちにびみりれえけせてねべめげんだ]た|なかった|[てで]た)(?:[よねわなぞ]|らしい|そうだ)?[。！!]?\s*\z|"
    r"(?:まし|でし)た(?:[よねが])?[。！!]?\s*\z"
)
"""What tells of something that happened, rather than of something that is so."""
_VALUE = pattern(r"\d|[A-Z][a-z]+|[A-Z]{2,}|[「『\"'`]|[\u30a0-\u30ff]{2,}")
_CHANGES = finder(
    r"\b(?:actually|instead|no longer|any ?more|change\w*|correct\w*|rather|now|update\w*|moved|switch\w*|swap\w*|"
    r"replac\w+|from now on|not .{1,30} but|make (?:it|that)|sorry|scratch that|forget|scrap that|second thoughts?|"
    r"thinking about it|after all|turn(?:s|ed) out|i meant|i mean|mistake|wrong|typo|postponed|delayed|cancell?ed|"
    r"pushed (?:back|to)|brought forward|(?:went|gone|go) (?:up|down)|rais\w+|became|become|as of|wait|no,|(?:has|"
    r"have|is|are) (?:left|gone|quit|out)|reset)\b|"
    r"やっぱり|やはり|変更|変わ[っりる]|変え[たてま]|訂正|間違[えい]|ではなく|じゃなく|でなく|代わり|今は|今後|"
    r"これから|改め|修正|考え直|"
    r"延期|前倒し|上が[っり]|下が[っり]|に(?:なり|し|移り|決まり)まし|に(?:なっ|し|移っ|決まっ)た|ことに|結局|"
    r"違った|違って|違う|"
    r"替わ|代わ[っり]|し直|直した|もう.{1,12}ない"
)
_WORD = pattern(r"[a-z]{3,}|[\u4e00-\u9fff々]+|[\u30a0-\u30ff]{2,}")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for with that this you are was have has not but now please our your from will can use its all any "
        "want need would like should must never always only make let actually instead change changed correct update "
        "moved longer who one other they them their there then than some new plan second thought scratch sorry went "
        "switched turned out 変更 予定 訂正 考 直 変 間違 今 今後 修正 改 上 下",
    )
)
_NUMBER = pattern(r"(?<![A-Za-z\d_-])\d+(?:[.,:]\d+)*(?![A-Za-z\d_-])")
_MARKED = pattern(
    r"(?:\b(?:is|are|was|be|to|at|by|until|till|from|of|for|under|over|below|above|than|about|around|most|least|within|"
    r"every|after|before|only|now|in|on|costs?|has|have|had|takes?|needs?|wants?|with|up|down|and|or|so|the|my|our|"
    r"max(?:imum)?|min(?:imum)?|limit|budget|age|deadline|version|port|price|total|size|number|"
    r"use|set|keep|make|say|it)\W{0,3}|[=:：はがをにでもと約へ]\s?[^\w\s]?|\A\W*)\Z",
    2,
)
"""What stands before a number that is a value; behind other words it is part of a name, as in "ticket 4711"."""
_UNIT = pattern(
    r"\s?(?:[%€$£¥°]|percent|people|(?!was\b|has\b|does\b|goes\b|says\b|needs\b|is\b|this\b)[a-z]{2,}s\b|"
    r"[\u4e00-\u9fff]{0,2}円|[万億人個日時分秒件枚台歳年月回本冊]|パーセント)"
)
"""What stands behind a number that counts something."""
_GIVEN = pattern(
    r"\b(?:is|are|will be)(?: now)? ([A-Z]\w+)[.!]?\Z|は([\u30a0-\u30ff]{2,})(?:さん)?(?:です|だ|になりました|"
    r"になった)?[。！]?\Z"
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
_COVERED, _OWN = 0.5, 0.25
"""The same for sentences that share no name: of the words of the earlier one, and of those of the later one."""
_RECENT = 200
"""Sentences before a change that are looked at."""


@lru_cache(maxsize=1_000)
def rank(sentence: str) -> int:
    """How much a sentence matters: 4 what forbids, demands or limits, 3 what states or wants, 0 small talk."""
    if _SMALL.match(sentence) or not any(map(str.isalnum, sentence)):
        return 0
    if strict(sentence):
        return RULES
    if sentence.rstrip().endswith(("?", "？")):
        return 3 if _WANTS(sentence) and not _PASSING(sentence) else 1
    if _PASSING(sentence):
        return 1
    if _GRAVE(sentence):
        return RULES
    if _WANTS(sentence) or (_CHANGES(sentence) and names_something(sentence)):
        return 3
    return 2 if _VALUE.search(sentence) else 1


def lasts(sentence: str) -> bool:
    """Whether a sentence says how things are, rather than what happened."""
    return not _TOLD(sentence)


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


def replaced(texts: tuple[str, ...]) -> frozenset[str]:
    """The sentences of which a later one changes the value."""
    known = max((one for one in tuple(_read_before) if one.leads(texts)), key=_length_of, default=_Read())
    if known.texts != texts:
        seen, gone = dict(known.seen), set(known.gone)
        for text in texts[len(known.texts) :]:
            _read_on(text, seen, gone)
        known = _Read(texts, seen, frozenset(gone))
        _read_before.append(known)
    return known.gone


class _Read(NamedTuple):
    """What was read of a talk, up to some message. A plan asks several times, and the next one for a few more."""

    texts: tuple[str, ...] = ()
    seen: dict[str, _About] = {}  # noqa: RUF012  # copied before it is added to
    gone: frozenset[str] = frozenset()

    def leads(self, texts: tuple[str, ...]) -> bool:
        """Whether a talk begins with what was read."""
        return texts[: len(self.texts)] == self.texts


_read_before: deque[_Read] = deque(maxlen=8)


def _length_of(read: _Read) -> int:
    return len(read.texts)


def _read_on(text: str, seen: dict[str, _About], gone: set[str]) -> None:
    """Read one more text: what it says is seen, and what it replaces is gone."""
    changes = False
    for piece in (piece.strip() for piece, _ in pieces(text[:4_000])):
        changes = _changes(piece) or (changes and len(piece) > _ANNOUNCED)
        if not 5 < len(piece) <= 240 or piece.endswith(("?", "？")) or rank(piece) < 1:
            continue
        about = _about(piece)
        older = [
            (known.likeness(about, changes), old) for old, known in islice(reversed(seen.items()), _RECENT)
        ]
        best = max(older, default=(0.0, ""))[0]
        for likeness, old in older if best else ():
            if likeness == best and old != piece:
                gone.add(old)
                del seen[old]
        gone.discard(piece)
        seen[piece] = about
        changes = changes and len(piece) <= _ANNOUNCED  # "Correction." is about the sentence behind it


@lru_cache(maxsize=1_000)
def _changes(sentence: str) -> bool:
    """Whether a sentence says that something changes."""
    return _CHANGES(sentence)


class _About(NamedTuple):
    """What a sentence is about: its words, and the names and numbers in it, among them the value."""

    words: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    values: frozenset[str]
    """Those of the numbers that may change; with "ticket 4711" another one is another ticket."""
    value: str
    """The name that the sentence gives to what it is about ("The contact is Nino."), if it does."""
    rules: bool
    """Whether it forbids or demands: two such sentences may well stand side by side."""

    def likeness(self, later: _About, changes: bool) -> float:
        """How much a later sentence is about the same thing, if it changes the value of this one; else nothing."""
        shared = len(self.words & later.words)
        if len(self.names) > 1 and len(later.names) > 1:
            if not self.names & later.names or self.names == later.names:
                return 0.0
            least = (
                _LEAST * min(len(self.words), len(later.words)) if changes else len(self.words | later.words)
            )
            return (1 + shared) / (1 + len(self.words | later.words)) if shared >= least else 0.0
        named = [word for word in self.words - later.words if "\u30a0" <= word[0] <= "\u30ff"]
        if not changes:
            return 1.0 if not self.rules and self._differs(later, named) else 0.0
        if (
            not shared
            or shared < _COVERED * (len(self.words) - len(named))
            or shared < _OWN * len(later.words)
        ):
            return 0.0  # a name in katakana that the later one does not have is the value
        return shared / len(self.words | later.words)

    def _differs(self, later: _About, named: list[str]) -> bool:
        """Whether a later sentence says the same with one other number, or another name for it."""
        words = self.words.difference(named)
        if self.value and later.value:
            return self.value != later.value and len(named) < 2 and bool(words) and words <= later.words
        other = self.names == later.names and len(self.numbers) == len(later.numbers) == 1
        changed = bool(self.values and later.values) and self.values != later.values
        return other and changed and not named and len(words) > 1 and words <= later.words


@lru_cache(maxsize=1_000)
def _about(sentence: str) -> _About:
    names = frozenset(_NAME.findall(sentence))
    known = {name.lower() for name in names}
    words = frozenset(_stem(word) for word in _WORD.findall(sentence.lower()) if word not in known)
    given = _GIVEN.search(sentence)
    value = next(filter(None, given.groups()), "") if given else ""
    return _About(
        words=words - _COMMON - {value},
        names=names,
        numbers=frozenset(_NUMBER.findall(sentence)),
        values=frozenset(
            one[0]
            for one in _NUMBER.finditer(sentence)
            if _MARKED.search(sentence, 0, one.start()) or _UNIT.match(sentence, one.end())
        ),
        value=value,
        rules=strict(sentence),
    )


def _stem(word: str) -> str:
    """A word without the ending that its place in a sentence gave it."""
    for ending in ("ing", "ed", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending) and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
