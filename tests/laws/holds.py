"""What must hold for a session at any time; each function is one law, or half of one."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from fanfold import Decision, Drop, Elide, Fold, Frame, Message, Note, Session, Undo, View
from fanfold.core.budget import BOUNDS
from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.record import Edited, Erased, Inherited, Record, Replaced, Visible
from fanfold.dialects.dialect import decode
from fanfold.stores.coding import Coding
from fanfold.stores.tenant_tree import TenantTree
from laws import grammar


def log_of(chat: Session) -> Log:
    return chat._state.log


def path_of(chat: Session) -> list[str]:
    log = log_of(chat)
    return log.tree.path(log.head)


def fingerprint(view: View) -> Any:
    """All of a view that must not depend on how it was computed."""
    rows = [
        (
            row.id,
            row.kind,
            row.messages,
            row.tokens,
            row.covers,
            row.count,
            row.why,
            row.pinned,
            row.weight.wire,
        )
        for row in view.rows
    ]
    beside = (view.frame.messages, view.tokens, view.size, view.pinned_texts, view.exempt, set(view.shadowed))
    return rows, beside, view.tip


def nothing_is_lost(chat: Session, kept: dict[str, Message], gone: set[str]) -> None:
    """Every message that was ever recorded comes back as it was."""
    tree = log_of(chat).tree
    for id, message in kept.items():
        assert id in tree, f"{id} is lost"
        if id not in gone:
            assert tree[id].message is message or tree[id].message == message, f"{id} was changed"


def every_entry_is_covered_once(chat: Session) -> None:
    """The rows together stand for the path, and no two for the same entry."""
    log, covered = log_of(chat), []
    for row in chat.view().rows:
        leaves = log.leaves((row.id,)) if row.kind != "note" else set()
        assert row.count == len(leaves), f"{row.id} says it stands for {row.count}, not {len(leaves)}"
        covered += leaves
    assert sorted(covered) == sorted(path_of(chat))


def the_view_is_that_of_a_log_read_anew(chat: Session) -> None:
    """What is kept up to date step by step equals what is computed from the records alone."""
    log, state = log_of(chat), chat._state
    anew = Log(log.tree, log.records)
    assert (anew.head, anew.version) == (log.head, log.version)
    assert fingerprint(show(anew, anew.head, anew.version, state.gauge)) == fingerprint(state.view())


def read_back(log: Log) -> Log:
    """The log, written to bytes as stores write it, and read again."""
    tree, coding = TenantTree(), Coding()
    for entry in log.tree.entries.values():
        back = coding.read_entry(entry.id, entry.parent, coding.entry(entry))
        if entry.id in log.tree.erased:
            tree.entries[back.id] = back
        else:
            assert tree.add(back.parent, back.message).id == entry.id
    tree.erased = dict(log.tree.erased)
    return Log(tree, [coding.read_record(coding.record(record)) for record in log.records])


def written_and_read_back_it_shows_the_same(chat: Session) -> None:
    log, gauge = read_back(log_of(chat)), chat._state.gauge
    assert fingerprint(show(log, log.head, log.version, gauge)) == fingerprint(chat._state.view())


def only_edits_of_this_path_stand(chat: Session) -> None:
    """Every edit that shapes a row was made on this path, or carried to it."""
    log, path = log_of(chat), {None, *path_of(chat)}
    for row in chat.view().rows:
        for edit in row.why:
            assert edit not in log.undone(), f"{edit} is undone and shows"
            assert any(place in path for _, place in log.places[edit]), f"{edit} belongs elsewhere"


def wires(chat: Session, view: View) -> list[Any]:
    """The messages that a request of this view carries, the system prompt aside."""
    dialect = chat._state.dialect
    sent: list[Any] = dialect.encode(Frame(), dialect.allow(view.rows, {}).rows, {})[dialect.field]
    return sent


def put_in(chat: Session, view: View) -> int:
    """Tokens of the words that a request carries beside this view because its provider wants them."""
    words = chat._state.dialect.allow(view.rows, {}).put_in
    return sum(chat._state.gauge.text(text) * times for text, times in words.items())


def it_fits(chat: Session, request: dict[str, Any], max_tokens: int | None) -> None:
    """Counted afresh from the wire, the request and its reply fit the window, and the bytes fit."""
    state = chat._state
    budget, meter = state.terms.budget, state.terms.meter
    frame, messages, _ = decode(state.dialect, request)
    counted = meter.overhead + meter.frame(frame) + sum(map(meter.message, messages))
    corrected = state.learned.scale * counted + state.learned.offset
    billed = math.ceil(min(max(corrected, BOUNDS[0] * counted), BOUNDS[1] * counted))
    default = budget.reserve if budget.reserve is not None else min(budget.window // 10, 32_000)
    reply = max_tokens if max_tokens is not None else default
    assert billed + reply <= budget.window, f"{billed} + {reply} do not fit {budget.window}"
    if state.gauge.exact:
        assert counted + reply <= budget.window, (
            f"{counted} + {reply} by the meter do not fit {budget.window}"
        )
    if budget.max_bytes is not None:
        size = len(msgspec.json.encode(request))
        assert size <= budget.max_bytes, f"{size:,} bytes do not fit {budget.max_bytes:,}"


def it_obeys_the_grammar(request: dict[str, Any]) -> None:
    assert grammar.faults(request) == []
    msgspec.json.encode({key: value for key, value in request.items() if key != "big"})


def touched(records: Iterable[Record], shown: set[str], past: set[str | None]) -> bool:
    """Whether any of these records changes a row that was shown, or what stands between two of them."""
    for record in records:
        match record:
            case Edited(decisions=decisions):
                if any(_touches(decision, shown, past) for decision in decisions):
                    return True
            case Replaced() | Inherited() | Erased():
                return True
    return False


def _touches(decision: Decision, shown: set[str], past: set[str | None]) -> bool:
    """A note touches what was shown where it was made after a rewind, before the end of the request."""
    if isinstance(decision.edit, Note):
        return decision.at in past
    return isinstance(decision.edit, Undo) or (
        decision.id not in shown and bool(_covers(decision.edit) & shown)
    )


def _covers(edit: Any) -> set[str]:
    if isinstance(edit, Elide):
        return {edit.entry}
    return set(getattr(edit, "covers", ()))


BINDING = ("importance",)
"""The strategies that keep a limit of their own, for which the least gain does not count."""


def edits_made_the_view_smaller(chat: Session, since: int, room: int) -> None:
    """Every automatic fold, drop and elide made since a version lowered the tokens, by the least gain unless forced.

    The room is what the window left when they were made. To be asked before anything is erased: what an edit hid is
    shorter then, also in the versions before the edit.
    """
    log, state, version = log_of(chat), chat._state, 0
    for record in log.records:
        version += isinstance(record, Visible)
        if version <= since or not isinstance(record, Edited):
            continue
        reducing = [d for d in record.decisions if isinstance(d.edit, Fold | Drop | Elide) and d.by == "auto"]
        if not reducing:
            continue
        tip, bytes_matter = reducing[0].at, state.terms.budget.max_bytes is not None
        before = show(log, tip, version - 1, state.gauge)
        full = record.decisions[0].before + put_in(chat, before) > room
        for decision in reducing:
            saved = decision.before - decision.after
            forced = full or decision.why in BINDING
            assert saved >= 1 or bytes_matter, f"{decision.id} saves {saved}"
            assert saved >= state.terms.budget.gain or forced or bytes_matter, (
                f"{decision.id} saves {saved} only"
            )
        if len(reducing) == len(record.decisions):
            after = show(log, tip, version, state.gauge).tokens
            smaller = after < before.tokens or (after == before.tokens and bytes_matter)
            assert smaller, f"{reducing[-1].id} left {after} tokens of {before.tokens}"
