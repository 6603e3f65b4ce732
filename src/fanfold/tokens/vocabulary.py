"""Vocabularies: how many tokens a text is, exactly where the tokenizer is public, by a prior where it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from msgspec import Struct

from fanfold.core.errors import unknown
from fanfold.text.json_text import sendable_text

REMEMBERED = 16_000_000
"""Characters of counted texts in one generation of the memory; two generations are kept."""

Count = Callable[[str], float]


class Prior(Struct, frozen=True):
    """A guess for a tokenizer that is not public: tokens of the vocabulary, and something for every character."""

    tokens: float = 1.0
    ascii: float = 0.0
    other: float = 0.0
    """For a character outside ASCII: scripts that o200k knows better than most."""

    def times(self, factor: float) -> Prior:
        """The same, for a tokenizer that is finer by a factor."""
        return Prior(self.tokens * factor, self.ascii * factor, self.other * factor)


class Family(Struct, frozen=True):
    """A tokenizer as the table of models names it: the vocabulary that counts for it."""

    vocabulary: str
    prior: Prior | None = None
    """None: the count is exact."""


CLAUDE = Prior(tokens=0.87, ascii=0.078, other=0.29)
"""Fitted to bills of Claude 4.5 and 4.6 over English, code and Japanese: half of the estimates within 4 %."""

UNKNOWN = Prior(tokens=1.1)

FAMILIES: dict[str, Family] = {
    "o200k": Family("o200k_base"),
    "cl100k": Family("cl100k_base"),
    "gpt-oss": Family("gpt_oss"),
    "gemma": Family("gemma3"),
    "llama3": Family("llama3"),
    "llama4": Family("o200k_base", Prior(1.05)),
    "qwen": Family("qwen3"),
    "qwen3.5": Family("qwen3", Prior(1.0)),
    "deepseek": Family("deepseek_v3"),
    "mistral": Family("mistral_v3"),
    "mistral-v1": Family("mistral_v1"),
    "kimi": Family("kimi_k2"),
    "glm": Family("glm4.5"),
    "phi4": Family("phi4"),
    "mimo": Family("qwen3", Prior(1.0)),
    "claude": Family("o200k_base", CLAUDE),
    "claude-4.7": Family("o200k_base", CLAUDE.times(1.3)),
    "cohere": Family("o200k_base", UNKNOWN),
    "grok": Family("o200k_base", UNKNOWN),
    "minimax": Family("o200k_base", UNKNOWN),
    "nova": Family("o200k_base", UNKNOWN),
    "": Family("o200k_base", Prior(1.0)),
}
"""By the names of the table of models; the empty name is a model that nobody knows."""

_MARK, _MARKED = "<|", ("o200k_base", "cl100k_base")
"""How every special token begins in these vocabularies."""
_counters: dict[str, Count] = {}


def counter(family: str) -> Count:
    """A function that counts a text's tokens for one family; texts seen before are free."""
    if family not in _counters:
        if family not in FAMILIES:
            raise unknown("vocabulary", family, filter(None, FAMILIES))
        _counters[family] = remembering(_measure(FAMILIES[family]))
    return _counters[family]


def exact(family: str) -> bool:
    """Whether this family's count is its provider's own."""
    return FAMILIES[family].prior is None


def forget() -> None:
    """Forget every text that was counted, and let go of the vocabularies."""
    _counters.clear()
    _length.cache_clear()


def remembering(count: Count) -> Count:
    """The same function with a memory for the texts it saw last, bounded by their characters."""
    young: dict[str, float] = {}
    old: dict[str, float] = {}
    room = REMEMBERED

    def counted(text: str) -> float:
        nonlocal young, old, room
        number = young.get(text)
        if number is None:
            number = old.get(text)
            if number is None:
                number = count(text)
            room -= len(text)
            if room < 0:
                young, old, room = {}, young, REMEMBERED - len(text)
            young[text] = number
        return number

    return counted


def _measure(family: Family) -> Count:
    """How a family counts. The vocabulary is loaded with the first text."""
    length: Callable[[str], int] | None = None
    prior = family.prior

    def count(text: str) -> float:
        nonlocal length
        length = length or _length(family.vocabulary)
        try:
            tokens = length(text)
        except UnicodeEncodeError:
            return count(sendable_text(text))
        if prior is None:
            return tokens
        plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
        return prior.tokens * tokens + prior.ascii * plain + prior.other * (len(text) - plain)

    return count


@cache
def _length(vocabulary: str) -> Callable[[str], int]:
    """Tokens of a text in which `<|endoftext|>` is text, without BOS.

    `encode_ordinary` gives a list of all tokens, `encode_flat` their bytes, in four fifths of the time; but that takes
    the names of special tokens for what they name.
    """
    from splintr import Tokenizer  # imported late: it loads a vocabulary

    tokenizer = Tokenizer.from_pretrained(vocabulary)
    listed, flat = tokenizer.encode_ordinary, tokenizer.encode_flat
    if vocabulary not in _MARKED:
        return lambda text: len(listed(text))

    def length(text: str) -> int:
        # To look for one sign takes a hundredth of the time that two take, and few texts have it.
        named = "|" in text and _MARK in text
        return len(listed(text)) if named else len(flat(text)) // 4

    return length
