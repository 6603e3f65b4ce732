"""A real browser that opens a page, and what it complains about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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


class Opened:
    """A page in the browser."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))


@contextmanager
def opened(address: str, **options: Any) -> Iterator[Opened]:
    """The page at an address; the test is skipped where there is no browser."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make test does it"
    )
    program = found()
    if program is None:
        pytest.skip("there is no browser: run scripts/fetch_browser.py, or name one in FANFOLD_BROWSER")
    libraries = {"LD_LIBRARY_PATH": str(FETCHED.parent / "lib")} if program == str(FETCHED) else {}
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], env={**os.environ, **libraries}
        )
        try:
            seen = Opened(browser.new_page(**options))
            seen.page.goto(address)
            yield seen
        finally:
            browser.close()
