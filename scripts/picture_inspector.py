"""Pictures of the inspector for the pages: a made-up session in a real browser, screen by screen.

    python scripts/picture_inspector.py [FOLDER]

A digest of the words on each screen and of the style sheet stands beside the pictures, in seen.json: by that a test
knows when they are stale, and a picture that is not stays as it is. Of health, where figures differ each time, it is a
digest of the script. Where there is no browser, it says so and writes nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from picture_sessions import MODELS, coding, drawing, play, reporting, tools  # noqa: E402

import fanfold  # noqa: E402 scripts are run from anywhere
from fanfold.inspector.app import Inspector  # noqa: E402
from fanfold.inspector.safety import new_token  # noqa: E402
from fanfold.inspector.serve import InspectorServer  # noqa: E402
from fanfold.stores.sqlite import SQLite  # noqa: E402
from fanfold.testing.provider import Provider  # noqa: E402
from tests.browser import found, opened  # noqa: E402
from tests.gateway.gate import Gate  # noqa: E402
from tests.gateway.looping import run, script  # noqa: E402

SYSTEM = "You fix bugs in a small shop, written in Python. Run the tests after every change."
TASK = """Invoices of three lines are one cent short. Find out why and fix it.
Amounts are Decimal everywhere. Never touch the folder vendor/."""
BEGUN = 1_790_000_000.0
BUNDLE = ROOT / "src" / "fanfold" / "inspector" / "bundle"


@contextmanager
def served(folder: Path) -> Iterator[InspectorServer]:
    """The inspector on a store with a few sessions."""
    store, seconds = SQLite(folder / "agent.db"), [BEGUN]

    def tick(more: float) -> None:
        seconds[0] += more

    def begin(name: str, dialect: str, window: int, task: Any, **labels: str) -> fanfold.Session:
        chat = fanfold.open(
            name,
            store=store,
            dialect=dialect,
            model=MODELS[dialect],
            window=window,
            system=SYSTEM,
            tools=tools(dialect),
            labels=labels,
            clock=lambda: seconds[0],
        )
        chat.pin(chat.say(*task).id)
        return chat

    drawn = fanfold.Image("image/png", drawing())
    for name, dialect, window, steps, labels in (
        ("docs-review", "openai.responses", 48_000, list(coding(10)), {}),
        ("quarterly-report", "gemini", 60_000, list(reporting(5)), {"client": "gemini-cli"}),
        ("nightly-triage", "anthropic", 32_000, list(coding(40)), {"client": "claude-code"}),
    ):
        with begin(name, dialect, window, ("これを見てください。راجع هذا الرسم.", drawn), **labels) as chat:
            play(chat, dialect, steps, tick)
    chat = begin("fix-rounding", "openai.chat", 20_000, (TASK,))
    play(chat, "openai.chat", list(coding(90)), tick)
    chat.note("plan", "1. reproduce the missing cent  2. follow it through tax.py  3. round once, at the end")
    with begin(
        "fix-rounding.tests", "openai.chat", 24_000, ("Which tests cover tax.py?",), parent="fix-rounding"
    ) as own:
        play(own, "openai.chat", list(coding(6)), tick)
    chat.fork("fix-rounding-retry").close()
    token = new_token()
    window = InspectorServer(Inspector(store, {token: ("default",)}, write=True, title="agent.db"), token)
    try:
        yield window
    finally:
        window.close()
        chat.close()
        store.close()


class Seen:
    """What stands on the pictures of a folder, by their names, in short."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / "seen.json"
        self._before = json.loads(self._place.read_text("utf-8")) if self._place.exists() else {}
        self._now: dict[str, str] = {}
        self._style = (BUNDLE / "style.css").read_text("utf-8")

    def is_new(self, picture: Path, words: str) -> bool:
        """Note the words on a picture: whether it has to be taken."""
        self._now[picture.stem] = hashlib.sha256(f"{words}\n{self._style}".encode()).hexdigest()[:16]
        return not picture.exists() or self._now[picture.stem] != self._before.get(picture.stem)

    def write(self) -> None:
        """Keep it for the next time."""
        self._place.write_text(json.dumps(self._now, indent=1) + "\n", encoding="utf-8")


class Noted:
    """A page that notes what stands on it whenever a picture of it is taken."""

    def __init__(self, page: Any, seen: Seen) -> None:
        self._page = page
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)

    def screenshot(self, path: Path) -> None:
        """Take a picture, if there is none with these words."""
        if self._seen.is_new(path, " ".join(self._page.inner_text("body").split())):
            self._page.screenshot(path=path)


def shoot(page: Any, folder: Path, settle: Callable[[], None]) -> None:
    """Every screen, once, when it has got what it asked for."""

    def go(place: str, name: str = "") -> None:
        page.evaluate(f"location.hash = '#/{place}'")
        page.wait_for_timeout(500)  # until bars have grown
        settle()
        if name:
            page.screenshot(path=folder / f"{name}.png")

    go("", "sessions")
    go("s/fix-rounding/now", "now")
    go("s/fix-rounding/hidden", "hidden")
    page.get_by_role("button", name="Bring it back …").first.click()
    page.get_by_role("dialog").get_by_role("listitem").first.wait_for()
    page.screenshot(path=folder / "bring-back.png")
    page.keyboard.press("Escape")
    edit = page.evaluate(
        "fetch('/inspector/api/sessions/fix-rounding/edits').then(r => r.json())"
        ".then(all => (all.find(e => e.kind === 'fold') || all[0]).id)"
    )
    go(f"s/fix-rounding/edit/{edit}", "edit")
    go("s/fix-rounding/request/30", "request")
    go("s/fix-rounding/time/30", "time-line")
    go("s/fix-rounding/outputs/o3", "outputs")
    go("s/fix-rounding/try")
    page.get_by_label("Window, in tokens").fill("12000")
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("Tokens of every request").wait_for(timeout=120_000)
    page.screenshot(path=folder / "try.png")


def picture_health(folder: Path, look: dict[str, Any]) -> None:
    """The gateway's health, while an agent works through it."""
    with (
        Provider(script, window=32_000) as provider,
        Gate(provider.url, window=32_000) as gate,
        opened(f"{gate.url}/?token={gate.gateway.inspection.token()}#/health", **look) as seen,
    ):
        seen.page.get_by_role("heading", name="Upstreams").wait_for()
        work = threading.Thread(target=run, args=(gate,))
        work.start()
        while work.is_alive():
            seen.page.wait_for_timeout(200)
        seen.page.wait_for_timeout(1_500)
        seen.page.screenshot(path=folder / "health.png")


def main(folder: Path, **options: Any) -> None:
    """Take the pictures."""
    if found() is None:
        print("no browser here: the pictures of the inspector stay as they are", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    seen = Seen(folder)
    look = {"viewport": {"width": 1_280, "height": 860}, "locale": "en-US", "timezone_id": "UTC", **options}
    with (
        tempfile.TemporaryDirectory() as place,
        served(Path(place)) as window,
        opened(window.url, **look) as sight,
    ):
        sight.page.get_by_role("heading", name="sessions").wait_for()
        shoot(Noted(sight.page, seen), folder, sight.settle)
        assert sight.complaints == [], sight.complaints
    if seen.is_new(folder / "health.png", (BUNDLE / "health.js").read_text("utf-8")):
        picture_health(folder, look)
    seen.write()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "assets" / "inspector")
