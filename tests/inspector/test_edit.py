"""An edit: each line of a hand-over leads to the messages that it was made from."""

from __future__ import annotations

from fanfold.stores.memory import Memory
from tests.inspector.sights import Keys, looking
from tests.inspector.world import open_handed_over


def test_a_line_of_a_hand_over_leads_to_its_source_by_keyboard() -> None:
    store = Memory()
    chat, edit = open_handed_over(store)
    lines = chat.why(edit).lines
    assert lines
    with looking(store, f"s/run/edit/{edit}") as (_, seen):
        sight = seen.page
        sight.get_by_text("Choose a line to see what it was made from.").wait_for()
        told = sight.locator("button.told")
        assert told.count() == len(lines)
        name = told.last.inner_text()
        Keys(sight).to("button", name).press()
        lit = sight.locator(".source[aria-current=true]")
        lit.first.wait_for()
        assert {one.get_attribute("id") for one in lit.all()} <= {f"from-{id}" for id in lines[-1].entries}
