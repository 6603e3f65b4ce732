"""Hearsay: an order that a tool gave, repeated by the agent in its own words.

Who tells an order again changes its words and their order, and keeps what it is about: names, things and deeds. So two
orders are compared by these, whatever stands between.
"""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.strategies.handover.bare import bare, decoded
from fanfold.strategies.handover.ruling import SENTENCE, orders, strict
from fanfold.text.patterns import pattern

_WORD = pattern(r"[a-z0-9_]+(?:[./:@+-]+[a-z0-9_]+)*|[\u3400-\u9fff\uf900-\ufaff]|[\u30a1-\u30ff]{2,}")
_NAMED = pattern(r"\d|[a-z_][./:@_]+[a-z_]")
"""What only a name has in it: figures, or signs within it."""
_EMPTY = (
    "about after again agent allow alway and any anyth are before been being both but can could does done "
    "don else every first follo for from has have here how into its just let like make maybe more must "
    "need never new not note notes now only onto other our out over please shall shoul since some such "
    "sure tell than that the their them then there these they this those thus told until upon use user "
    "used using very want was were what when where which while who will with would you your 必 絶 対 決 常 禁 止 "
    "要 前 後 中 時 事 者 指 示 今 次 私 的"
)
"""Words that say nothing of what an order is about."""
_COMMON = frozenset(_EMPTY.split())
_LETTERS, _SHORTEST = 5, 3
"""The first letters of a word by which it is known, and how many it has at least."""
_SHARE, _MOST = 0.5, 0.7
"""What two orders have in common at least of the shorter one; and where they have no name in common."""
_LEAST = (5, 4, 3)
"""So many words they have in common at least where none of these is a name, where one is, and where two are."""
_FEWEST = min(_LEAST)

Order = frozenset[str]
"""What an order is about."""


def about(sentence: str) -> Order:
    """What a sentence is about: its names, and the beginnings of its words."""
    words = (
        word if _NAMED.search(word) else word[:_LETTERS] for word in _WORD.findall(bare(sentence).lower())
    )
    return frozenset(word for word in words if _tells(word))


def _tells(word: str) -> bool:
    return word not in _COMMON and (len(word) >= _SHORTEST or not word.isascii())


def orders_in(output: str) -> list[Order]:
    """The orders in what a tool said."""
    found = map(about, orders(decoded(output)))
    return list(dict.fromkeys(order for order in found if len(order) >= _FEWEST))


def ordering(text: str) -> list[tuple[str, Order]]:
    """The sentences of a text that command or forbid."""
    return [(one, about(one)) for one in SENTENCE.split(text) if one and strict(one)]


def is_told_again(sentence: Order, given: Iterable[Order]) -> bool:
    """Whether a sentence is one of these orders in other words."""
    alike = ((common, order) for order in given if len(common := sentence & order) >= _FEWEST)
    return any(_is_same(common, min(len(sentence), len(order))) for common, order in alike)


def _is_same(common: Order, size: int) -> bool:
    names = min(2, sum(_NAMED.search(word) is not None for word in common))
    return len(common) >= max(_LEAST[names], (_SHARE if names else _MOST) * size)
