"""The view: what the model will see, in rows, blocks, turns, and on paper."""

from __future__ import annotations

from typing import Any

import pytest

from builders import asks, calls, gives, golden, long, opened, says, tell
from fanfold import Budget, Drop, Elide, Image, View
from fanfold.core.plan import Plan


def shapes(view: View) -> list[int]:
    """How many rows each block has."""
    return [len(block.rows) for block in view.blocks]


def test_every_entry_has_its_row() -> None:
    chat = opened()
    ids = tell(chat, asks("one"), says("two"), asks("three"))
    assert [row.id for row in chat.view().rows] == ids
    assert all(row.covers == (row.id,) for row in chat.view().rows)


def test_the_tokens_of_a_view_are_those_of_its_rows_and_its_frame() -> None:
    chat = opened(system=long("Rules.", 7))
    tell(chat, asks(long("one", 10)), says(long("two", 20)))
    view = chat.view()
    assert ([row.tokens for row in view.rows], view.frame.tokens, view.tokens) == ([10, 20], 7, 37)


def test_a_call_and_its_result_are_one_block() -> None:
    chat = opened()
    tell(chat, asks("go"), calls("a"), gives("a", "done"), says("fine"))
    assert shapes(chat.view()) == [1, 2, 1]


def test_parallel_calls_and_all_their_results_are_one_block() -> None:
    chat = opened()
    tell(chat, asks("go"), calls("a", "b"), gives("b", "2"), gives("a", "1"), calls("c"), gives("c", "3"))
    assert shapes(chat.view()) == [1, 3, 2]


def test_results_go_before_notes_made_while_their_call_was_open() -> None:
    chat = opened()
    go, both = tell(chat, asks("go"), calls("a", "b"))
    notes = [chat.note("state", "red").id]
    (first,) = tell(chat, gives("b", "2"))
    notes += [chat.note("phase", "waiting").id]
    (last,) = tell(chat, gives("a", "1"))
    assert [row.id for row in chat.view().rows] == [go, both, first, last, *notes]


@pytest.mark.parametrize(
    "before",
    [
        [calls("a"), gives("a", "1")],
        [calls("b"), asks("wait")],
        [calls("b"), gives("b", "2"), calls("a")],
        [],
    ],
    ids=["another call was answered", "somebody spoke since", "another call was made since", "nobody called"],
)
def test_results_of_no_call_right_before_the_notes_stay_behind_them(before: list[dict[str, Any]]) -> None:
    chat = opened()
    chat.merge([asks("go"), *before])
    chat.note("state", "red")
    chat.merge([asks("go"), *before, gives("b", "late")])
    assert [row.kind for row in chat.view().rows[-2:]] == ["note", "entry"]


def test_a_thought_is_one_block_with_what_the_model_said_behind_it_and_not_with_a_request() -> None:
    chat = opened()
    thought = {"role": "assistant", "content": "", "reasoning_content": "Hm."}
    tell(chat, asks("go"), thought, calls("a"), gives("a", "1"), thought, asks("again"), says("fine"))
    assert shapes(chat.view()) == [1, 3, 1, 1, 1]


def test_a_block_is_open_until_every_call_is_answered() -> None:
    chat = opened()
    tell(chat, calls("a", "b"), gives("a", "1"))
    assert [block.open for block in chat.view().blocks] == [True]
    tell(chat, gives("b", "2"))
    assert [block.open for block in chat.view().blocks] == [False]


def test_a_row_that_answers_its_own_call_is_bound_to_no_earlier_call_of_that_id() -> None:
    chat = opened()
    tell(chat, asks("go"), calls("a"), gives("a", "1"), says("well"), asks("again"))
    late = tell(chat, calls("a"))
    chat.say("go on")
    chat.request()
    repaired = chat.view().row(chat.why(late[0]).shown_by or "")
    assert repaired is not None
    assert (repaired.calls, repaired.results) == (("a",), ("a",))
    assert shapes(chat.view()) == [1, 2, 1, 1, 1, 1]


def test_a_turn_is_from_one_request_to_the_next() -> None:
    chat = opened()
    tell(chat, says("hello"), asks("one"), calls("a"), gives("a", "1"), asks("two"), says("fine"))
    assert [len(turn.rows) for turn in chat.view().turns] == [1, 3, 2]


def test_the_loop_is_all_since_the_last_request() -> None:
    chat = opened()
    tell(chat, asks("one"), says("fine"), asks("two"), calls("a"), gives("a", "1"))
    view = chat.view()
    assert [row.role for row in view.loop.rows] == ["assistant", "tool"]
    assert view.request is view.rows[2]


def test_rows_are_fresh_until_a_reply_follows() -> None:
    chat = opened()
    ids = tell(chat, asks("one"), calls("a"), gives("a", "1"))
    assert chat.view().fresh == {ids[2]}
    tell(chat, says("seen"))
    assert chat.view().fresh == frozenset()


def test_a_person_s_first_words_are_fresh() -> None:
    chat = opened()
    ids = tell(chat, asks("one"))
    assert chat.view().fresh == set(ids)


def test_not_on_offer_are_pins_notes_the_last_request_and_what_is_fresh_or_open() -> None:
    chat = opened()
    ids = tell(chat, asks("keep"), says("fine"), asks("old"), says("yes"), asks("last"), calls("a"))
    chat.pin(ids[0])
    chat.note("state", "busy")
    view = chat.view()
    assert [block.covers for block in view.offered] == [(ids[1],), (ids[2],), (ids[3],)]
    reasons = {block.rows[0].id: view.protects(block) for block in view.blocks}
    assert reasons[ids[0]] == "it is pinned"
    assert reasons[ids[4]] == "it is the last request"
    assert reasons[ids[5]] == "a call in it has no answer yet"


def test_the_oldest_are_as_many_blocks_as_must_go() -> None:
    chat = opened()
    ids = tell(chat, *(body(long("word", 10)) for body in (asks, says) * 3))
    assert chat.view().oldest(leaving=60).covers == ()
    assert chat.view().oldest(leaving=59).covers == (ids[0],)
    assert chat.view().oldest(leaving=40).covers == (ids[0], ids[1])
    assert chat.view().oldest(leaving=40, but=[chat.view().rows[0]]).covers == (ids[1], ids[2])


def test_the_newest_are_as_many_blocks_as_fit() -> None:
    chat = opened()
    ids = tell(chat, *(asks(long("word", 10)) for _ in range(4)))
    assert chat.view().newest(25).covers == (ids[2], ids[3])
    assert chat.view().newest(9).covers == ()


def test_a_view_can_be_asked_for_a_row_by_its_id() -> None:
    chat = opened()
    ids = tell(chat, asks("one"), says("two"))
    row = chat.view().row(ids[1])
    assert row is not None
    assert row.role == "assistant"
    assert chat.view().row("e1") is None


def test_the_figures_of_a_view_tell_kinds_apart() -> None:
    chat = opened(system=long("Rules.", 5))
    ids = tell(chat, asks(long("one", 10)), says(long("two", 10)), asks(long("three", 10)))
    chat.pin(ids[2])
    chat.fold((ids[0], ids[1]), long("both", 6))
    chat.note("n", "x" * 18)
    stats = chat.view().stats
    assert (stats["rows"], stats["entries"], stats["frame"]) == (3, 3, 5)
    assert (stats["fold"], stats["pinned"], stats["note"]) == (6, 10, 7)


def test_what_a_plain_conversation_prints() -> None:
    chat = opened(name="run-42", system="You fix bugs.")
    tell(
        chat,
        asks(
            "Fix the failing test in parser.py, and tell me afterwards what exactly was the matter with it."
        ),
        calls("c12", text="I'll grep for the callers.", name="grep"),
        gives("c12", "parser.py:12: def parse\nparser.py:90: parse()"),
        says("Fixed."),
    )
    golden("plain", str(chat.view()))


def test_what_every_kind_of_row_prints() -> None:
    def both(view: View, budget: Budget) -> Plan:
        output = next(row for row in view.rows if row.results)
        yield Elide(f"{output.id}#0", "[output trimmed]")
        yield Drop((view.rows[1].id,))

    chat = opened(None, name="kinds", strategy=both, budget=Budget(window=1_000, target=0.01, gain=0))
    ids = tell(
        chat,
        asks("Keep this in mind."),
        says(long("A long story.", 90)),
        asks("Go on."),
        calls("a", "b", text=long("I look at both files at once, and then decide what to do.", 30)),
        gives("a", long("left", 200)),
        gives("b", "right"),
        says(""),
        asks("Fine."),
    )
    chat.pin(ids[0])
    assert chat.compact().status == "reduced"
    chat.say("Look:", Image(url="a.png"))
    chat.note("phase", "looking")
    golden("kinds", str(chat.view()))


def test_what_a_fold_of_folds_prints() -> None:
    chat = opened(name="folds")
    ids = tell(chat, *(asks(long(f"message {n}", 20)) for n in range(6)))
    chat.fold((ids[0], ids[1]), "the first two")
    chat.fold(("e1", ids[2]), "the first three")
    golden("folds", str(chat.view()))


def test_what_an_empty_view_prints() -> None:
    golden("empty", str(opened(name="empty").view()))


def test_texts_that_are_no_text_can_be_printed() -> None:
    chat = opened(name="odd")
    tell(chat, asks("\ud800 alone"), says("tab\tand\nnewline"), asks("漢字 😀"))
    golden("odd", str(chat.view()))
