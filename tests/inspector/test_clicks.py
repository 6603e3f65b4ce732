"""What a click does, in a real browser: choosing, closing, and clicking twice."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.stores.memory import Memory
from tests.browser import opened
from tests.inspector.sights import looking, see
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
        tried.wait_for()
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
        seen.settle()
        fanfold.open("newer", store=store, tenant="b", model="gpt-5.2").say("Hello again?")
        sight.get_by_role("link", name="newer").wait_for()
        assert seen.complaints == []


def test_a_row_of_the_time_line_is_closed_by_its_button_and_by_escape() -> None:
    store = Memory()
    open_worked(store)
    with looking(store, "s/run/time/3", viewport={"width": 390, "height": 800}) as (_, seen):
        sight = seen.page
        row = sight.get_by_role("list", name="Rows of the view").get_by_role("button").first
        panel = sight.get_by_label("The row", exact=True)
        row.click()
        panel.get_by_text("Why is it like this?").wait_for()
        sight.get_by_role("button", name="Close the row").click()
        panel.wait_for(state="detached")
        row.click()
        panel.get_by_text("Why is it like this?").wait_for()
        sight.keyboard.press("Escape")
        panel.wait_for(state="detached")


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
        sight.get_by_role("button", name="Undo", exact=True).wait_for()
        seen.settle()
        assert [one.kind for one in chat.edits()].count("pin") == 1
        assert sum("/pin" in url for url in seen.requests) == 2


def open_long(store: Memory, count: int) -> fanfold.Session:
    """A session of many short messages."""
    chat = fanfold.open("long", store=store, window=10_000_000, dialect="openai.chat")
    chat.merge([{"role": "user", "content": f"Said {n}."} for n in range(count)])
    return chat


def test_rows_are_folded_however_far_down_they_stand() -> None:
    store = Memory()
    chat = open_long(store, 2_100)
    rows = [row.id for row in chat.view().rows]
    with looking(store, f"s/long/now/{rows[2_050]}") as (_, seen):
        sight = seen.page
        sight.get_by_text("Fold rows from here").click()
        sight.get_by_label("What stands in their place").fill("Said twice.")
        sight.get_by_role("button", name="Fold …").click()
        sight.get_by_role("dialog").get_by_role("button", name="Fold", exact=True).click()
        sight.get_by_role("button", name="Undo", exact=True).wait_for()
        assert chat.why(chat.edits()[-1].decision.id).hides == tuple(rows[2_050:2_052])


def test_rows_that_come_late_do_not_hide_newer_ones() -> None:
    store = Memory()
    chat = open_long(store, 150)
    held: list[Any] = []

    def hold(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    with looking(store, "s/long/now") as (_, seen):
        sight = seen.page
        sight.get_by_text("Said 3.").wait_for()
        seen.settle()
        sight.route("**/view?*offset=100*", hold)
        sight.evaluate("document.querySelector('.long').scrollTop = 120 * 58")
        seen.wait_until(lambda: bool(held))
        chat.pin(chat.view().rows[121].id)
        pinned = sight.locator(".long .tag.pinned")
        pinned.wait_for()
        route, late = held[0]
        route.fulfill(response=late)
        seen.settle()
        assert pinned.count() == 1


def test_what_is_said_before_the_page_listens_is_seen() -> None:
    store = Memory()
    chat = open_worked(store)
    held: list[Any] = []
    with Page(store) as page, opened("about:blank") as seen:
        sight = seen.page
        sight.route("**/events?*", lambda route: held.append(route))
        sight.goto(f"{page.url}/?token={TOKEN}#/s/run/now")
        sight.get_by_role("heading", name="tokens are in the window").wait_for()
        chat.note("plan", "Said too early.")
        seen.wait_until(lambda: bool(held))
        held[0].continue_()
        sight.get_by_text("Said too early.").first.wait_for()


def test_a_frame_listens_again_when_its_stream_ended() -> None:
    store = Memory()
    chat = open_worked(store)
    with Page(store, framed=True) as page, opened(f"{page.url}/#frame={TOKEN}/s/run/now") as seen:
        sight = seen.page
        sight.get_by_role("heading", name="tokens are in the window").wait_for()
        page.inspector.is_stopping = lambda: True
        for _ in range(2):  # the first may be the stream that the page opens itself
            sight.wait_for_event("request", lambda one: "/events" in one.url)
        page.inspector.is_stopping = lambda: False
        chat.note("plan", "Said after the stream ended.")
        sight.get_by_text("Said after the stream ended.").first.wait_for()
        assert seen.complaints == []


def test_that_a_list_is_empty_is_said_below_the_heading() -> None:
    store = Memory()
    open_worked(store)
    with looking(store, "s/run/hidden") as (_, seen):
        sight = seen.page
        sight.get_by_role("button", name="Bring it back …").first.wait_for()
        sight.get_by_label("Only edits that have these words").fill("nowhere")
        empty = sight.get_by_text("None has these words.")
        empty.wait_for()
        assert empty.bounding_box()["y"] > sight.get_by_role("heading", level=1).bounding_box()["y"]


def test_a_tab_that_nobody_sees_holds_no_connection_and_catches_up_when_it_is_seen() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/now") as (_, seen):
        tabs = [seen.page]
        for _ in range(7):  # a browser opens six connections to a host
            see(tabs[-1], hidden=True)
            with seen.page.expect_popup() as popup:
                seen.page.evaluate("window.open(location.href) && null")
            tabs.append(popup.value)
            tabs[-1].get_by_role("heading", name="tokens are in the window").wait_for()
        chat.note("plan", "Said while nobody looked.")
        tabs[-1].get_by_text("Said while nobody looked.").first.wait_for()
        assert tabs[0].get_by_text("Said while nobody looked.").count() == 0
        see(tabs[0], hidden=False)
        tabs[0].get_by_text("Said while nobody looked.").first.wait_for()


def test_what_was_brought_back_is_hidden_again_where_it_is_seen() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    rows = [row.id for row in chat.view().rows[1:7]]
    edit = chat.fold(tuple(rows), "Looked at three disks.")
    with looking(store, f"s/run/message/{rows[1]}") as (_, seen):
        sight = seen.page

        def confirm(button: str) -> None:
            sight.get_by_role("button", name=f"{button} …").click()
            sight.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()

        sight.get_by_role("heading", name="In its place the model reads:").wait_for()
        confirm("Bring it back")
        sight.get_by_role("status").get_by_text("Brought back: 1 message").wait_for()
        sight.get_by_role("button", name="Release …").wait_for()
        confirm("Hide it again")
        sight.get_by_role("status").get_by_text("Hidden again: 6 messages").wait_for()
        assert chat.view().row(edit.id) is not None
        sight.get_by_role("button", name="Undo", exact=True).click()
        sight.get_by_role("status").get_by_text("Undone").wait_for()
        sight.evaluate(f"location.hash = '#/s/run/now/{rows[1]}'")
        panel = sight.get_by_label("The row", exact=True)
        panel.get_by_role("button", name="Release …").wait_for()
        panel.get_by_role("button", name="Hide it again …").wait_for()
        sight.get_by_role("button", name="Close this message").click()
        sight.locator(".toast").wait_for(state="detached")


def test_a_message_is_shown_where_it_stands_in_the_window_and_marked() -> None:
    store = Memory()
    chat = open_long(store, 400)
    row = chat.view().rows[300].id
    with looking(store, f"s/long/message/{row}") as (_, seen):
        sight = seen.page
        sight.get_by_role("link", name="Show it in the window").click()
        chosen = sight.locator(".long li.chosen")
        chosen.get_by_text("Said 300.").wait_for()
        box, mark = (sight.locator(one).bounding_box() for one in (".long", ".long li.chosen"))
        assert box["y"] <= mark["y"] <= box["y"] + box["height"]
        assert 0 <= mark["y"] <= sight.viewport_size["height"]


def test_the_filter_of_edits_leads_to_a_search_of_everything() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    chat.fold(tuple(row.id for row in chat.view().rows[1:7]), "Looked at three disks.")
    with looking(store, "s/run/hidden") as (_, seen):
        sight = seen.page
        sight.get_by_label("Only edits that have these words").fill("row 399")
        sight.get_by_text("None has these words.").wait_for()
        sight.get_by_role("link", name="Search everything that was said").click()
        sight.get_by_text("6 messages found").wait_for()
        assert sight.get_by_role("link", name="See why").count() == 3


def test_sessions_whose_names_are_folders_to_browsers_are_looked_at_and_changed() -> None:
    store = Memory()
    chat = fanfold.open("..", store=store, model="gpt-5.2")
    chat.say("I am here.")
    with looking(store) as (_, seen):
        sight = seen.page
        sight.get_by_role("link", name="..", exact=True).click()
        sight.get_by_role("button", name="I am here.").click()
        sight.get_by_role("button", name="Pin …", exact=True).click()
        sight.get_by_role("dialog").get_by_role("button", name="Pin it").click()
        sight.get_by_text("Pinned", exact=True).wait_for()
        assert chat.view().rows[0].pinned


def test_a_change_after_which_nothing_fits_is_made_only_by_who_insists() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/now") as (_, seen):
        sight = seen.page
        sight.get_by_text("Add a note or pin a line").click()
        sight.get_by_label("Name of the note").fill("plan")
        sight.get_by_label("Text", exact=True).fill("look on, " * 9_000)
        sight.get_by_role("button", name="Add the note …").click()
        box = sight.get_by_role("dialog")
        box.get_by_text("The next request could not be sent then.").wait_for()
        box.get_by_role("button", name="Add the note anyway").click()
        sight.get_by_role("button", name="Undo", exact=True).click()
        sight.get_by_text("Undone", exact=True).wait_for()
        chat.request(max_tokens=500)


def test_a_reload_stays_with_the_tenant_that_was_chosen() -> None:
    store = Memory()
    for tenant in ("a", "b"):
        with fanfold.open("run", store=store, tenant=tenant, model="gpt-5.2") as chat:
            chat.say(f"This is said to tenant {tenant}.")
    with (
        Page(store, tokens={TOKEN: ("a", "b")}) as page,
        opened(f"{page.url}/?token={TOKEN}") as seen,
    ):
        sight = seen.page
        sight.get_by_label("Tenant").select_option("b")
        sight.get_by_role("link", name="run").click()
        sight.get_by_text("said to tenant b").first.wait_for()
        sight.reload()
        sight.get_by_text("said to tenant b").first.wait_for()
        assert sight.get_by_label("Tenant").input_value() == "b"
        assert sight.get_by_text("said to tenant a").count() == 0


def open_in_two_tenants(store: Memory) -> list[fanfold.Session]:
    """The same session in two tenants: its first edit is an earlier one, under a fold."""
    both = [open_worked(store, tenant=tenant) for tenant in ("a", "b")]
    for chat in both:
        chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "Looked.")
    return both


HOLD = """() => {
  const ask = window.fetch;
  window.fetch = async (...given) => {
    if (given[1].method === "POST") await new Promise((go) => { window.letGo = go; });
    return ask(...given);
  };
}"""
"""Changes are sent only when somebody lets them go."""


def test_what_was_done_is_taken_back_in_its_own_tenant() -> None:
    store = Memory()
    one, two = open_in_two_tenants(store)
    two.undo("e1", through=True)
    before = [(past.decision.id, past.fate) for past in one.edits()]
    kept = two.view().version
    with (
        Page(store, tokens={TOKEN: ("a", "b")}) as page,
        opened(f"{page.url}/?token={TOKEN}#/t/a/s/run/edit/e1") as seen,
    ):
        sight = seen.page
        sight.get_by_role("button", name="Bring it back …").click()
        sight.get_by_role("dialog").get_by_role("button", name="Bring it back", exact=True).click()
        undo = sight.get_by_role("button", name="Undo", exact=True)
        undo.wait_for()
        assert one.view().row("e1") is None
        sight.evaluate(HOLD)
        undo.click()
        seen.wait_until(lambda: bool(sight.evaluate("() => Boolean(window.letGo)")))
        sight.get_by_label("Tenant").select_option("b")
        sight.get_by_role("heading", name="session").first.wait_for()
        for _ in ("the shortened output", "what shortened it again", "the fold"):
            seen.wait_until(lambda: bool(sight.evaluate("() => Boolean(window.letGo)")))
            sight.evaluate("() => { const go = window.letGo; window.letGo = null; go(); }")
        seen.wait_until(lambda: [(past.decision.id, past.fate) for past in one.edits()] == before)
        assert two.view().version == kept
        assert seen.complaints == []


def test_a_dialog_and_an_offer_to_undo_do_not_follow_into_another_tenant() -> None:
    store = Memory()
    one, two = open_in_two_tenants(store)
    kept = two.view().version
    with (
        Page(store, tokens={TOKEN: ("a", "b")}) as page,
        opened(f"{page.url}/?token={TOKEN}#/t/b/s/run/edit/e1") as seen,
    ):
        sight = seen.page
        bring = sight.get_by_role("button", name="Bring it back …")
        bring.wait_for()
        sight.evaluate("() => { location.hash = '#/t/a/s/run/edit/e1'; }")
        seen.wait_until(lambda: bool(sight.get_by_label("Tenant").input_value() == "a"))
        seen.settle()
        bring.click()
        sight.get_by_role("dialog").get_by_role("listitem").first.wait_for()
        sight.go_back()
        sight.get_by_role("dialog").wait_for(state="detached")
        sight.go_forward()
        seen.wait_until(lambda: bool(sight.get_by_label("Tenant").input_value() == "a"))
        seen.settle()
        assert sight.get_by_role("dialog").count() == 0
        bring.click()
        sight.get_by_role("dialog").get_by_role("button", name="Bring it back", exact=True).click()
        sight.get_by_role("button", name="Undo", exact=True).wait_for()
        sight.get_by_label("Tenant").select_option("b")
        sight.get_by_role("button", name="Undo", exact=True).wait_for(state="detached")
        assert {past.fate for past in one.edits() if past.decision.id == "e1"} == {"undone"}
        assert two.view().version == kept
        assert seen.complaints == []


def test_a_page_whose_server_is_gone_says_so() -> None:
    store = Memory()
    open_worked(store)
    with Page(store) as page, opened(f"{page.url}/?token={TOKEN}#/s/run/now") as seen:
        seen.page.get_by_text("you can make changes").wait_for()
        seen.settle()
        page.server.should_exit = True
        seen.page.get_by_role("alert").get_by_text("does not answer any more").wait_for()
        seen.page.get_by_text("not connected").wait_for()


def test_erased_words_leave_a_search_that_is_open() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/search/tell%20me") as (_, seen):
        seen.page.get_by_text("1 message found").wait_for()
        chat.erase(chat.view().rows[0].id, "asked for")
        seen.page.get_by_text("Nothing was found.").wait_for()


def test_one_message_is_brought_back_and_what_was_hidden_with_it_stays_hidden() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    rows = [row.id for row in chat.view().rows[1:7]]
    edit = chat.fold(tuple(rows), "Looked at three disks.")
    with looking(store, f"s/run/message/{rows[3]}") as (_, seen):
        sight = seen.page
        sight.get_by_role("button", name="Bring back all 6 …").wait_for()
        sight.get_by_role("button", name="Bring it back …").click()
        box = sight.get_by_role("dialog")
        told = box.get_by_role("listitem").first.inner_text()
        box.get_by_text(f"The other messages that {edit.id} hides stay hidden").wait_for()
        box.get_by_role("button", name="Bring it back", exact=True).click()
        sight.get_by_role("heading", name="The model sees this message").wait_for()
        shown = [row.id for row in chat.view().rows]
        assert [id for id in rows if id in shown] == rows[2:4]  # the output, and the call that it answers
        assert f" to {chat.view().tokens:,} tokens" in told
        sight.get_by_role("button", name="Undo", exact=True).click()
        sight.get_by_role("heading", name="The model does not see this message").wait_for()
        sight.get_by_role("button", name="Bring back all 6 …").click()
        box.get_by_role("button", name="Bring them back").click()
        sight.get_by_role("heading", name="The model sees this message").wait_for()
        assert [row.id for row in chat.view().rows[1:7]] == rows
