"""How `why` says to programmers what hides or shortens an entry, and how it comes back."""

from __future__ import annotations

from collections.abc import Iterator

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
    assert back == 'To bring it back: chat.undo("e1"); chat.undo("e2")'
    assert repr(found) == f"<Why {entry[:8]} is in view, but shortened by e1, e2>"
    for id, through in found.way_back:
        chat.undo(id, through=through)
    assert chat.why(entry).way_back == ()
    assert str(chat.why(entry)).startswith(f"{entry[:8]} is in view\n")
