"""The inspector in a browser: a page that somebody looks at, and somebody who has a keyboard only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.browser import Opened, opened
from tests.inspector.world import TOKEN, Page


@contextmanager
def looking(
    store: Any, place: str = "", *, write: bool = True, **options: Any
) -> Iterator[tuple[Any, Opened]]:
    """An inspector, and a browser that came in by its link."""
    with Page(store, write=write) as page, opened(f"{page.url}/?token={TOKEN}#/{place}", **options) as seen:
        yield page, seen
        assert seen.complaints == [], seen.refused
        assert all(url.startswith((page.url, "data:")) for url in seen.requests)


_WHERE = "one => one === document.activeElement ? 'here' : one.isConnected ? 'elsewhere' : 'gone'"


class Keys:
    """Somebody who has a keyboard, and nothing else."""

    def __init__(self, sight: Any) -> None:
        self.sight = sight

    def to(self, role: str, name: str, *, within: Any = None, exact: bool = True) -> Keys:
        """Tab to what has this role and name; it has to be reachable."""
        wanted = (within or self.sight).get_by_role(role, name=name, exact=exact).first
        wanted.wait_for()
        one = wanted.element_handle()  # to look for the role after every key takes longer than all the rest
        for _ in range(300):
            found = one.evaluate(_WHERE)
            if found == "here":
                return self
            if found == "gone":
                one = wanted.element_handle()
            else:
                self.sight.keyboard.press("Tab")
        raise AssertionError(f"{role} {name!r} cannot be reached by keyboard")

    def press(self, key: str = "Enter") -> Keys:
        self.sight.keyboard.press(key)
        return self

    def type(self, text: str) -> Keys:
        self.sight.keyboard.press("Control+a")
        self.sight.keyboard.type(text)
        return self

    def confirm(self, button: str) -> None:
        """Read what the change would do, and do it."""
        box = self.sight.get_by_role("dialog")
        box.get_by_role("listitem").first.wait_for()
        self.to("button", button, within=box).press()
        box.wait_for(state="detached")


def see(sight: Any, *, hidden: bool) -> None:
    """What a browser does when another tab is chosen, or this one again."""
    sight.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def figure(sight: Any, title: str) -> str:
    """The figure below a title, without the small words that explain it."""
    place = sight.locator("dl.figures > div", has=sight.locator("dt", has_text=re.compile(f"^{title}$")))
    return str(place.locator("dd").evaluate("one => one.firstChild.textContent"))
