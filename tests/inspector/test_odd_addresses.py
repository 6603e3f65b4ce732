"""Names and addresses that nobody expects: the page says what is there, and goes on."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.stores.memory import Memory
from tests.browser import opened
from tests.inspector.sights import looking
from tests.inspector.world import TOKEN, Page, open_worked


def test_sessions_that_are_called_as_scripts_call_things_are_listed_below_their_parents() -> None:
    store = Memory()
    for name, parent in (("constructor", ""), ("__proto__", "constructor"), ("toString", "nobody")):
        with fanfold.open(
            name, store=store, model="gpt-5.2", labels={"parent": parent} if parent else {}
        ) as chat:
            chat.say("Look.")
    with looking(store) as (_, seen):
        seen.page.get_by_role("heading", name="3 sessions").wait_for()
        assert seen.page.locator("td.depth1 a").all_inner_texts() == ["__proto__"]
        assert set(seen.page.locator("td.depth0 a").all_inner_texts()) == {"constructor", "toString"}


def test_a_time_line_at_no_request_shows_the_last_one() -> None:
    store = Memory()
    open_worked(store).close()
    with looking(store, "s/run/time/abc") as (_, seen):
        seen.page.get_by_role("heading", name="Request 6:").wait_for()
        for number in ("-3", "1.5", "99"):
            seen.page.evaluate("location.hash = '#/s/run/time/2'")
            seen.page.get_by_role("heading", name="Request 2:").wait_for()
            seen.page.evaluate(f"location.hash = '#/s/run/time/{number}'")
            seen.page.get_by_role("heading", name="Request 6:").wait_for()


def test_a_screen_that_cannot_be_drawn_leaves_the_others_alone() -> None:
    store = Memory()
    open_worked(store).close()
    with looking(store, "s/run/now") as (_, seen):
        seen.page.get_by_role("heading", name="tokens are in the window").wait_for()
        seen.page.route(
            "**/api/sessions/run/edits?*",
            lambda route: route.fulfill(json=[{"kind": "fold", "fate": "stands"}]),
        )
        seen.page.evaluate("location.hash = '#/s/run/hidden'")
        seen.page.get_by_role("heading", name="This screen cannot be drawn").wait_for()
        assert len(seen.complaints) == 1
        seen.complaints.clear()
        seen.page.get_by_role("link", name="Outputs").click()
        seen.page.get_by_role("heading", name="6 outputs").wait_for()


def test_a_link_that_is_opened_again_by_who_came_in_shows_the_page() -> None:
    store = Memory()
    open_worked(store).close()
    with looking(store) as (page, seen):
        seen.page.goto(f"{page.url}/?token={TOKEN}")
        seen.page.get_by_role("heading", name="1 session").wait_for()


@pytest.mark.parametrize("tenants", [("a",), ("a", "b")])
def test_an_address_of_another_tenant_leads_to_the_sessions_of_ones_own(tenants: tuple[str, ...]) -> None:
    store = Memory()
    with fanfold.open("of-a", store=store, tenant="a", model="gpt-5.2") as chat:
        chat.say("Hello?")
    with (
        Page(store, tokens={TOKEN: tenants}) as page,
        opened(f"{page.url}/?token={TOKEN}#/t/nope/s/of-a/now") as seen,
    ):
        seen.page.get_by_role("link", name="of-a").click()
        seen.page.get_by_role("heading", name="tokens are in the window").wait_for()
        assert seen.complaints == []


def test_every_screen_of_a_session_that_is_not_there_says_so() -> None:
    with Page(Memory()) as page, opened(f"{page.url}/?token={TOKEN}") as seen:
        for screen in ("now", "hidden", "time", "outputs", "try", "request/0", "edit/e1", "message/m"):
            seen.page.get_by_text("There are no sessions here yet.").wait_for()
            seen.page.evaluate(f"location.hash = '#/s/nobody/{screen}'")
            seen.page.get_by_text("There is no session 'nobody' here").first.wait_for()
            assert seen.page.get_by_text("Loading").count() == 0, screen
            seen.page.evaluate("location.hash = ''")
