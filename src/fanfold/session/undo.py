"""Changing one's mind: undo, redo, release, rewind, forward, pin, note, reset."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import takewhile

from msgspec.structs import replace

from fanfold.core.draft import CUTTING, Draft
from fanfold.core.edit import Decision, Drop, Elide, Fold, Note, Pin, Repair, Undo, covers_of
from fanfold.core.errors import BadEdit, BadInput, Covered, NotFound, PartlyCovered
from fanfold.core.layout import Layout, read_rows
from fanfold.core.log import Log
from fanfold.core.record import Edited, Released
from fanfold.core.view import Span
from fanfold.session.cause import made_again
from fanfold.session.projection import standing_on
from fanfold.session.state import State
from fanfold.strategies.handover.seal import seal_again
from fanfold.text.lines import many
from fanfold.tokens.units import decision_in_window

SHORTEST_ID, _FEWEST = 6, 4
"""So many characters name an entry; fewer may be anything. Where nothing else can be meant, the second is enough."""
_EDIT, _REF = re.compile(r"e\d{1,6}"), re.compile(r"o\d{1,6}")
"""How an edit is named, and how an output."""
_RETURN = "bring back "
"""Why the undos were made that brought one message back; its id follows."""
_UNPIN = "unpin"
"""Why the undos were made that let go of a pin."""
_CANDIDATES = 4
"""So many messages are named of those that a name may mean."""


def undo(state: State, edit: str | None = None, *, through: bool = False) -> tuple[Decision, ...]:
    """Take an edit back; of a message's id, bring back that message alone.

    Without a name, the last decision that stands is taken back as a whole: what a person did, or all that one
    reduction hid. The next such undo goes one further. Right after a message was brought back, it is hidden again. What
    comes back is exempt from automatic edits. A repair is not in the way: it stands on what it repaired, and the next
    request repairs anew what needs it.
    """
    state.read_whole()
    entry = None if edit is None else message_named(state, edit)
    if entry is not None:
        return bring_back(state, entry)
    returned = _last_return(state) if edit is None else ()
    if returned:
        return _undo_each(state, returned)
    chosen = _last(state) if edit is None else (_edit_named(state, edit),)
    target = chosen[0]
    if isinstance(target.edit, Repair):
        raise BadEdit(f"{target.id} repairs what the provider would refuse; it cannot be undone.")
    if target.id in state.log.undone():
        raise BadEdit(f"{target.id} is undone already. To make it again, redo {target.id}.")
    above = list(_on_top(state, chosen))
    if above and not through:
        names = ", ".join(decision.id for decision in above)
        raise Covered(
            f"{target.id} is covered by {names}. Undo that first, or say `through=True` to undo both."
        )
    return _undo_each(state, (*reversed(above), *chosen))


def _undo_each(
    state: State, chosen: Sequence[Decision], why: str = "undo", since: int = 0
) -> tuple[Decision, ...]:
    """Undo these in their order and as one decision, if that leaves no edit without whole rows."""
    _try(state, tuple(chosen), since)
    log = state.log
    undos = [
        Decision(id=log.next_edit(number), at=log.head, edit=Undo(decision.id), by="person", why=why)
        for number, decision in enumerate(chosen)
    ]
    if undos:
        state.commit(undos)
    return tuple(undos)


def _last_return(state: State) -> tuple[Decision, ...]:
    """What was decided to bring one message back, the last of it first, where no edit was made since."""
    log = state.log
    made = [one for one in log.decisions.values() if not isinstance(one.edit, Repair)]
    again = [made.pop()] if made and made[-1].id in made_again(log) else []
    back = _returned_with(log, made[-1]) if made else []
    return tuple(one for one in (*again, *reversed(back)) if one.id not in log.undone()) if back else ()


def _returned_with(log: Log, made: Decision) -> list[Decision]:
    """The undos that brought a message back together with this one; none where it did not do that."""
    if not made.why.startswith(_RETURN):
        return []
    decisions = list(log.decisions.values())
    at = decisions.index(made)
    before = takewhile(lambda one: one.why == made.why, reversed(decisions[:at]))
    return [*reversed(list(before)), *takewhile(lambda one: one.why == made.why, decisions[at:])]


def _undone_with(log: Log, made: Decision) -> list[Decision]:
    """The undos that were decided together with this one: for one message, or as one decision."""
    records = (record.decisions for record in reversed(log.records) if isinstance(record, Edited))
    found = next((decisions for decisions in records if made in decisions), (made,))
    return _returned_with(log, made) or [one for one in found if isinstance(one.edit, Undo)]


def message_named(state: State, name: str) -> str | None:
    """The message on this path that a name means: its id, or an output's reference. None where it means an edit."""
    log, name = state.log, str(name)
    if name in log.decisions or _EDIT.fullmatch(name):
        return None
    if name in log.kept:
        return log.kept[name].entry if log.kept[name].is_part else None
    found = [id for id in state.path if id.startswith(name)] if len(name) >= _FEWEST else []
    return found[0] if len(found) == 1 else None


def _edit_named(state: State, name: str) -> Decision:
    """The edit of this name, or the one behind a reference to what an edit hides."""
    kept = state.log.kept.get(str(name))
    id = kept.entry if kept and kept.entry in state.log.decisions else name
    if isinstance(id, str) and id and id not in state.log.decisions:
        begun = _say_many(id, [one for one in state.path if one.startswith(id)])
        nothing = f"Nothing here is named {id!r}: no edit, no output, and no message's id begins so."
        raise NotFound(begun or _say_none(id) or nothing)
    return state.log.decision(id)


def way_back(state: State, entry: str) -> Iterator[tuple[str, bool]]:
    """The undos that show an entry whole again: each edit, and whether it is undone through others on top of it."""
    leaves, done = state.log.leaves, set[str]()
    for decision in standing_edits(state):
        if decision.reduces and decision.id not in done and entry in leaves(covers_of(decision.edit)):
            above = [other.id for other in _above(state, decision)]
            done.update(above)
            yield decision.id, bool(above)


def bring_back(state: State, entry: str) -> tuple[Decision, ...]:
    """Show one message whole again; what was hidden with it stays hidden behind the same words.

    Every edit that hides or shortens it is undone, with those on top of it. Then the outermost is made again, without
    the message and what belongs to it (a call and its results). What a caller's filter keeps from models stays: that
    is undone only by its name.
    """
    state.read_whole()
    id, leaves = entry_named(state, entry, state.path), state.log.leaves
    outermost = _edit_hiding(state, id)
    done = list[Decision]()
    for decision in standing_edits(state):
        kept = isinstance(decision.edit, Elide) and decision.edit.instead
        if decision.reduces and not kept and id in leaves(covers_of(decision.edit)):
            above = (
                [] if decision.id in state.log.undone() else [*reversed([*_above(state, decision)]), decision]
            )
            done += _undo_each(state, above, f"{_RETURN}{id}")
    if not done:
        raise NotFound(f"No edit hides or shortens {entry[:12]}.")
    if outermost is not None:
        done += _hide_others(state, id, state.log.decisions[outermost])
    return tuple(done)


def _hide_others(state: State, id: str, hidden: Decision) -> Iterator[Decision]:
    """Make an undone fold or drop again, without one message and what belongs to it."""
    view, log, edit = state.view(), state.log, hidden.edit
    under = log.leaves(covers_of(edit))
    spans = ((block, log.leaves(block.covers)) for block in view.blocks)
    others = [
        block
        for block, leaves in spans
        if leaves and leaves <= under and id not in leaves and not any(row.stays for row in block.rows)
    ]
    old = Span(tuple(row for block in others for row in block.rows if row.kind != "note"))
    if not old.rows or not isinstance(edit, Fold | Drop):
        return
    draft = Draft(view, log, state.gauge, state.terms.budget)
    again = seal_again(edit, old) if isinstance(edit, Fold) else Drop(old.covers)
    if draft.offer(again, why=hidden.why, by="person", forced=True).refused:
        return  # it would take more room than what it hides
    made = replace(draft.decisions[0], by=hidden.by)
    state.commit((made,))
    yield state.log.decisions[made.id]


def _last(state: State) -> tuple[Decision, ...]:
    """The last decision of a person, or all of the last reduction that stands of it, the last edit first.

    What filters made of outputs comes after all that. What a filter keeps from models is undone only by its name.
    """
    log, standing = state.log, {one.id: one for one in standing_edits(state)}
    dead, filtered = log.undone(), list[Decision]()
    for record in reversed(log.records):
        made = record.decisions if isinstance(record, Edited) else ()
        unpinned = [one for one in made if one.why == _UNPIN and one.id not in dead]
        stand = unpinned or [standing[one.id] for one in made if one.id in standing]
        stand = [one for one in stand if not isinstance(one.edit, Repair)]
        filtered += (one for one in reversed(stand) if one.by == "pass")
        if chosen := tuple(one for one in reversed(stand) if one.by != "pass"):
            return chosen
    shown = [one for one in filtered if not (isinstance(one.edit, Elide) and one.edit.instead)]
    if shown:
        return (shown[0],)
    raise NotFound(
        "There is no edit to undo: none stands on this path. Name an edit of another path to undo that."
    )


def _on_top(state: State, chosen: Sequence[Decision]) -> Iterator[Decision]:
    """The later edits that stand on some of these, and are none of them, outermost last."""
    found = {one.id for one in chosen}
    for target in chosen:
        for decision in () if isinstance(target.edit, Undo) else _above(state, target):
            if decision.id not in found:
                found.add(decision.id)
                yield decision


def _above(state: State, target: Decision) -> Iterator[Decision]:
    """The standing edits made later on this path that cover what the target shows, outermost last; repairs aside."""
    rows = {target.id, *covers_of(target.edit)} if isinstance(target.edit, Elide) else {target.id}
    made = list(state.log.decisions)
    later = set(made[made.index(target.id) + 1 :])
    for decision in standing_edits(state):
        if decision.id not in later or rows.isdisjoint(covers_of(decision.edit)):
            continue
        elides = isinstance(decision.edit, Elide) and isinstance(target.edit, Elide)
        if elides and decision.edit.address != target.edit.address:  # type: ignore[union-attr]
            continue  # they change different parts, so neither stands on the other
        rows.add(decision.id)
        if not isinstance(decision.edit, Repair):
            yield decision


def standing_edits(state: State) -> list[Decision]:
    """The edits that stand on the present path, in the order they were made."""
    return standing_on(state.depth, state.log)


def _try(state: State, undone: tuple[Decision, ...], since: int = 0) -> None:
    """Refuse an undo that would leave a standing edit, made since a version, without whole rows to cover.

    So is one that brings an edit back which hides what was pinned since it was undone.
    """
    trial = Log(state.log.tree, state.log.records)
    decisions = (
        Decision(trial.next_edit(i), trial.head, Undo(edit.id), "person") for i, edit in enumerate(undone)
    )
    trial.write(Edited(tuple(decisions)))
    layout = Layout(trial, state.gauge, None, state.projection.weights)
    for id in [None, *trial.tree.path(trial.head)]:
        layout.step(id)
    _keep_pinned(state.log, undone, layout.shadowed)
    shadowed = (id for id in layout.shadowed if not isinstance(trial.decisions[id].edit, Repair))
    torn = {id for id in shadowed if trial.born[id] > since} - set(state.view().shadowed)
    if torn:
        raise PartlyCovered(
            f"{', '.join(sorted(torn))} would cover only a part of what comes back; undo that first."
        )


def _keep_pinned(log: Log, undone: tuple[Decision, ...], shadowed: Container[str]) -> None:
    """Refuse to bring an edit back that stays aside for what was pinned while it was undone."""
    for undo in undone:
        edit = log.meant(undo.id)
        pins = [log.meant(made.id) for made, _ in log.pinned_since(log.born[undo.id])]
        if isinstance(undo.edit, Undo) and edit in shadowed and pins:
            raise BadEdit(f"{edit} would hide what was pinned since ({', '.join(pins)}); unpin that first.")


def redo(state: State, edit: str | None = None) -> tuple[Decision, ...]:
    """Bring an undone edit back; by default what was undone last, all of it.

    Where a message was brought back alone, what hides the others since then is undone: they are hidden as before. The
    first edit that was undone for it brings back the others, too.
    """
    state.read_whole()
    log, dead = state.log, state.log.undone()
    lasting = [(log.decisions[id], log.decisions[id].edit) for id in log.lasting if id not in dead]
    undos = [(decision, made.edit) for decision, made in lasting if isinstance(made, Undo)]
    if edit is None:  # an undo that was undone is not meant: its edit stands
        undone = (one for _, one in reversed(undos) if not isinstance(log.decisions[one].edit, Undo))
        target = next(undone, None)
        if target is None:
            raise NotFound("There is no undone edit to redo.")
        target = _first_for(log, target)
    else:
        target = log.decision(edit).id
    if target not in dead:
        raise BadEdit(f"{target} is not undone; there is nothing to redo.")
    undoing = [decision for decision, undone in undos if undone == target]
    together = _undone_with(log, undoing[-1])
    others = together[1:] if together[:1] == undoing[-1:] else []
    standing = [one for one in reversed(others) if one.id not in dead]
    chosen = (*_instead(state, log.decisions[target], undoing[-1]), *standing, *undoing)
    return _undo_each(state, chosen, "redo", since=log.born[undoing[-1].id])


def _first_for(log: Log, target: str) -> str:
    """The edit that was undone first together with this one, which may be itself."""
    together = _undone_with(log, log.decisions[log.undone()[target]])
    first = together[0].edit if together else None
    return first.edit if isinstance(first, Undo) else target


def _instead(state: State, target: Decision, undoing: Decision) -> Iterator[Decision]:
    """The folds and drops that hide a part of what an edit hid, and nothing else, since it was undone."""
    log = state.log
    hidden, since = log.leaves(covers_of(target.edit)), log.born[undoing.id]
    for decision in standing_edits(state):
        later = isinstance(decision.edit, Fold | Drop) and log.born[decision.id] > since
        if later and log.leaves(covers_of(decision.edit)) < hidden:
            yield decision


def release(state: State, edit: str) -> None:
    """Let automatic edits touch again what a person brought back; named by the undone edit, or by a message."""
    state.read_whole()
    entry, log = message_named(state, edit), state.log
    if entry is None:
        targets = [log.meant(log.decision(edit).id)]
    else:
        held = (one for one in log.undone() if one in log.decisions and one not in log.released)
        targets = [one for one in held if entry in covers_of(log.decisions[one].edit)]
    if not targets or any(one not in log.undone() for one in targets):
        name = targets[0] if targets else str(edit)[:8]
        raise BadEdit(f"{name} is not undone; there is nothing to release.")
    state.write(*map(Released, targets))
    state.projection.forget()


def rewind(
    state: State,
    to: str | int | None = None,
    *,
    turns: int | None = None,
    time: float | None = None,
    inclusive: bool = True,
) -> str | None:
    """Go back to an entry, an index, some turns or a time; edits made later go back too.

    The target itself stays, unless `inclusive` is False. Turns go and stay whole: one turn back, the target is the turn
    before the last.
    """
    state.read_whole()
    path = state.path
    if sum(value is not None for value in (to, turns, time)) != 1:
        raise BadInput("Say where to go back to: an entry, an index, turns=… or time=…, one of them.")
    if not path:
        raise NotFound("There is nothing to go back over yet.")
    if isinstance(to, bool):
        raise BadInput(f"Go back to an entry's id or an index, not {to}.")
    if turns is not None:
        last = _turns_back(state, path, turns, inclusive)
    elif time is not None:
        last = _at_time(state, path, time) - (not inclusive)
    elif isinstance(to, int):
        if not -len(path) <= to < len(path):
            raise NotFound(f"There is no message {to}; the path has {len(path):,}.")
        last = to % len(path) - (not inclusive)
    else:
        last = path.index(entry_named(state, str(to), path)) - (not inclusive)
    head = path[last] if last >= 0 else None
    if head != state.log.head:
        state.move(head, "rewind")
    return head


def entry_named(state: State, name: str, among: list[str] | None = None) -> str:
    """The entry whose id begins so."""
    tenant, name = state.terms.tenant, str(name)
    ids = among if among is not None else (tenant.store.find(tenant.name, name) if name else [])
    found = [id for id in ids if id.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    raise NotFound(_say_many(name, found) or _say_none(name) or f"No entry here begins with {name!r}.")


def _say_many(name: str, found: list[str]) -> str:
    """Which messages a name may mean, where it means more than one."""
    if len(found) < 2:
        return ""
    shown = [id[: max(SHORTEST_ID + 2, len(name) + 2)] for id in found[:_CANDIDATES]]
    more = " …" if len(found) > _CANDIDATES else ""
    return f"More than one entry here begins with {name!r}: {', '.join(shown)}{more}."


def names_no_message(name: str) -> bool:
    """Whether it is nothing, or how an edit or an output is named: then it is no beginning of a message's id."""
    return not name or bool(_EDIT.fullmatch(name) or _REF.fullmatch(name))


def _say_none(name: str) -> str:
    """That there is no edit or output of a name, where it is the name of such a thing."""
    if _EDIT.fullmatch(name):
        return f"There is no edit {name!r} in this session; `view()` shows which ones stand."
    return f"There is no output {name!r} in this session." if _REF.fullmatch(name) else ""


def _turns_back(state: State, path: list[str], turns: int, inclusive: bool) -> int:
    """The index of the last entry that stays; -1 where none does."""
    starts = [i for i, id in enumerate(path) if state.log.message(id).is_request]
    if not isinstance(turns, int) or isinstance(turns, bool) or not 1 <= turns <= len(starts):
        raise NotFound(f"The path has {many(len(starts), 'turn')}; {turns!r} cannot be gone back.")
    if not inclusive and turns == len(starts):
        gone = "one that is" if turns == 1 else f"{turns:,} that are"
        raise NotFound(f"There is no turn before the {gone} gone back, and none to leave out.")
    return starts[-turns if inclusive else -turns - 1] - 1


def _at_time(state: State, path: list[str], time: float) -> int:
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise BadInput(f"time is a number of seconds, not {time!r}.")
    times = state.log.times
    at = max((i for i, id in enumerate(path) if id in times and times[id] <= time), default=None)
    if at is None:
        raise NotFound(
            f"Nothing was recorded at or before {time}, as far as times are known; give an entry or an index."
        )
    if at + 1 < len(path) and path[at + 1] not in times:
        raise NotFound(f"It is not known when message {at + 1} was said; give an entry or an index.")
    return at


def forward(state: State, to: str | None = None) -> str | None:
    """Go forward again: to where the last rewind came from that was not caught up with since, or to any entry."""
    state.read_whole()
    if to is not None:
        head = entry_named(state, to)
    else:
        left = [id for id in state.log.behind if id not in state.depth]
        if not left:
            raise NotFound("There is no rewind to go forward from.")
        head = left[-1]
    if head != state.log.head:
        state.move(head, "forward")
    return head


def reset(state: State) -> None:
    """Start a new task cleanly; what was recorded stays, and `forward` leads back."""
    state.read_whole()
    if state.log.head is not None:
        state.move(None, "reset")


def pin(state: State, what: str) -> Decision:
    """Keep an entry, or lines of text, verbatim in every later view."""
    state.read_whole()
    if not isinstance(what, str) or not what.strip():
        raise BadInput("Pin an entry's id or some text.")
    entries = [id for id in state.path if id.startswith(what)] if len(what) >= _FEWEST else []
    text = len(entries) != 1 or (len(what) < SHORTEST_ID and what in read_rows(state.view().rows))
    pin = Pin(text=what) if text else Pin(entry=entries[0])
    _check_shown(state, pin)
    row = state.view().row(pin.entry) if pin.entry is not None else None
    if row is not None and row.was is not None:
        state.warn(
            "%s is shortened by %s, and pinned as the model sees it; undo that first to pin it whole.",
            row.id[:8],
            ", ".join(row.why),
        )
    return _pin_once(state, pin)


def pins(state: State) -> dict[str, Pin]:
    """The pins that stand, by their edits' ids."""
    state.read_whole()
    return {id: pin for id, pin in state.log.pins() if pin.entry or pin.text}  # an erased text pins nothing


def _check_shown(state: State, pin: Pin) -> None:
    """Refuse to pin what does not stand in view."""
    hiding = _edit_hiding(state, pin.entry) if pin.entry is not None else None
    if hiding is not None:
        raise Covered(f"{str(pin.entry)[:8]} is hidden by {hiding}; undo that first, then pin it.")
    shown = read_rows(state.view().rows) if pin.text else ""
    missing = [line for line in pin.lines if line not in shown]
    if missing and missing[0] in state.log.decisions:
        raise NotFound(f"{missing[0]} is an edit; pin a message by its id, or a line of text.")
    if missing:
        raise NotFound(f"{missing[0][:60]!r} stands nowhere in the view; `say` or `note` it first.")


def _pin_once(state: State, pin: Pin) -> Decision:
    """The pin that stands already, or a new one: pinned twice, a thing is pinned once."""
    known = next((id for id, edit in state.log.pins() if edit == pin), None)
    return state.log.decisions[known] if known is not None else state.decide(pin, why="pin")


def _edit_hiding(state: State, entry: str) -> str | None:
    """The outermost edit in whose place an entry is not shown; a repair shows it as the grammar needs it."""
    for row in state.view().rows:
        for shown in state.log.rows_repaired_by(row.id):
            if shown == entry:
                return None
            decision = state.log.decisions.get(shown)
            if decision and not isinstance(decision.edit, Repair) and entry in state.log.leaves((shown,)):
                return shown
    return None


def unpin(state: State, what: str) -> Decision:
    """Let go of a pin: its edit id, its entry or its text. Of pins of the same, none is left."""
    state.read_whole()
    what, pins = str(what), list(state.log.pins())
    for id, edit in pins:
        if what in (id, edit.text) or (edit.entry and len(what) >= _FEWEST and edit.entry.startswith(what)):
            undos = [state.decide(Undo(other), why=_UNPIN) for other, pin in pins if pin == edit]
            return undos[0]
    raise NotFound(f"Nothing is pinned as {what[:60]!r}.")


def note(state: State, name: str, text: str) -> Decision:
    """Show a piece of state beside the conversation, here; a later note of the same name replaces it."""
    if not isinstance(name, str) or not isinstance(text, str) or not name:
        raise BadInput("A note has a name and a text.")
    return state.decide(Note(name, text), why="note")


def fold(state: State, covers: tuple[str, ...], shows: str, *, dry_run: bool = False) -> Decision:
    """A person's own fold; a dry run is drafted and not committed."""
    ids = _ids(covers)
    if not isinstance(shows, str | tuple):
        raise BadInput(f"Say in words what stands in the place of what is folded; not {shows!r}.")
    state.read_whole()
    draft = Draft(state.view(), state.log, state.gauge, state.terms.budget)
    view = draft.offer(Fold(ids, shows), why="person", by="person", forced=True)
    if view.refused:
        error = PartlyCovered if view.refused in CUTTING else BadEdit
        raise error(f"This fold cannot be made: {view.refused}{_say_partners(state, ids)}.")
    if not dry_run:
        state.commit(draft.decisions)
    return decision_in_window(draft.decisions[0], state.limits())


def _say_partners(state: State, ids: tuple[str, ...]) -> str:
    """Which rows have to be folded together, where some of them were named without the others."""
    blocks = [[row.id for row in block.rows] for block in state.view().blocks]
    cut = [rows for rows in blocks if set(rows) & set(ids) and not set(rows) <= set(ids)]
    return f": fold {' and '.join(id[: SHORTEST_ID + 2] for id in cut[0])} together" if cut else ""


def _ids(covers: Iterable[str]) -> tuple[str, ...]:
    """The ids of rows to fold. A text alone is taken for a mistake: its letters would be the ids."""
    if isinstance(covers, str):
        raise BadInput(f"Give the ids of the rows to fold as a tuple, such as ({covers!r},).")
    ids = tuple(covers) if isinstance(covers, Iterable) else (covers,)
    if not all(isinstance(id, str) for id in ids):
        raise BadInput(f"Say which rows to fold, by their ids; not {covers!r}.")
    return ids
