"""Searching outputs with patterns that a model wrote: block by block, never line by line, within a time limit.

The time is linear in the output. But a pattern such as `(a?){900}a{900}b` takes 25 µs a byte, and the library cannot be
interrupted, so the blocks get smaller as the pattern gets larger, and `Patience` looks at the clock between them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple, ParamSpec, TypeVar

from fanfold.core.errors import BadInput, TooSlow
from fanfold.outputs.source import ByteSource, LineIndex, decode
from fanfold.text.cutting import short
from fanfold.text.escapes import escape_pattern

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT = 10.0
"""Seconds that a search may take by default, in one output or in all outputs together."""
_END = object()
BLOCK = 1 << 20
LONG = 8 << 20
"""A longer line is searched in pieces of this size: a match in it is found if it is not longer than their overlap.

For patterns of many instructions both are smaller."""
OVERLAP = 64 * 1024
_LEAST = 4 * 1024
_SHORT = 64
"""Patterns of up to this many instructions are quick, whatever they are: less than 3 s for the longest block."""
_WORK = 1 << 26
"""Bytes of a block times instructions of any other pattern. At worst the library takes 10 ns for each, that is 0.7 s
for a block, and it cannot be interrupted."""
_DENSE = 4
"""After this many hits in neighbouring lines, runs of such lines are looked for at once; a shorter run ends that."""
_TOKEN = re.compile(r"\\Q.*?(?:\\E|\Z)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\.|.", re.DOTALL)
"""A piece of a pattern: a quotation, a class, an escape, a character."""
_ENDS = {"\\A": "(?m:^)", "\\z": r"(?m:\r?$)", "$": r"(?:\r?$)"}

Spans = Callable[[bytes, int, int], tuple[int, int]]


class Patience:
    """The time that is left for a search; several searches may share it.

    Reading and matching are timed, not what a caller does with the hits.
    """

    def __init__(self, seconds: float | None = TIMEOUT) -> None:
        if seconds is not None and not seconds > 0:
            raise BadInput("A search needs some time: give `timeout` in seconds, or None for no limit.")
        self.seconds = seconds
        self._spent = 0.0

    def watch(self, work: Callable[P, T]) -> Callable[P, T]:
        """The same work, its time counted; it is not begun any more if the time is up."""
        if self.seconds is None:
            return work
        clock = time.monotonic

        def counted(*args: P.args, **kwargs: P.kwargs) -> T:
            if self.seconds is not None and self._spent > self.seconds:
                raise TooSlow(
                    f"The search took longer than {self.seconds:g} s and was stopped. "
                    "Search for a simpler pattern, or in one output only."
                )
            begun = clock()
            done = work(*args, **kwargs)
            self._spent += clock() - begun
            return done

        return counted

    def over(self, steps: Iterator[T]) -> Iterator[T]:
        """The same steps, the time that each takes to come counted."""
        coming = self.watch(lambda: next(steps, _END))
        while (step := coming()) is not _END:
            yield step  # type: ignore[misc]  # the end is no step


class LineBlock(NamedTuple):
    """Some whole lines, or a piece of a very long one."""

    first: Callable[[], int]
    """The number of its first line, counted from 1; it is counted only where something is found."""
    data: bytes
    start: int
    """Where it begins. What stands before and behind is looked at to tell where a line, or a word, begins and ends."""
    end: int
    """Where its last line ends; what is behind comes again with the next block."""
    goes_on: bool = False
    """Whether it is a piece of a line that goes on in the next block."""

    @property
    def whole(self) -> bytes:
        """Its lines."""
        return self.data[self.start : self.end]

    @property
    def rest(self) -> LineBlock:
        """The same without its first line."""
        newline = self.data.find(b"\n", self.start, self.end)
        return self._replace(first=lambda: self.first() + 1, start=newline + 1 or self.end)


def blocks(source: ByteSource, index: LineIndex | None = None, *, program: int = 1) -> Iterator[LineBlock]:
    """The source in blocks of whole lines; a line that is too long for one comes in pieces that overlap.

    `program` is the number of instructions of the pattern: the more there are, the smaller are the blocks.
    """
    at, line, start = 0, 1, 0
    longest = LONG if program <= _SHORT else min(LONG, max(_LEAST, _WORK // program))
    overlap = min(OVERLAP, longest // 2)
    while at + start < source.size:
        data = _lines_from(source, at, longest)
        last = at + len(data) >= source.size or len(data) <= start
        end = len(data) if last else data.rfind(b"\n") + 1
        goes_on = end == 0
        end = end or len(data) - 1
        first = partial(_line_at, source, index, at) if index else partial(int, line)
        yield LineBlock(first=first, data=data, start=start, end=end, goes_on=goes_on)
        if last:
            return
        line += 0 if index else data.count(b"\n", start, end)
        at, start = (at + end - overlap - 1, 1) if goes_on else (at + end, 0)


def _lines_from(source: ByteSource, at: int, longest: int) -> bytes:
    """The bytes from a place on: with a whole line in them, if it is not too long."""
    data, size = b"", min(BLOCK, longest)
    while True:
        stop = min(at + size, source.size)
        got = b"".join(source.read(at + len(data), stop))
        data += got
        if stop == source.size or size >= longest or not got or b"\n" in got:
            return data
        size = min(2 * size, longest)


def _line_at(source: ByteSource, index: LineIndex, offset: int) -> int:
    """The number of the line that an offset lies in, counted from the last point before it."""
    line, start = index.at(offset)
    return line + 1 + sum(chunk.count(b"\n") for chunk in source.read(start, offset))


class Hit(NamedTuple):
    """A line of an output, found by a search or beside what was found."""

    line: int
    """Counted from 1."""
    text: str
    match: bool = True
    """False for a line of context."""


_hit: Callable[[tuple[int, str, bool]], Hit] = partial(tuple.__new__, Hit)
"""A hit from its fields; a third of what its constructor takes, which counts for millions of them."""


class Pattern:
    """A compiled pattern. A match lies within one line, and goes on to its end, so that a line is found once."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        pattern = _for_lines(pattern, ignore_case)
        self.single = _compile(f"(?m)(?:{pattern}).*", ignore_case, pattern)
        self.single_span = _span_finder(self.single)
        """Where the next match lies, from one place in some bytes to another; (-1, -1) for nowhere."""
        self.program = int(self.single.programsize)
        """How many instructions it has: the library takes time for each of them at each byte, at worst."""
        self._source = (pattern, ignore_case)

    @cached_property
    def run_span(self) -> Spans:
        r"""The same for whole neighbouring lines that all have a hit; `\C` after `$` is the newline."""
        pattern, ignore_case = self._source
        return _span_finder(_compile(rf"(?m)(?:^.*(?:{pattern}).*$\C)+", ignore_case, pattern))

    def narrow(self, text: str, width: int) -> str:
        """A long line, cut around its first hit."""
        if len(text) <= width:
            return text
        found = self.single.search(text)
        at = found.start() if found else 0
        start = max(0, min(at - width // 4, len(text) - width))
        cut = text[start : start + width]
        return ("…" if start else "") + cut + ("…" if start + width < len(text) else "")


def _for_lines(pattern: str, ignore_case: bool) -> str:
    """The pattern for lines: its last quotation closed, the ends of a text those of a line.

    What is no pattern by itself, or would match the end of a line, is refused.
    """
    _compile(pattern, ignore_case, pattern)
    tokens = _TOKEN.findall(pattern)
    if "\\C" in tokens:
        raise BadInput(
            rf"The pattern {pattern[:200]!r} cannot be used (\C matches half a character). Write a dot."
        )
    is_open = bool(tokens) and tokens[-1].startswith("\\Q") and not tokens[-1].endswith("\\E")
    written = (_ENDS.get(token) or _or_escaped(token, ignore_case) for token in tokens)
    return "".join(written) + ("\\E" if is_open else "")


def _or_escaped(token: str, ignore_case: bool) -> str:
    r"""A sign that JSON may escape, also as an escape: `M\u00fcller` is found where Müller is looked for."""
    if len(token) > 1 or token.isascii():
        return token
    forms = dict.fromkeys((token, token.lower(), token.upper()) if ignore_case else (token,))
    return f"(?:{token}|{'|'.join(escape_pattern(form) for form in forms if len(form) == 1)})"


def _compile(pattern: str, ignore_case: bool, given: str) -> Any:
    import re2  # type: ignore[import-untyped]  # late: few programs search

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadInput(_explain(given, error)) from None


def _span_finder(compiled: Any) -> Spans:
    """A match as two numbers. The library's own objects for it cost three times as much as finding it."""
    import re2

    inner, anchor = getattr(compiled, "_regexp", None), getattr(re2, "_Anchor", None)
    if inner is None or anchor is None:
        return lambda data, at, end: found.span() if (found := compiled.search(data, at, end)) else (-1, -1)
    match, unanchored = inner.Match, anchor.UNANCHORED

    def next_match(data: bytes, at: int, end: int) -> tuple[int, int]:
        return match(unanchored, data, at, end)[0]  # type: ignore[no-any-return]

    return next_match


def _explain(pattern: str, error: Exception) -> str:
    """What is wrong with a pattern, in words that a model can act on."""
    reason = error.args[0] if error.args else ""
    said = short(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason), 200)
    way_out = "Patterns are RE2 syntax; escape ( ) [ ] { } . * + ? | ^ $ \\ with a backslash to find them literally."
    if any(mark in pattern for mark in ("(?=", "(?!", "(?<=", "(?<!")):
        way_out = "Look-around, (?=…) (?!…) (?<=…) (?<!…), is not supported: search for the text itself."
    elif "too large" in said:
        way_out = "Repeat less, or search for a part of it."
    elif any(f"\\{digit}" in pattern for digit in "123456789") or "(?P=" in pattern:
        way_out = "Backreferences such as \\1 are not supported: write out what is to be repeated."
    return f"The pattern {pattern[:200]!r} cannot be used ({said}). {way_out}"


class Search:
    """A pattern at work, for as long as there is patience."""

    def __init__(self, pattern: Pattern, patience: Patience) -> None:
        self._pattern, self._patience = pattern, patience
        self.single_span = patience.watch(pattern.single_span)
        self.narrow = patience.watch(pattern.narrow)

    @cached_property
    def run_span(self) -> Spans:
        """As the pattern has it."""
        return self._patience.watch(self._pattern.run_span)

    def blocks(self, source: ByteSource, index: LineIndex | None = None) -> Iterator[LineBlock]:
        """The source in blocks; each is searched in a short time, for nothing can interrupt that."""
        return self._patience.over(blocks(source, index, program=self._pattern.program))

    def hits(
        self,
        source: ByteSource,
        index: LineIndex | None,
        around: tuple[int, int],
        limit: int | None,
        width: int | None,
    ) -> Iterator[Hit]:
        """The lines with a hit, at most `limit`, with so many before and after; `TooSlow` if patience ends first."""
        if limit is not None and limit <= 0:
            return iter(())
        found: Iterator[Hit] = islice(_all(source, self, index), limit)
        if any(around):
            found = _Context(*around, limit, width).hits(source, self)
        if width is None:
            return found
        return (
            hit if len(hit.text) <= width else hit._replace(text=self.narrow(hit.text, width))
            for hit in found
        )


def _all(source: ByteSource, search: Search, index: LineIndex | None) -> Iterator[Hit]:
    is_out = False  # whether the line that goes on was given out: a line is found once
    for block in search.blocks(source, index):
        is_out = is_out and block.start > 0
        if block.goes_on:
            hits = () if is_out else tuple(islice(_in(block, search), 1))
            yield from hits
            is_out = is_out or bool(hits)
        else:
            yield from _in(block.rest if is_out else block, search)


def _in(block: LineBlock, search: Search) -> Iterator[Hit]:
    """The hits of a block: one by one while they are rare, run by run where they are many."""
    place = _Place(block)
    while place.at < place.end:
        yield from place.singles(search)
        yield from place.runs(search)


class _Place:
    """How far a block was searched."""

    def __init__(self, block: LineBlock) -> None:
        self.first, self.data, self.at, self.end, _ = block
        self.line = 0

    def singles(self, search: Search) -> Iterator[Hit]:
        """Hits one by one, until many neighbouring lines had one."""
        data, streak = self.data, 0
        next_match, at, end = search.single_span, self.at, self.end
        while at < end:
            found, upto = next_match(data, at, end)
            if found < 0:
                break
            start = data.rfind(b"\n", at, found) + 1 or at
            if start == end:
                break
            streak = streak + 1 if start == at else 0
            self._count_to(start)
            newline = data.find(b"\n", upto, end)
            self.at = at = newline + 1 or end
            text = _line(data[start : newline if newline >= 0 else end])
            yield _hit((self.line, text, True))
            self.line += 1
            if streak == _DENSE and self.is_text:
                return
        self.at = end

    def runs(self, search: Search) -> Iterator[Hit]:
        """Runs of neighbouring lines that all have a hit, as long as the next line begins one."""
        data, size = self.data, _DENSE
        while size >= _DENSE and self.at < self.end:
            start, end = search.run_span(data, self.at, self.end)
            if start < 0:
                return
            self._count_to(start)
            lines = _split(data[start:end])
            size = len(lines)
            yield from map(_hit, zip(count(self.line), lines, repeat(True)))
            self.line += size
            self.at = end

    @cached_property
    def is_text(self) -> bool:
        """Whether it is valid UTF-8: only then does a dot match every byte of its lines."""
        data = self.data[: self.end]
        if data.isascii():
            return True
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def _count_to(self, start: int) -> None:
        """Count the lines up to a hit."""
        self.line = self.line or self.first()
        if start > self.at:
            self.line += self.data.count(b"\n", self.at, start)


def _line(data: bytes) -> str:
    """One line as text, without its newline."""
    return decode(data[:-1] if data.endswith(b"\r") else data)


def _split(data: bytes) -> list[str]:
    """Lines as text, without their newlines."""
    text = decode(data)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if data.endswith(b"\n"):
        lines.pop()
    return lines


class _Context:
    """Puts the lines around hits in, each line once and in order."""

    def __init__(self, before: int, after: int, limit: int | None, width: int | None) -> None:
        self.before = before
        self.after = after
        self.limit = limit
        self.longest = None if width is None else width + 1
        """So much of a line is kept for later: one character more than is shown, which tells that it is cut."""
        self.found = 0
        self.shown = 0
        """The last line given out."""
        self.until = 0
        """Context goes on up to this line."""
        self.past: list[str] = []
        """The last lines of earlier blocks."""
        self.begun = Hit(0, "", False)
        """The line that goes on from block to block: its first piece, or the first with a hit."""

    def hits(self, source: ByteSource, search: Search) -> Iterator[Hit]:
        """All hits and the lines around them."""
        for block in search.blocks(source):
            if self.limit is not None and self.found >= self.limit and self.until < block.first():
                return
            if block.goes_on:
                self._begin(block, search)
            else:
                yield from self._block(block, search)

    def _begin(self, block: LineBlock, search: Search) -> None:
        if not block.start:
            self.begun = Hit(block.first(), _line(block.whole), False)
        if not self.begun.match:
            self.begun = next(_in(block, search), self.begun)

    def _found(self, block: LineBlock, search: Search) -> Iterator[Hit]:
        if block.start and self.begun.match:
            return chain((self.begun,), _in(block.rest, search))
        return _in(block, search)

    def _lines(self, block: LineBlock) -> list[str]:
        lines = _split(block.whole)
        return [self.begun.text, *lines[1:]] if block.start else lines

    def _block(self, block: LineBlock, search: Search) -> Iterator[Hit]:
        lines: list[str] | None = None
        first = block.first()
        for hit in self._found(block, search):
            if self.limit is not None and self.found >= self.limit:
                break
            lines = lines if lines is not None else self._lines(block)
            yield from self._between(first, lines, hit.line)
            if hit.line > self.shown:
                yield hit
            self.found += 1
            self.shown, self.until = hit.line, hit.line + self.after
        if lines is None and (self.until >= first or self.before):
            data = block.whole
            needed = self.until >= first or block.start
            lines = self._lines(block) if needed else _split(_last(data, self.before))
            first += data.count(b"\n") + (not data.endswith(b"\n")) - len(lines)
        yield from self._trail(first, lines or [])

    def _between(self, first: int, lines: list[str], hit: int) -> Iterator[Hit]:
        """The context since the last line given out, up to a hit."""
        wanted = [*range(self.shown + 1, min(self.until, hit - 1) + 1)]
        wanted += range(max(self.shown + 1, self.until + 1, hit - self.before, 1), hit)
        for line in wanted:
            yield Hit(line, self._line(first, lines, line), False)

    def _line(self, first: int, lines: list[str], line: int) -> str:
        if line >= first:
            return lines[line - first]
        return self.past[line - first] if first - line <= len(self.past) else ""

    def _trail(self, first: int, lines: list[str]) -> Iterator[Hit]:
        """The context after the last hit of a block; and what the next block may want before its first."""
        last = first + len(lines) - 1
        for line in range(max(self.shown + 1, first), min(self.until, last) + 1):
            yield Hit(line, lines[line - first], False)
            self.shown = line
        past = (self.past + lines)[-self.before :] if self.before else []
        self.past = [line[: self.longest] for line in past]


def _last(data: bytes, count: int) -> bytes:
    """The last lines."""
    at = len(data) - data.endswith(b"\n")
    for _ in range(count):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            break
    return data[at + 1 :]
