"""Bodies given as text are read exactly, or refused with the place of the fault."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadInput
from fanfold.dialects.reading import parse

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**90), 2**90)
    | st.floats(allow_nan=False)
    | st.text()
    | st.just("\ud800:\\"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just('a":'), inner, max_size=3)
    ),
    max_leaves=12,
)
styles = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}])


@given(values, styles, st.booleans(), st.booleans())
def test_whatever_json_says_is_read_as_it_is(value, style, escaped, as_text):
    body = {"body": value}
    written = json.dumps(body, ensure_ascii=escaped, **style)
    assert parse(written if as_text else written.encode("utf-8", "surrogatepass")) == body


@given(values, st.text(max_size=3) | st.just('a":'), values, values, styles)
def test_a_key_that_stands_twice_is_never_overlooked(value, key, first, second, style):
    holes = json.dumps({"deep": [value, {"@one@": first, "@two@": second}]}, **style)
    written = holes.replace('"@one@"', json.dumps(key)).replace('"@two@"', json.dumps(key))
    with pytest.raises(BadInput, match="stands twice in one object at line"):
        parse(written)


FAULTS = [
    ('{"a": 1,\n "b": [1, {"c": 2, "c": 3}]}', r"The key 'c' stands twice .* at line 2, column 20 \(b\[1\]"),
    ('{"a": [1, 2', r"it ends in the middle at line 1, column 12 \(a\[1\]\)"),
    ('{"a": "half', r"it ends in the middle at line 1, column 7 \(a\)"),
    ('{"a": [1, }]}', r"expecting value at line 1, column 11 \(a\[1\]\)"),
    ("", "it is empty at line 1, column 1"),
    ("<html>", "expecting value at line 1, column 1"),
    ("[1] x", r"extra data at line 1, column 5"),
    (b'{"a": "\xff"}', r"no UTF-8 text: invalid start byte at line 1, column 8 \(a\)"),
    ("12", "The body is a number; a request is an object"),
    ('"words"', "The body is a text"),
    ("null", "The body is null"),
    ("true", "The body is a boolean"),
    ("[" * 100_000, "nested too deeply"),
    (7, "as text or bytes, not as int"),
]


@pytest.mark.parametrize(("data", "words"), FAULTS, ids=[words[:24] for _, words in FAULTS])
def test_a_fault_is_named_with_its_place(data, words):
    with pytest.raises(BadInput, match=words):
        parse(data)


@given(values)
def test_every_truncated_body_is_refused(value):
    whole = json.dumps({"body": value})
    for end in range(0, len(whole) - 1, max(1, len(whole) // 20)):
        with pytest.raises(BadInput, match="at line 1, column"):
            parse(whole[:end])


def test_odd_values_survive():
    body = parse('{"big": 123456789012345678901234567890, "half": "\\ud800", "nan": NaN, "far": -Infinity}')
    assert body["big"] == 123456789012345678901234567890
    assert body["half"] == "\ud800"
    assert math.isnan(body["nan"])
    assert body["far"] == -math.inf


def test_a_byte_order_mark_is_passed_over():
    assert parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
