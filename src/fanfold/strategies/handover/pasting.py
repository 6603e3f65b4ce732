"""Pasting: what somebody else wrote in a person's message, without a fence: logs, tables, settings, other people.

What a line looks like says whose it is. Behind "the page says:", or a command with its output, all is somebody else's
up to the last paragraph, in which the person speaks again; where the person has asked something before, all of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby

from fanfold.strategies.handover.ruling import strict
from fanfold.text.patterns import pattern

_STAMP = (
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d\S*|\[\d{1,2}:\d\d(?::\d\d)?\] <?\w[\w .-]{0,30}>?:|"
    r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \S+(?: [^\s:]{1,60}:)?"
)
_RAISES = (
    r"(?:Caused by: |Exception in thread \"[^\"\n]{1,80}\" )?[\w.$]*(?:Error|Exception|Warning)(?:\[\w+\])?: "
)
_TOOL = (
    r"(?:npm|yarn|pnpm|go|cargo|make|git|docker|pip)\S{0,20} (?:ERR!|WARN|[Ee]rror|[Ww]arning|fatal|hint):? |"
)
_PLACE = r"[\w@./\\-]{1,200}\.\w{1,8}:\d+(?::\d+)?:? "
_LINES = tuple(
    map(
        pattern,
        (
            rf"(\s*(?:{_STAMP})\s+)(\S.*)",
            rf"(\s*(?:{_RAISES}|{_TOOL}{_PLACE}))(\S.*)",
            r"(\s*\| *)(\S[^|]*\|.*)\|\s*",
            r"(\s*//+ ?)(\S.*)",
            r"((?:panic|fatal error|Uncaught \w+): )(\S.*)",
            r"(\s*(?:\S+(?: \S+)?(?: {2,}|\t)){3,})(\S.*)",
            r"([0-9a-f^]{7,40} \([^()\n]{1,80} \d+\) )(\S.*)",
            r"(\s*\"[^\"\n]{1,80}\"\s*:\s*)(\S.*)",
        ),
    )
)
"""Lines of a log, of a failure, of a table, of comments and of JSON: what stands before it, and what it says."""
_QUOTED = pattern(r"(\s*>+ ?)(.*)")
_CITES = pattern(r"(?:wrote|writes|says|said|書いた|言った|より|から)\W{0,3}\Z", 2)
"""How a line ends before what somebody else said."""
_CHANGED = pattern(r"([+ -])(.*)")
_HUNK = pattern(r"@@ .{1,60} @@")
_INDENT = pattern(r"(\s*)(.*)")

_SECTION, _SETTING = pattern(r"\[[\w .:-]{1,60}\]\s*"), pattern(r"\s*[\w.-]{1,60}\s*=.*")
_VALUE = pattern(r"[A-Za-z_][\w.-]{0,60}=\S.*")
_KEYED, _ITEM = pattern(r"\s+(?:- )?[a-z_][\w.-]{0,60}:(?: .*)?"), pattern(r"\s+- .*")
_KEY = pattern(r"\s*[a-z_][\w.-]{0,60}:\s*")
_COMMITTED = pattern(r"commit [0-9a-f]{7,40}\b.*")
_COMMIT = pattern(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): .*|\s*| {4}.*")
_COMMENTS = ((pattern(r"\s*/\*"), pattern(r"\*/")), (pattern(r"\s*<!--"), pattern(r"-->")))
_COMMAS = pattern(r"(?:\"[^\"\n]*\"|[^,\"\n]*)(?:,(?! )(?:\"[^\"\n]*\"|[^,\"\n]*)){2,}")
_TABS = pattern(r"[^\t\n]+(?:\t+[^\t\n]+)+")

_VERB = (
    r"(?:wrote|writes|says?|said|reads|states|tells|commented|replied|answered|posted|prints?|printed|shows?|showed|"
    r"outputs?|returned|contains)"
)
_OTHERS = pattern(
    rf"^(?!.*\b(?:I|we|you) (?:\w+ )?{_VERB}).*\b{_VERB}\b(?: [\w ]{{1,30}})?[:：]\s*\Z|"
    r"^[Ff]rom (?:the |our |my )?\w+(?: \w+)?:\s*\Z|"
    r"^\S[^.!?\n]{0,40}\b(?:commented|wrote|replied|posted)\b[^.!?\n]{0,40}\bago\s*\Z|"
    r"^\S.{0,40}?(?:\s{2,}| \[| [—-] (?:Today|Yesterday) at )\d{1,2}:\d\d(?: ?[AP]M)?\]?\s*\Z|"
    r"(?:と(?:書いて|言って|返信)|とあり|とある|の(?:出力|表示|内容|抜粋|返信|投稿))[^。\n]{0,12}[:：]\s*\Z"
)
"""A line behind which somebody else speaks: who said it, or when it was said in a chat."""
_RUN = pattern(r"(?:\$|❯|>>>|\w[\w.-]*@[\w.-]+[:~ ][^$#%\n]{0,100}[$#%]|PS [A-Z]:[^>\n]{0,100}>) \S")
"""A command in a shell; its output stands in the next line."""
_ASKED = pattern(r"[?？]\s*\Z", 8)
_CITED = pattern(
    rf"(?:\b{_VERB}\b[\s:,]{{0,3}}[\"“「])([^\"“”「」\n]{{12,}})(?=[\"”」])|「([^「」\n]{{12,}})(?=」と(?:あ|書|言|出|表示|いう|の))",
    2,
)
"""What somebody else says in quotation marks."""


def pasted(text: str) -> Iterator[tuple[str, str]]:
    """A text in pieces, each in two: what the person may have said, and what somebody else did."""
    lines = text.split("\n")
    theirs = {at for some in _runs(lines) for at in some}
    quoting = changing = False
    before = ""
    for at, line in enumerate(lines):
        quoting = bool(_QUOTED.fullmatch(line)) and (quoting or bool(_CITES.search(before)))
        changing = bool(_HUNK.match(line)) or (changing and bool(_CHANGED.fullmatch(line)))
        kinds = (_QUOTED if quoting else None, _CHANGED if changing else None, *_LINES)
        whole = (*kinds, _INDENT if at in theirs else None)
        found = next((found for kind in whole if kind and (found := kind.fullmatch(line))), None)
        if at:
            yield "\n", ""
        yield from [(found[1], found[2])] if found else _cited(line)
        before = line


def _cited(line: str) -> Iterator[tuple[str, str]]:
    """A line in which somebody else's orders may stand in quotation marks."""
    at = 0
    for found in _CITED.finditer(line) if strict(line) else ():
        start, end = found.span(1 if found[1] else 2)
        if strict(line[start:end]):
            yield line[at:start], ""
            yield "", line[start:end]
            at = end
    yield line[at:], ""


def _runs(lines: Sequence[str]) -> Iterator[range]:
    """Lines that together are something that nobody says, or that somebody else says."""
    yield from _tables(lines)
    closings = [[at for at, line in enumerate(lines) if end.search(line)] for _, end in _COMMENTS]
    at = 0
    while at < len(lines):  # what stands in one run begins no other, so that no line is looked at often
        found = _run(lines, at, closings)
        yield found
        at = max(at + 1, found.stop)
    at = next((at for at in range(len(lines)) if _hands_over(lines, at)), len(lines))
    if at < len(lines):
        yield range(at + 1, _back(lines, at))


def _hands_over(lines: Sequence[str], at: int) -> bool:
    """Whether somebody else speaks behind a line."""
    if _RUN.match(lines[at]):
        return at + 1 < len(lines) and bool(lines[at + 1].strip())
    return _OTHERS.search(lines[at]) is not None


def _run(lines: Sequence[str], at: int, closings: Sequence[Sequence[int]]) -> range:
    """The lines from one on that are settings, what a commit says, or a comment; none in most places."""
    line = lines[at]
    if _SECTION.fullmatch(line):
        return _while(lines, at, _SETTING)
    if _VALUE.fullmatch(line):
        found = _while(lines, at, _VALUE)
        return range(at, found.stop) if found else range(0)
    if _COMMITTED.fullmatch(line):
        return _while(lines, at, _COMMIT)
    if _KEY.fullmatch(line):
        found = _while(lines, at, _KEYED, _ITEM)
        return found if sum(bool(_KEYED.fullmatch(lines[one])) for one in found) >= 2 else range(0)
    for (start, _), ends in zip(_COMMENTS, closings, strict=True):
        if start.match(line):
            end = bisect_left(ends, at)
            return range(at, ends[end] + 1) if end < len(ends) else range(at, at + 1)
    return range(0)


def _tables(lines: Sequence[str]) -> Iterator[range]:
    """Rows of values with commas or tabs between them, as many in each of two rows at least."""
    for sign, row in ((",", _COMMAS), ("\t", _TABS)):
        counts = [line.count(sign) if sign in line and row.fullmatch(line) else 0 for line in lines]
        at = 0
        for count, some in groupby(counts, key=bool):
            many = len(list(some))
            if count and many > 1:
                yield range(at, at + many)
            at += many


def _while(lines: Sequence[str], at: int, *kinds: re.Pattern[str]) -> range:
    """The lines behind one that look alike."""
    ends = (n for n in range(at + 1, len(lines)) if not any(kind.fullmatch(lines[n]) for kind in kinds))
    return range(at + 1, next(ends, len(lines)))


def _back(lines: Sequence[str], at: int) -> int:
    """Where the person speaks again behind a line that begins what somebody else says."""
    if _ASKED.search("\n".join(lines[:at])):
        return len(lines)
    paragraphs = [n for n in range(at + 2, len(lines)) if lines[n].strip() and not lines[n - 1].strip()]
    first = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), len(lines))
    later = [n for n in paragraphs if n > first]
    if later:
        return later[-1]
    last = max((n for n in range(at + 1, len(lines)) if lines[n].strip()), default=len(lines))
    return (
        last if last > at + 1 and not (strict(lines[last]) and not _ASKED.search(lines[last])) else len(lines)
    )
