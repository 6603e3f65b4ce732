"""Why an edit was made: for which request, how full the window was, or what a person did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fanfold.core.budget import Learned
from fanfold.core.edit import Decision, Drop, Fold, Undo, covers_of
from fanfold.core.errors import BadInput
from fanfold.core.log import Log
from fanfold.core.record import Edited, Sent, Taught
from fanfold.dialects.dialect import reply_limit
from fanfold.outputs.filters.clip import Clip
from fanfold.session.cache import kept_for
from fanfold.session.state import State
from fanfold.tokens.units import decision_in_window

_ID, _NAMED = 8, 2


class Again(NamedTuple):
    """Why an edit was made once more: a person brought some of what it hid back."""

    edit: str
    """The edit in whose place it stands."""
    back: tuple[str, ...]
    """What came back: a message, and what belongs to it."""

    def __str__(self) -> str:
        more = f" and {len(self.back) - _NAMED:,} more" if len(self.back) > _NAMED else ""
        names = ", ".join(id[:_ID] for id in self.back[:_NAMED])
        return f"made again in the words of {self.edit}, without {names}{more}: a person brought that back"


def made_again(log: Log) -> dict[str, Again]:
    """The edits that were made once more when a person brought one message back, by their ids."""
    found, undone = dict[str, Again](), list[str]()
    for record in log.records:
        made = record.decisions if isinstance(record, Edited) else ()
        undos = [one.edit.edit for one in made if isinstance(one.edit, Undo) and one.by == "person"]
        if len(made) == 1 and not undos and undone:
            again = _again(log, made[0], undone)
            found.update({made[0].id: again} if again is not None else {})
        undone = [*undone, *undos] if undos else []
    return found


def retold(log: Log, entry: str) -> frozenset[str]:
    """The edits made again without an entry, whose words still tell of it."""
    again, found = made_again(log), set[str]()
    for id in again:
        first = id
        while first in again:
            first = again[first].edit
        if entry in log.leaves(covers_of(log.decisions[first].edit)):
            found.add(id)
    return frozenset(found)


def _again(log: Log, made: Decision, undone: Sequence[str]) -> Again | None:
    """The edit among those undone right before that this one repeats over fewer messages."""
    now = log.leaves(covers_of(made.edit))
    for id in undone:
        before = log.decisions.get(id)
        if (
            before is None
            or (before.by, before.why) != (made.by, made.why)
            or not _says_the_same(before, made)
        ):
            continue
        hidden = log.leaves(covers_of(before.edit))
        if now < hidden:
            back = hidden - now
            return Again(id, tuple(sorted(back, key=lambda one: log.tree[one].depth)))
    return None


def _says_the_same(one: Decision, other: Decision) -> bool:
    """Whether two edits show the same, but for the mark in a summary's first line."""
    if isinstance(one.edit, Fold) and isinstance(other.edit, Fold):
        texts = [edit.words.partition("\n")[2] or edit.words for edit in (one.edit, other.edit)]
        return texts[0] == texts[1]
    return isinstance(one.edit, Drop) and isinstance(other.edit, Drop)


def as_decided(state: State, decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Decisions in the window's tokens, by what bills had taught when each was made: later bills do not change them."""
    learned, then = Learned(exact=state.gauge.exact), dict[str, Learned]()
    for record in state.log.records:
        if isinstance(record, Taught):
            learned = record.learned.voided()
        elif isinstance(record, Edited):
            then.update((decision.id, learned) for decision in record.decisions)
    budgets = {known: state.terms.budget.measured_by(known) for known in set(then.values())}
    return tuple(decision_in_window(one, budgets[then[one.id]]) for one in decisions)


def causes_of(state: State, decisions: Sequence[Decision]) -> Iterator[str]:
    """For which request each edit was made, and how full the window was before its reduction began."""
    edited = (record for record in state.log.records if isinstance(record, Edited))
    plans = {one.id: record for record in edited for one in record.decisions}
    clip, again = _clip_of(state), made_again(state.log)
    for one in decisions:
        if one.id in again:
            yield str(again[one.id])
        elif one.by == "auto":
            yield _cause(state, plans.get(one.id))
        else:
            yield clip * (one.by == "pass" and one.why == "clip")


def _clip_of(state: State) -> str:
    """How long an output may be here that is shown whole; nothing if none is ever clipped."""
    clip = next((one for one in state.terms.filters if isinstance(one, Clip)), None)
    if clip is None:
        return ""
    return f"an output above {clip.size:,} {clip.unit} is shown in part in this window (docs/filter.md)"


def _cause(state: State, plan: Edited | None) -> str:
    if plan is None or not plan.decisions[0].before:
        return ""
    first, last = as_decided(state, (plan.decisions[0], plan.decisions[-1]))
    born = state.log.born[first.id]
    number = next((n for n, sent in enumerate(state.log.sent) if sent.version >= born), None)
    trigger, had = _trigger_of(state, number), f"the view had {first.before:,} tokens"
    if first.before > trigger:
        cause = f"{had}, above the trigger of {trigger:,}"
    else:
        asked = _asked_by(state, plan, born)
        cause = f"{asked}; {had} before" if asked else ""
    to = f"; {first.id} to {last.id} reduced it to {last.after:,}" if last.id != first.id else ""
    unsent = "no request was sent with it yet"
    if not cause:
        return f"{unsent if number is None else f'made for request {number}'}; {had} before{to}"
    if number is None:
        return f"made because {cause}{to}; {unsent}"
    return f"made for request {number}, because {cause}{to}"


def _asked_by(state: State, plan: Edited, born: int) -> str:
    """What asked for a plan that the size of the view did not."""
    match plan.cause:
        case "manual":
            return "`compact` asked for it"
        case "strategy":
            return "its strategy said that a shorter view was cheaper by then"
        case "cold":
            return _pause_before(state, plan, born)
    return ""


def _pause_before(state: State, plan: Edited, born: int) -> str:
    """That the provider had forgotten the last prompt when a plan was made, so that it was read anew in any case."""
    before = [sent for sent in state.log.sent if sent.version < born]
    if not before or not before[-1].time or not plan.time:
        return ""
    silence, kept = plan.time - before[-1].time, kept_for(state, before[-1])
    return (
        f"after {_minutes(silence)} without a request the provider no longer kept the prompt "
        f"(it does for {_minutes(kept)}), so that all was to be read anew in any case"
    )


def _minutes(seconds: float) -> str:
    count = round(seconds / 60)
    return f"{count:,} minute{'s' * (count != 1)}"


def _trigger_of(state: State, number: int | None) -> int:
    """Above so many tokens a request is reduced that asks for as long a reply as this one did."""
    sent: Sent | None = state.log.sent[number] if number is not None else None
    params = sent.params if sent is not None else None
    reply = reply_limit(params) if isinstance(params, Mapping) else None
    try:
        limits = state.limits(reply)
    except BadInput:  # so long a reply no longer fits
        limits = state.limits()
    return limits.billed(limits.ceiling)
