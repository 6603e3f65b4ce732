"""What a click does, in a real browser: choosing, closing, and clicking twice."""

from __future__ import annotations

import fanfold
from fanfold.stores.memory import Memory
from tests.browser import opened
from tests.inspector.test_page import looking
from tests.inspector.world import TOKEN, Page, open_worked


def test_the_strategy_that_is_chosen_is_the_one_that_is_tried() -> None:
    store = Memory()
    open_worked(store, window=40_000, strategy="auto")
    with looking(store, "s/run/try") as (_, seen):
        sight = seen.page
        sight.get_by_label("Strategy").select_option("drop_oldest")
        sight.get_by_label("Window, in tokens").fill("9000")
        sight.get_by_role("button", name="Try it").click()
        tried = sight.get_by_role("columnheader", name="What you try")
        tried.wait_for(timeout=60_000)
        assert "drop_oldest, window 9,000" in tried.inner_text()


def test_another_tenant_is_chosen_and_what_is_new_there_is_seen() -> None:
    store = Memory()
    for tenant in ("a", "b"):
        fanfold.open(f"of-{tenant}", store=store, tenant=tenant, model="gpt-5.2").say("Hello?")
    with (
        Page(store, tokens={TOKEN: ("a", "b")}) as page,
        opened(f"{page.url}/?token={TOKEN}") as seen,
    ):
        sight = seen.page
        sight.get_by_role("link", name="of-a").wait_for()
        sight.get_by_label("Tenant").select_option("b")
        sight.get_by_role("link", name="of-b").wait_for()
        assert sight.get_by_role("link", name="of-a").count() == 0
        sight.wait_for_timeout(500)
        fanfold.open("newer", store=store, tenant="b", model="gpt-5.2").say("Hello again?")
        sight.get_by_role("link", name="newer").wait_for(timeout=5_000)
        assert seen.complaints == []


def test_a_row_of_the_time_line_is_closed_by_its_button_and_by_escape() -> None:
    store = Memory()
    open_worked(store)
    with looking(store, "s/run/time/3", viewport={"width": 390, "height": 800}) as (_, seen):
        sight = seen.page
        row = sight.get_by_role("list", name="Rows of the view").get_by_role("button").first
        panel = sight.get_by_label("The row", exact=True)
        row.click()
        panel.get_by_text("Why is it so?").wait_for()
        sight.get_by_role("button", name="Close the row").click()
        panel.wait_for(state="detached", timeout=5_000)
        row.click()
        panel.get_by_text("Why is it so?").wait_for()
        sight.keyboard.press("Escape")
        panel.wait_for(state="detached", timeout=5_000)


def test_a_change_that_is_clicked_twice_is_made_once() -> None:
    store = Memory()
    chat = open_worked(store)
    row = chat.view().rows[0].id
    with looking(store, f"s/run/now/{row}") as (_, seen):
        sight = seen.page
        sight.get_by_role("button", name="Pin …", exact=True).click()
        sight.get_by_role("dialog").get_by_role("listitem").first.wait_for()
        sight.evaluate(
            "const form = document.querySelector('dialog form'); form.requestSubmit(); form.requestSubmit()"
        )
        sight.get_by_role("button", name="Take it back").wait_for()
        sight.wait_for_timeout(300)
        assert [one.kind for one in chat.edits()].count("pin") == 1
        assert sum("/pin" in url for url in seen.requests) == 2
