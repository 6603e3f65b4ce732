"""What was erased is shown to nobody any more: not from what was kept to answer faster, and not by a trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fanfold
from fanfold.stores.memory import Memory
from fanfold.stores.sqlite import SQLite
from fanfold.testing import called, replied, response
from tests.inspector.sights import looking
from tests.inspector.world import Page, Visitor, open_worked, trial_ended

SECRET = "the-vault-in-the-cellar"


def tell_a_secret(chat: fanfold.Session) -> str:
    """Look into a vault; returns the entry in which the model says where it is."""
    chat.say("Look into the vault.")
    counted = chat.request(max_tokens=500).sent.tokens
    body = replied("I look.", called("c0", "look", json.dumps({"path": f"/srv/{SECRET}/list.txt"})))
    chat.receive(response(body, prompt=counted))
    secret = str(chat.head)
    chat.answer("c0", "Two coins and a ring.")
    chat.request(max_tokens=500)
    chat.receive(response(replied("Two coins and a ring are in it."), prompt=counted + 90))
    chat.say("Thank you.")
    chat.request(max_tokens=500)
    return secret


@pytest.mark.parametrize("whose", ["the inspector", "another process"])
def test_the_arguments_of_an_erased_call_are_not_told_beside_its_result(tmp_path: Path, whose: str) -> None:
    store = SQLite(tmp_path / "agent.db")
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        secret = tell_a_secret(chat)
        answer = chat.view().rows[2].id
    places = ("view", f"rows/{answer}", "requests/1", "outputs", f"entries/{answer}", "requests")
    with Page(store) as page:
        visitor = page.enter()
        assert SECRET in json.dumps(visitor.ask("sessions/run/view"))
        if whose == "the inspector":
            visitor.tell("run", "erase", entry=secret, reason="a secret", sentence=f"erase {secret[:8]}")
        else:
            with fanfold.open("run", store=SQLite(store.file), model="gpt-5.2") as other:
                other.erase(secret, "a secret")
        for place in places:
            assert SECRET not in json.dumps(visitor.ask(f"sessions/run/{place}")), place


def try_smaller(visitor: Visitor) -> None:
    visitor.tell("run", "try", window=900, strategy="drop_oldest")
    trial_ended(visitor)


def test_a_trial_is_forgotten_with_what_it_quotes() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    secret = tell_a_secret(chat)
    with Page(store) as page:
        visitor = page.enter()
        try_smaller(visitor)
        assert visitor.ask("sessions/run/trials")["trials"]
        chat.erase(secret, "a secret")
        assert visitor.ask("sessions/run/trials")["trials"] == []
        visitor.tell("run", "cancel", status=404, trial=1)
        try_smaller(visitor)
        chat.say("And now?")
        assert len(visitor.ask("sessions/run/trials")["trials"]) == 1


def test_a_page_that_shows_a_request_lets_go_of_what_was_erased() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    secret = tell_a_secret(chat)
    with looking(store, "s/run/request/1") as (_, seen):
        seen.page.locator(".lines").get_by_text(SECRET).wait_for()
        chat.erase(secret, "a secret")
        seen.page.locator(".lines").get_by_text("erased: a secret").first.wait_for()
        assert seen.page.get_by_text(SECRET).count() == 0


def test_the_preview_of_an_erased_call_marks_the_placeholder_of_its_result() -> None:
    store = Memory()
    chat = open_worked(store)
    result = next(row for row in chat.view().rows if row.was is not None and row.was.results)
    call = chat.view().rows[[row.id for row in chat.view().rows].index(result.id) - 1].id
    with Page(store) as page:
        visitor = page.enter()
        dry = visitor.tell("run", "erase", entry=call, reason="a secret", dry_run=True)
        visitor.tell("run", "erase", entry=call, reason="a secret", sentence=dry["sentence"])
        assert {call, result.id} <= set(dry["changed"])
        assert visitor.ask("sessions/run/view")["tokens"] == dry["after"]


def test_a_system_prompt_and_a_note_can_be_erased_here_too() -> None:
    store = Memory()
    with fanfold.open("run", window=9_000, store=store, system="The customer is Jane Roe-SECRET.") as chat:
        chat.say("Hello.")
        note = chat.note("who", "Call Jane Roe-SECRET back.")
        with Page(store) as page:
            visitor = page.enter()
            for entry in ("system", note.id):
                dry = visitor.tell("run", "erase", entry=entry, reason="asked", dry_run=True)
                assert dry["sentence"] == f"erase {entry}"
                done = visitor.tell("run", "erase", entry=entry, reason="asked", sentence=dry["sentence"])
                assert done["erased"] == entry
            for place in ("", "/view"):
                assert "SECRET" not in json.dumps(visitor.ask(f"sessions/run{place}"))


def test_lines_of_an_erased_output_leave_a_search_that_is_open() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/outputs") as (_, seen):
        sight = seen.page
        sight.get_by_role("searchbox").fill("disk 2 ")
        sight.get_by_role("button", name="Search").click()
        sight.get_by_text("1 line found").wait_for()
        row = next(row for row in chat.view().rows if "disk 2 " in str((row.was or row.messages[0]).results))
        chat.erase(row.id, "asked for")
        sight.get_by_text("No line was found.").wait_for()


def test_what_was_erased_meanwhile_is_not_pinned() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    row = chat.view().rows[0].id
    chat.erase(row, "a secret")
    with Page(store) as page:
        assert "nothing left to pin" in page.enter().tell("run", "pin", 400, what=row)["error"]
    assert not chat.view().rows[0].pinned


def test_the_context_of_a_request_is_found_and_erased_here(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "agent.db")
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Hello.")
        chat.request(max_tokens=50)
        chat.add(replied("Hi."))
        chat.say("And?")
        chat.request(max_tokens=50, context="From the files: Jane Roe-SECRET.")
    with Page(store) as page:
        visitor = page.enter()
        (hit,) = visitor.ask("search?words=roe-secret")["hits"]
        assert hit["kind"] == "context"
        found = visitor.ask(f"sessions/run/requests/{hit['entry']}")
        assert (found["number"], found["context"]) == (1, True)
        assert not visitor.ask("sessions/run/requests/0")["context"]
        dry = visitor.tell("run", "erase", entry="request 1", reason="asked", dry_run=True)
        assert dry["sentence"] == "erase request 1"
        visitor.tell("run", "erase", entry="request 1", reason="asked", sentence=dry["sentence"])
        for place in ("", "/view", "/requests", "/requests/1", "/bodies/1", "/next"):
            assert "SECRET" not in json.dumps(visitor.ask(f"sessions/run{place}")), place
        assert not visitor.ask("sessions/run/requests/1")["context"]
        assert visitor.ask("search?words=roe-secret")["hits"] == []
        visitor.ask(f"sessions/run/requests/{hit['entry']}", status=404)


def test_a_click_erases_the_context_of_a_request_that_a_search_found() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    chat.say("Hello.")
    chat.request(max_tokens=50, context="From the files: Jane Roe-SECRET.")
    with looking(store) as (_, seen):
        sight = seen.page
        box = sight.get_by_role("searchbox")
        box.fill("roe-secret")
        box.press("Enter")
        sight.get_by_role("link", name="Look at it in run").click()
        sight.get_by_role("button", name="Erase its context").click()
        sight.get_by_label("Type").fill("erase request 0")
        sight.get_by_role("button", name="Destroy it").click()
        sight.locator(".lines").get_by_text("erased: asked for").wait_for()
        assert sight.get_by_role("button", name="Erase its context").count() == 0
        assert sight.get_by_text("SECRET").count() == 0
