"""The newest exchange stays whole while it fits, and `fit` fills the room that it is given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, DoesNotFit
from fanfold.session.fit import fitted
from fanfold.strategies import auto, digest, drop_oldest, importance, summarize, truncate
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import conversations
from laws.hostile import HOSTILE
from laws.world import World

SIZES = [(5, 5), (30, 30), (100, 100), (200, 200), (20, 300), (300, 20)]
"""Words of a question, and of its answer."""
STRATEGIES = {
    "digest": digest(),
    "drop_oldest": drop_oldest(),
    "auto": auto(),
    "summarize": summarize(),
    "truncate": truncate(),
    "importance": importance(),
}


def _pairs(many: int, words: tuple[int, int] = (200, 200)) -> list[dict[str, Any]]:
    asked, answered = words
    pairs = [(f"Question {n}: " + "foo " * asked, f"Answer {n}: " + "bar " * answered) for n in range(many)]
    return [body for question, answer in pairs for body in (said(question), replied(answer))]


def _model(question: Any) -> str:
    return "A summary."


@pytest.mark.parametrize("words", SIZES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_fit_keeps_the_newest_reply_behind_its_question(name: str, words: tuple[int, int]) -> None:
    """(19.14)"""
    talk = _pairs(40, words)
    short = fanfold.fit(talk, window=2_000, strategy=STRATEGIES[name], summarizer=_model)
    assert short[-2:] == talk[-2:]
    assert fanfold.fit(short, window=2_000, strategy=STRATEGIES[name], summarizer=_model) == short


@pytest.mark.parametrize("words", SIZES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_settle_and_compact_keep_it_too(name: str, words: tuple[int, int]) -> None:
    """(19.14)"""
    talk = _pairs(max(40, 3_000 // sum(words)), words)
    for verb in ("settle", "compact"):
        chat = fanfold.open("run", window=2_000, strategy=STRATEGIES[name], summarizer=_model)
        chat.merge(talk)
        assert getattr(chat, verb)().status == "reduced"
        assert [message.text for message in chat.view().messages[-2:]] == [
            body["content"] for body in talk[-2:]
        ]


def test_a_reply_is_no_longer_the_newest_once_the_talk_goes_on() -> None:
    chat = fanfold.open("run", window=2_000, strategy=digest())
    chat.merge([*_pairs(40, (20, 600)), said("And now?")])
    chat.request()
    assert [row.kind for row in chat.view().rows[-2:]] == ["fold", "entry"]


def test_a_newest_reply_that_cannot_fit_is_clipped_behind_its_question() -> None:
    talk = [*_pairs(5), said("Last?"), replied("word " * 4_000)]
    short = fanfold.fit(talk, window=2_000)
    assert short[-2] == talk[-2]
    assert short[-1]["content"].startswith("word word")
    assert "characters cut to fit the context window" in short[-1]["content"]


@given(conversations(most=800), st.integers(1, 120), st.integers(1, 120), st.sampled_from((None, *HOSTILE)))
def test_whatever_was_said_before_the_newest_exchange_is_whole(
    bodies: list[Any], asked: int, answered: int, strategy: Any
) -> None:
    """(19.14) In a window that has room for it and a digest."""
    newest = [said("Last? " + "foo " * asked), replied("Last. " + "bar " * answered)]
    world = World(strategy, budget=Budget(window=600))
    world.merge([*bodies, *newest])
    world.settle()
    world.compact()
    shown = [row.messages[0].text for row in world.chat.view().rows if row.kind != "note"]
    assert shown[-2:] == [body["content"] for body in newest]


ROOMS = [
    pytest.param(room, words, marks=() if words[0] * 400 >= room else pytest.mark.slow)
    for room in (2_000, 8_000)
    for words in ((5, 5), (30, 30), (100, 100), (150, 150))
]
"""What `fit` has to fill, and words of a question and its answer; a large room takes thousands of short ones."""


@pytest.mark.parametrize("name", ["digest", "drop_oldest", "auto", "summarize", None])
@pytest.mark.parametrize(("room", "words"), ROOMS)
def test_fit_fills_the_room_that_it_is_given(room: int, name: str | None, words: tuple[int, int]) -> None:
    """(19.14) It used a quarter of it."""
    given: dict[str, Any] = {} if name is None else {"strategy": STRATEGIES[name], "summarizer": _model}
    talk = _pairs(3 * room // sum(words), words)
    fit = fitted(talk, window=room, **given)
    assert fit.view is not None
    assert 0.85 * 0.9 * room <= fit.view.tokens <= 0.9 * room


@pytest.mark.parametrize("words", [(300, 300), (600, 600), (5, 600), (600, 5)])
@pytest.mark.parametrize("room", [1_000, 2_000, 8_000])
def test_fit_fills_it_with_long_messages_too(room: int, words: tuple[int, int]) -> None:
    """(19.14) The next message, which is too long for what is left, is clipped."""
    talk = _pairs(max(6, 3 * room // sum(words)), words)
    fit = fitted(talk, window=room)
    assert fit.view is not None
    assert 0.85 * 0.9 * room <= fit.view.tokens <= 0.9 * room
    assert fanfold.fit(fit.shape, window=room) == fit.shape


def test_a_long_output_is_clipped_where_it_fills_the_room() -> None:
    """(19.14)"""
    steps = [
        (replied(None, called(f"c{n}")), returned(f"c{n}", f"Output {n}: " + "word " * 700)) for n in range(9)
    ]
    fit = fitted([said("Go."), *(body for step in steps for body in step)], window=2_000)
    assert fit.view is not None
    assert fit.view.tokens >= 0.85 * 1_800
    assert [body["content"].startswith("Output") for body in fit.shape if body["role"] == "tool"] == [
        True
    ] * 3


@given(conversations(most=60), st.integers(400, 2_000))
def test_fit_leaves_no_more_free_than_its_largest_message_takes(bodies: list[Any], window: int) -> None:
    """(19.14) Whatever was said: free are 15 % of the room, or less than the next message would take."""
    try:
        fit = fitted(bodies, dialect="openai.chat", window=window)
    except DoesNotFit:
        return
    room = window - window // 10
    if fit.view is None or fit.before <= room:
        return
    whole = fanfold.open("run", window=10**6)
    whole.merge(bodies)
    largest = max(block.tokens for block in whole.view().blocks)
    assert fit.view.tokens >= min(0.85 * room, room - largest - 64 - room // 32)


def test_one_message_that_is_a_little_too_long_is_clipped_by_a_little() -> None:
    """(19.14)"""
    fit = fitted([said("word " * 1_900)], window=2_000)
    assert fit.view is not None
    assert fit.view.tokens >= 0.85 * 1_800


def test_fit_leaves_alone_what_fits_whatever_the_strategy() -> None:
    talk = _pairs(20, (150, 150))
    assert fanfold.fit(talk, window=10_000, strategy=auto()) == talk
