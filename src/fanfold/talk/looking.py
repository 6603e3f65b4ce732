"""Looking: what was sent, what changed, and why something is not in view."""

from __future__ import annotations

from typing import Any

import msgspec

from fanfold.edit import Decision, Elide, Undo, covered, summary_of
from fanfold.errors import NotFound
from fanfold.record import Edited, Sent
from fanfold.show import show
from fanfold.talk.revising import entry_named, standing
from fanfold.talk.state import State
from fanfold.talk.units import decided, in_window
from fanfold.usage import TokenUsage
from fanfold.view import View


class Why(msgspec.Struct, frozen=True):
    """What happened to an entry: whether it is in view, and every edit that touched it."""

    entry: str
    visible: bool
    """Whether it stands in the view, be it with parts elided."""
    shown_by: str | None
    """The edit that shows something in its place."""
    edits: tuple[Decision, ...]
    undone: tuple[str, ...]
    said: float = 0.0
    """When it was recorded, in Unix seconds; 0 where the session did not record it itself."""
    times: tuple[float, ...] = ()
    """When each of the edits was made."""
    failed: tuple[str, ...] = ()
    """The passes that failed when it arrived, and how."""
    by: str = ""
    """The passes that made what its entry holds of an output above a mebibyte; no edit, so it cannot be undone."""

    def __str__(self) -> str:
        state = (
            "in view"
            if self.visible
            else f"hidden by {self.shown_by}"
            if self.shown_by
            else "not on this path"
        )
        lines = [f"{self.entry[:8]} is {state}"]
        for edit in self.edits:
            mark = " (undone)" if edit.id in self.undone else ""
            saved = f", {edit.before:,} → {edit.after:,} tokens" if edit.before else ""
            lines.append(f"  {edit.id} {summary_of(edit.edit)} by {edit.by} ({edit.why}){saved}{mark}")
        lines += [f"  shown by the pass {self.by}"] if self.by else []
        lines += (f"  the pass {failure}" for failure in self.failed)
        return "\n".join(lines)


class Diff(msgspec.Struct, frozen=True):
    """What the model saw in one request and not in the other."""

    gone: tuple[str, ...]
    came: tuple[str, ...]
    changed: tuple[str, ...]
    before: int
    after: int

    def __str__(self) -> str:
        rows = [f"- {id[:8]}" for id in self.gone] + [f"+ {id[:8]}" for id in self.came]
        rows += [f"~ {id[:8]}" for id in self.changed]
        return "\n".join([f"{self.before:,} → {self.after:,} tokens", *rows])


def why(state: State, name: str) -> Why:
    """What happened to an entry."""
    state.read_whole()
    id = entry_named(state, name)
    view, log = state.view(), state.log
    row = view.row(id)
    touched = [d for d in log.decisions.values() if not isinstance(d.edit, Undo) and _touches(state, d, id)]
    shown = next((row.id for row in view.rows if row.kind != "note" and id in log.leaves((row.id,))), None)
    undone = tuple(d.id for d in touched if d.id in log.undone())
    made = {
        d.id: record.time for record in log.records if isinstance(record, Edited) for d in record.decisions
    }
    times = tuple(made.get(d.id, 0.0) for d in touched)
    hidden_by = shown if row is None else None
    kept = [one for one in log.kept.values() if one.is_part and one.entry == id]
    failed = tuple(failure for one in kept for failure in one.failed)
    by = next((one.by for one in kept if one.by), "")
    said = log.times.get(id, 0.0)
    edits = tuple(decided(decision, state.limits()) for decision in touched)
    return Why(id, row is not None, hidden_by, edits, undone, said, times, failed, by)


def _touches(state: State, decision: Decision, id: str) -> bool:
    edit = decision.edit
    if isinstance(edit, Elide):
        return edit.entry == id
    return id in state.log.leaves(covered(edit)) or getattr(edit, "entry", None) == id


def sent_view(state: State, number: int) -> tuple[Sent, View]:
    """A request as it went out, and what the model saw in it."""
    state.read_whole()
    if not isinstance(number, int) or not -len(state.log.sent) <= number < len(state.log.sent):
        raise NotFound(f"There is no request {number!r}; {len(state.log.sent)} went out, counted from 0.")
    sent = state.log.sent[number]
    view = show(state.log, sent.tip, sent.version, state.gauge, state.terms.name)
    return sent, in_window(view, state.limits())


def diff(state: State, a: int, b: int) -> Diff:
    """What changed between two requests."""
    state.read_whole()
    return compared(sent_view(state, a)[1], sent_view(state, b)[1])


def compared(one: View, other: View) -> Diff:
    """What stands in one view and not in the other."""
    first, second = ({row.id: row for row in view.rows} for view in (one, other))
    changed = tuple(id for id in first if id in second and first[id].messages != second[id].messages)
    return Diff(
        tuple(id for id in first if id not in second),
        tuple(id for id in second if id not in first),
        changed,
        one.tokens,
        other.tokens,
    )


def stats(state: State) -> dict[str, Any]:
    """Figures of the session so far."""
    state.read_whole()
    log, view, limits = state.log, state.shown(), state.limits()
    bills = [bill.usage for bill in log.bills.values()]
    usage = sum(bills, TokenUsage())
    return {
        "messages": len(state.projection.path),
        **view.stats,
        "edits": len(standing(state)),
        "requests": len(log.sent),
        "sent_tokens": sum(limits.billed(sent.tokens) for sent in log.sent),
        "billed_tokens": usage.prompt,
        "cached_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "asked_tokens": sum(spent.usage.total for spent in log.spent),
        "asked_cost": sum(spent.cost for spent in log.spent),
        "snapshot": any(row.kind == "note" for row in view.rows),
    }
