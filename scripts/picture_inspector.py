"""Pictures of the inspector for the pages: a made-up session in a real browser, screen by screen.

    python scripts/picture_inspector.py [FOLDER]

A digest of the words on each screen stands beside the pictures, in seen.json: by that a test knows when they are stale.
Where there is no browser, it says so and writes nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import fanfold  # noqa: E402 scripts are run from anywhere
from fanfold.inspector.app import Inspector  # noqa: E402
from fanfold.inspector.running import Window  # noqa: E402
from fanfold.inspector.safety import new_token  # noqa: E402
from fanfold.stores.sqlite import SQLite  # noqa: E402
from fanfold.testing import called, replied, response  # noqa: E402
from fanfold.testing.provider import Provider  # noqa: E402
from tests.browser import found, opened  # noqa: E402
from tests.gateway.gate import Gate  # noqa: E402
from tests.gateway.test_inspector import run, script  # noqa: E402

FILES = ("parser.py", "lexer.py", "tokens.py", "errors.py", "tree.py", "printer.py")
WORDS = [
    "node",
    "token",
    "line",
    "column",
    "parse",
    "error",
    "expected",
    "found",
    "offset",
    "match",
    "tree",
    "child",
    "value",
    "name",
    "scope",
]
SYSTEM = "You fix bugs in a small Python parser. Run the tests after every change."
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
BEGUN = 1_790_000_000.0


def source(seed: int, lines: int) -> str:
    """Some code that nobody ever wrote."""
    choose = random.Random(seed)
    return "\n".join(
        f"    {choose.choice(WORDS)}_{n} = self.{choose.choice(WORDS)}({choose.choice(WORDS)}, {choose.randrange(99)})"
        for n in range(lines)
    )


def play(chat: fanfold.Session, steps: int, seconds: list[float]) -> None:
    """A session with reads, test runs, bills and reductions."""
    first = chat.say("Fix the failing test in parser.py. Never touch the folder vendor/.")
    chat.pin(first.id)
    before = 0
    for step in range(steps):
        seconds[0] += 40
        counted = chat.request(max_tokens=2_000).sent.tokens
        file = FILES[step % len(FILES)]
        runs = step % 5 == 4
        call = called(f"c{step}", "run" if runs else "read", json.dumps({"path": file, "from": step * 40}))
        said = "I run the tests again." if runs else f"I read {file} to see where the column is lost."
        body = response(replied(said, call), prompt=counted, output=60)
        body["usage"]["prompt_tokens_details"] = {
            "cached_tokens": before if before <= counted else counted // 5
        }
        before = counted // 128 * 128
        chat.receive(body)
        failed = f"FAILED tests/test_parser.py::test_column_{step} - assert {step} == {step + 1}\n" * 4
        chat.answer(f"c{step}", failed if runs else f"# {file}\n{source(step, 60 + step % 3 * 70)}")
    chat.request(max_tokens=2_000)
    chat.note(
        "plan", "1. reproduce the wrong column  2. follow it through lexer.py  3. repair and run the tests"
    )


@contextmanager
def served(folder: Path) -> Iterator[Window]:
    """The inspector on a store with a few sessions."""
    store, seconds = SQLite(folder / "agent.db"), [BEGUN]
    options: dict[str, Any] = {
        "store": store,
        "model": "gpt-5.2",
        "system": SYSTEM,
        "clock": lambda: seconds[0],
    }
    for name, steps, window in (("docs-review", 6, 48_000), ("nightly-triage", 24, 32_000)):
        with fanfold.open(
            name, window=window, tools=[TOOL], labels={"client": "claude-code"}, **options
        ) as chat:
            play(chat, steps, seconds)
    chat = fanfold.open("fix-parser", window=24_000, tools=[TOOL], **options)
    play(chat, 42, seconds)
    chat.fork("fix-parser-retry").close()
    token = new_token()
    window = Window(Inspector(store, {token: ("default",)}, write=True, title="agent.db"), token)
    try:
        yield window
    finally:
        window.close()
        chat.close()
        store.close()


class Noted:
    """A page that notes what stands on it whenever a picture of it is taken."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.seen: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)

    def screenshot(self, path: Path) -> None:
        """Take a picture, and keep a digest of the words in it."""
        self._page.screenshot(path=path)
        words = " ".join(self._page.inner_text("body").split())
        self.seen[path.stem] = hashlib.sha256(words.encode()).hexdigest()[:16]


def shoot(page: Any, folder: Path) -> None:
    """Every screen, once."""

    def go(place: str, name: str) -> None:
        page.evaluate(f"location.hash = '#/{place}'")
        page.wait_for_timeout(900)
        page.screenshot(path=folder / f"{name}.png")

    go("", "sessions")
    go("s/fix-parser/now", "now")
    go("s/fix-parser/hidden", "hidden")
    page.get_by_role("button", name="Bring it back …").first.click()
    page.get_by_role("dialog").get_by_role("listitem").first.wait_for()
    page.screenshot(path=folder / "bring-back.png")
    page.keyboard.press("Escape")
    edit = page.evaluate(
        "fetch('/inspector/api/sessions/fix-parser/edits').then(r => r.json())"
        ".then(all => (all.find(e => e.kind === 'fold') || all[0]).id)"
    )
    go(f"s/fix-parser/edit/{edit}", "edit")
    go("s/fix-parser/request/30", "request")
    go("s/fix-parser/time/30", "time-line")
    go("s/fix-parser/outputs/o3", "outputs")
    go("s/fix-parser/try", "try")
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
    look = {"viewport": {"width": 1_280, "height": 860}, "locale": "en-US", "timezone_id": "UTC", **options}
    with (
        tempfile.TemporaryDirectory() as place,
        served(Path(place)) as window,
        opened(window.url, **look) as seen,
    ):
        seen.page.get_by_role("heading", name="sessions").wait_for()
        page = Noted(seen.page)
        shoot(page, folder)
        assert seen.complaints == [], seen.complaints
    (folder / "seen.json").write_text(json.dumps(page.seen, indent=1) + "\n", encoding="utf-8")
    picture_health(folder, look)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "assets" / "inspector")
