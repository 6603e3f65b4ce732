"""undo: undoing an edit gives the messages before it; undoing the undo gives the edit back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fanfold
from fanfold import BadEdit, Budget, Covered, Drop, Elide, NotFound, Undo
from fanfold.testing import called, replied, returned, said, talk
from fanfold.testing.generators import conversations
from laws import holds
from laws.hostile import elides_everything, folds_in_pieces, keeps_some, summarizes
from laws.world import World, happened

REDUCING = st.sampled_from((None, summarizes, keeps_some, folds_in_pieces, elides_everything))


@given(conversations(), REDUCING)
def test_undoing_a_whole_reduction_gives_every_message_back(bodies: list[Any], strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=900))
    world.merge(bodies)
    before = world.chat.view().messages
    decisions = world.chat.compact(force=True).decisions
    after = world.chat.view().messages
    for decision in reversed(decisions):
        world.chat.undo(decision.id)
        world.check()
    assert world.chat.view().messages == before
    for decision in decisions:
        world.chat.redo(decision.id)
    assert world.chat.view().messages == after


@given(conversations(), REDUCING, st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=6))
def test_any_edit_can_be_undone_and_the_rest_stands(bodies: list[Any], strategy: Any, picks: Any) -> None:
    world = World(strategy, budget=Budget(window=900))
    world.merge(bodies)
    world.compact(force=True)
    for pick, through in picks:
        world.undo(pick, through=through)
        world.check()


def test_an_edit_under_a_cover_is_undone_only_through_it() -> None:
    world = World(folds_in_pieces, budget=Budget(window=2_000))
    world.merge(talk(4))
    decisions = world.chat.compact(force=True).decisions
    with pytest.raises(Covered, match=rf"{decisions[0].id} is covered by {decisions[-1].id}"):
        world.chat.undo(decisions[0].id)
    undone = world.chat.undo(decisions[0].id, through=True)
    assert [decision.edit.edit for decision in undone] == [decisions[-1].id, decisions[0].id]


def test_an_edit_that_shadows_another_can_be_undone_and_given_back() -> None:
    with fanfold.open("run", window=9_000) as chat:
        for number in range(3):
            chat.say(f"{number} " + "word " * 30)
            chat.add(replied(f"{number} " + "reply " * 30))
        path = holds.path_of(chat)
        inner = chat.fold(tuple(path[2:4]), "Two to three.")
        chat.rewind(3)
        chat.fold(tuple(path[1:3]), "One to two.")
        chat.forward()
        before = chat.view().messages
        assert chat.view().shadowed == (inner.id,)
        chat.undo("e2")
        assert chat.view().shadowed == ()
        chat.redo("e2")
        assert chat.view().messages == before


@pytest.mark.parametrize(
    "named", ["e1", "e2", "e3", "e4"], ids=["the edit", "its undo", "its redo", "undone again"]
)
def test_an_edit_is_released_by_its_own_id_or_that_of_any_undo_of_it(named: str) -> None:
    with fanfold.open("run", window=4_000) as chat:
        chat.say("One. " * 40)
        chat.add(replied("Two. " * 40))
        chat.fold(tuple(holds.path_of(chat)), "Both.")
        chat.undo("e1")
        chat.redo("e1")
        chat.undo("e1")
        chat.release(named)
        assert holds.log_of(chat).released == {"e1"}


PICK = st.integers(0, 50)
STEPS = st.one_of(
    st.tuples(st.sampled_from(("undo", "undo", "release", "undo_and_reduce")), PICK),
    st.tuples(st.sampled_from(("redo", "go_on", "go_on", "reduce"))),
)


@given(REDUCING, st.lists(STEPS, min_size=4, max_size=16))
@example(keeps_some, [("undo", 0), ("release", 0), ("go_on",), ("redo",), ("undo", 0)])
@example(keeps_some, [*[("undo", 0)] * 3, ("redo",), ("go_on",), ("undo", 1), ("undo", 1)])
def undoes_and_goes_on(strategy: Any, steps: list[Any]) -> None:
    world = World(strategy, budget=Budget(window=4_000, trigger=0.2, target=0.05))
    world.merge(talk(3))
    world.compact(force=True)
    for verb, *args in steps:
        match verb:
            case "go_on":
                world.go_on()
                world.request()
            case "reduce":
                world.compact(force=True)
            case "undo_and_reduce":
                world.undo(*args)
                world.go_on()
                world.compact(force=True)
            case _:
                getattr(world, verb)(*args)
        world.check()


def test_what_a_person_undid_stays_as_it_is_until_it_is_released_or_given_back() -> None:
    happened.clear()
    undoes_and_goes_on()
    assert happened["reduced beside what a person undid"] > settings.default.max_examples // 5


def test_what_a_person_undid_is_left_alone_until_it_is_released() -> None:
    with fanfold.open("run", budget=Budget(window=4_000, trigger=0.2, target=0.1)) as chat:
        chat.merge(talk(8))
        chat.request()
        chat.undo("e1")
        covers = set(holds.log_of(chat).decisions["e1"].edit.covers)
        chat.request()
        assert covers <= {row.id for row in chat.view().rows}
        chat.release("e1")
        chat.say("Go on. " + "word " * 400)
        chat.request()
        assert not covers <= {row.id for row in chat.view().rows}


@pytest.mark.parametrize("again", ["e1", "e3"], ids=["the edit", "its redo"])
def test_what_was_released_and_given_back_is_exempt_once_more_when_it_is_undone_once_more(again: str) -> None:
    with fanfold.open("run", budget=Budget(window=4_000, trigger=0.2, target=0.1)) as chat:
        chat.merge(talk(8))
        chat.request()
        covers = set(holds.log_of(chat).decisions["e1"].edit.covers)
        chat.undo("e1")
        chat.release("e1")
        chat.redo("e1")
        chat.undo(again)
        chat.say("Go on.")
        chat.request()
        assert covers <= {row.id for row in chat.view().rows}


def half_answered(chat: fanfold.Session) -> str:
    """A person brings a call with two results back, goes back between them, and it is repaired; gives back that row."""
    chat.say("Go.")
    call = chat.add(replied("On it. " + "word " * 80, called("c1"), called("c2")))
    results = [chat.answer(id, "out " * 100).id for id in ("c1", "c2")]
    chat.undo(chat.fold((call.id, *results), "In short.").id)
    chat.rewind(results[0])
    chat.say("Never mind.")
    chat.request()
    chat.add(replied("As you like."))
    chat.say("Next.")
    (repaired,) = [row.id for row in chat.view().rows if row.kind == "mend"]
    return repaired


def drops_repaired_rows(view: Any, budget: Any) -> list[Any]:
    return [Drop((row.id,)) for row in view.rows if row.kind == "mend"]


def test_what_a_person_brought_back_is_left_alone_under_a_repair_too(tmp_path: Path) -> None:
    options: Any = {"window": 20_000, "strategy": drops_repaired_rows, "store": f"sqlite:{tmp_path}/run.db"}
    with fanfold.open("run", **options) as chat:
        repaired = half_answered(chat)
        chat.compact(force=True)
        assert chat.view().row(repaired)
    with fanfold.open("run", **options) as chat:
        assert repaired in chat.view().exempt, "a session that goes on from its checkpoint forgot it"
        chat.compact(force=True)
        assert chat.view().row(repaired)


def test_undo_takes_back_the_last_edit_that_stands_here() -> None:
    with fanfold.open("run", window=9_000) as chat:
        ids = [chat.say(f"{number} " + "word " * 40).id for number in range(6)]
        chat.pin(ids[5])
        chat.fold(tuple(ids[3:5]), "Three to four.")
        chat.rewind(2)
        with pytest.raises(NotFound, match="no edit to undo"):
            chat.undo()
        chat.forward()
        assert chat.undo()[0].edit == Undo("e2")
        assert chat.undo()[0].edit == Undo("e1")


def shortens(view: Any, budget: Any) -> list[Any]:
    return [Elide(f"{row.id}#0", "[short]") for row in view.rows if len(row.messages[0].text) > 99]


def talked(chat: fanfold.Session, replies: int) -> list[str]:
    """Long replies that the model has seen; the ids of these."""
    chat.say("Go.")
    ids = [chat.add(replied(f"{number} " + "word " * 90)).id for number in range(replies)]
    chat.add(replied("Done."))
    return ids


def edits_that_stand(chat: fanfold.Session) -> list[str]:
    return [one.decision.id for one in chat.edits() if one.fate != "undone"]


def test_undo_takes_back_all_that_one_reduction_hid_and_then_the_decision_before() -> None:
    with fanfold.open("run", window=9_000, strategy=shortens) as chat:
        note = chat.note("plan", "Look at it.")
        talked(chat, 2)
        before = chat.view().messages
        outcome = chat.compact(force=True)
        assert [one.id for one in outcome.decisions] == ["e2", "e3"]
        short, pin = chat.view().messages, chat.pin("[short]")
        assert chat.undo()[0].edit == Undo(pin.id)
        assert {one.edit.edit for one in chat.undo()} == {"e2", "e3"}  # type: ignore[union-attr]
        assert chat.view().messages == before
        assert chat.undo()[0].edit == Undo(note.id)
        for stands in (["e1"], ["e1", "e2", "e3"], ["e1", "e2", "e3", pin.id]):
            chat.redo()
            assert edits_that_stand(chat) == stands
        assert chat.view().messages == short


def test_undo_takes_back_what_still_stands_of_a_reduction() -> None:
    with fanfold.open("run", window=9_000, strategy=shortens) as chat:
        talked(chat, 2)
        chat.compact(force=True)
        chat.undo("e2")
        assert [one.edit for one in chat.undo()] == [Undo("e1")]
        with pytest.raises(NotFound, match="no edit to undo"):
            chat.undo()


def test_undo_after_a_fold_was_undone_by_name_takes_back_the_decision_before_it() -> None:
    with fanfold.open("run", window=9_000, strategy=shortens) as chat:
        ids = talked(chat, 4)
        chat.compact(force=True)
        fold = chat.fold(tuple(ids[:2]), "Two.")
        chat.undo(fold.id)
        assert [one.edit.edit for one in chat.undo()] == ["e4", "e3", "e2", "e1"]  # type: ignore[union-attr]


def test_undo_brings_back_a_pin_that_was_just_let_go() -> None:
    with fanfold.open("run", window=9_000) as chat:
        chat.note("plan", "Never touch vendor/.")
        chat.pin("Never touch vendor/.")
        chat.unpin("Never touch vendor/.")
        assert chat.pins() == {}
        chat.undo()
        assert list(chat.pins()) == ["e2"]
        assert [one.edit for one in chat.undo()] == [Undo("e2")]


def test_what_a_filter_made_of_an_output_is_undone_after_all_that_was_decided() -> None:
    with fanfold.open("run", window=9_000, recall=False) as chat:
        chat.say("Read it.")
        pin = chat.pin("Read it.")
        chat.add(replied(None, called("c1")))
        chat.answer("c1", "a line of an output\n" * 3_000)
        clip = next(one.decision for one in chat.edits() if one.decision.by == "pass")
        assert chat.undo()[0].edit == Undo(pin.id)
        assert chat.undo()[0].edit == Undo(clip.id)


def test_a_repair_cannot_be_undone() -> None:
    with fanfold.open("run", window=4_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1"))])
        chat.request()
        with pytest.raises(BadEdit, match="cannot be undone"):
            chat.undo("e1")


def elides_calls_and_outputs(view: Any, budget: Any) -> list[Any]:
    return [Elide(f"{row.id}#0", "[gone]") for row in view.rows if row.calls or row.results]


HALF = [
    said("Go."),
    replied(None, called("c1", "run", '{"x": "%s"}' % ("word " * 100)), called("c2")),
    returned("c1", "out " * 100),
    replied("Hm."),
    said("And?"),
]
"""One of two calls was never answered: the call and its result are repaired, as they are when a request is made."""
MOVES = st.one_of(
    st.tuples(st.sampled_from(("undo", "undo_and_redo", "rewind_and_forward")), st.integers(0, 9)),
    st.tuples(st.sampled_from(("redo", "request", "go_on", "switch_to_a_fork"))),
)


@given(moves=st.lists(MOVES, min_size=1, max_size=8))
@example(moves=[("undo", 0), ("redo",)])
@example(moves=[("undo", 0), ("request",), ("redo",), ("request",)])
@example(moves=[("undo", 1), ("request",), ("undo", 0), ("request",), ("redo",), ("redo",)])
def test_what_is_under_a_repair_is_undone_and_given_back_as_if_there_were_none(moves: list[Any]) -> None:
    world = World(elides_calls_and_outputs, budget=Budget(window=9_000))
    world.merge(HALF)
    world.compact(force=True)
    world.request()
    assert any(row.kind == "mend" for row in world.chat.view().rows)
    for verb, *args in moves:
        if verb == "switch_to_a_fork":
            world.fork(edits=True)
            world.switch(-1)
        else:
            getattr(world, verb)(*args)
        world.check()
    world.request()
    world.finish()


def test_so_it_really_is_undone_under_a_repair() -> None:
    happened.clear()
    world = World(elides_calls_and_outputs, budget=Budget(window=9_000))
    world.merge(HALF)
    world.compact(force=True)
    before = world.chat.view().messages
    world.request()
    world.undo(0)
    assert happened["undo under a mend"] == 1
    assert world.chat.view().messages != before
    assert "word word" in repr(world.request())
