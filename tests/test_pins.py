"""Pinned lines stand in every later view, whatever hides the place they stood in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, long, opened, says, tell
from fanfold import Elide, NotFound, Pin, Undo
from fanfold.core.message import Call, text_of, user
from fanfold.session.record import append
from fanfold.testing import called, replied, returned, said

LONG = '{"cmd": "rm -rf x", "why": "%s", "say": "She said \\"hi\\" \\\\o/ and left."}' % ("word " * 200)
LINES = [
    '"cmd": "rm -rf x"',
    'She said "hi" \\o/ and left.',
    'said \\"hi\\" \\\\o/',
    "rm -rf x",
    'run({"cmd"',
]


def elides_calls(view: Any, budget: Any) -> Iterator[Elide]:
    for row in view.rows:
        if row.calls:
            yield Elide(f"{row.id}#0", "[gone]")


def talking(**options: Any) -> fanfold.Session:
    """A session with a call whose arguments are long."""
    chat = fanfold.open("run", window=9_000, fallback=(), **options)
    told = [replied(None, called("c1", "run", LONG)), returned("c1", "out"), replied("Done.")]
    chat.merge([said("Go."), *told, said("And now?")])
    return chat


def shown(chat: fanfold.Session) -> str:
    return "\n".join(text_of(message, unescaped=True) for message in chat.view().messages)


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_a_call_stands_for_whoever_reads_the_arguments_when_the_call_is_elided(line: str) -> None:
    chat = talking(strategy=elides_calls)
    chat.pin(line)
    assert chat.compact(force=True).status == "reduced"
    (call,) = chat.view().rows[1].messages[0].calls
    assert line in call.args["_elided"] or line in call.raw
    assert "word word" not in call.raw


@pytest.mark.parametrize("line", LINES)
def test_it_stands_verbatim_in_the_text_when_the_elided_call_is_folded(line: str) -> None:
    chat = talking(strategy=elides_calls)
    chat.pin(line)
    chat.compact(force=True)
    fold = chat.fold(tuple(row.id for row in chat.view().rows[:4]), "All of it.")
    row = chat.view().row(fold.id)
    assert row is not None
    assert line in row.messages[0].text


def test_what_stands_nowhere_in_a_call_is_not_pinned() -> None:
    with pytest.raises(NotFound, match="stands nowhere in the view"):
        talking().pin('She said "ho"')


def test_half_a_pair_of_surrogates_in_what_stands_for_a_call_is_neither_lost_nor_an_error() -> None:
    chat = talking(strategy=lambda view, budget: [Elide(f"{view.rows[1].id}#0", "gone \ud83d")])
    assert chat.compact(force=True).status == "reduced"
    (call,) = chat.view().rows[1].messages[0].calls
    assert call.args == {"_elided": "gone \ud83d"}
    sent = chat.request()["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert sent == '{"_elided":"gone \ufffd"}'


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "openai.responses"])
def test_such_a_call_is_sent_in_every_dialect(dialect: str) -> None:
    chat = talking(strategy=lambda view, budget: [Elide(f"{view.rows[1].id}#0", "gone \ud83d")])
    chat.compact(force=True)
    assert "gone \ufffd" in repr(chat.fork("other", dialect=dialect).request(max_tokens=90))


def test_an_entry_with_a_call_is_erased_for_whatever_reason() -> None:
    chat = talking()
    entry = chat.view().rows[1].id
    chat.erase(entry, "half \ud800 pair")
    assert chat._state.log.tree[entry].message.calls == (
        Call("c1", "run", '{"_elided":"[erased: half \ud800 pair]"}'),
    )
    assert "rm -rf" not in repr(chat._state.log.records) + repr(chat.request())


def test_a_pinned_value_of_a_call_is_erased_with_the_call() -> None:
    chat = talking()
    chat.pin('Done.\nShe said "hi" \\o/ and left.')
    chat.erase(chat.view().rows[1].id, "asked")
    assert chat.view().pinned_texts == ("Done.",)
    assert "She said" not in repr(chat._state.log.records)


def test_what_is_pinned_twice_is_pinned_once() -> None:
    chat = talking()
    entry = chat.view().rows[0].id
    for what in ("Done.", entry):
        assert chat.pin(what) == chat.pin(what)
        chat.unpin(what)
    assert chat.view().pinned_texts == ()
    assert not any(row.pinned for row in chat.view().rows)


def test_two_pins_of_the_same_are_let_go_together() -> None:
    chat = talking()
    for _ in range(2):
        chat._do(lambda state: state.decide(Pin(text="Done."), why="pin"))
    chat.unpin("Done.")
    assert chat.view().pinned_texts == ()


def test_folds_stand_when_a_pin_is_let_go_after_the_session_was_opened_again(tmp_path: Path) -> None:
    """(19.3) Fold, pin, close, reopen, unpin: every fold was gone, for it was shown from half a log."""
    options: dict[str, Any] = {"window": 9_000, "store": f"sqlite:{tmp_path}/a.db", "meter": "characters/4"}
    with fanfold.open("run", **options) as chat:
        chat.merge([said("Go. " * 50), replied("Yes. " * 50), said("Go on."), replied("Done.")])
        chat.fold(tuple(row.id for row in chat.view().rows[:2]), "They began.")
        folded = chat.view().tokens
        chat.pin("Go on.")
    with fanfold.open("run", **options) as chat:
        chat.unpin("Go on.")
        assert chat.view().tokens == folded
        assert [row.kind for row in chat.view().rows] == ["fold", "entry", "entry"]
        assert chat.stats()["edits"] == 1


def test_a_pin_is_let_go_in_the_middle_of_other_work_on_a_session_that_was_opened_again(
    tmp_path: Path,
) -> None:
    """(19.3) What was recorded in the same unit of work stays when everything before it is read."""
    options: dict[str, Any] = {"window": 9_000, "store": f"sqlite:{tmp_path}/a.db"}
    with fanfold.open("run", **options) as chat:
        chat.merge([said("Go. " * 50), replied("Yes. " * 50), said("Go on."), replied("Done.")])
        chat.fold(tuple(row.id for row in chat.view().rows[:2]), "They began.")
        pin = chat.pin("Go on.")

    def work(state: Any) -> None:
        append(state, user("One more thing."))
        state.decide(Undo(pin.id), why="unpin")

    with fanfold.open("run", **options) as chat:
        chat._do(work)
        texts = [message.text for message in chat.view().messages]
        assert texts == ["They began.", "Go on.", "Done.", "One more thing."]
    with fanfold.open("run", **options) as chat:
        assert [message.text for message in chat.view().messages] == texts


def test_a_pinned_text_is_marked_in_the_view_counted_and_listed() -> None:
    chat = fanfold.open("a", window=9_000)
    chat.say("Never delete anything. " + "Be nice to everybody. " * 30)
    entry = chat.say("Go on.")
    made = chat.pin("Never delete anything.")
    marked, plain = str(chat.view()).splitlines()[1:]
    assert marked.lstrip().startswith("▸")
    assert marked.endswith("pinned text")
    assert "pinned" not in plain
    assert 3 <= chat.pressure().pinned <= 8
    assert chat.stats()["pinned"] == chat.pressure().pinned
    assert chat.pins() == {made.id: Pin(text="Never delete anything.")}
    chat.pin(entry.id)
    assert [pin.entry for pin in chat.pins().values()] == [None, entry.id]
    chat.unpin("Never delete anything.")
    assert [pin.entry for pin in chat.pins().values()] == [entry.id]


def test_no_token_counts_twice_where_a_text_is_pinned() -> None:
    chat = fanfold.open("a", window=9_000)
    chat.say("Never delete anything.")
    chat.pin("Never delete anything.")
    pressure = chat.pressure()
    assert pressure.fresh == 0
    assert pressure.pinned + pressure.rest == pressure.tokens


def test_that_a_pinned_message_is_shortened_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    chat = fanfold.open("run", window=9_000, strategy=elides_calls)
    chat.merge(
        [said("Go."), replied(None, called("c1", "run", LONG)), returned("c1", "out"), replied("Done.")]
    )
    chat.compact(force=True)
    row = chat.view().rows[1]
    chat.pin(row.id)
    assert f"{row.id[:8]} is shortened by e1, and pinned as the model sees it" in caplog.text


def test_a_pinned_line_of_a_note_that_leaves_is_put_into_what_an_output_becomes() -> None:
    """An older note leaves with the first edit before it, so what it says would be gone with it."""
    chat = opened(
        9_000, strategy=lambda view, budget: [Elide(f"{view.rows[2].id}#0", "[shorter]")], filters=()
    )
    tell(chat, asks("Go."), calls("c1"), gives("c1", long("Output.", 400)), says("Seen."))
    chat.note("state", "Never touch main.")
    chat.pin("Never touch main.")
    tell(chat, says("Noted."))
    chat.note("state", "All is well.")
    tell(chat, says("Noted."), asks("Go on."))
    assert chat.compact(force=True).status == "reduced"
    assert "[shorter]" in shown(chat)
    assert "Never touch main." in shown(chat)
