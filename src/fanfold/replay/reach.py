"""Reach: the references in a view by which a model can ask for single outputs again.

Only those count that fanfold wrote, beside words that say what they are. That a person compares the models o1 and o3,
or that a tool prints something like a reference, brings nothing back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fanfold.core.message import text_of
from fanfold.core.view import Row, View
from fanfold.strategies.handover.seal import unsealed

_LISTED = re.compile(r" \(([om]\d+(?:, [om]\d+)*)\)")
"""Behind a line or a name of a hand-over, the outputs that it is about."""


def refs(view: View) -> tuple[str, ...]:
    """The references to single outputs that a view names, each once; a summary's own hides too many to count."""
    found = (
        ref
        for row in view.rows
        for ref in (_refs_behind_lines(row) if row.kind == "fold" else _refs_in_place(row, view))
    )
    return tuple(dict.fromkeys(found))


def _refs_in_place(row: Row, view: View) -> Iterator[str]:
    """What placeholders and the notes of filters say in the very place of the output that they stand for."""
    if not row.why:
        return
    text = "\n".join(map(text_of, row.messages))
    for entry in row.covers:
        for number in range(sum(len(message.parts) for message in row.messages)):
            kept = view.kept(f"{entry}#{number}")
            if kept is not None and re.search(rf"\b{kept.ref}\b", text):
                yield kept.ref


def _refs_behind_lines(row: Row) -> Iterator[str]:
    """What a hand-over names: outputs behind the lines that tell of them."""
    for some in _LISTED.findall(unsealed(row) or ""):
        yield from some.split(", ")
