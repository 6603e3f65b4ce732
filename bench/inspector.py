"""The inspector in a real browser: much of everything, beside a little of it.

    python bench/inspector.py

- first paint: from the click on the link until rows are drawn, in a session of 10,000 messages and in one of 10
- scrolling: the time between two frames while 10,000 rows are scrolled through, and the memory of the page after it
- sessions: the same for a list of 1,000 sessions and of 10
- busy: a session that grows by 20 requests a second: from a click until the other screen is drawn
- follow: from a write by another process until its row is on a page that is open, in ten writes
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import fanfold  # noqa: E402 benches are run from anywhere
from fanfold.inspector.safety import Grant  # noqa: E402
from fanfold.stores.memory import Memory  # noqa: E402
from fanfold.stores.sqlite import SQLite  # noqa: E402
from fanfold.testing import replied, response  # noqa: E402
from tests.browser import found, opened  # noqa: E402
from tests.inspector.world import TOKEN, Page  # noqa: E402

ROUNDS = 5
FEW, ROWS, SESSIONS = 10, 10_000, 1_000
PER_SECOND, CLICKS, WRITES = 20, 20, 10
_WRITER = """
import sys, time, fanfold
chat = fanfold.open("followed", store="sqlite:" + sys.argv[1], model="gpt-5.2")
chat.say("Said at first.")
print(flush=True)
for line in sys.stdin:
    began = time.monotonic()
    chat.say(line.strip())
    print(began, flush=True)
"""
_SCROLL = """async () => {
  const list = document.querySelector(".long"), gaps = [];
  let last = performance.now();
  for (let step = 0; step < 120; step += 1) {
    list.scrollTop += list.scrollHeight / 120;
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps.slice(1);
}"""


def talk(store: Memory, name: str, count: int) -> None:
    """A session of so many messages."""
    chat = fanfold.open(name, store=store, window=10_000_000, dialect="openai.chat")
    chat.merge([{"role": "user", "content": f"Said {n}: " + "the disk hums. " * 8} for n in range(count)])
    chat.close()


def paint(page: Page, place: str, drawn: str) -> float:
    """Milliseconds from opening a link until a row is drawn; the browser is running already."""
    token = page.inspector.access.add(Grant(("default",)))
    with opened("about:blank") as seen:
        began = time.monotonic()
        seen.page.goto(f"{page.url}/?token={token}#/{place}", wait_until="commit")
        seen.page.locator(drawn).first.wait_for()
        return (time.monotonic() - began) * 1000


def compare(what: str, large: Callable[[], float], small: Callable[[], float]) -> None:
    """Print how long the large one takes beside the small one, in turns."""
    pairs = [(large(), small()) for _ in range(ROUNDS)]
    one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
    longest = max(pair[0] for pair in pairs)
    print(f"{what:<46} {one:6.0f} ms   beside {two:4.0f} ms: {one / two:.2f} x   longest {longest:.0f} ms")


def scroll(page: Page) -> None:
    """Scroll through all rows, and say how smooth that is."""
    token = page.inspector.access.add(Grant(("default",)))
    with opened(f"{page.url}/?token={token}#/s/long/now") as seen:
        seen.page.locator(".long .row").first.wait_for()
        gaps = sorted(seen.page.evaluate(_SCROLL))
        seen.settle()
        heap = seen.page.evaluate("performance.memory.usedJSHeapSize") / (1 << 20)
        many = seen.page.locator(".long li").count()
    middle, most = statistics.median(gaps), gaps[int(len(gaps) * 0.95)]
    print(f"{'scrolling through 10,000 rows, a frame':<46} {middle:6.0f} ms   19 of 20 within {most:.0f} ms")
    print(f"{'afterwards':<46} {many:6} rows in the page, {heap:.0f} MiB of memory")


def busy(folder: Path) -> None:
    """Click through a session that grows by 20 requests a second."""
    chat = fanfold.open("busy", store=SQLite(folder / "agent.db"), model="gpt-5.2", window=40_000)
    stop, begun = threading.Event(), time.monotonic()

    def work() -> None:
        due = begun
        while not stop.wait(max(0.0, due - time.monotonic())):
            due += 1 / PER_SECOND
            chat.say("On with it. " * 20)
            counted = chat.request(max_tokens=500).sent.tokens
            chat.receive(response(replied("Yes."), prompt=counted))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        with (
            Page(SQLite(folder / "agent.db")) as page,
            opened(f"{page.url}/?token={TOKEN}#/s/busy/now") as seen,
        ):
            times = [click(seen.page, number) for number in range(CLICKS)]
    finally:
        stop.set()
        worker.join()
    made = len(chat.requests()) / (time.monotonic() - begun)
    chat.close()
    told = f"longest {max(times):.0f} ms, at {made:.0f} requests a second"
    print(f"{'a click in a session that grows':<46} {statistics.median(times):6.0f} ms   {told}")


def click(sight: Any, number: int) -> float:
    """Milliseconds from a click until the other screen is drawn."""
    link, heading = (("Time line", "requests"), ("Now", "tokens are in the window"))[number % 2]
    sight.wait_for_timeout(250)
    began = time.monotonic()
    sight.get_by_role("link", name=link, exact=True).click()
    sight.get_by_role("heading", name=heading, level=1).wait_for()
    return (time.monotonic() - began) * 1000


def follow(folder: Path) -> None:
    """Let another process write, and look when a tab shows it; a monotonic clock is one for all processes."""
    file = folder / "followed.db"
    command = [sys.executable, "-c", _WRITER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdout.readline()
        tall = {"width": 1_400, "height": 2_400}  # every row is on the screen: the list draws no other
        with (
            Page(SQLite(file)) as page,
            opened(f"{page.url}/?token={TOKEN}#/s/followed/now", viewport=tall) as seen,
        ):
            seen.page.get_by_text("Said at first.").first.wait_for()
            times = []
            for number in range(WRITES):
                seen.page.wait_for_timeout(900 + 37 * number)  # at another moment of the pauses each time
                print(f"Written as number {number}.", file=writer.stdin, flush=True)
                seen.page.get_by_text(f"Written as number {number}.").first.wait_for()
                times.append((time.monotonic() - float(writer.stdout.readline())) * 1000)
        writer.stdin.close()
    told = f"longest {max(times):.0f} ms, of {WRITES} writes"
    print(f"{'a write of another process, until it is seen':<46} {statistics.median(times):6.0f} ms   {told}")


def main() -> None:
    """Measure everything once."""
    if found() is None:
        sys.exit("there is no browser: run scripts/fetch_browser.py, or name one in FANFOLD_BROWSER")
    store, lists = Memory(), {FEW: Memory(), SESSIONS: Memory()}
    talk(store, "long", ROWS)
    talk(store, "short", FEW)
    for count, one in lists.items():
        for number in range(count):
            with fanfold.open(f"run-{number}", store=one, model="gpt-5.2") as chat:
                chat.say(f"Question {number}")
    with Page(store) as page:
        page.enter()
        compare(
            "first paint of 10,000 rows, beside 10",
            lambda: paint(page, "s/long/now", ".long .row"),
            lambda: paint(page, "s/short/now", ".long .row"),
        )
        scroll(page)
    with Page(lists[SESSIONS]) as many, Page(lists[FEW]) as few:
        compare(
            "first paint of 1,000 sessions, beside 10",
            lambda: paint(many, "", "tbody tr"),
            lambda: paint(few, "", "tbody tr"),
        )
    with tempfile.TemporaryDirectory() as folder:
        follow(Path(folder))
        busy(Path(folder))


if __name__ == "__main__":
    main()
