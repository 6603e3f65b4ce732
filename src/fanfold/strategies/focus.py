"""Focus: what belongs to a matter that somebody names, by the names and words in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from fanfold.core.message import text_of
from fanfold.core.view import Block, View
from fanfold.text.identifiers import identifiers
from fanfold.text.patterns import pattern

SHARE = 0.5
"""What rows that belong to the focus may take of what can be kept at all."""
_WORD = pattern(r"[a-z0-9_]{3,}")
_SCRIPT = pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
"""Words in scripts that are written without spaces: two letters of them tell enough."""
_HIRAGANA = pattern(r"[\u3040-\u309f]+")
_COMMON = frozenset((
    "the", "and", "for", "with", "from", "into", "about", "that", "this", "these", "those", "what", "when", "where",
    "which", "how", "why", "not", "all", "any", "are", "was", "were", "has", "have", "had", "its", "our", "your",
    "their", "work", "task", "thing", "stuff", "part", "only", "keep", "focus",
))  # fmt: skip


def belonging(view: View, focus: str, room: int) -> frozenset[str]:
    """The rows on offer that belong to a matter, as many as the room holds: what has most of its words first, and of
    several alike the newest."""
    texts = [(block, _text(block)) for block in view.offered if block.rows[0].kind == "entry"]
    weights = {word: _weight(word, [text for _, text in texts]) for word in words_of(focus)}
    scores = [
        (sum(weight for word, weight in weights.items() if word in text), at, block)
        for at, (block, text) in enumerate(texts)
    ]
    kept: set[str] = set()
    for score, _, block in sorted(scores, key=lambda one: one[:2], reverse=True):
        if score and block.tokens <= room:
            room -= block.tokens
            kept.update(block.covers)
    return frozenset(kept)


def words_of(focus: str) -> list[str]:
    """The words by which a matter is found: names as they are written, plain words but for the common ones."""
    low = focus.lower()
    plain = [
        word.removesuffix("s") if len(word) > 4 else word
        for word in _WORD.findall(low)
        if word not in _COMMON
    ]
    pairs = [run[at : at + 2] for run in _SCRIPT.findall(low) for at in range(len(run) - 1)]
    telling = [pair for pair in pairs if not _HIRAGANA.fullmatch(pair)]
    return list(dict.fromkeys([*map(str.lower, identifiers(focus)), *plain, *telling]))


def _text(block: Block) -> str:
    """All that a block says, calls, and gets."""
    messages = [message for row in block.rows for message in row.messages]
    return "\n".join([text_of(part) for message in messages for part in message.parts]).lower()


def _weight(word: str, texts: Sequence[str]) -> float:
    """What it tells that a word stands in a text: nothing where it stands in most of them."""
    found = sum(word in text for text in texts)
    return log(len(texts) / found) if found else 0.0
