"""A real browser that opens a page, and what it complains about."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FETCHED = Path(__file__).parent.parent / ".browser" / "chromium"
"""Where scripts/fetch_browser.py puts one."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def found() -> str | None:
    """The browser's program: the one that FANFOLD_BROWSER names, one of the machine, or the one that was fetched."""
    told = os.environ.get("FANFOLD_BROWSER")
    own = next(filter(None, map(shutil.which, NAMES)), None)
    return told or own or (str(FETCHED) if FETCHED.exists() else None)


PATIENCE = 60_000
"""Milliseconds until something that never happens is given up; a busy machine is slow."""

# What the page asks its server is counted until the answer is there whole. The stream of events never ends.
_COUNT = """
const ask = window.fetch;
window.asking = 0;
window.fetch = async (...given) => {
  if (String(given[0]).includes("/events")) return ask(...given);
  window.asking += 1;
  try {
    const answer = await ask(...given);
    await answer.clone().arrayBuffer();
    return answer;
  } finally {
    window.asking -= 1;
  }
};
"""
_SETTLE = """async () => {
  for (let calm = 0; calm < 3; calm = window.asking || document.querySelector(".wait") ? 0 : calm + 1)
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
}"""


class Opened:
    """A page in the browser."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.refused: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("response", self._note)

    def _note(self, answer: Any) -> None:
        """What was refused, for whoever reads why a test failed: the console does not tell what was asked."""
        if answer.status >= 400:
            self.refused.append(f"{answer.status} {answer.url} {answer.request.post_data or ''}")

    def settle(self) -> None:
        """Wait until the page has got what it asked for, and has drawn it."""
        self.page.evaluate(_SETTLE)

    def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait for something that happens outside of the page."""
        until = time.monotonic() + PATIENCE / 1000
        while not true():
            assert time.monotonic() < until, "it did not happen"
            self.page.wait_for_timeout(20)


class Browser:
    """One browser for all tests of a process: starting it takes longer than most pages."""

    def __init__(self, program: str) -> None:
        driver = pytest.importorskip(
            "playwright.sync_api", reason="playwright is not installed: make test does it"
        )
        libraries = {"LD_LIBRARY_PATH": str(FETCHED.parent / "lib")} if program == str(FETCHED) else {}
        self._driver = driver.sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        self._browser = self._driver.chromium.launch(
            executable_path=program, args=["--no-sandbox"], env={**os.environ, **libraries}
        )
        atexit.register(self._close)

    @contextmanager
    def _awake(self) -> Iterator[None]:
        """Let the driver's event loop count as the running one only while a page is open.

        Otherwise no other test of this process could use `asyncio.run`.
        """
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    @contextmanager
    def page(self, **options: Any) -> Iterator[Any]:
        """A page with cookies, storage and cache of its own."""
        with self._awake():
            context = self._browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            context.add_init_script(_COUNT)
            try:
                yield context.new_page()
            finally:
                context.close()

    def _close(self) -> None:
        with self._awake():
            self._browser.close()
            self._driver.stop()


_shared = cache(Browser)


@contextmanager
def opened(address: str, **options: Any) -> Iterator[Opened]:
    """The page at an address; the test is skipped where there is no browser."""
    program = found()
    if program is None:
        pytest.skip("there is no browser: run scripts/fetch_browser.py, or name one in FANFOLD_BROWSER")
    with _shared(program).page(**options) as page:
        seen = Opened(page)
        page.goto(address)
        yield seen
