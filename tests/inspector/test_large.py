"""Much of everything: rows, sessions, requests while somebody looks, outputs, and strange text in every dialect."""

from __future__ import annotations

import base64
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.stores.memory import Memory
from fanfold.stores.sqlite import SQLite
from fanfold.testing import called, replied, response
from tests.inspector.sights import figure, looking
from tests.inspector.world import WICKED, Page

ROWS = 10_000
MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-2.5-pro",
}
STRANGE = f"日本語のテキスト · مرحبا بالعالم · \x1b[31m\x00 bell\x07 \x9b2K \u202egnp.exe\u2069 · {WICKED} · "


def dot() -> str:
    """A picture of one red dot, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]))
    body = chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + body).decode()


def test_a_search_over_everything_that_takes_too_long_says_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fanfold.inspector.search._SECONDS", 0)
    store = Memory()
    fanfold.open("zebra", store=store, model="gpt-5.2").say("Where is the zebra?")
    with Page(store) as page:
        told = page.enter().ask("search?words=zebra")
        assert ([hit["kind"] for hit in told["hits"]], told["more"]) == (["name"], False)
        assert told["stopped"] == "The search stopped after 0 s at message of 'zebra'."
    with looking(store) as (_, seen):
        box = seen.page.get_by_role("searchbox")
        box.fill("zebra")
        box.press("Enter")
        seen.page.get_by_text("at message of 'zebra'. What comes after it was not looked through.").wait_for()


def test_ten_thousand_rows_are_walked_to_the_end_and_back() -> None:
    store = Memory()
    chat = fanfold.open("long", store=store, window=10_000_000, dialect="openai.chat")
    chat.merge([{"role": "user", "content": f"Said {n}."} for n in range(ROWS)])
    with looking(store, "s/long/now") as (_, seen):
        sight = seen.page
        sight.get_by_text("Said 3.").wait_for()
        for at in (2_000, 5_000, 9_000, 9_990, 4_000, 0):
            sight.evaluate(f"document.querySelector('.long').scrollTop = {at} * 58")
            sight.get_by_text(f"Said {at + 1}.").wait_for()
            assert sight.locator(".long li").count() < 60


def test_a_thousand_sessions_are_listed_and_found() -> None:
    store = Memory()
    for number in range(1_000):
        parent = {"parent": f"run-{number - 1}"} if number % 10 == 9 else {}
        with fanfold.open(f"run-{number}", store=store, model="gpt-5.2", labels=parent) as chat:
            chat.say(f"Question {number}")
    with looking(store) as (_, seen):
        sight = seen.page
        sight.get_by_role("heading", name="1,000 sessions").wait_for()
        assert sight.locator("tbody tr").count() == 100
        assert sight.locator("td.depth1").first.inner_text().startswith("└")
        sight.get_by_role("searchbox").fill("run-77")
        sight.get_by_role("link", name="run-777").wait_for()
        assert sight.locator("tbody tr").count() == 11
        sight.get_by_role("searchbox").fill("")
        sight.get_by_role("button", name="Show all 1,000").click()
        sight.get_by_role("link", name="run-500", exact=True).wait_for()
        assert sight.locator("tbody tr").count() == 1_000


def test_everything_that_was_ever_said_is_searched() -> None:
    store = Memory()
    for name, words in (("one", "The disk hums."), ("two", "The fan is silent.")):
        with fanfold.open(name, store=store, model="gpt-5.2") as chat:
            first = chat.say(words)
            chat.say("And more? " * 50)
            chat.fold((first.id,), "Spoke.")
    with looking(store) as (_, seen):
        sight = seen.page
        sight.get_by_role("searchbox").fill("fan is")
        sight.keyboard.press("Enter")
        sight.get_by_text("1 place found").wait_for()
        assert sight.locator("mark").inner_text() == "fan is"
        sight.get_by_role("link", name="Look at it in two").click()
        sight.get_by_role("heading", name="The model does not see this message").wait_for()
        sight.get_by_role("button", name="Bring it back …").click()
        sight.get_by_role("dialog").get_by_role("button", name="Bring it back", exact=True).click()
        sight.get_by_role("heading", name="The model sees this message").wait_for()


def test_a_session_that_grows_by_twenty_requests_a_second_stays_usable(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "agent.db")
    chat = fanfold.open("busy", store=store, model="gpt-5.2", window=40_000)
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            chat.say("On with it. " * 20)
            counted = chat.request(max_tokens=500).sent.tokens
            chat.receive(response(replied("Yes."), prompt=counted))

    def made(sight: Any) -> int:
        return int(figure(sight, "Requests").replace(",", ""))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        with looking(SQLite(tmp_path / "agent.db"), "s/busy/time") as (_, seen):
            sight = seen.page
            for _ in range(2):
                for link, heading in (("Time line", "requests"), ("Now", "tokens are in the window")):
                    sight.get_by_role("link", name=link, exact=True).click()
                    sight.get_by_role("heading", name=heading, level=1).wait_for()
                before = made(sight)
                seen.wait_until(lambda before=before: made(sight) > before)
            seen.wait_until(lambda: len(chat.requests()) > 20)
    finally:
        stop.set()
        worker.join()


@pytest.mark.parametrize("dialect", MODELS)
def test_every_dialect_is_shown_as_it_is_and_nothing_is_executed(dialect: str) -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, dialect=dialect, model=MODELS[dialect], window=8_000_000)
    chat.say(STRANGE + "x" * 100_000, fanfold.Image("image/png", dot()))
    thinking = fanfold.Thinking(f"I think. {STRANGE}", signature="c2lnbmVk")
    call = fanfold.Call("c1", "look", '{"path": "</script>"}')
    chat.add(fanfold.Message("assistant", (thinking, fanfold.Text("I look."), call)))
    chat.answer("c1", f"{STRANGE}\n{'y' * 100_000}\nlast line")
    chat.request(max_tokens=500)
    rows = [row.id for row in chat.view().rows]
    with looking(store, f"s/run/now/{rows[0]}") as (_, seen):
        sight = seen.page
        panel = sight.get_by_label("The row", exact=True)
        panel.get_by_text("日本語のテキスト").first.wait_for()
        assert panel.locator("img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 1
        assert "مرحبا" in panel.inner_text()
        assert "␛[31m␀ bell␇ ⟨U+009B⟩2K ⟨U+202E⟩gnp.exe⟨U+2069⟩" in panel.inner_text()
        assert "</script><script>" in panel.inner_text()
        sight.evaluate(f"location.hash = '#/s/run/now/{rows[1]}'")
        panel.get_by_text("I think.").first.wait_for()
        for place in ("hidden", "time", "request/0", "outputs/o1", "try", f"message/{rows[0]}"):
            sight.evaluate(f"location.hash = '#/s/run/{place}'")
            sight.get_by_role("heading", level=1).wait_for()
            seen.settle()
        assert "stolen" not in sight.title()
        assert sight.locator("main script, main img[src=x]").count() == 0


def test_a_huge_output_comes_line_by_line() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    chat.say("Read the log.")
    counted = chat.request(max_tokens=500).sent.tokens
    chat.receive(response(replied("I read.", called("c1", "read", "{}")), prompt=counted))
    lines = 600_000
    chat.answer("c1", "\n".join(f"line {n} of a long log, one of very many of them" for n in range(lines)))
    sizes: list[int] = []
    with looking(store, "s/run/outputs/o1") as (_, seen):
        sight = seen.page
        sight.on("response", lambda one: sizes.append(int(one.headers.get("content-length", 0))))
        sight.get_by_text("line 3 of a long log").wait_for()
        sight.evaluate("document.querySelector('.lines .long').scrollTop = 1e9")
        sight.get_by_text(f"line {lines - 1} of a long log").wait_for()
        sight.get_by_role("searchbox").fill(f"line {lines - 7} of")
        sight.keyboard.press("Enter")
        sight.get_by_text("1 line found").wait_for()
        assert sight.locator(".lines .long li").count() < 100
    assert max(sizes) < 200_000


def test_the_dry_run_of_an_undo_does_not_read_the_edits_again_for_every_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, read, reads = Memory(), fanfold.Session.edits, list[str]()
    chat = fanfold.open("long", store=store, window=10_000_000, dialect="openai.chat")
    chat.merge([{"role": "user", "content": f"Said {n}."} for n in range(600)])
    rows = [row.id for row in chat.view().rows]
    for row in rows[:300]:
        chat.pin(row)
    for row in rows[:300]:
        chat.unpin(row)
    fold = chat.fold(tuple(rows[:500]), "Much was said.").id

    def count(session: fanfold.Session) -> Any:
        reads.append(session.name)
        return read(session)

    monkeypatch.setattr(fanfold.Session, "edits", count)
    with Page(store) as page:
        told = page.enter().tell("long", "undo", edit=fold, dry_run=True)
    assert len(told["came"]) == 500
    assert len(reads) <= 4
