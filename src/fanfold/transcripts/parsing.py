"""JSON text to values, losing nothing: lone surrogates, huge numbers and NaN survive."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from fanfold.core.errors import BadInput
from fanfold.text.json_text import to_json

LONGEST_INTEGER = 4300
"""Digits; Python refuses to convert longer texts (CVE-2020-10735)."""


class BadJson(BadInput):
    """This is no JSON."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason, self.line, self.column = reason, line, column


def parse(data: bytes) -> Any:
    """The value of a JSON text; `BadJson` with the place if it is none."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _parse_slowly(data)


def encode(value: Any) -> str:
    """The JSON text of a value that `parse` gave."""
    try:
        return to_json(value)
    except RecursionError:
        raise BadJson("nested too deeply") from None


def _parse_slowly(data: bytes) -> Any:
    """The standard library takes what msgspec refuses, and knows line and column of an error."""
    try:
        return _DECODER.decode(_text(data))
    except json.JSONDecodeError as error:
        raise BadJson(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise BadJson("nested too deeply") from None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise BadJson("not UTF-8", line, column) from None


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= LONGEST_INTEGER else text


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=str)
