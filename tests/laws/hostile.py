"""Strategies that mean no good."""

from collections.abc import Iterator
from typing import Any

from fanfold import Ask, Call, Drop, Elide, Fold, Message, Note, Opaque, Pin, Repair, Result, Text, Undo, ask
from fanfold.core.message import Wire, assistant, result, user


def drops_everything(view: Any, budget: Any) -> Iterator[Any]:
    yield Drop(tuple(row.id for row in view.rows))
    for row in view.rows:
        yield Drop((row.id,))


def folds_half_a_pair(view: Any, budget: Any) -> Iterator[Any]:
    for row in view.rows:
        if row.calls:
            yield Fold((row.id,), "half")
    for row in view.rows:
        if row.results:
            yield Drop((row.id,))


def returns_a_number(view: Any, budget: Any) -> Any:
    return 42


def returns_garbage(view: Any, budget: Any) -> Any:
    return [None, 3, "drop", {"covers": ["x"]}, Drop(None), Fold(7, (7,)), Elide(1, 2), Note(1, 2)]


def yields_forever(view: Any, budget: Any) -> Iterator[Any]:
    while True:
        yield Drop(("nobody",))


def ignores_the_end(view: Any, budget: Any) -> Iterator[Any]:
    try:
        yield from yields_forever(view, budget)
    except GeneratorExit:
        yield Drop(("nobody",))


def notes_forever(view: Any, budget: Any) -> Iterator[Any]:
    while True:
        yield Note("n", "on and on")


def repairs_everything(view: Any, budget: Any) -> Iterator[Any]:
    yield Repair(tuple(row.id for row in view.rows), (user("nothing to see here"),))
    yield Repair(tuple(row.id for row in view.rows), ())


def raises(view: Any, budget: Any) -> Any:
    raise RuntimeError("I do not like this view")


def raises_late(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    if old.rows:
        yield Drop(old.covers)
    raise RuntimeError("after the fact")


def asks_forever(view: Any, budget: Any) -> Iterator[Any]:
    while True:
        yield Ask((user("why?"),), "Say why.")


def asks_new_things_forever(view: Any, budget: Any) -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield Ask((user(f"why {number}?"),), "Say why.")


def yields_strings(view: Any, budget: Any) -> Iterator[Any]:
    yield "fold"
    yield "the rows"


def yields_empties(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    yield None
    yield Drop(())
    yield Fold((), "x")
    yield Fold(old.covers, "")
    yield Fold(old.covers, ())
    yield Elide("", "")


def folds_into_more(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    yield Fold(old.covers, "more words " * 5_000)


def unknown_ids(view: Any, budget: Any) -> Iterator[Any]:
    yield Drop(("e999",))
    yield Fold(("deadbeef",), "x")
    yield Elide("deadbeef#0", "x")
    yield Undo("e1")
    yield Pin(text="x")


def shows_orphans(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    if old.rows:
        yield Fold(old.covers, (result("nobody", "orphan"), assistant("", Call("e", "run", "{}"))))


def shows_odd_messages(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    if old.rows:
        yield Fold(old.covers, (Message("assistant"), Message("tool", (Text("words"), Result("q")))))


def shows_no_messages(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal).covers
    yield Fold(old, (Message("robot", (Text("beep"),)),))  # type: ignore[arg-type]
    yield Fold(old, (Message("user", ("words",)),))  # type: ignore[arg-type]
    yield Fold(old, (Message("assistant", (Call(5, "run", 7),)),))  # type: ignore[arg-type]
    yield Fold(old, (Message("user", (Opaque("openai.chat", object()),)),))


def shows_false_wires(view: Any, budget: Any) -> Iterator[Any]:
    old, words = view.oldest(leaving=budget.goal).covers, (Text("x"),)
    bodies: list[Any] = [
        {"role": "banana", "content": 7},
        {"role": "user", "content": "not what the parts say " * 2_000},
        {"role": "assistant", "content": "x"},
        {"role": "tool", "content": "x"},
        "x",
    ]
    for body in bodies:
        yield Fold(old, (Message("user", words, Wire("openai.chat", body)),))
        yield Fold(old, (Message("user", words, Wire("anthropic", body)),))


def mistakes_types(view: Any, budget: Any) -> Iterator[Any]:
    old = view.oldest(leaving=budget.goal)
    yield Fold(old.covers, "short", 5)  # type: ignore[arg-type]
    yield Fold(dict.fromkeys(old.covers), "short")  # type: ignore[arg-type]
    for row in old.rows:
        yield Elide(f"{row.id}#0", "e", 5)  # type: ignore[arg-type]
        yield Elide(f"{row.id}#0", "e", beside="x")  # type: ignore[arg-type]
    yield Note("n", "text", late="yes")  # type: ignore[arg-type]


def keeps_some(view: Any, budget: Any) -> Iterator[Any]:
    """Shows every third message of what it folds, as an extract would."""
    old = view.oldest(leaving=budget.goal)
    if old.messages[::3]:
        yield Fold(old.covers, old.messages[::3])


def elides_everything(view: Any, budget: Any) -> Iterator[Any]:
    for row in view.rows:
        for message in row.messages:
            for number in range(len(message.parts)):
                yield Elide(f"{row.id}#{number}", "[gone \ud83d]", "o1")


def folds_in_pieces(view: Any, budget: Any) -> Iterator[Any]:
    """Folds every offered block by itself, then the folds into one: folds of folds, in one plan."""
    for block in view.offered:
        view = yield Fold(block.covers, "folded")
    old = [row.id for row in view.rows if row.kind == "fold"]
    if len(old) > 1:
        yield Fold(tuple(old), "folded again")


def summarizes(view: Any, budget: Any) -> Iterator[Any]:
    """A well-meaning one that asks; folds of folds over time."""
    old = view.oldest(leaving=budget.goal)
    if old.rows:
        text = yield from ask(old.messages, "Sum up.")
        yield Fold(old.covers, text)


HOSTILE = (
    drops_everything,
    folds_half_a_pair,
    returns_a_number,
    returns_garbage,
    yields_forever,
    ignores_the_end,
    notes_forever,
    repairs_everything,
    raises,
    raises_late,
    asks_forever,
    asks_new_things_forever,
    yields_strings,
    yields_empties,
    folds_into_more,
    unknown_ids,
    shows_orphans,
    shows_odd_messages,
    shows_no_messages,
    shows_false_wires,
    mistakes_types,
    keeps_some,
    elides_everything,
    folds_in_pieces,
)
