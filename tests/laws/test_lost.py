"""lost: after any operation but erase, every entry and output comes back byte-identical."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
import fanfold.testing
from fanfold.core.message import text_of
from fanfold.strategies import extract
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import broken_conversations, conversations
from laws import holds
from laws.world import occurred


@given(conversations())
def test_a_transcript_comes_back_word_for_word(bodies: list[Any]) -> None:
    with fanfold.open("run", window=500) as chat:
        chat.merge(bodies)
        chat.compact(force=True)
        log = holds.log_of(chat)
        assert [log.tree[id].message.wire.body for id in holds.path_of(chat)] == bodies


@given(broken_conversations())
def test_a_broken_transcript_comes_back_word_for_word(bodies: list[Any]) -> None:
    with fanfold.open("run", window=100_000) as chat:
        chat.merge(bodies)
        chat.request()
        log = holds.log_of(chat)
        assert [log.tree[id].message.wire.body for id in holds.path_of(chat)] == bodies


def test_replies_that_differ_only_in_thinking_are_two_entries() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.say("Why?")
        one = chat.add(replied("Because.", reasoning_content="Hm."))
        chat.rewind(0)
        two = chat.add(replied("Because.", reasoning_content="Let me see."))
        assert one.id != two.id
        assert one.echo == two.echo
        assert holds.log_of(chat).tree[one.id].message.parts[0].text == "Hm."


def test_an_output_that_was_clipped_is_still_whole_in_the_log() -> None:
    output = "line of words\n" * 5_000
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1")), returned("c1", output)])
        request = chat.request()
        assert len(request["messages"][-1]["content"]) < len(output)
        assert holds.log_of(chat).tree[chat.head].message.results[0].text == output


def _shown(chat: fanfold.Session) -> list[str]:
    return [text_of(message) for message in chat.view().messages]


def test_gc_takes_nothing_that_a_rewound_head_shows() -> None:
    """(19.2) The head was no end of a branch, so nobody looked at what it shows."""
    with fanfold.open("run", window=20_000) as chat:
        listed = [said("List."), replied(None, called("c1")), returned("c1", "a valuable line\n" * 300)]
        chat.merge([*listed, replied("Seen."), said("Next.")])
        chat.fold(tuple(row.id for row in chat.view().rows[:4]), "Listed.")
        chat.rewind(3)
        before = _shown(chat)
        assert chat.gc(hidden=True).hidden == ()
        assert chat.gc(delete=True, hidden=True).hidden == ()
        assert _shown(chat) == before


@given(conversations(), st.lists(st.integers(0, 40), min_size=1, max_size=3))
def test_gc_takes_nothing_that_is_in_view(bodies: list[Any], places: list[int]) -> None:
    """(19.2) Wherever a session went back to, and forward again from there: what its head shows is not hidden."""
    kept, cleared = (fanfold.open("run", window=500) for _ in range(2))
    for chat in (kept, cleared):
        chat.merge(bodies)
        chat.compact(force=True)
        for place in places:
            chat.rewind(place % max(1, len(holds.path_of(chat))))
    for _ in range(len(places) + 1):
        cleared.gc(delete=True, hidden=True)
        assert _shown(cleared) == _shown(kept)
        if not holds.log_of(kept).behind:
            break
        for chat in (kept, cleared):
            chat.forward()


@given(conversations(), conversations())
def test_gc_takes_nothing_that_an_undo_brings_back(mine: list[Any], theirs: list[Any]) -> None:
    """(19.2) `delete` alone changes nothing that was recorded; with `hidden` only what it names, of this session."""
    store = fanfold.Memory()
    chat, other = (fanfold.open(name, window=500, store=store) for name in ("run", "other"))
    for session, bodies in ((chat, mine), (other, theirs)):
        session.merge(bodies)
        session.compact(force=True)
    before = dict(holds.log_of(chat).tree.entries)
    chat.gc(delete=True)
    assert holds.log_of(chat).tree.entries == before
    found = chat.gc(delete=True, hidden=True)
    gone = {id for id, entry in holds.log_of(chat).tree.entries.items() if entry != before[id]}
    occurred("gc deleted an output", bool(gone))
    assert gone == {output.entry for output in found.hidden}
    assert gone.isdisjoint(holds.path_of(other))


def summarizes(view: Any, budget: Any) -> Any:
    old = view.oldest(leaving=budget.goal)
    text = yield from fanfold.ask(old.messages, "Sum up.")
    yield fanfold.Fold(old.covers, text)


@pytest.mark.parametrize("makes", [summarizes, extract()], ids=["summaries", "notes"])
def test_what_erase_destroys_is_nowhere_left(makes: Any) -> None:
    secret = "hunter2"
    store = fanfold.Memory()
    model = fanfold.testing.FakeModel(f'{{"goal": "They said {secret}."}}')
    with fanfold.open("run", window=900, store=store, strategy=makes, summarizer=model) as chat:
        entry = chat.say(f"The password is {secret}.")
        for n in range(12):
            chat.add(replied(f"Step {n}. " + "words " * 20))
            chat.say(f"Go on with {n}.")
        other = chat.fork("other")
        chat.compact(force=True)
        other.compact(force=True)
        assert secret in str(holds.log_of(chat).decisions)
        other.rewind(0)
        chat.erase(entry.id, "asked for")
        for session in (chat, other):
            assert secret not in str(holds.log_of(session).records)
            assert secret not in str(session.view().messages)
            assert secret not in str(store.load("default", session.name).records)
        assert secret not in str(holds.log_of(chat).tree.entries)
