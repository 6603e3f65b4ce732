"""How a tab follows what happens in the store, and what it says when it cannot."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.core.errors import StoreFailed
from fanfold.inspector.events import OFTEN
from fanfold.stores.memory import Memory
from tests.browser import opened
from tests.inspector.world import TOKEN, Page, open_worked
from tests.serving import serving

APP = Path(fanfold.__file__).parent / "inspector" / "bundle" / "app.js"


class Failing(Memory):
    """A store that can be read, and for some time not watched."""

    error: Exception | None = None

    def load(self, tenant: str, session: str, **options: Any) -> Any:
        if self.error is not None and options.get("most") == 1:
            raise self.error
        return super().load(tenant, session, **options)


def open_said(store: Memory) -> fanfold.Session:
    """A session with a message."""
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    chat.say("Watch the disk.")
    return chat


@pytest.mark.parametrize("framed", [False, True], ids=["tab", "frame"])
def test_a_tab_that_cannot_follow_says_so_and_why_until_it_can_again(framed: bool) -> None:
    store = Failing()
    chat = open_said(store)
    store.error = StoreFailed("The disk is full.")
    way = f"#frame={TOKEN}/s/run/now" if framed else f"?token={TOKEN}#/s/run/now"
    with Page(store, framed=framed) as page, opened(f"{page.url}/{way}") as seen:
        sight = seen.page
        sight.get_by_role("alert").get_by_text("cannot follow what happens. The disk is full.").wait_for()
        sight.get_by_text("not connected").wait_for()
        sight.get_by_text("Watch the disk.").first.wait_for()
        store.error = None
        sight.get_by_text("you can make changes").wait_for()
        assert sight.get_by_role("alert").count() == 0
        chat.say("Said after that.")
        sight.get_by_text("Said after that.").first.wait_for()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StoreFailed("The disk is full."), "The disk is full."),
        (ZeroDivisionError("a bug"), "The inspector failed; its log says how."),
    ],
    ids=["store", "bug"],
)
def test_what_cannot_be_watched_is_logged_once_with_its_session(
    error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Failing()
    open_said(store)
    with Page(store) as page:
        visitor = page.enter()
        store.error = error
        for _ in range(3):
            with visitor.follow("run") as stream:
                assert stream.readline() == b"event: failed\n"
                assert json.loads(stream.readline().removeprefix(b"data: ")) == {"error": says}
        (line,) = [one for one in caplog.records if one.name == "fanfold.inspector"]
        assert line.getMessage() == f"Tabs cannot follow session 'run' of tenant 'default': {error}"
        assert bool(line.exc_info) is (says != str(error))


def test_a_stream_that_ends_before_it_tells_anything_is_said() -> None:
    store = Memory()
    open_said(store)
    with Page(store) as page, opened(f"{page.url}/") as seen:
        seen.page.route(
            "**/api/events*", lambda route: route.fulfill(content_type="text/event-stream", body="")
        )
        seen.page.goto(f"{page.url}/?token={TOKEN}#/s/run/now")
        seen.page.get_by_role("alert").get_by_text("something on the way ends its stream").wait_for()
        seen.page.get_by_text("not connected").wait_for()


def test_a_tab_follows_a_session_as_soon_as_it_is_there() -> None:
    store = Memory()
    with Page(store) as page, opened(f"{page.url}/?token={TOKEN}#/s/run/now") as seen:
        seen.page.get_by_role("alert").get_by_text("There is no session 'run' here").wait_for()
        open_worked(store)
        seen.page.get_by_role("heading", name="tokens are in the window").wait_for()


def test_a_list_that_grows_under_the_eyes_shows_every_row_that_it_has_room_for() -> None:
    store = Memory()
    chat = open_said(store)
    tall = {"width": 1_400, "height": 1_600}
    with Page(store) as page, opened(f"{page.url}/?token={TOKEN}#/s/run/now", viewport=tall) as seen:
        rows = seen.page.get_by_role("list", name="Rows of the view").get_by_role("listitem")
        rows.first.wait_for()
        for number in range(10):
            chat.say(f"Said as number {number}.")
        rows.nth(10).get_by_text("Said as number 9.").wait_for()


def test_what_is_waited_for_on_purpose_before_a_tab_shows_a_change_is_less_than_a_second() -> None:
    """The rest is work; bench/inspector.py measures all of it."""
    found = re.search(r"SEEN_EVERY = (\d+)", APP.read_text())
    assert found is not None
    assert OFTEN + int(found[1]) / 1000 < 1


def mounted() -> dict[str, Any]:
    """What the page of the docs makes: an application with an inspector in it, and its server."""
    text = (Path(__file__).parents[2] / "docs" / "inspector.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1]
    names: dict[str, Any] = {}
    exec(compile(code, "docs/inspector.md", "exec"), names)
    return names


def test_an_inspector_that_is_mounted_as_the_docs_say_knows_its_host_and_ends_with_a_tab_open() -> None:
    names = mounted()
    host = {"host": "agents.example"}
    with serving(names["server"]) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/?token={names['token']}", headers=host)
        answer = connection.getresponse()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        assert (answer.status, b"<html" in answer.read()) == (200, True)
        connection.request("GET", "/inspector/api/events", headers={**host, "cookie": cookie})
        stream = connection.getresponse()
        assert stream.readline().startswith(b"data: ")
        names["server"].should_exit = True
        assert stream.read().strip() == b""  # it waits for streams, and this one would not end by itself
        connection.close()
