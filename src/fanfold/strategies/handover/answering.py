"""Answering: what the agent asked last. A reader who does not know the question learns nothing from "A." or "yes"."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanfold.strategies.handover.saying import is_hollow, sentences
from fanfold.text.cutting import short
from fanfold.text.patterns import pattern

_FENCE = pattern(r"```.*?(?:```|\Z)", 16)
_ROW = pattern(r"^[ \t]*\|", 8)
"""How a row of a table begins; people are offered options in tables."""
_OPTION = pattern(
    r"^[ \t>|*_`#•-]*(?:(?:option|choice|案|選択肢)[ \t]*)?[(（]?([A-Ha-h]|[1-9]|[①-⑨])[*_`]*"
    r"(?:[.):：）|]|[ \t]+[–—-])[ \t*_`|:)]*(\S[^\n]*)",
    10,
)
"""A line that offers something under a letter or a number."""
_CHOICE = pattern(
    r"\A\W*(?:(?:option|choice|案|選択肢|yes|ok(?:ay)?|(?:let['’]s |i['’]?d? )?(?:go (?:with|for)|do|try|take|use|"
    r"think|like|prefer|choose|pick|want))[\s,:]*)*([A-H]|[1-9])"
    r"(?=[\W_]|[はでがを案に]|\Z)(?![ \t]+[a-z]{3,}[ \t]+[a-z])",
    2,
)
"""How somebody begins who takes one of them; "A new one, please" does not."""
_NUMBERS = {sign: str(at) for at, sign in enumerate("①②③④⑤⑥⑦⑧⑨", 1)}
_ASKS = ("?", "？")
_REPLY = 80
"""Characters of a reply that needs its question to be understood."""
_MOST, _OFFERED = 160, 140
"""Characters of a question, and of what was chosen, as they are told."""
_READ = 6_000
"""Characters at the end of a message in which somebody asks."""


class OpenQuestion(msgspec.Struct, frozen=True, gc=False):
    """What an agent asked a person, or let him choose, at the end of a message."""

    text: str = ""
    """Its last question; where that names nothing ("Which one?"), with the one before it."""
    offers: str = ""
    """What stands before the options."""
    options: tuple[tuple[str, str], ...] = ()
    """What it lets him choose: letter or number, and what stands behind it."""

    def behind(self, reply: str) -> str:
        """What a reader must know of the question to understand a reply; nothing where the reply says it all."""
        if len(reply) > _REPLY or reply.rstrip().endswith(_ASKS):
            return ""
        chosen = self.chosen(reply)
        if not chosen:
            return self.text
        asked = self.text if self.text and not is_hollow(self.text) else self.offers or self.text
        return f"{asked} → {chosen}"

    def chosen(self, reply: str) -> str:
        """The option that a reply takes, if it takes one."""
        found = _CHOICE.match(reply) if len(reply) <= _REPLY else None
        label = found[1].upper() if found else ""
        return next((f"{name}. {text}" for name, text in self.options if name == label), "")


def question_in(text: str) -> OpenQuestion | None:
    """The question that a message ends with, if it asks one."""
    plain = _FENCE.sub("\n", text[-_READ:])
    offers, options = _options(plain)
    asked = _questions(plain) if any(sign in plain for sign in _ASKS) else []
    if not asked and not options:
        return None
    return OpenQuestion(_told(asked), offers, options)


def _questions(text: str) -> list[str]:
    said = sentences(_ROW.sub("", text))
    return [_bare(sentence) for sentence in said if sentence.rstrip("*_` ").endswith(_ASKS)]


def _told(asked: Sequence[str]) -> str:
    """The last of some questions, behind the one that says what it is about."""
    if not asked:
        return ""
    last = short(asked[-1], _MOST)
    about = next((one for one in reversed(asked[:-1]) if not is_hollow(one)), "")
    return f"{short(about, _MOST)} {last}" if about and is_hollow(asked[-1]) else last


def _options(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What stands before the options of the last list, and they by letter or number; one alone is none."""
    found: dict[str, str] = {}
    begins = 0
    for line in _OPTION.finditer(text):
        name = _NUMBERS.get(line[1], line[1].upper())
        if name in ("A", "1"):
            begins, found = line.start(), {}
        found[name] = short(_bare(line[2]), _OFFERED)
    if len(found) < 2:
        return "", ()
    lead = (_bare(line) for line in text[:begins].splitlines() if not _ROW.match(line))
    before = [line for line in lead if any(map(str.isalnum, line))]
    return short(before[-1], _MOST) if before else "", tuple(found.items())


def _bare(text: str) -> str:
    """A text without the marks of Markdown around it."""
    return " ".join(text.replace("**", "").replace("|", " ").split()).strip(" *_`#>")
