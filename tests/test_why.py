"""How `why` says to programmers what hides or shortens an entry, and how it comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fanfold
from fanfold import Budget, Elide, View
from fanfold.testing import called, replied, returned, said


def elides_twice(view: View, budget: Budget) -> Iterator[Elide]:
    """Both calls of a message, one after another."""
    for part in (0, 1):
        yield Elide(f"{view.rows[1].id}#{part}", f"[gone {part}]")


def test_several_edits_that_shorten_an_entry_are_all_named_and_undone() -> None:
    chat = fanfold.open("run", window=9_000, strategy=elides_twice, fallback=())
    long = '{"words": "%s"}' % ("word " * 300)
    told = [replied(None, called("c1", "run", long), called("c2", "run", long))]
    chat.merge([said("Go."), *told, returned("c1", "out"), returned("c2", "out"), replied("Done.")])
    entry = chat.view().rows[1].id
    assert chat.compact(force=True).status == "reduced"
    found = chat.why(entry)
    head, *_, back = str(found).splitlines()
    assert head == f'{entry[:8]} is in view, but shortened by e1, e2: the model sees "[gone 0] [gone 1]"'
    assert back == f'To bring it back: chat.undo("{entry[:8]}")'
    assert repr(found) == f"<Why {entry[:8]} is in view, but shortened by e1, e2>"
    for id, through in found.way_back:
        chat.undo(id, through=through)
    assert chat.why(entry).way_back == ()
    assert str(chat.why(entry)).startswith(f"{entry[:8]} is in view\n")


def test_the_figures_of_an_edit_stay_as_they_were_when_it_was_made() -> None:
    chat = fanfold.open("run", model="claude-sonnet-4-5", window=9_000, strategy=elides_twice, fallback=())
    long = {"words": "word " * 300}
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "run", "input": long} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "out"} for n in (1, 2)]
    chat.merge([said("Go."), {"role": "assistant", "content": calls}, {"role": "user", "content": results}])
    tokens = chat.request(max_tokens=100).sent.tokens

    def reply(prompt: int) -> dict[str, object]:
        usage = {"input_tokens": prompt, "output_tokens": 5}
        told = [{"type": "text", "text": "Done."}]
        return {
            "type": "message",
            "role": "assistant",
            "content": told,
            "stop_reason": "end_turn",
            "usage": usage,
        }

    chat.receive(reply(tokens))
    chat.compact(force=True)
    before = [(edit.before, edit.after) for edit in chat.why("e1").edits]
    listed = [one.decision.before for one in chat.edits()]
    for factor in (1.3, 1.25):
        chat.say("And now?")
        chat.receive(reply(round(chat.request(max_tokens=100).sent.tokens * factor)))
    assert [(edit.before, edit.after) for edit in chat.why("e1").edits] == before
    assert [one.decision.before for one in chat.edits()] == listed


def test_why_says_above_which_size_an_output_is_shown_in_part() -> None:
    with fanfold.open("run", window=8_000, recall=True) as chat:
        chat.say("Read it.")
        chat.add(replied(None, called("c1", "run", "{}")))
        kept = chat.answer("c1", "a line of some words\n" * 1_000)
        told = str(chat.why(kept.id))
    assert "an output above 5,760 bytes is shown in part in this window" in told


def test_an_edit_cannot_be_pinned_and_that_is_said() -> None:
    with fanfold.open("run", window=8_000) as chat:
        chat.note("state", "open")
        with pytest.raises(
            fanfold.NotFound, match="e1 is an edit; pin a message by its id, or a line of text"
        ):
            chat.pin("e1")
