"""HTML: what a reader of the page would not see goes, and so do most of many siblings of one kind."""

from __future__ import annotations

import re

from fanfold.outputs.filters.trees import Limits
from fanfold.text.patterns import pattern

_START = pattern(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|body|head|div|main|table)\b", re.IGNORECASE)


def is_markup(text: str) -> bool:
    """Whether a text is HTML."""
    return bool(_START.match(text)) and text[:100_000].count("</") >= 3


def pruned_markup(text: str, limits: Limits) -> str:
    """The page without what nobody sees."""
    from fanfold.outputs.filters.page import Page  # late: most sessions never see a page

    page = Page(limits)
    page.feed(text)
    page.close()
    return "".join(page.shown)


def markup_limits(limits: Limits) -> str:
    """What a page is pruned to, in words."""
    return f"what is seen of the page and {limits.children} children of a kind, most attributes left out"
