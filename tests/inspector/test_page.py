"""The page of the inspector in a real browser: what a person sees, and what a click does to the next request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import fanfold
from fanfold.replay.page import look
from fanfold.stores.memory import Memory
from fanfold.testing.provider import Provider, Turn
from tests.browser import opened
from tests.inspector.sights import looking
from tests.inspector.world import ROWS, open_worked

BUNDLE = Path(fanfold.__file__).parent / "inspector" / "bundle"
MOST_BYTES = 150_000
"""Of all that a browser loads: the style sheet that the replay page has, too, and no licences."""
LONGEST = 140
"""Letters of a line of ours; what is longer hides a condition that has a name."""


def test_the_bundle_is_small_and_carries_its_licences() -> None:
    files = [path for path in BUNDLE.rglob("*") if path.is_file()]
    loaded = [path.read_bytes() for path in files if not path.name.startswith("LICENSE")]
    assert sum(map(len, [*loaded, look().encode()])) <= MOST_BYTES
    for name, word in (("htm", "Apache License"), ("preact", "MIT License")):
        assert word in (BUNDLE / "vendor" / f"LICENSE-{name}.txt").read_text()
    for path in files:
        if path.suffix in (".js", ".css", ".html") and path.parent == BUNDLE:
            assert "https://" not in path.read_text()
            longest = LONGEST if path.suffix == ".js" else 160
            assert [line for line in path.read_text().splitlines() if len(line) > longest] == [], path.name


def test_the_next_body_that_a_provider_receives_is_what_the_click_promised() -> None:
    openai = pytest.importorskip("openai")
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    chat.fold(tuple(row.id for row in chat.view().rows[1:7]), "Looked at three disks.")
    with (
        Provider(Turn("All is well."), window=120_000) as provider,
        looking(store, "s/run/hidden") as (_, seen),
    ):
        client = openai.OpenAI(base_url=provider.openai_base_url, api_key="none", max_retries=0)
        chat.receive(client.chat.completions.create(**chat.request(max_tokens=500)))
        assert "disk 1 " not in json.dumps(provider.requests[-1].body)
        chat.say("And now?")
        sight = seen.page
        sight.get_by_role("button", name="Bring it back …").first.click()
        box = sight.get_by_role("dialog")
        said = box.get_by_role("listitem").first.inner_text()
        box.get_by_role("button", name="Bring it back", exact=True).click()
        sight.get_by_text("Nothing is hidden").first.wait_for()
        after = int(said.split(" to ")[1].split()[0].replace(",", ""))
        assert chat.view().tokens == after
        promised = sight.evaluate("fetch('/inspector/api/sessions/run/next').then(r => r.json())")["body"]
        chat.receive(client.chat.completions.create(**chat.request(max_tokens=500)))
        body = provider.requests[-1].body
        assert body == promised
        assert "disk 1 " in json.dumps(body)
        assert ROWS.splitlines()[200] in json.dumps(body)
        assert provider.rejected == []


def test_a_message_is_found_and_brought_back_by_keyboard_alone() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    edit = chat.fold(tuple(row.id for row in chat.view().rows[1:7]), "Looked at three disks.")
    with looking(store, "s/run/now") as (_, seen):
        sight = seen.page
        sight.get_by_role("searchbox").focus()
        sight.keyboard.type("disk 1 ")
        sight.keyboard.press("Enter")
        hidden = sight.get_by_role("link", name="See why").first
        hidden.wait_for()
        hidden.focus()
        sight.keyboard.press("Enter")
        sight.get_by_role("heading", name="The model does not see this message").wait_for()
        assert sight.locator("main").get_by_text("row 399").count()
        sight.get_by_role("button", name="Bring it back …").focus()
        sight.keyboard.press("Enter")
        confirm = sight.get_by_role("dialog").get_by_role("button", name="Bring it back", exact=True)
        sight.get_by_role("dialog").get_by_role("listitem").first.wait_for()
        confirm.focus()
        sight.keyboard.press("Enter")
        back = sight.get_by_role("button", name="Undo", exact=True)
        back.wait_for()
        assert chat.view().row(edit.id) is None
        sight.get_by_role("heading", name="The model sees this message").wait_for()
        back.focus()
        sight.keyboard.press("Enter")
        sight.get_by_role("heading", name="The model does not see this message").wait_for()
        assert chat.view().row(edit.id) is not None


def test_rows_are_walked_by_arrow_keys_and_say_why() -> None:
    store = Memory()
    open_worked(store)
    with looking(store, "s/run/now") as (_, seen):
        sight = seen.page
        rows = sight.get_by_role("list", name="Rows of the view").get_by_role("listitem")
        rows.nth(2).get_by_text("Shortened by").wait_for()
        rows.nth(1).get_by_role("button").focus()
        sight.keyboard.press("ArrowDown")
        sight.locator("[data-at='2'] button:focus").wait_for()
        sight.keyboard.press("Enter")
        panel = sight.get_by_label("The row", exact=True)
        panel.get_by_text("Why is it like this?").wait_for()
        assert "Shortened by" in panel.inner_text()
        sight.keyboard.press("Escape")
        panel.wait_for(state="detached")


def test_a_second_tab_and_what_the_agent_does_are_seen() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/now") as (_, seen):
        with seen.page.expect_popup() as popup:
            seen.page.evaluate("window.open(location.href) && null")
        second = popup.value
        second.get_by_text("Nothing is pinned, and there are no notes.").wait_for()
        first = seen.page
        first.get_by_text("Add a note or pin a line").click()
        first.get_by_label("Name of the note").fill("plan")
        first.get_by_label("Text", exact=True).fill("look on")
        first.get_by_role("button", name="Add the note …").click()
        first.get_by_role("dialog").get_by_role("button", name="Add the note").click()
        second.get_by_text("look on").first.wait_for()
        chat.say("Said by the agent meanwhile.")
        second.get_by_text("Said by the agent meanwhile.").first.wait_for()


def test_nothing_that_an_output_says_is_executed() -> None:
    store = Memory()
    chat = open_worked(store, window=100_000, strategy="auto")
    chat.say("日本語のテキスト · مرحبا بالعالم ‫‬ " + "x" * 1_000_000)
    output = chat.view().rows[2].id
    with looking(store, f"s/run/now/{output}") as (_, seen):
        sight = seen.page
        panel = sight.get_by_label("The row", exact=True)
        panel.get_by_text("</script><script>").first.wait_for()
        assert "␛[31m red" in panel.inner_text()
        for place in ("hidden", "outputs/o1", "request/-1", "time"):
            sight.evaluate(f"location.hash = '#/s/run/{place}'")
            seen.settle()
        last = chat.view().rows[-1].id
        sight.evaluate(f"location.hash = '#/s/run/now/{last}'")
        panel.get_by_text("日本語のテキスト").first.wait_for()
        assert "more characters" in panel.inner_text()
        assert "stolen" not in sight.title()
        assert sight.locator("main script, main img[src=x]").count() == 0


@pytest.mark.parametrize(
    ("width", "colours"), [(390, "dark"), pytest.param(1_400, "light", marks=pytest.mark.slow)]
)
def test_every_screen_fits_and_has_names(width: int, colours: str) -> None:
    store = Memory()
    chat = open_worked(store)
    chat.fork("run-2").close()
    edit = chat.edits()[-1].decision.id
    places = (
        "",
        "s/run/now",
        "s/run/hidden",
        f"s/run/edit/{edit}",
        "s/run/request/2",
        "s/run/time",
        "s/run/outputs/o1",
    )
    with looking(store, viewport={"width": width, "height": 800}, color_scheme=colours) as (_, seen):
        sight = seen.page
        for place in places:
            sight.evaluate(f"location.hash = '#/{place}'")
            sight.get_by_role("heading", level=1).wait_for()
            seen.settle()
            assert sight.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
            nameless = sight.evaluate(
                "[...document.querySelectorAll('button, a, input, textarea, select')].filter(one =>"
                " !((/^(BUTTON|A)$/.test(one.tagName) && one.textContent.trim()) || one.getAttribute('aria-label')"
                " || one.closest('label'))).length"
            )
            assert nameless == 0, place


def test_what_only_reads_offers_to_look_and_not_to_change() -> None:
    store = Memory()
    open_worked(store).close()
    with looking(store, "s/run/hidden", write=False) as (_, seen):
        sight = seen.page
        sight.get_by_role("button", name="Bring it back …").first.click()
        box = sight.get_by_role("dialog")
        box.get_by_role("listitem").first.wait_for()
        assert box.get_by_role("button", name="Bring it back", exact=True).is_disabled()
        assert "--write" in box.inner_text()


def test_thousands_of_rows_are_a_few_in_the_page() -> None:
    store = Memory()
    chat = fanfold.open("long", store=store, window=10_000_000, dialect="openai.chat")
    messages = [{"role": "user", "content": f"Said {n}."} for n in range(2_000)]
    chat.merge(messages)
    with looking(store, "s/long/now") as (_, seen):
        sight = seen.page
        sight.get_by_text("Said 3.").wait_for()
        rows = sight.get_by_role("list", name="Rows of the view")
        assert rows.get_by_role("listitem").count() < 60
        sight.evaluate("document.querySelector('.long').scrollTop = 1000 * 58")
        sight.get_by_text("Said 1001.").wait_for()
        assert rows.get_by_role("listitem").count() < 60


def test_a_running_session_is_shown_by_its_own_window() -> None:
    with fanfold.open("mine", model="gpt-5.2") as chat:
        chat.say("Watch the disk.")
        with fanfold.inspect(chat) as window, opened(window.url) as seen:
            seen.page.get_by_text("Watch the disk.").first.wait_for()
            assert "token" not in seen.page.url
            seen.page.get_by_role("link", name="All sessions").click()
            seen.page.get_by_role("link", name="mine").wait_for()


class Notebook(BaseHTTPRequestHandler):
    """A page on another port that shows what a notebook would."""

    cell = ""

    def do_GET(self) -> None:
        """Answer with the cell."""
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>notebook</title>{self.cell}".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_notebook_shows_it_in_a_frame_by_whatever_name_it_was_opened(host: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Notebook)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with fanfold.open("mine", model="gpt-5.2") as chat, fanfold.inspect(chat) as window:
        chat.say("Watch the disk.")
        Notebook.cell = window._repr_html_()
        with opened(f"http://{host}:{server.server_port}/") as seen:
            frame = seen.page.frame_locator("iframe")
            frame.get_by_text("Watch the disk.").first.wait_for()
            chat.say("Said while the frame is open.")
            frame.get_by_text("Said while the frame is open.").first.wait_for()
            with seen.page.expect_download() as download:
                frame.get_by_role("link", name="Export the session").click()
            assert "Watch the disk." in Path(download.value.path()).read_text()
            assert seen.complaints == []
        with opened(f"http://{host}:{server.server_port}/") as seen:
            seen.page.frame_locator("iframe").get_by_text("This link was used before.").wait_for()
        Notebook.cell = window._repr_html_()
        with opened(f"http://{host}:{server.server_port}/") as seen:
            seen.page.frame_locator("iframe").get_by_text("Watch the disk.").first.wait_for()
    server.shutdown()
    server.server_close()


def test_an_inspector_of_an_empty_store_says_so() -> None:
    with looking(Memory()) as (_, seen):
        seen.page.get_by_text("There are no sessions here yet.").wait_for()
