"""Outputs above a mebibyte: shaped however they come, and told by what they are, not by what is shown of them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest
from output_builders import give, numbered, opened, shown

import fanfold
from fanfold.core.message import assistant
from fanfold.strategies.elide import elide

BIG = numbered(200_000, "step of the build")
HUGE = numbered(900_000, "step of the build")


@fanfold.shortens
def last_line(text: str, tool: str, arguments: Mapping[str, Any]) -> str:
    return text.rstrip("\n").rpartition("\n")[2]


def transports(text: str) -> dict[str, Any]:
    return {
        "text": text,
        "bytes": text.encode(),
        "file": io.BytesIO(text.encode()),
        "texts": iter([text]),
        "parts": [fanfold.Text(text), fanfold.Image(media="image/png", data="iVBORw0KGgo=")],
    }


@pytest.mark.parametrize("kind", ["text", "bytes", "file", "texts", "parts"])
def test_filters_shape_the_whole_of_an_output_however_it_comes(kind: str) -> None:
    chat = opened(filters=[last_line])
    entry = give(chat, "c1", transports(BIG)[kind])
    assert shown(chat).rstrip("\n") == "step of the build 200000"
    assert str(chat.why(entry.id)).endswith("shown by the filter last_line")


@pytest.mark.parametrize("kind", ["text", "bytes", "file", "texts", "parts"])
def test_of_an_output_above_16_mebibytes_the_ends_are_shown_however_it_comes(kind: str) -> None:
    chat = opened(filters=[last_line])
    entry = give(chat, "c1", transports(HUGE)[kind])
    assert shown(chat).startswith("step of the build 1\n")
    assert "900,000 lines shown" in shown(chat).rstrip("\n").split("\n")[-1]
    assert str(chat.why(entry.id)).endswith("shown by the filter clip")


def test_a_lone_surrogate_reaches_the_filters_as_it_is() -> None:
    chat = opened(filters=[last_line])
    give(chat, "c1", iter([BIG, "\ud800"]))
    assert shown(chat) == "\ud800"


def placeholder(output: Any, **options: Any) -> str:
    """What stands in the place of an output that was elided."""
    chat = opened(strategy=elide(keep=0, share=100), **options)
    chat.say("go")
    give(chat, "c1", output)
    chat.add(assistant("seen"))
    chat.request()
    (row,) = (row for row in chat.view().rows if row.results)
    assert row.reason == "elide"
    return row.messages[0].results[0].text


@pytest.mark.parametrize("kind", ["text", "bytes", "texts"])
def test_a_placeholder_tells_the_size_of_the_output_not_of_its_view(kind: str) -> None:
    text = placeholder(transports(BIG)[kind])
    assert f"200,000 lines, {len(BIG) / 1_000:,.0f} kB; step of the build 1; step of the build 2" in text
    assert "clipped" not in text


def test_a_placeholder_counts_lines_as_the_output_does() -> None:
    text = "\r".join(f"{i} % done of it" for i in range(1_000))
    assert f"1 lines, {len(text) / 1_000:,.0f} kB" in placeholder(text)


@pytest.mark.parametrize("kind", ["text", "bytes", "texts"])
def test_what_a_large_clip_leaves_whole_has_no_note(kind: str) -> None:
    text = "short line with {ref}\n" * 100_000
    chat = opened(4_000_000, filters=[fanfold.clip(size=4 << 20)])
    give(chat, "c1", transports(text)[kind])
    assert shown(chat) == text


def test_only_whole_lines_of_a_stream_are_counted_as_shown() -> None:
    line = "日本語テキスト行、そのまま"
    chat = opened(4_000_000, filters=[fanfold.clip(size=4 << 20)], recall=True)
    give(chat, "c1", iter([f"{line}\n" * 500_000]))
    lines = shown(chat).split("\n")
    (gap,) = (number for number, one in enumerate(lines) if one.startswith("[… "))
    assert {*lines[:gap], *lines[gap + 1 : -1]} == {line}
    assert lines[-1].startswith(f"[output clipped: {len(lines) - 2:,} of 500,000 lines shown")
    assert f"offset={gap + 1})" in lines[-1]
