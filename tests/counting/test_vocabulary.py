"""Counts are exact where the tokenizer is public, whatever the text, in linear time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache

import bpe_openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanfold import BadSetting
from fanfold.tokens import model_table, vocabulary
from fanfold.tokens.vocabulary import FAMILIES, counter

PLACES = [
    (0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
    (0x1200, 0x137F), (0x2000, 0x27BF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xFFFF),
    (0x10000, 0x1FFFF), (0x20000, 0x2FFFF), (0xE0000, 0xE01EF), (0xF0000, 0x10FFFF),
]  # fmt: skip
"""Scripts and planes, by their first and last character."""

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|fim_prefix|>",
    "<bos>",
    "[INST]",
    "<|begin_of_text|>",
    "<|endofprompt|>",
)

characters = st.sampled_from(PLACES).flatmap(
    lambda place: st.characters(min_codepoint=place[0], max_codepoint=place[1])
)
runs = st.tuples(
    st.sampled_from([" ", "\n", "\t", "a", "A", "0", "!", "_", "漢", "é", "\r\n"]), st.integers(1, 300)
)
pieces = st.one_of(
    st.text(characters, max_size=40),
    runs.map(lambda run: run[0] * run[1]),
    st.sampled_from(SPECIAL),
    st.text(max_size=40),
)
texts = st.lists(pieces, max_size=8).map("".join)


@cache
def reference(family: str) -> Callable[[str], list[int]]:
    return bpe_openai.get_encoding(f"{family}_base")._backend.encode  # its public door refuses long texts


def independent(family: str, text: str) -> int:
    return len(reference(family)(text))


@given(texts)
@example("<|endoftext|>")
@example(" \n \r\n\t 's 'S ’s")
@example("\x00\x7f\ufeff\u200d\U0010ffff")
def test_counts_equal_an_independent_tokenizer(text: str) -> None:
    for family in ("o200k", "cl100k"):
        assert counter(family)(text) == independent(family, text)


@given(texts, st.sampled_from(["\ud800", "\udfff", "\udc00\ud800"]))
def test_a_lone_surrogate_counts_as_the_replacement_that_is_sent(text: str, broken: str) -> None:
    assert counter("o200k")(text + broken) == independent("o200k", text + "\ufffd" * len(broken))


@pytest.mark.parametrize(
    "text", [" " * 1_000_000, "a" * 1_000_000, "漢" * 100_000], ids=["spaces", "a", "CJK"]
)
def test_very_long_runs_are_exact(text: str) -> None:
    assert counter("o200k")(text) == independent("o200k", text)


def mixed(count: int) -> str:
    rng = random.Random(count)
    return "".join(chr(rng.randint(*rng.choice(PLACES))) for _ in range(count))


def test_a_hundred_thousand_characters_of_all_planes_are_exact() -> None:
    text = mixed(100_000)
    assert counter("o200k")(text) == independent("o200k", text)


@pytest.mark.parametrize("family", ["o200k", "gemma", "llama3", "deepseek", "mistral", "mistral-v1"])
@pytest.mark.parametrize(
    "make", [lambda n: " " * n, lambda n: "a" * n, lambda n: "漢" * n, mixed], ids="saCm"
)
def test_time_is_linear(family: str, make: object) -> None:
    count, small, large = counter(family), make(5_000), make(20_000)  # type: ignore[operator]
    count("warm")
    taken = []
    for text in (small, large):
        start = time.process_time()
        count(text)
        taken.append(time.process_time() - start)
    assert taken[1] < 12 * taken[0] + 0.1  # 4 is linear, 16 is quadratic


def test_every_tokenizer_of_the_table_of_models_has_a_vocabulary() -> None:
    assert {row[6] for row in model_table.MODELS.values()} <= set(FAMILIES)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_counts_words_and_takes_special_tokens_for_text(family: str) -> None:
    assert counter(family)("") == 0
    assert 2 <= counter(family)("Hello world") <= 6
    assert counter(family)("<|endoftext|><bos>[INST]") > 5


def test_an_unknown_vocabulary_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(BadSetting, match="o200k"):
        counter("klingon")


def test_claude_costs_more_than_o200k_and_the_newest_more_again() -> None:
    text = "def parse(text):\n    return [line for line in text.splitlines() if line]\n" * 20
    plain, claude, newest = (counter(family)(text) for family in ("o200k", "claude", "claude-4.7"))
    assert 1.05 * plain < claude < 1.4 * plain
    assert newest == pytest.approx(1.3 * claude)


def test_a_text_seen_before_is_not_counted_again() -> None:
    asked: list[str] = []
    count = vocabulary.remembering(lambda text: float(asked.append(text) is None))
    first, copy = "word " * 50, "".join(["word "] * 50)
    assert count(first) == count(copy) == 1
    assert len(asked) == 1


def test_the_memory_is_bounded_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "REMEMBERED", 100)
    asked: list[str] = []
    count = vocabulary.remembering(lambda text: float(asked.append(text) is None))
    for number in [*range(30), 29, 0]:
        count(f"{number:010}")
    assert len(asked) == 31  # the 29 was known, the 0 long forgotten
