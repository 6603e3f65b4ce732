"""Going back and forward: what a rewind took away is found again, and so is the way to it."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.stores.memory import Memory
from tests.inspector.sights import looking
from tests.inspector.world import Page


def talk(store: Memory, *more: str) -> fanfold.Session:
    """A conversation in a few words."""
    chat = fanfold.open("run", store=store, model="gpt-5.2", on_moved="reapply")
    for words in ("What stands in the cage?", "And beside it?", *more):
        chat.say(words)
    return chat


def words_of(hits: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(hit["text"], hit["elsewhere"]) for hit in hits]


def test_what_a_rewind_took_away_is_found_with_the_way_forward() -> None:
    store = Memory()
    chat = talk(store, "It is the zebra.", "The zebra sleeps.")
    first, zebra, last = (chat.view().rows[at].id for at in (0, 2, 3))
    with Page(store) as page:
        visitor = page.enter()
        assert words_of(visitor.ask("sessions/run/search?words=zebra")) == [
            ("It is the zebra.", False),
            ("The zebra sleeps.", False),
        ]
        visitor.tell("run", "rewind", to=first)
        hits = visitor.ask("sessions/run/search?words=zebra")
        assert words_of(hits) == [("It is the zebra.", True), ("The zebra sleeps.", True)]
        left = visitor.ask("sessions/run/elsewhere")
        assert (left["total"], [one["id"] for one in left["messages"]][:2]) == (3, [last, zebra])
        told = visitor.ask(f"sessions/run/entries/{hits[0]['entry']}")
        assert (told["on_path"], told["forward"]) == (False, last)
        visitor.tell("run", "forward", to=told["forward"])
        assert chat.head == last
        assert visitor.ask("sessions/run/elsewhere")["total"] == 0
        assert visitor.ask(f"sessions/run/entries/{zebra}")["forward"] is None


def test_one_path_is_left_for_another_and_taken_again() -> None:
    store = Memory()
    chat = talk(store, "It is the zebra.")
    first, zebra = chat.view().rows[0].id, chat.view().rows[2].id
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "rewind", to=first)
        fox = chat.say("Is it the fox?").id
        assert visitor.ask("sessions/run")["ahead"] == zebra
        told = visitor.tell("run", "forward", to=zebra, dry_run=True)
        assert told["says"][-1] == (
            "1 message that was said since is left out then. Nothing is lost: you can go back the same way."
        )
        assert (chat.head, chat.preview().before) == (fox, told["before"])
        done = visitor.tell("run", "forward", to=zebra)
        assert (chat.head, chat.preview().before) == (zebra, told["after"])
        assert words_of(visitor.ask("sessions/run/search?words=fox")) == [("Is it the fox?", True)]
        ((verb, fields),) = done["back"]
        visitor.tell("run", verb, **fields)
        assert chat.head == fox


def test_a_step_forward_is_taken_back_and_can_be_made_again() -> None:
    store = Memory()
    chat = talk(store)
    first, last = chat.view().rows[0].id, chat.head
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "rewind", to=first)
        assert visitor.tell("run", "forward")["back"] == [["rewind", {"to": first, "since": last}]]
        visitor.tell("run", "rewind", to=first)
        assert visitor.ask("sessions/run")["ahead"] == last


def test_a_client_that_owns_its_history_is_offered_no_way_forward() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2", labels={"client": "codex"})
    said = [{"role": "user", "content": words} for words in ("Begin.", "The zebra sleeps.", "Go on.")]
    chat.merge(said)
    chat.merge(said[:1])
    with Page(store) as page:
        visitor = page.enter()
        hit = visitor.ask("sessions/run/search?words=zebra")[0]
        assert hit["elsewhere"]
        assert visitor.ask(f"sessions/run/entries/{hit['entry']}")["forward"] is None


def test_an_erased_message_of_another_path_is_not_found() -> None:
    store = Memory()
    chat = talk(store, "It is the zebra.")
    first, zebra = chat.view().rows[0].id, chat.view().rows[2].id
    chat.rewind(first)
    chat.erase(zebra, "asked for")
    with Page(store) as page:
        visitor = page.enter()
        assert visitor.ask("sessions/run/search?words=zebra") == []
        assert [one["text"] for one in visitor.ask("sessions/run/elsewhere")["messages"]] == [
            "And beside it?"
        ]


def test_somebody_searches_what_was_taken_back_goes_forward_to_it_and_undoes_that() -> None:
    store = Memory()
    chat = talk(store, "It is the zebra.")
    first, last = chat.view().rows[0].id, chat.head
    chat.rewind(first)
    with looking(store, "s/run/now") as (_, seen):
        sight = seen.page
        sight.get_by_role("searchbox").fill("zebra")
        sight.keyboard.press("Enter")
        sight.get_by_text("on another path").wait_for()
        sight.get_by_role("link", name="See why").click()
        sight.get_by_role("heading", name="This message is on another path").wait_for()
        sight.get_by_role("button", name="Go forward to it …").click()
        sight.get_by_role("dialog").get_by_role("button", name="Go forward", exact=True).click()
        sight.get_by_role("heading", name="The model sees this message").wait_for()
        assert chat.head == last
        sight.get_by_role("button", name="Undo", exact=True).click()
        sight.get_by_role("heading", name="This message is on another path").wait_for()
        assert chat.head == first
        sight.get_by_role("link", name="not shown").click()
        sight.get_by_role("heading", name="On another path: 2 messages").wait_for()
        sight.get_by_text("See them").click()
        sight.get_by_role("link", name="It is the zebra.").wait_for()
        sight.get_by_role("button", name="Go forward again …").click()
        sight.get_by_role("dialog").get_by_role("button", name="Go forward", exact=True).click()
        sight.get_by_role("heading", name="On another path").wait_for(state="detached")
        assert chat.head == last


def test_a_note_that_is_removed_says_which_older_one_comes_back() -> None:
    store = Memory()
    chat = talk(store)
    chat.note("plan", "Feed the zebra.")
    with Page(store) as page:
        visitor = page.enter()
        added = visitor.tell("run", "note", name="plan", text="Feed the fox.")
        assert added["says"][-1] == (
            "It takes the place of “Feed the zebra.”, which leaves the window when it is next reduced."
        )
        chat.fold(chat.view().rows[0].covers, "Asked.")  # as a reduction does
        (note,) = visitor.ask("sessions/run")["notes"]
        told = visitor.tell("run", "undo", edit=note["id"], dry_run=True)
        assert told["says"][-1] == (
            "The older note “Feed the zebra.” comes back then. If it has to go too, remove it afterwards."
        )
        visitor.tell("run", "undo", edit=note["id"])
        (older,) = visitor.ask("sessions/run")["notes"]
        assert older["text"] == "Feed the zebra."
        assert len(visitor.tell("run", "undo", edit=older["id"], dry_run=True)["says"]) < len(told["says"])


def test_only_messages_that_leave_the_path_are_counted_and_summaries_that_open_are_told() -> None:
    store = Memory()
    chat = talk(store, *(f"Question {n}. " * 20 for n in range(6)))
    rows = [row.id for row in chat.view().rows]
    chat.rewind(rows[5])
    chat.say("Is it the fox?")
    chat.fold(tuple(rows[1:4]), "Asked.")
    with Page(store) as page:
        visitor = page.enter()
        shown = "A summary was made only later: what it hides is shown again there."
        for verb, to, left in (
            ("forward", rows[-1], "1 message that was said since"),
            ("rewind", rows[5], "The message"),
        ):
            says = visitor.tell("run", verb, to=to, dry_run=True)["says"]
            assert [line.startswith(left) for line in says].count(True) == 1, says
            assert says[-1] == shown
        visitor.tell("run", "rewind", to=rows[5])
        assert len(chat.view().rows) == 6
