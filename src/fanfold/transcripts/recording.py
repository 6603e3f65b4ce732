"""A JSON document or JSON lines as one stream of numbered values.

Parsing loses nothing: lone surrogates, huge numbers and NaN survive.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import deque
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple

import msgspec

from fanfold.core.errors import BadInput

LONGEST_INTEGER = 4300
"""Digits; Python refuses to convert longer texts (CVE-2020-10735)."""

LARGEST = 1 << 29
"""Bytes of one line or one document: more is taken for a mistake, not for a conversation."""

BOM = b"\xef\xbb\xbf"


class UnknownFormat(BadInput):
    """This is no transcript that fanfold knows."""


class NothingRead(UnknownFormat):
    """There is no message in this file that fanfold can read."""


class BadJson(BadInput):
    """This is no JSON."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason, self.line, self.column = reason, line, column


class Numbered(NamedTuple):
    """A JSON value and the line where it begins."""

    line: int
    value: Any


class Recording:
    """One transcript file being read: its values, and what was noticed on the way."""

    def __init__(self, stream: BinaryIO, name: str, *, strict: bool = True) -> None:
        self.stream, self.name, self.strict = stream, name, strict
        self.cut = False
        self.skipped = 0
        self._ahead: deque[Numbered] = deque()
        self._rest = self._read()

    def notes(self) -> dict[str, Any]:
        """What to say in `meta` about the file."""
        noticed = {"cut": self.cut, "skipped": self.skipped}
        return {key: value for key, value in noticed.items() if value}

    def peek(self, count: int) -> Iterator[Numbered]:
        """The first values, which `rows` will give again."""
        yield from self._ahead
        while len(self._ahead) < count and (row := next(self._rest, None)):
            self._ahead.append(row)
            yield row

    def rows(self) -> Iterator[Numbered]:
        """All values, one at a time."""
        while self._ahead:
            yield self._ahead.popleft()
        yield from self._rest

    def objects(self, what: str) -> Iterator[dict[str, Any]]:
        """All values, for formats whose lines are objects; `what` is the format's word for a line."""
        for row in self.rows():
            if not isinstance(row.value, dict):
                raise self.wrong(row.line, f"{what} is a JSON object.")
            yield row.value

    def name_part(self, line: int, part: int = 1) -> str:
        """What to call a conversation without a name: the file, its line and its place among those there."""
        return f"{PurePath(self.name).name}#{line}" + (f".{part}" if part > 1 else "")

    def wrong(self, line: int, reason: str) -> BadInput:
        """An error that names the file and the line."""
        return BadInput(f"{self.name}: line {line}: {reason}")

    def _read(self) -> Iterator[Numbered]:
        lines = self._lines()
        first = next(lines, None)
        if first is None:
            raise UnknownFormat(f"{self.name}: the file is empty.")
        if first[1].startswith(b"SQLite format 3\0"):
            raise UnknownFormat(
                f"{self.name}: this is a database, not a transcript. If fanfold keeps sessions in it, write one to a "
                f"file first: fanfold export SESSION --store sqlite:{self.name} -o session.jsonl"
            )
        if b"\0" in first[1]:
            raise UnknownFormat(f"{self.name}: this is binary data (or text that is not UTF-8), not JSON.")
        second = next(lines, None)
        if _is_document(first[1], second and second[1]):
            if not first[1].lstrip().startswith((b"{", b"[")):
                raise UnknownFormat(
                    f"{self.name}: line {first[0]}, column 1: this is not a transcript in JSON."
                )
            yield Numbered(first[0], self._document(first, second, lines))
            return
        ahead = [first] if second is None else [first, second]
        yield from self._values(itertools.chain(ahead, lines))

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers; blank ones are counted but not given."""
        for number in itertools.count(1):
            line = self.stream.readline(LARGEST + 1)
            if not line:
                return
            if len(line) > LARGEST:
                raise self.wrong(number, f"longer than {LARGEST:,} bytes.")
            line = line.removeprefix(BOM) if number == 1 else line
            if line.strip():
                yield number, line

    def _document(
        self, first: tuple[int, bytes], second: tuple[int, bytes] | None, lines: Iterator[tuple[int, bytes]]
    ) -> Any:
        whole, at = bytearray(), 1
        for number, line in itertools.chain((pair for pair in (first, second) if pair), lines):
            whole += b"\n" * (number - at) + line
            at = number + line.count(b"\n")
            if len(whole) > LARGEST:
                raise BadInput(f"{self.name}: one JSON value of more than {LARGEST:,} bytes.")
        return self._parse(1, bytes(whole))

    def _values(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Numbered]:
        for number, line in lines:
            try:
                value = self._parse(number, line)
            except BadInput:
                if number > 1 and not line.endswith(b"\n"):
                    self.cut = True
                    return
                if self.strict:
                    raise
                self.skipped += 1
                continue
            yield Numbered(number, value)

    def _parse(self, line: int, data: bytes) -> Any:
        try:
            return parse(data)
        except BadJson as error:
            where = f"line {line + error.line - 1}, column {error.column}"
            raise BadInput(f"{self.name}: {where}: {error.reason}.") from None


def _is_document(first: bytes, second: bytes | None) -> bool:
    """Does the first line open a JSON value that goes on below it?"""
    if second is None or _parses(first):
        return second is None
    if first.strip() in (b"{", b"[") or first.rstrip().endswith((b"{", b"[", b",", b":")):
        return True
    return not (second.lstrip().startswith(b"{") and _parses(second))


def _parses(data: bytes) -> bool:
    try:
        parse(data)
    except BadInput:
        return False
    return True


def parse(data: bytes) -> Any:
    """The value of a JSON text; `BadJson` with the place if it is none."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _parse_slowly(data)


def parse_text(text: str) -> Any:
    """The value of JSON that stands in a text; None if it is none."""
    try:
        return parse(text.encode("utf-8", "surrogatepass"))
    except BadInput:
        return None


def _parse_slowly(data: bytes) -> Any:
    """The standard library takes what msgspec refuses, and knows line and column of an error."""
    try:
        return _DECODER.decode(data.decode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        raise BadJson(error.msg, error.lineno, error.colno) from None
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise BadJson("not UTF-8", line, column) from None
    except RecursionError:
        raise BadJson("nested too deeply") from None


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= LONGEST_INTEGER else text


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=str)
