"""Branches: messages that are kept behind an entry, while the head of the session stays where it is."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.core.message import Message
from fanfold.core.record import Branched
from fanfold.core.tree import Entry
from fanfold.session.outputs import register_branch
from fanfold.session.state import State


def keep_aside(state: State, parent: str | None, messages: Iterable[Message]) -> str | None:
    """Keep messages as a branch behind an entry, or behind nothing; returns its last entry."""
    entries = list[Entry]()
    for message in messages:
        entries.append(state.keeping.add(entries[-1].id if entries else parent, message))
    if entries and entries[-1].id not in state.log.branches:
        state.write(Branched(entries[-1].id, state.terms.clock()))
        for entry in entries:
            register_branch(state, entry, {})
    return entries[-1].id if entries else parent
