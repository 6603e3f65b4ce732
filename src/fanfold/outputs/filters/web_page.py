"""Pages of HTML: what a reader would not see goes, and so do most of many siblings of one kind."""

from __future__ import annotations

from collections import Counter
from html import escape
from html.parser import HTMLParser

from fanfold.outputs.filters.ui_tree import TreeLimits, shorten
from fanfold.outputs.notices import MORE

_UNSEEN = frozenset(("script", "style", "svg", "noscript", "template", "iframe", "head", "canvas"))
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "area", "col", "embed", "source", "track", "wbr")
)
_ENDING = frozenset(("li", "p", "tr", "td", "th", "option", "dt", "dd"))
"""Elements that end where another of their kind begins."""
_KEPT = frozenset(
    ("id", "href", "src", "name", "type", "value", "role", "alt", "title", "placeholder", "for", "checked",
     "selected", "disabled", "action", "method", "data-testid")
)  # fmt: skip


def prune_page(text: str, limits: TreeLimits) -> str:
    """The page without what nobody sees."""
    page = _Page(limits)
    page.feed(text)
    page.close()
    return "".join(page.shown)


class _Page(HTMLParser):
    """Collects what is shown of a page."""

    def __init__(self, limits: TreeLimits) -> None:
        super().__init__(convert_charrefs=True)
        self.limits = limits
        self.shown: list[str] = []
        self._open: list[tuple[str, bool, Counter[str]]] = [("", True, Counter())]
        """The elements around this place: name, whether it is shown, and the children it had of each kind."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag in _ENDING and self._open[-1][0] == tag:
            self.handle_endtag(tag)
        _, visible, siblings = self._open[-1]
        siblings[tag] += 1
        visible = visible and tag not in _UNSEEN and siblings[tag] <= self.limits.children
        if visible:
            self.shown.append(f"<{tag}{self._attributes(attrs)}>")
        elif siblings[tag] == self.limits.children + 1 and self._open[-1][1] and tag not in _UNSEEN:
            self.shown.append(MORE.format(tag=tag))
        if tag not in _VOID:
            self._open.append((tag, visible, Counter()))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends; those that were left open in it end too."""
        if all(name != tag for name, _, _ in self._open[1:]):
            return
        while len(self._open) > 1:
            name, visible, _ = self._open.pop()
            if name == tag:
                if visible:
                    self.shown.append(f"</{tag}>")
                return

    def handle_data(self, data: str) -> None:
        """Words."""
        words = " ".join(data.split())
        if words and self._open[-1][1]:
            self.shown.append(escape(shorten(words, self.limits.text), quote=False))

    def _attributes(self, attrs: list[tuple[str, str | None]]) -> str:
        kept = [(name, value or "") for name, value in attrs if name in _KEPT or name.startswith("aria-")]
        kept = [(name, value) for name, value in kept if not self.limits.dropped & {name}]
        return "".join(f' {name}="{escape(shorten(value, 200))}"' for name, value in kept)
