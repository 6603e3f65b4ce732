"""Clip: what is within the limits stays, what is longer ends with a way to the rest (A4)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadSetting
from fanfold.outputs.filters import apply_filters, clip, clip_within
from fanfold.text.cutting import cut, cut_after

FAMILY = "👨‍👩‍👧"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def clipped(text: str, **limits: int | str) -> str | None:
    return clip(**limits)(text, "bash", {})  # type: ignore[arg-type]


def test_what_is_within_the_limits_is_left_alone() -> None:
    assert clipped("x" * 2_000 + "\n" + "y" * 2_000, line=2_000) is None
    assert clipped("short\n" * 8_533) is None


@given(st.lists(st.sampled_from([0, 1, 39, 40, 41])))
def test_what_has_a_line_too_long_is_clipped_and_nothing_else_is(lengths: list[int]) -> None:
    text = "\n".join("x" * length for length in lengths)
    assert (clipped(text, line=40) is None) == (41 not in lengths)


@pytest.mark.parametrize("shown", [None, 1_000])
def test_a_long_line_alone_is_no_reason_to_cut_an_output_that_is_small_as_a_whole(shown: int | None) -> None:
    text = "first\n" + "a" * 5_000 + "\nlast"
    assert clip(size=6_000, shown=shown)(text, "bash", {}) is None
    assert clip_within(32_000)(text, "bash", {}) is None
    small = clip(size=5_000, shown=shown)(text, "bash", {})
    assert small is not None
    assert max(map(len, small.split("\n"))) <= 2_000


@given(st.integers(800, 3_000), st.lists(st.integers(0, 2_500), min_size=1, max_size=6))
def test_without_a_length_of_lines_only_the_size_of_the_whole_counts(size: int, lengths: list[int]) -> None:
    text = "\n".join("x" * length for length in lengths)
    assert (clipped(text, size=size) is None) == (len(text) <= size)


def test_a_line_of_one_character_too_many_is_cut_to_the_length_that_was_asked_for() -> None:
    text = clipped("a" * 5_000 + "\nfine", line=2_000)
    assert text is not None
    assert max(map(len, text.split("\n"))) == 2_000
    assert "fine" in text


def test_a_long_output_is_cut_to_50_kib_the_note_included() -> None:
    text = clipped("".join(f"line {i}\n" for i in range(50_000)))
    assert text is not None
    assert len(text.encode()) <= 50 * 1024


def test_the_end_names_the_ref_and_the_line_to_read_on_from() -> None:
    shown = apply_filters(
        "".join(f"line {i}\n" for i in range(50_000)), "bash", {}, [clip(keep="head")], "o7"
    )
    assert shown is not None
    *lines, note = shown.text.split("\n")
    assert f'tool_output_cache(ref_id="o7", offset={len(lines) + 1})' in note
    assert lines[-1] == f"line {len(lines) - 1}"


def test_head_and_tail_shows_the_last_line() -> None:
    text = clipped("".join(f"line {i}\n" for i in range(50_000)), keep="both")
    assert text is not None
    assert "line 49999\n" in text
    assert "lines left out" in text


LISTING = "".join(f"src/parts/of/module_{i}.py\n" for i in range(2_000))


def test_names_that_are_cut_away_are_listed_as_far_as_they_fit() -> None:
    text = clipped(LISTING, size=4_000, shown=1_000, names=300)
    assert text is not None
    *shown, listed = text.split("\n")
    assert text.count("src/parts/of/module_3.py") == 1, "what is shown is not listed"
    assert "src/parts/of/module_40.py | src/parts/of/module_41.py" in listed
    assert 600 < len(listed) < 1_500
    assert "\n".join(shown) == clipped(LISTING, size=4_000, shown=1_000)


def test_names_that_anybody_could_guess_are_not_listed() -> None:
    text = clipped("plain words in main.py\n" * 2_000, size=4_000, names=300)
    assert text == clipped("plain words in main.py\n" * 2_000, size=4_000)


def test_one_gigantic_line_is_cut_too() -> None:
    text = clipped("{" + "x" * 3_000_000)
    assert text is not None
    assert len(text) < 3_000


@pytest.mark.parametrize("keep", ["head", "both"])
def test_multibyte_text_keeps_to_the_bytes(keep: str) -> None:
    text = clipped("日本語のログ\n" * 20_000, keep=keep)
    assert text is not None
    assert len(text.encode()) <= 50 * 1024


@pytest.mark.parametrize(
    "text", ["e\u0301", FAMILY, "🇩🇪🇯🇵", "👍🏽", "\x1b[31mred\x1b[0m", "\x1b]8;;http://x\x07link"]
)
def test_nothing_that_belongs_together_is_parted(text: str) -> None:
    parts = {"e\u0301": [2], FAMILY: [5], "🇩🇪🇯🇵": [2, 4], "👍🏽": [2]}.get(text)
    whole = {0, *(parts or [m.end() for m in ANSI.finditer(text)]), len(text)}
    for at in range(len(text) + 1):
        if parts is not None:
            assert cut(text, at) in whole
            assert cut_after(text, at) in whole
        else:
            assert not re.search(r"\x1b[^a-zA-Z\x07]*$", text[: cut(text, at)])


SEQUENCES = {
    "a link": "\x1b]8;;https://x.org/" + "a" * 3_000 + "\x07",
    "a link that ends in an escape": "\x1b]8;;https://x.org/" + "a" * 3_000 + "\x1b\\",
    "a picture": "\x1bPq" + "#0~~@@vv" * 4_000 + "\x1b\\",
    "colours": "\x1b[" + "38;5;1;" * 400 + "m",
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_an_escape_sequence_of_any_length_is_not_parted(name: str) -> None:
    sequence = SEQUENCES[name]
    text = f"before \x1b[1m{sequence} after"
    start, end = text.index(sequence), text.index(sequence) + len(sequence)
    for at in (start, start + 1, start + 700, end - 2, end - 1, end, end + 2):
        inside = start < at < end
        assert cut(text, at) == (start if inside else at)
        assert cut_after(text, at) == (end if inside else at)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("before", [100, 1_950])
def test_clip_shows_no_part_of_an_escape_sequence(name: str, before: int) -> None:
    text = clipped("w" * before + SEQUENCES[name] + "z" * 60_000, size=4_000)
    assert text is not None
    assert "\x1b" not in text.replace(SEQUENCES[name], "")
    assert not re.search("aaa|vv#|;5;1", text.replace(SEQUENCES[name], ""))


def test_what_only_looks_like_the_beginning_of_a_sequence_does_not_hold_up_a_cut() -> None:
    assert cut("\x1b]no end " + "x" * 5_000, 3_000) == 3_000
    assert cut("\x1b[31mred" + "x" * 5_000, 3_000) == 3_000


@given(st.text(alphabet="a\u0301\u200d👩\x1b[31m;", max_size=40), st.integers(0, 40))
def test_a_cut_never_lies_behind_the_place_asked_for(text: str, at: int) -> None:
    assert 0 <= cut(text, at) <= min(at, len(text))
    assert min(at, len(text)) <= cut_after(text, at) <= len(text)


@given(
    st.text(max_size=4_000), st.integers(40, 200), st.integers(800, 2_000), st.sampled_from(["head", "both"])
)
def test_clipping_never_makes_an_output_larger(text: str, line: int, size: int, keep: str) -> None:
    shown = apply_filters(text, "t", {}, [clip(line=line, size=size, keep=keep)], "o1")  # type: ignore[arg-type]
    if shown is not None:
        assert len(shown.text.encode("utf-8", "surrogatepass")) < len(text.encode("utf-8", "surrogatepass"))
        assert len(shown.text.encode("utf-8", "surrogatepass")) <= size


def test_an_output_that_contains_the_placeholder_shows_it_unchanged() -> None:
    shown = apply_filters("{ref} {Ref}\n" + "x" * 9_000, "t", {}, [clip(line=2_000)], "o3")
    assert shown is not None
    assert shown.text.startswith("{ref} {Ref}\n")
    assert "ref=o3" in shown.text


def test_an_output_that_contains_the_placeholder_in_capitals_shows_it_unchanged() -> None:
    shown = apply_filters("{REF}\n" + "x" * 9_000, "t", {}, [clip(line=2_000)], "o3")
    assert shown is not None
    assert shown.text.startswith("{REF}\n")


def test_later_filters_see_what_earlier_ones_left() -> None:
    seen: list[str] = []

    def watch(text: str, tool: str, arguments: object) -> None:
        seen.append(text)

    apply_filters("x" * 9_000, "t", {}, [clip(line=2_000), watch], "o1")
    assert len(seen[0]) < 3_000


def test_the_size_can_be_counted_in_characters_and_tools_can_be_spared() -> None:
    counting = clip(size=1_000, unit="characters", sparing=["tree"])
    assert counting("東京\n" * 333, "cat", {}) is None, "999 characters, 2,331 bytes"
    shown = counting("東京\n" * 334, "cat", {})
    assert shown is not None
    assert len(shown) <= 1_000
    assert counting("東京\n" * 334, "tree", {}) is None
    with pytest.raises(BadSetting, match='"bytes" or "characters"'):
        clip(unit="words")  # type: ignore[arg-type]


def test_limits_that_leave_no_room_for_the_note_are_refused() -> None:
    with pytest.raises(BadSetting, match="800 bytes"):
        clip(size=100)


def test_one_long_line_is_searched_not_read_on() -> None:
    text = clip(line=2_000, size=1_000)("x" * 50_000, "run", {})
    assert text is not None
    assert "reads on" not in text
    assert "searches it" in text
