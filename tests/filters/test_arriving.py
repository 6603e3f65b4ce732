"""What is seen of an output on arrival grows with it up to a limit, and outputs that arrive together share the room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanfold
from fanfold.outputs.filters import clip_within
from fanfold.testing import called, replied, returned, said
from fanfold.text.cutting import bytes_of, even_level

WINDOW = 32_000
LIMIT = clip_within(WINDOW - WINDOW // 10).size
ENGLISH = "The parser of line {} reads a table, and splits what it finds at commas.\n"
JAPANESE = "第{}行の解析器は表を読み、見つけたものをカンマで分ける。\n"


def text(line: str, size: int) -> str:
    """So many bytes of lines, or a few less."""
    lines = [line.format(number) for number in range(size // bytes_of(line) + 1)]
    while bytes_of("".join(lines)) > size:
        lines.pop()
    return "".join(lines)


def opened(**options: Any) -> fanfold.Session:
    tools = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
    return fanfold.open("run", window=WINDOW, tools=tools, **options)


def arrived(texts: Sequence[str], *, merged: bool = True, chat: fanfold.Session | None = None) -> list[str]:
    """What a request shows of outputs that answer one reply."""
    calls = [called(f"c{number}") for number in range(len(texts))]
    bodies = [said("Read them."), replied(None, *calls)]
    results = [returned(f"c{number}", one) for number, one in enumerate(texts)]
    chat = chat or opened()
    if merged:
        chat.merge([*bodies, *results])
    else:
        chat.merge(bodies)
        for number, one in enumerate(texts):
            chat.answer(f"c{number}", one)
    sent = chat.request()["messages"]
    assert chat.pressure().tokens <= WINDOW
    return [str(body["content"]) for body in sent[-len(texts) :]]


@pytest.mark.parametrize("line", [ENGLISH, JAPANESE])
def test_what_is_shown_never_shrinks_with_the_size_of_the_output(line: str) -> None:
    sizes = [LIMIT // 4, LIMIT - 200, LIMIT, LIMIT + 100, LIMIT + 1_000, 2 * LIMIT, 5 * LIMIT, 40 * LIMIT]
    shown = [bytes_of(arrived([text(line, size)])[0]) for size in sizes]
    assert shown[:3] == [bytes_of(text(line, size)) for size in sizes[:3]], "whole up to the limit"
    most = 0
    for size, one in zip(sizes, shown, strict=True):
        assert one >= 0.95 * most, f"{size} bytes are shown in {one}, fewer in {most}"
        most = max(most, one)
    assert most <= 1.25 * LIMIT, "and a bound near the limit holds, names included"


@pytest.mark.parametrize("room", [4_000, 8_000, 16_000, 32_000, 70_000, 72_000, 200_000])
def test_one_byte_more_never_loses_most_of_an_output(room: int) -> None:
    clip = clip_within(room)
    for line in ("word word word\n", "x" * 5_000 + "\n", "a\n", "日本語のログ\n"):
        fits = text(line, clip.size)
        longer = fits + "x" * (clip.size + 1 - bytes_of(fits))
        assert clip(fits, "run", {}) is None
        shown = clip(longer, "run", {})
        assert shown is None or bytes_of(shown) >= (0.3 if len(line) > 2_000 else 0.8) * clip.size


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize(
    ("line", "sizes"), [(ENGLISH, (40_000, 36_000, 33_000, 38_000)), (JAPANESE, (40_000,) * 4)]
)
def test_documents_that_are_read_together_get_a_fair_share(
    line: str, sizes: tuple[int, ...], merged: bool
) -> None:
    chat = opened()
    shown = [bytes_of(one) for one in arrived([text(line, size) for size in sizes], merged=merged, chat=chat)]
    assert max(shown) <= 1.1 * min(shown), "as glasses are filled evenly"
    now = chat.pressure()
    assert 0.68 * now.room <= now.tokens <= now.trigger, "filled to near the trigger, not half empty"
    assert all(one.reason == "clip" for one in chat.view().rows if one.results), (
        "nothing else had to give way"
    )


def test_what_is_short_stays_whole_beside_what_is_long() -> None:
    texts = [text(ENGLISH, size) for size in (2_000, 60_000, 60_000, 60_000, 60_000, 6_000)]
    shown = arrived(texts)
    assert (shown[0], shown[-1]) == (texts[0], texts[-1])
    long = [bytes_of(one) for one in shown[1:-1]]
    assert max(long) <= 1.1 * min(long)
    assert min(long) > 6_000


def test_outputs_of_different_replies_share_nothing() -> None:
    chat = opened()
    transcript = [said("Read them.")]
    for number in range(3):
        transcript += [replied(None, called(f"c{number}")), returned(f"c{number}", text(ENGLISH, LIMIT))]
        chat.merge(transcript)
        assert chat.request()["messages"][-1]["content"] == transcript[-1]["content"]


def test_what_was_sent_already_is_not_clipped_for_what_comes_later() -> None:
    chat = opened()
    transcript = [said("Read."), replied(None, *(called(f"c{number}") for number in range(4)))]
    transcript += [returned(f"c{number}", text(JAPANESE, LIMIT)) for number in range(4)]
    chat.merge(transcript)
    before = chat.request()["messages"]
    chat.merge([*transcript, said("And now?")])
    assert chat.request()["messages"][: len(before)] == before


def test_with_a_clip_of_ones_own_nothing_is_shared() -> None:
    texts = [text(ENGLISH, 20_000) for _ in range(4)]
    chat = opened(filters=[fanfold.clip(size=40_000)])
    assert arrived(texts, chat=chat) == texts


def test_many_large_outputs_fit_whatever_their_number() -> None:
    shown = arrived([text(ENGLISH, 30_000)] * 40)
    sizes = [bytes_of(one) for one in shown]
    assert max(sizes) <= 2 * min(sizes)


def test_a_large_system_prompt_leaves_less_to_share() -> None:
    chat = opened(system="word " * 20_000)
    shown = arrived([text(ENGLISH, 40_000)] * 3, chat=chat)
    sizes = [bytes_of(one) for one in shown]
    assert max(sizes) <= 1.1 * min(sizes)
    assert min(sizes) >= 3_500


@settings(max_examples=200)
@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=9), st.integers(0, 6_000))
def test_glasses_are_filled_evenly(sizes: list[int], room: int) -> None:
    level = even_level(sizes, room)
    poured = [min(size, level) for size in sizes]
    assert sum(poured) == pytest.approx(min(room, sum(sizes)))


def test_where_nothing_else_fits_the_largest_are_cut_to_the_same_size() -> None:
    chat = opened(filters=[])
    texts = [text(ENGLISH, size) for size in (3_000, 60_000, 60_000, 60_000)]
    shown = arrived(texts, chat=chat)
    assert shown[0] == texts[0]
    long = [bytes_of(one) for one in shown[1:]]
    assert max(long) <= 1.25 * min(long), "and none was emptied for the others"
    assert chat.pressure().tokens >= 0.85 * chat.pressure().room


def test_where_the_frame_takes_most_outputs_leave_room_to_tell_what_they_push_out() -> None:
    frame = text(ENGLISH, 38_000)
    with fanfold.open("crowded", window=16_000, system=frame) as chat:
        arrived([text(ENGLISH, 4_000)] * 4, chat=chat)
        sizes = [row.tokens for row in chat.view().rows if row.messages[0].results]
        left = chat.pressure().room - chat.view().frame.tokens
    assert 2_000 < left < 6_000, "the frame takes most of the room"
    assert 0.3 * left < sum(sizes) < 0.6 * left
