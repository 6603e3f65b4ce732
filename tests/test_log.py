"""The log: an append-only tree, and what one session recorded beside it."""

from __future__ import annotations

import pytest

from fanfold import Drop, Fold, Frame, NotFound, Undo
from fanfold.core.edit import Decision
from fanfold.core.log import Log
from fanfold.core.message import user
from fanfold.core.record import Edited, Framed, Move, Record, Replaced, Sent
from fanfold.core.tree import Tree


def grown(*words: str) -> tuple[Log, list[str]]:
    """A log in which these words were said, and the ids of its entries."""
    log = Log()
    ids: list[str] = []
    for word in words:
        entry = log.tree.add(ids[-1] if ids else None, user(word))
        log.write(Move(entry.id, was=ids[-1] if ids else None))
        ids.append(entry.id)
    return log, ids


def decided(id: str, edit: Fold | Drop | Undo, at: str | None = None) -> Edited:
    return Edited((Decision(id, at, edit),))


def test_the_same_message_in_the_same_place_is_one_entry() -> None:
    tree = Tree()
    assert tree.add(None, user("Hello")) is tree.add(None, user("Hello"))
    assert len(tree.entries) == 1


def test_a_path_leads_from_the_first_entry_to_the_tip() -> None:
    log, ids = grown("one", "two", "three")
    assert log.tree.path(ids[-1]) == ids
    assert log.tree.path(ids[0]) == ids[:1]
    assert log.tree.path(None) == []


def test_entries_know_how_deep_they_are() -> None:
    log, ids = grown("one", "two", "three")
    assert [log.tree[id].depth for id in ids] == [0, 1, 2]


def test_moving_the_head_removes_nothing() -> None:
    log, ids = grown("one", "two", "three")
    log.write(Move(ids[0], "rewind", ids[2]))
    assert log.head == ids[0]
    assert log.tree.path(ids[2]) == ids


def test_only_what_changes_the_view_counts_as_a_version() -> None:
    log, ids = grown("one")
    before = log.version
    log.write(Sent(ids[0], before, "frame", {}, 7, "digest"))
    assert log.version == before
    log.write(decided("e1", Drop((ids[0],)), ids[0]))
    assert log.version == before + 1


def test_an_undo_takes_an_edit_back_and_an_undo_of_it_gives_it_back() -> None:
    log, ids = grown("one")
    log.write(decided("e1", Drop((ids[0],)), ids[0]))
    assert set(log.undone()) == set()
    log.write(decided("e2", Undo("e1")))
    assert set(log.undone()) == {"e1"}
    log.write(decided("e3", Undo("e2")))
    assert set(log.undone()) == {"e2"}
    log.write(decided("e4", Undo("e3")))
    assert set(log.undone()) == {"e1", "e3"}


def test_what_was_undone_at_an_earlier_version_can_be_asked() -> None:
    log, ids = grown("one")
    log.write(decided("e1", Drop((ids[0],)), ids[0]))
    before = log.version
    log.write(decided("e2", Undo("e1")))
    assert set(log.undone(before)) == set()
    assert set(log.undone(log.version)) == {"e1"}


def test_the_entries_behind_a_fold_of_folds_are_found() -> None:
    log, ids = grown("one", "two", "three")
    log.write(decided("e1", Fold(tuple(ids[:2]), "one and two"), ids[2]))
    log.write(decided("e2", Fold(("e1", ids[2]), "all"), ids[2]))
    assert log.leaves(("e2",)) == set(ids)
    assert log.leaves(("e1",)) == set(ids[:2])
    assert log.leaves((ids[2],)) == {ids[2]}


def test_the_frame_in_force_depends_on_the_version() -> None:
    log = Log()
    assert log.frame() == Frame()
    first, second = Frame((user("one"),)), Frame((user("two"),))
    log.write(Framed(first))
    version = log.version
    log.write(Framed(second))
    assert (log.frame(), log.frame(version)) == (second, first)


def test_a_re_dressed_entry_has_its_old_body_at_earlier_versions() -> None:
    log, ids = grown("one", "two")
    before = log.version
    log.write(Replaced(ids[0], user("ONE")))
    assert log.message(ids[0]) == user("ONE")
    assert log.message(ids[0], before) == user("one")
    assert log.tree[ids[0]].message == user("one")


def test_a_log_read_back_from_its_records_is_the_same() -> None:
    log, ids = grown("one", "two", "three")
    written: list[Record] = [
        decided("e1", Fold(tuple(ids[:2]), "both"), ids[2]),
        decided("e2", Undo("e1")),
        Move(ids[1], "rewind", ids[2]),
    ]
    log.write(*written)
    again = Log(log.tree, log.records)
    assert (again.head, again.version, again.undone(), again.behind) == (
        ids[1],
        log.version,
        {"e1": "e2"},
        [ids[2]],
    )


def test_an_edit_nobody_made_is_not_found() -> None:
    with pytest.raises(NotFound, match="no edit 'e9'"):
        Log().decision("e9")
