"""How `why` says to programmers what hides or shortens an entry, and how it comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import fanfold
from fanfold import Budget, Elide, View
from fanfold.testing import called, replied, response, returned, said


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


def brought_back() -> tuple[fanfold.Session, str, str]:
    """A session in which a person brought one output back, what hid it, and what hides the others since then."""
    chat = fanfold.open("run", model="gpt-5.2", window=4_000, clock=lambda: 1_700_000_000.0)
    chat.say("Begin.")
    for step in range(12):
        counted = chat.request(max_tokens=300).sent.tokens
        found = f"I found that needle-{step} is bent, because the disk hums at night."
        chat.receive(response(replied(found, called(f"c{step}", "look", "{}")), prompt=counted))
        rows = "\n".join(f"row {n} of file {step}: the disk hums" for n in range(50))
        chat.answer(f"c{step}", rows)
    hidden = [chat.why(f"o{n}") for n in range(1, 8)]
    entry = next(one.entry for one in hidden if one.shown_by)
    before = chat.why(entry).shown_by or ""
    made = chat.undo(entry)
    return chat, entry, f"{before} {made[-1].id}"


def test_a_fold_that_a_persons_undo_made_again_says_so() -> None:
    chat, entry, names = brought_back()
    before, again = names.split()
    told = chat.why(again)
    assert told.causes[0].startswith(f"made again in the words of {before}, without ")
    assert entry[:8] in told.causes[0]
    assert told.causes[0].endswith(": a person brought that back")
    assert f"again, in the words of {before}, " in str(told)
    assert "made for request" not in str(told)
    assert [one.again for one in chat.edits() if one.decision.id == again] == [before]
    assert all(line.entries or ", from " not in str(line) for line in told.lines)
    other = next(one for one in told.hides if one != entry)
    assert f"made again in the words of {before}" in str(chat.why(other))


def test_the_words_of_a_message_that_came_back_and_was_erased_are_nowhere() -> None:
    chat, entry, names = brought_back()
    again = names.split()[1]
    entry = str(chat._state.log.tree[entry].parent)
    needle = re.findall(r"needle-\d+", str(chat._state.log.tree[entry].message))[0]
    assert needle in str(chat._state.log.decisions[again])
    assert chat.preview("erase", entry, "a secret").after < chat.view().tokens
    chat.erase(entry, "a secret")
    assert needle not in str(chat._state.log.decisions[again])
    assert needle not in str((chat._state.log.records, chat._state.log.tree.entries, chat.request()))


def test_an_edit_that_no_request_was_sent_with_says_why_it_was_made() -> None:
    with fanfold.open("run", model="gpt-5.2", window=4_000, strategy=elides_twice) as chat:
        for n in range(40):
            chat.say(f"Point {n}: " + "we talk of the disk. " * 20)
            chat.add(replied("It hums. " * 10))
        chat.compact(force=True)
        cause = chat.why("e1").causes[0]
    assert re.match(r"made because the view had [\d,]+ tokens, above the trigger of [\d,]+", cause)
    assert cause.endswith("; no request was sent with it yet")


def test_an_erased_message_is_said_to_be_erased_and_offers_no_way_back() -> None:
    chat, _, _ = brought_back()
    entry = next(one.entry for n in range(1, 9) if (one := chat.why(f"o{n}")).shown_by)
    chat.erase(entry, "asked to forget")
    told = chat.why(entry)
    assert (told.erased, told.erased_at, told.way_back, told.undos) == (
        "asked to forget",
        1_700_000_000.0,
        (),
        (),
    )
    head, line, *rest = str(told).splitlines()
    assert head.startswith(f"{entry[:8]} is erased")
    assert line == "  erased (asked to forget): its content is destroyed, and nothing brings it back"
    assert not any("To bring it back" in one for one in rest)


def test_an_edit_made_after_a_pause_names_it_as_the_cause() -> None:
    now = [1_000.0]
    with fanfold.open("run", model="gpt-5.2", window=32_000, clock=lambda: now[0]) as chat:
        chat.say("Begin.")
        for step in range(14):
            chat.add(replied("I look.", called(f"c{step}", "look", "{}")))
            chat.answer(f"c{step}", "\n".join(f"row {n} of file {step}: it hums" for n in range(90)))
            chat.request(max_tokens=300)
        assert not chat.edits()
        now[0] += 3_600
        chat.say("Go on.")
        told = chat.preview(None)
        assert (told.due, told.because) == (True, "cold")
        assert told.after < told.trigger
        chat.request(max_tokens=300)
        cause = next(one for one in chat.why(chat.edits()[-1].decision.id).causes if one)
    assert "because after 60 minutes without a request the provider no longer kept the prompt" in cause
