"""Everybody can use the page: by keyboard alone, with a screen reader, in the dark, on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.stores.memory import Memory
from tests.browser import Opened, opened
from tests.gateway.gate import Gate, Upstream
from tests.inspector.sights import Keys, looking
from tests.inspector.world import TOKEN, Page, open_worked

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
SIZES = [
    pytest.param(1_400, "light"),
    pytest.param(390, "dark"),
    pytest.param(390, "light", marks=pytest.mark.slow),
    pytest.param(1_400, "dark", marks=pytest.mark.slow),
]


def complaints(sight: Any) -> list[str]:
    """What axe finds wrong with the page as it is, each with the first place."""
    if not sight.evaluate("'axe' in window"):
        sight.evaluate(AXE)
    found = sight.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
    return [f"{one['id']}: {one['help']} {one['nodes'][0]['html'][:160]}" for one in found]


def check(seen: Opened, place: str) -> None:
    """The page fits its window, and axe finds nothing wrong."""
    sight = seen.page
    sight.get_by_role("heading", level=1).wait_for()
    seen.settle()
    wrong = complaints(sight)
    if not sight.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        wrong.append("it is wider than the window")
    assert [f"{place}: {one}" for one in wrong] == []


def grown() -> tuple[Memory, fanfold.Session, str, str]:
    """A session with a summary, a fork, a pin and a note."""
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    entry = chat.view().rows[1].id
    edit = chat.fold(tuple(row.id for row in chat.view().rows[1:7]), "Looked at three disks.")
    chat.pin(chat.view().rows[0].id)
    chat.note("plan", "look on")
    chat.fork("run-2").close()
    return store, chat, edit.id, entry


def test_axe_finds_nothing_wrong_with_the_page_of_a_used_link() -> None:
    with Page(Memory()) as page:
        page.enter()
        with opened(f"{page.url}/?token={TOKEN}", viewport={"width": 390, "height": 800}) as seen:
            check(seen, "used")
            seen.page.get_by_text("fanfold inspect STORE").wait_for()


@pytest.mark.parametrize(("width", "colours"), SIZES)
def test_axe_finds_nothing_wrong_with_any_screen(width: int, colours: str) -> None:
    store, chat, edit, entry = grown()
    row = chat.view().rows[-1].id
    places = [
        "",
        "s/run/now",
        f"s/run/now/{row}",
        "s/run/hidden",
        f"s/run/edit/{edit}",
        f"s/run/message/{entry}",
    ]
    places += ["s/run/request/2", "s/run/time/3", "s/run/outputs/o1", "s/run/try"]
    with looking(store, viewport={"width": width, "height": 800}, color_scheme=colours) as (_, seen):
        sight = seen.page
        for place in places:
            sight.evaluate(f"location.hash = '#/{place}'")
            check(seen, place)
        sight.get_by_role("button", name="Try it").click()
        sight.get_by_text("Tokens of every request").wait_for()
        check(seen, "what was tried")
        sight.evaluate("location.hash = '#/s/run/hidden'")
        sight.get_by_role("button", name="Bring it back …").first.click()
        sight.get_by_role("dialog").get_by_role("listitem").first.wait_for()
        check(seen, "the dialog")


@pytest.mark.parametrize(("width", "colours"), SIZES[:2])
def test_axe_finds_nothing_wrong_with_health(width: int, colours: str) -> None:
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": colours}
    with Upstream() as upstream, Gate(upstream.url) as gate:
        gate.post("/v1/chat/completions", b'{"model":"gpt-5.2","messages":[{"role":"user","content":"hi"}]}')
        with opened(f"{gate.url}/?token={gate.gateway.inspection.token()}#/health", **look) as seen:
            seen.page.get_by_role("heading", name="Upstreams").wait_for()
            check(seen, "health")
            assert seen.complaints == []


@contextmanager
def at(store: Memory, place: str) -> Iterator[tuple[Keys, Opened]]:
    with looking(store, place) as (_, seen):
        yield Keys(seen.page), seen


def test_what_is_hidden_is_restored_hidden_again_and_released_by_keyboard() -> None:
    store, chat, edit, _ = grown()
    with at(store, f"s/run/edit/{edit}") as (keys, seen):
        keys.to("button", "Bring it back …").press().confirm("Bring it back")
        keys.to("button", "Release …").press().confirm("Release it")
        assert next(one for one in chat.edits() if one.decision.id == edit).free
        keys.to("button", "Hide it again …").press().confirm("Hide it again")
        seen.page.get_by_text("It is in effect.").wait_for()
        assert chat.view().row(edit) is not None


def test_pins_notes_and_folds_are_made_and_unmade_by_keyboard() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    first, second = (row.id for row in chat.view().rows[:2])
    with at(store, f"s/run/now/{first}") as (keys, seen):
        keys.to("button", "Pin …").press().confirm("Pin it")
        keys.to("button", "Unpin …").press().confirm("Unpin")
        assert not chat.view().rows[0].pinned
        keys.to("button", "Undo").press()
        seen.wait_until(lambda: chat.view().rows[0].pinned)
        seen.page.evaluate(f"location.hash = '#/s/run/now/{second}'")
        folding = seen.page.get_by_text("Fold rows from here")
        folding.wait_for()
        folding.focus()
        keys.press()
        keys.to("spinbutton", "How many rows, this one first").type("4")
        keys.to("textbox", "What stands in their place").type("Looked at two disks.")
        keys.to("button", "Fold …").press().confirm("Fold")
        assert [row.kind for row in chat.view().rows].count("fold") == 1
        keys.to("button", "Undo").press()
        seen.wait_until(lambda: "fold" not in [row.kind for row in chat.view().rows])


def test_going_back_forking_and_exporting_by_keyboard() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    row, head = chat.view().rows[4].id, chat.head
    with at(store, f"s/run/now/{row}") as (keys, seen):
        keys.to("button", "Go back to here …").press().confirm("Go back")
        assert chat.head == row
        keys.to("button", "Undo").press()
        seen.wait_until(lambda: chat.head == head)
        with seen.page.expect_download() as download:
            keys.to("link", "Export the session").press()
        assert json.loads(Path(download.value.path()).read_text().splitlines()[0])["name"] == "run"
        forking = seen.page.get_by_text("Fork the session")
        forking.focus()
        keys.press()
        keys.to("textbox", "Name of the new session").type("another")
        keys.to("button", "Fork it …").press().confirm("Fork")
        seen.page.get_by_text("another", exact=True).first.wait_for()
    assert set(store.sessions("default")) == {"run", "another"}


def test_erasing_needs_the_sentence_and_is_done_by_keyboard() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    row = chat.view().rows[0].id
    with at(store, f"s/run/now/{row}") as (keys, seen):
        keys.to("button", "Erase …").press()
        box = seen.page.get_by_role("dialog")
        box.get_by_text("cannot be undone").wait_for()
        assert box.get_by_role("button", name="Destroy it").is_disabled()
        keys.to("textbox", "Why", within=box).type("a secret")
        sentence = box.get_by_role("textbox").nth(1)
        sentence.focus()
        keys.type(f"erase {row[:8]}")
        keys.to("button", "Destroy it", within=box).press()
        box.wait_for(state="detached")
    assert "Watch the disk" not in str(chat.view())


def test_what_two_edits_hide_is_brought_back_and_both_are_taken_back() -> None:
    store, chat, edit, _ = grown()
    outer = chat.fold((edit, *(row.id for row in chat.view().rows[2:4])), "Looked at four disks.")
    with at(store, f"s/run/edit/{edit}") as (keys, seen):
        keys.to("button", "Bring it back …").press().confirm("Bring it back")
        keys.to("button", "Undo").press()
        seen.wait_until(lambda: chat.view().row(outer.id) is not None)
        seen.page.get_by_text("It lies under a later edit.").wait_for()


def test_what_filled_the_window_over_time_is_drawn() -> None:
    store = Memory()
    open_worked(store)
    with at(store, "s/run/time") as (keys, seen):
        keys.to("button", "What fills the window").press()
        seen.page.locator(".chart .filled.hue2").wait_for(state="attached")
        assert (
            seen.page.get_by_role("button", name="What fills the window").get_attribute("aria-pressed")
            == "true"
        )
        assert seen.page.locator(".legend").first.get_by_text("Tool output").count() == 1
        assert complaints(seen.page) == []


def test_what_each_request_cost_is_drawn() -> None:
    store = Memory()
    chat = open_worked(store)
    dearest = max(one.cost or 0 for one in chat.requests())
    with at(store, "s/run/time") as (keys, seen):
        keys.to("button", "Cost").press()
        seen.page.get_by_role("img", name=f"Cost of 7 requests, at most ${dearest:.4f}").wait_for()
        assert seen.page.locator(".chart .fresh").get_attribute("d").count("z") == 6  # the last has no bill
        assert seen.page.locator(".chart .limit").count() == 0
        assert complaints(seen.page) == []


def test_the_picture_of_now_leads_to_the_one_over_time() -> None:
    store = Memory()
    open_worked(store)
    with at(store, "s/run/now") as (keys, seen):
        keys.to("link", "Over time").press()
        seen.page.locator(".chart .filled.hue2").wait_for(state="attached")
        assert (
            seen.page.get_by_role("button", name="What fills the window").get_attribute("aria-pressed")
            == "true"
        )


def test_what_is_hidden_is_listed_by_the_request_that_made_room() -> None:
    store = Memory()
    chat = open_worked(store)
    hidden = [one for one in chat.edits() if one.fate == "stands" and one.kind == "elide"]
    with at(store, "s/run/hidden") as (keys, seen):
        seen.page.get_by_role("heading", name="Before request").first.wait_for()
        assert seen.page.locator("article").count() == len(hidden)
        assert seen.page.locator("article").first.locator(".what").inner_text() == "look"
        keys.to("searchbox", "Only edits that have these words").type("no such words")
        seen.page.get_by_text("None has these words.").wait_for()


def test_the_time_line_is_walked_by_arrow_keys() -> None:
    store = Memory()
    open_worked(store)
    with at(store, "s/run/time") as (keys, seen):
        keys.to("slider", "Request").press("Home").press("ArrowRight").press("ArrowRight")
        seen.page.get_by_role("heading", name="Request 2:").wait_for()
        assert "Request 2" in str(seen.page.get_by_role("slider").get_attribute("aria-valuetext"))
