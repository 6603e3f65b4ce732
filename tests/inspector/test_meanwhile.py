"""What happens between two clicks: a server that starts anew, another tab, an agent that goes on; and strange names."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanfold
from fanfold.inspector.safety import Access
from fanfold.stores.memory import Memory
from tests.browser import opened
from tests.inspector.sights import Keys, looking, see
from tests.inspector.world import TOKEN, Page, open_worked

STRANGE = "invoice\u202excod.exe\x9b31m\x07"
RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
EVERYTHING = """() => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  const told = [document.title, document.body.textContent];
  for (const one of document.querySelectorAll("[title], [aria-label], [alt]"))
    told.push(one.title, one.getAttribute("aria-label"), one.alt);
  return told.filter(Boolean).join(" ");
}"""


def test_a_page_that_its_server_does_not_know_any_more_says_how_to_go_on() -> None:
    store = Memory()
    open_worked(store)
    with Page(store) as page, opened(f"{page.url}/?token={TOKEN}#/s/run/now") as seen:
        seen.page.get_by_text("you can make changes").wait_for()
        seen.settle()
        see(seen.page, hidden=True)
        page.inspector.access = Access({"the token of the next start": ("default",)})
        see(seen.page, hidden=False)
        seen.page.get_by_role("alert").get_by_text("Open the link that it prints.").wait_for()
        seen.page.get_by_text("not connected").wait_for()


def strange_names(store: Memory) -> fanfold.Session:
    """A session in which every name and address has signs that turn what follows, or do nothing one can see."""
    chat = fanfold.open(f"run{STRANGE}", store=store, model="gpt-5.2", window=100_000, system=f"Be {STRANGE}")
    words = {"type": "text", "text": f"Read {STRANGE}"}
    image = {"type": "image_url", "image_url": {"url": f"https://example.invalid/{STRANGE}"}}
    file = {
        "type": "file",
        "file": {"filename": STRANGE, "file_data": "data:application/pdf;base64,JVBERi0x"},
    }
    chat.add({"role": "user", "content": [words, image, file]})
    call = {
        "id": f"c{STRANGE}",
        "type": "function",
        "function": {"name": f"look{STRANGE}", "arguments": "{}"},
    }
    chat.add({"role": "assistant", "content": None, "tool_calls": [call]})
    chat.add({"role": "tool", "tool_call_id": f"c{STRANGE}", "content": f"{STRANGE}\n" * 3_000})
    chat.note(f"n{STRANGE}", STRANGE)
    chat.fold((chat.view().rows[0].id,), f"Folded {STRANGE}")
    chat.request(max_tokens=500)
    return chat


def test_no_sign_that_cannot_be_seen_reaches_any_screen() -> None:
    store = Memory()
    chat = strange_names(store)
    rows = [row.id for row in chat.view().rows]
    first = chat.why(chat.edits()[-1].decision.id).hides[0]
    chat.undo()
    places = ["now", "hidden", "time", "outputs", "outputs/o1", "request/0", "try"]
    places += [f"now/{id}" for id in rows] + [
        f"now/{first}",
        f"message/{first}",
        f"edit/{chat.edits()[-1].decision.id}",
    ]
    with looking(store, "") as (_, seen):
        sight = seen.page
        for place in ("", *places):
            name = "run" + STRANGE
            sight.evaluate(
                "([name, place]) => { location.hash = place ? `#/s/${encodeURIComponent(name)}/${place}` : '#/' }",
                [name, place],
            )
            sight.get_by_role("heading", level=1).first.wait_for()
            seen.settle()
            told = sight.evaluate(EVERYTHING)
            assert RAW.findall(told) == [], (place, told)
            assert "invoice⟨U+202E⟩xcod.exe⟨U+009B⟩31m␇" in told or place == "try", place


def test_who_uses_a_keyboard_goes_on_from_where_the_change_was_made() -> None:
    store = Memory()
    open_worked(store)
    focused = "() => document.activeElement.getAttribute('aria-label') || document.activeElement.tagName"
    with looking(store, "s/run/hidden") as (_, seen):
        sight, keys = seen.page, Keys(seen.page)
        sight.get_by_role("article").first.wait_for()
        names = [one.get_attribute("aria-label") for one in sight.get_by_role("article").all()]
        assert len(names) > 2
        sight.get_by_label(names[1], exact=True).get_by_role("button").focus()
        keys.press().confirm("Bring it back")
        sight.get_by_label(names[1], exact=True).wait_for(state="detached")
        assert sight.evaluate(focused) == names[2]
        keys.to("link", "Now").press()
        sight.get_by_role("button", name="Watch the disk").focus()
        keys.press().to("button", "Pin …").press().confirm("Pin it")
        sight.get_by_role("button", name="Unpin …").wait_for()
        assert sight.evaluate(focused) == "The row"


def test_a_change_that_the_agent_made_impossible_meanwhile_is_made_by_who_insists() -> None:
    store = Memory()
    chat = open_worked(store)
    with looking(store, "s/run/now") as (_, seen):
        sight = seen.page
        sight.get_by_text("Add a note or pin a line").click()
        sight.get_by_label("Name of the note").fill("plan")
        sight.get_by_label("Text", exact=True).fill("look on, " * 1_000)
        sight.get_by_role("button", name="Add the note …").click()
        box = sight.get_by_role("dialog")
        box.get_by_role("listitem").first.wait_for()
        assert box.get_by_role("button", name="Add the note", exact=True).is_enabled()
        chat.note("goal", "listen, " * 3_000)
        box.get_by_role("button", name="Add the note", exact=True).click()
        box.get_by_role("alert").get_by_text("fit").wait_for()
        box.get_by_role("button", name="Add the note anyway").click()
        sight.get_by_text("Added the note plan").wait_for()
        seen.complaints = [one for one in seen.complaints if "400" not in one]


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_what_another_tab_did_is_said_in_words_for_the_page(verb: str) -> None:
    store = Memory()
    chat = open_worked(store)
    edit = next(one.decision for one in chat.edits() if one.kind == "elide")
    if verb == "undo":
        chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "Looked.")
    with Page(store) as page:
        told: Any = page.enter().tell(
            "run", verb, status=409 if verb == "undo" else 400, edit=edit.id, dry_run=True
        )
    assert told["error"].startswith(
        f"e{len(chat.edits())} covers {edit.id} by now." if verb == "undo" else f"{edit.id} was brought"
    )
    assert "`" not in told["error"]
    assert "=" not in told["error"]
