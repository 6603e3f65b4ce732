"""Counting beside the raw tokenizer: fresh texts, texts seen before, and texts that break lesser tokenizers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import cache

from generate import words
from splintr import Tokenizer

from fanfold.tokens import vocabulary

FAMILIES = ("o200k", "cl100k", "gemma", "llama3", "qwen", "deepseek", "mistral", "kimi", "glm", "claude")
BAR = 1.2
ROUNDS = 20


def seconds(work: Callable[[], object]) -> float:
    """How long a piece of work takes, in seconds of this process: other work on the machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


@cache
def pool(size: int, count: int) -> list[str]:
    """Texts of about this many characters."""
    rng = random.Random(size)
    return [words(rng, size // 8 + 1)[:size] for _ in range(count)]


def texts(size: int, count: int, round: int) -> list[str]:
    """The same texts, never seen before in this round."""
    return [f"{round} {text}" for text in pool(size, count)]


def raw(family: str) -> Callable[[str], object]:
    """The tokenizer itself, as new: it remembers words, so each side gets its own."""
    encode = Tokenizer.from_pretrained(vocabulary.FAMILIES[family].vocabulary).encode_ordinary
    encode("warm")
    return lambda text: len(encode(text))


def ours(family: str) -> Callable[[str], object]:
    """Our counter, as new."""
    vocabulary.forget()
    count = vocabulary.counter(family)
    count("warm")
    return count


def over(count: Callable[[str], object], some: Sequence[str]) -> float:
    """How long it takes to count some texts."""
    return seconds(lambda: [count(text) for text in some])


def fresh(family: str, size: int, count: int) -> tuple[float, float]:
    """Fresh texts and texts seen before, as ratios to the raw tokenizer; both warm, in turns, the best of each."""
    sides = (ours(family), raw(family))
    first, beside, again = [], [], []
    for round in range(ROUNDS):
        some = texts(size, count, round)
        for side in sides if round % 2 else sides[::-1]:
            (first if side is sides[0] else beside).append(over(side, some))
        again.append(over(sides[0], some))
    return min(first) / min(beside), min(again) / min(beside)


def hard(size: int) -> Sequence[tuple[str, str]]:
    """Texts without a place to cut them."""
    rng = random.Random(1)
    wide = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(size // 10))
    return (
        ("spaces", " " * size),
        ("'a'", "a" * size),
        ("CJK (a tenth)", wide),
        ("'漢'", "漢" * (size // 10)),
    )


def main() -> None:
    """Print every figure as a ratio, measured side by side in this run."""
    print(f"counting / the raw tokenizer        fresh 1 KB  fresh 16 KB    seen   (bar {BAR} for fresh)")
    for family in FAMILIES:
        small, _ = fresh(family, 1_024, 200)
        large, seen = fresh(family, 16_384, 12)
        mark = "" if max(small, large) <= BAR else "   FAIL"
        print(f"  {family:32}{small:10.2f}{large:13.2f}{seen:8.4f}{mark}")
    print("time of n / time of n/4             (4 is linear)")
    for (name, text), (_, quarter) in zip(hard(1_000_000), hard(250_000), strict=True):
        count = raw("o200k")
        shortest = [min(over(count, [each]) for _ in range(3)) for each in (quarter, text)]
        print(f"  {name:32}{shortest[1] / shortest[0]:10.2f}")


if __name__ == "__main__":
    main()
