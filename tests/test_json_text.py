"""One way to write JSON, and a lenient way to read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanfold import Text
from fanfold.text.json_text import from_json, print_json, to_json, write_json

VALUES: list[Any] = [
    {},
    {"a": 1, "b": "ü\u2028\x7f\n", "c": None, "d": True},
    {"half": "\ud800", "big": 2**70},
    {"float": 1e16, "small": 1.5e-9, "list": [1.0, {"deep": "構文"}]},
    [float("inf"), "\ud83d"],
    "text",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_written_as_the_standard_library_writes_it_compactly(value: Any) -> None:
    assert to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", VALUES)
def test_what_was_written_is_read_again(value: Any) -> None:
    assert from_json(to_json(value)) == value


@pytest.mark.parametrize("text", ["", "{", "nothing", "[" * 100_000])
def test_what_is_no_json_is_none(text: str) -> None:
    assert from_json(text) is None


def test_what_json_has_no_word_for_is_replaced_in_what_programs_read() -> None:
    value = {"half": "\ud800", "many": (float("nan"), float("-inf")), 1: Text("ü\udc00")}
    told = {"half": "\ufffd", "many": ["NaN", "-Infinity"], "1": {"type": "text", "text": "ü\ufffd"}}
    assert json.loads(write_json(value)) == json.loads(print_json(value)) == told


def test_for_people_it_has_several_lines() -> None:
    assert print_json({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'
