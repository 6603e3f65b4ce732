"""Binary data and base64 are recognised and become a note; ordinary text stays."""

from __future__ import annotations

import base64
import json
import random

import pytest

from fanfold.outputs.filters import apply_filters, binary
from fanfold.text.data import is_binary, media_of

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(3_000)


def shown(text: str) -> str | None:
    found = apply_filters(text, "read", {}, [binary()], "o1")
    return found.text if found else None


def test_base64_of_a_picture_becomes_a_note_that_says_what_it_was() -> None:
    text = shown(base64.b64encode(PNG).decode())
    assert text is not None
    assert text.startswith("[base64 data, image/png, 3,00")
    assert "ref=o1" in text


def test_a_data_address_inside_json_leaves_the_json_around_it() -> None:
    body = json.dumps({"title": "Home", "shot": "data:image/png;base64," + base64.b64encode(PNG).decode()})
    text = shown(body)
    assert text is not None
    assert '"title": "Home"' in text
    assert "image/png" in text
    assert len(text) < 200


def test_base64_in_lines_is_recognised_as_one() -> None:
    text = shown("before\n" + base64.encodebytes(PNG).decode() + "after\n")
    assert text is not None
    assert text.startswith("before\n[base64 data")
    assert "after" in text


def test_control_characters_make_a_text_binary() -> None:
    text = shown("\x00\x01\x02ELF" * 500)
    assert text == "[binary data, application/octet-stream, 3,000 bytes; ref=o1]"


@pytest.mark.parametrize(
    "text",
    [
        "ACGT" * 1_000,
        "9" * 5_000,
        "a" * 5_000,
        "/usr/lib/python/site/packages/" * 60,
        "deadbeef" * 400,
        "plain words, " * 400,
        "\x1b[31mred\x1b[0m " * 400,
        "日本語" * 1_000,
        "tab\tand\r\nlines\n" * 200,
    ],
)
def test_long_text_that_is_no_data_stays(text: str) -> None:
    assert shown(text) is None


@pytest.mark.parametrize(
    ("head", "media"),
    [
        (PNG, "image/png"),
        (b"%PDF-1.7\n\x00\xff", "application/pdf"),
        (b'{"a": 1}', "application/json"),
        (b" {}\n", "application/json"),
        (b"[1, 2]", "application/json"),
        (b"[-1.5e3]", "application/json"),
        (b"[[[ 7,", "application/json"),
        (b"[\n  true,", "application/json"),
        (b'["a"', "application/json"),
        (b"[]", "application/json"),
        (b"[2024-01-01 12:00] INFO start", "text/plain"),
        (b"[INFO] start", "text/plain"),
        (b"[1] 4711", "text/plain"),
        (b"[", "text/plain"),
        (b"{{ template }} text", "text/plain"),
        (b"{ echo; }", "text/plain"),
        (b"<!DOCTYPE html><html>", "text/html"),
        (b"hello", "text/plain"),
        (b"\x00\x01", "application/octet-stream"),
        (b"BM is a car maker", "text/plain"),
    ],
)
def test_the_kind_of_data_is_told_by_its_beginning(head: bytes, media: str) -> None:
    assert media_of(head) == media


def test_a_character_cut_at_the_end_of_the_sample_is_no_sign_of_binary() -> None:
    assert not is_binary("日本語".encode()[:-1])


@pytest.mark.parametrize(
    "data",
    [
        b"caf\xe9",
        b"\xe9t\xe9",
        b"na\xefve \xe0 la carte",
        "Übermäßig schöne Grüße aus Köln".encode("latin-1"),
        b"a line\0with a NUL, and more of it",
        "words and a lone surrogate \ud800".encode("utf-8", "surrogatepass"),
        "\ud800\udfff".encode("utf-8", "surrogatepass"),
        "already replaced: caf\ufffd \ufffd\ufffd".encode(),
        b"PATH=/bin\0HOME=/root\0LANG=C.UTF-8\0TERM=xterm\0",
    ],
)
def test_text_with_a_few_odd_characters_is_text(data: bytes) -> None:
    assert not is_binary(data)


@pytest.mark.parametrize(
    "data",
    [
        random.Random(2).randbytes(100),
        random.Random(3).randbytes(9_000),
        "UTF-16 has a NUL for every letter".encode("utf-16"),
        "совсем по-русски".encode("koi8-r"),
        b"\x7fELF\x02\x01\x01" + bytes(57),
        b"SQLite format 3\0" + b"and then some words of text" * 9,
    ],
)
def test_data_is_no_text(data: bytes) -> None:
    assert is_binary(data)
