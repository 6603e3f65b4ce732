"""Looking: what was sent, what changed, and why something is not in view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from fanfold.core.edit import Decision, Edit, Elide, Fold, Note, Pin, Undo, covers_of
from fanfold.core.layout import show
from fanfold.core.record import Edited, Erased, Sent, Totals
from fanfold.core.view import View
from fanfold.session.cache import no_request
from fanfold.session.cause import as_decided, causes_of, made_again
from fanfold.session.state import State
from fanfold.session.undo import entry_named, standing_edits, way_back
from fanfold.strategies.handover.writing import SPEAKERS
from fanfold.text.cutting import short
from fanfold.text.lines import fill_of, many
from fanfold.text.notebook import lines_table
from fanfold.tokens.units import in_window

_ID, _TEXT = 8, 100
"""Characters of an id in the sources of a line, and of a line's text as it is printed."""
_NAMED = 4
"""So many sources of a line are printed."""


def listed(names: Sequence[str], most: int, between: str = " ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


class LineSource(msgspec.Struct, frozen=True):
    """A line of a hand-over, and what it was made from."""

    edit: str
    number: int
    """Which line of the edit's text it is, from 1."""
    text: str
    entries: tuple[str, ...]
    outputs: tuple[str, ...]
    """The references of outputs among them."""
    speakers: tuple[str, ...] = ()
    """Who speaks in it: person, agent, client or model, and behind these whom it quotes, tool or web."""
    calls: tuple[str, ...] = ()
    """The tools that the agent called, where it tells of calls and of what they gave."""

    def __str__(self) -> str:
        names = self.outputs if len(self.outputs) == len(self.entries) else [id[:_ID] for id in self.entries]
        told = [self._told_by] * bool(self.speakers) + [f"from {listed(names, _NAMED)}"] * bool(names)
        beside = f" ({', '.join(told)})" if told else ""
        return f"{self.edit}, line {self.number}: {short(self.text, _TEXT)}{beside}"

    @property
    def _told_by(self) -> str:
        """Whose words they are: what somebody said, or what the agent called."""
        if not self.calls:
            return f"said by {' and '.join(f'the {one}' for one in self.speakers)}"
        quoted = [f"the {one}" for one in self.speakers if one != "agent"]
        quoting = f" quoting {' and '.join(quoted)}" if quoted else ""
        return f"the agent's {'call' if len(self.calls) == 1 else 'calls'} of {listed(self.calls, _NAMED)}{quoting}"


class Why(msgspec.Struct, frozen=True):
    """What happened to an entry, or to an edit: whether it is in view, and every edit that touched it."""

    entry: str
    """The entry, or the edit, that was asked about."""
    visible: bool
    """Whether it stands in the view, be it shortened; of an edit, whether it has effect."""
    shown_by: str | None
    """The edit that shows something in its place."""
    edits: tuple[Decision, ...]
    """The edits that touched it; an edit itself comes first among its own."""
    undone: tuple[str, ...]
    said: float = 0.0
    """When it was recorded, in Unix seconds; 0 where the session did not record it itself."""
    times: tuple[float, ...] = ()
    """When each of the edits was made."""
    causes: tuple[str, ...] = ()
    """Why each of them was made: for which request, and how full the window was. Empty where nobody knows."""
    failed: tuple[str, ...] = ()
    """The filters that failed when it arrived, and how."""
    by: str = ""
    """The filters that made what its entry holds of an output above a mebibyte; no edit, so it cannot be undone."""
    hides: tuple[str, ...] = ()
    """Of an edit: the entries that it covers, in their order."""
    lines: tuple[LineSource, ...] = ()
    """Of a hand-over: where its lines come from; of an entry: the lines that tell of it."""
    shortened_by: tuple[str, ...] = ()
    """Of an entry in view: the edits that shorten it."""
    seen: str = ""
    """What the model sees of it where it is shortened."""
    erased: str = ""
    """Of an erased entry: the reason. No undo brings its content back."""
    erased_at: float = 0.0
    """When that was; 0 where the session did not record it."""
    again: Mapping[str, str] = {}
    """Of edits that were made once more when a person brought some of what they hid back: in whose words each is."""
    undos_made: tuple[tuple[Decision, float], ...] = ()
    """The undos that brought it back, and when each was made."""
    way_back: tuple[tuple[str, bool], ...] = ()
    """The undos that show an entry whole again, in this order: each edit, and whether `through` others on top of it."""

    def __repr__(self) -> str:
        return f"<Why {self.entry[:8]} {self._state()}>"

    def __str__(self) -> str:
        undos = [f'chat.undo("{name}")' for name in self.undos]
        back = [f"To bring it back: {'; '.join(undos)}"] if undos else []
        return "\n".join([*(line for line, _ in self.timed_lines()), *back])

    @property
    def undos(self) -> tuple[str, ...]:
        """What to undo to show an entry whole again: the entry itself, and each filter that keeps some of it back."""
        edits = {one.id: one.edit for one in self.edits}
        filters = [id for id, _ in self.way_back if getattr(edits.get(id), "instead", False)]
        return (*([self.entry[:_ID]] if len(filters) < len(self.way_back) else ()), *filters)

    def timed_lines(self) -> Iterator[tuple[str, float]]:
        """What there is to say, line by line, each with the moment it tells of; 0 where none is known."""
        seen = f': the model sees "{short(self.seen, _TEXT)}"' if self.seen else ""
        yield f"{self.entry[:_ID]} {self._state()}{seen}", self.said
        if self.erased:
            yield (
                f"  erased ({self.erased}): its content is destroyed, and nothing brings it back",
                self.erased_at,
            )
        for edit, time, cause in zip_longest(self.edits, self.times, self.causes, fillvalue=None):
            assert isinstance(edit, Decision)
            mark = " (undone)" if edit.id in self.undone else ""
            saved = f", {edit.before:,} → {edit.after:,} tokens" if edit.before else ""
            yield f"  {edit.id} {summary_of(edit.edit)} {self._made_by(edit)}{saved}{mark}", time or 0.0
            if cause:
                yield f"     {cause}", 0.0
            for undo, when in self.undos_made:
                if isinstance(undo.edit, Undo) and undo.edit.edit == edit.id:
                    yield f"     undone by {undo.id}, by {_maker(undo)}", when
        beside = [f"shown by the filter {self.by}"] if self.by else []
        beside += (f"the filter {failure}" for failure in self.failed)
        beside += [f"covers {listed([id[:_ID] for id in self.hides], 2 * _NAMED)}"] if self.hides else []
        yield from ((f"  {line}", 0.0) for line in (*beside, *self.read_instead))

    @property
    def read_instead(self) -> tuple[LineSource, ...]:
        """The lines that the model reads in place of a hidden entry; of an edit, all its lines."""
        return tuple(line for line in self.lines if line.edit in (self.entry, self.shown_by))

    def _made_by(self, made: Decision) -> str:
        words = self.again.get(made.id)
        return f"again, in the words of {words}" if words else f"by {_maker(made)}"

    def _state(self) -> str:
        is_edit = any(edit.id == self.entry for edit in self.edits)
        if self.erased:
            return "is erased" + (f", under {self.shown_by}" if self.shown_by else "")
        if self.visible:
            shorter = f", but shortened by {', '.join(self.shortened_by)}" if self.shortened_by else ""
            return "stands" if is_edit else f"is in view{shorter}"
        if self.entry in self.undone:
            return "is undone"
        return f"is hidden by {self.shown_by}" if self.shown_by else "is not on this path"


def _maker(made: Decision) -> str:
    """Who made an edit, in words; records keep the names that 0.1 gave to filters and repairs."""
    match made.by:
        case "person":
            return "a person"
        case "auto":
            return f"the strategy {made.why}"
        case "pass":
            return f"the filter {made.why}" if made.why != "branch" else "a filter"
        case "mend":
            return "a repair"
    return made.by


class Diff(msgspec.Struct, frozen=True):
    """What the model saw in one request and not in the other."""

    gone: tuple[str, ...]
    came: tuple[str, ...]
    changed: tuple[str, ...]
    before: int
    after: int
    lines: tuple[str, ...] = ()
    """The same in words: `-`, `+` or `~`, the id, and how the row begins."""

    def __str__(self) -> str:
        return "\n".join([self._tokens, *self.lines])

    def __repr__(self) -> str:
        counts = f"+{len(self.came)} -{len(self.gone)} ~{len(self.changed)}"
        return f"<Diff {counts} rows, {self._tokens}>"

    def _repr_html_(self) -> str:
        return lines_table(self._tokens, self.lines)

    @property
    def _tokens(self) -> str:
        return f"{self.before:,} → {self.after:,} tokens"


def why(state: State, name: str) -> Why:
    """What happened to an entry or an edit; an edit's name means the edit, an output's reference its entry."""
    state.read_whole()
    view, log = state.view(), state.log
    name = log.kept[name].entry if name in log.kept else str(name)
    if name in log.decisions:
        return _why_edit(state, name)
    id = entry_named(state, name)
    row = view.row(id)
    erased = log.tree.erased.get(id, "")
    touched = [d for d in log.decisions.values() if not isinstance(d.edit, Undo) and _touches(state, d, id)]
    shown = next((row.id for row in view.rows if row.kind != "note" and id in log.leaves((row.id,))), None)
    undone = tuple(d.id for d in touched if d.id in log.undone())
    kept = [one for one in log.kept.values() if one.is_part and one.entry == id]
    shaped = [log.decisions[edit] for edit in row.why] if row is not None else []
    elides = {one.id: one.edit for one in shaped if isinstance(one.edit, Elide)}
    texts = {edit.part: edit.text for edit in elides.values()}  # of one part, the last edit's is seen
    return Why(
        entry=id,
        visible=row is not None,
        shown_by=shown if row is None else None,
        edits=as_decided(state, touched),
        undone=undone,
        said=log.times.get(id, 0.0),
        times=_times(state, touched),
        causes=tuple(causes_of(state, touched)),
        failed=tuple(failure for one in kept for failure in one.failed),
        by=next((one.by for one in kept if one.by), ""),
        lines=tuple(line for decision in touched for line in _lines(state, decision) if id in line.entries),
        erased=erased,
        erased_at=next((one.time for one in log.records if isinstance(one, Erased) and one.entry == id), 0.0),
        again=_again(state, touched),
        undos_made=_undos(state, undone),
        shortened_by=tuple(elides),
        seen=" ".join(filter(None, texts.values())),
        way_back=tuple(way_back(state, id)) if id in state.depth and not erased else (),
    )


def _undos(state: State, undone: Sequence[str]) -> tuple[tuple[Decision, float], ...]:
    """The undos that hold of edits that are undone, each with its time."""
    made = [
        one
        for one in state.log.decisions.values()
        if isinstance(one.edit, Undo) and one.edit.edit in undone and one.id not in state.log.undone()
    ]
    return tuple(zip(made, _times(state, made), strict=True))


def _why_edit(state: State, id: str) -> Why:
    """What an edit covers, and what became of it: undone, given back, or covered by a later one."""
    log, view, own = state.log, state.view(), state.log.decisions[id]
    later = (d for d in log.decisions.values() if d.id != id)
    touched = [own, *(d for d in later if id in covers_of(d.edit) or log.meant(d.id) == id)]
    undone = tuple(d.id for d in touched if d.id in log.undone())
    over = next((row.id for row in view.rows if row.id != id and id in log.under(row.id)), None)
    stands = (
        id not in undone if isinstance(own.edit, Undo) else any(d.id == id for d in standing_edits(state))
    )
    leaves = log.leaves(covers_of(own.edit))
    hides = [one for one in state.path if one in leaves]
    hides += sorted(leaves.difference(hides))
    times = _times(state, touched)
    return Why(
        entry=id,
        visible=stands and not over,
        shown_by=over,
        edits=as_decided(state, touched),
        undone=undone,
        said=times[0],
        times=times,
        causes=tuple(causes_of(state, touched)),
        hides=tuple(hides),
        lines=tuple(_lines(state, own)),
        again=_again(state, touched),
    )


def _lines(state: State, decision: Decision) -> Iterator[LineSource]:
    """The lines of a hand-over whose sources were recorded."""
    edit, log = decision.edit, state.log
    if not isinstance(edit, Fold) or not edit.sources:
        return
    again = made_again(log).get(decision.id)
    hidden = log.leaves(edit.covers).union(again.back if again is not None else ())
    ids = {id[:_ID]: id for id in hidden}
    texts = edit.words.split("\n")
    tools = {call.id: call.name for id in hidden for call in log.message(id).calls}
    for number, sources in edit.sources:
        named = [source.partition("#") for source in sources.split(" ")]
        known = [(ids[short], mark, part) for short, mark, part in named if short in ids]
        addresses = [f"{id}{mark}{part}" for id, mark, part in known]
        refs = [ref for address in addresses if (ref := log.addresses.get(address))]
        speakers = [SPEAKERS[sign] for sign in named[0][0][1:]] if sources.startswith("@") else []
        answered = [result.call for id, _, _ in known for result in log.message(id).results]
        called = dict.fromkeys(tools[call] for call in answered if call in tools and "agent" in speakers)
        if (known or speakers) and 0 < number <= len(texts):
            yield LineSource(
                edit=decision.id,
                number=number,
                text=texts[number - 1],
                entries=tuple(dict.fromkeys(id for id, _, _ in known)),
                outputs=tuple(refs),
                speakers=tuple(speakers),
                calls=tuple(called),
            )


def _again(state: State, decisions: Sequence[Decision]) -> dict[str, str]:
    """In whose words those are that were made once more."""
    again = made_again(state.log)
    return {one.id: again[one.id].edit for one in decisions if one.id in again}


def _times(state: State, decisions: list[Decision]) -> tuple[float, ...]:
    """When each of these was made; 0 where the session did not record it itself."""
    edited = (record for record in state.log.records if isinstance(record, Edited))
    made = {decision.id: record.time for record in edited for decision in record.decisions}
    return tuple(made.get(decision.id, 0.0) for decision in decisions)


def _touches(state: State, decision: Decision, id: str) -> bool:
    edit = decision.edit
    if isinstance(edit, Elide):
        return edit.entry == id
    return id in state.log.leaves(covers_of(edit)) or getattr(edit, "entry", None) == id


def sent_view(state: State, number: int) -> tuple[Sent, View]:
    """A request as it went out, and what the model saw in it."""
    state.read_whole()
    if not isinstance(number, int) or not -len(state.log.sent) <= number < len(state.log.sent):
        raise no_request(state.log, number)
    sent = state.log.sent[number]
    view = show(state.log, sent.tip, sent.version, state.gauge, state.terms.name)
    return sent, in_window(view, state.limits())


def diff(state: State, a: int, b: int) -> Diff:
    """What changed between two requests."""
    state.read_whole()
    first, second = sent_view(state, a)[1], sent_view(state, b)[1]
    found = compare(first, second)
    rows = (("-", first, found.gone), ("+", second, found.came), ("~", second, found.changed))
    lines = (f"{sign} {id[:8]:<8}{view.row(id)}" for sign, view, ids in rows for id in ids)
    return msgspec.structs.replace(found, lines=tuple(lines))


def compare(one: View, other: View) -> Diff:
    """What stands in one view and not in the other."""
    first, second = ({row.id: row for row in view.rows} for view in (one, other))
    changed = tuple(id for id in first if id in second and first[id].messages != second[id].messages)
    return Diff(
        gone=tuple(id for id in first if id not in second),
        came=tuple(id for id in second if id not in first),
        changed=changed,
        before=one.tokens,
        after=other.tokens,
    )


def in_short(state: State) -> str:
    """The session's name, its messages, and how full its window is."""
    log, view = state.log, state.shown()
    messages = log.tree[log.head].depth + 1 if log.head is not None else 0
    return f"{state.terms.name!r}: {messages:,} message{'s' * (messages != 1)}, {fill_of(view.tokens, view.room)}"


def stats(state: State) -> dict[str, Any]:
    """Figures of the session so far."""
    if state.log.totals is None:
        state.read_whole()
    log, view, limits = state.log, state.shown(), state.limits()
    totals = log.totals or Totals()
    return {
        "messages": log.tree[log.head].depth + 1 if log.head is not None else 0,
        **view.stats,
        "edits": len({edit for row in view.rows for edit in row.why}),
        "requests": log.requests,
        "sent_tokens": limits.billed(totals.sent, log.requests),
        "billed_tokens": totals.prompt,
        "cached_tokens": totals.cached,
        "output_tokens": totals.output,
        "asked_tokens": totals.asked,
        "asked_cost": totals.asked_cost,
        "snapshot": any(row.kind == "note" for row in view.rows),
    }


def summary_of(edit: Edit) -> str:
    """An edit in a few words, for people."""
    match edit:
        case Fold(covers=covers):
            return f"folded {many(len(covers), 'row')}"
        case Elide(address=address):
            return f"shortened {address[:_ID]}"
        case Pin(entry=entry, text=text):
            return f"pinned {entry[:6] if entry else repr(text)}"
        case Note(name=name):
            return f"noted {name}"
        case Undo(edit=undone):
            return f"undid {undone}"
        case _:
            return f"{type(edit).__name__.lower()} of {many(len(edit.covers), 'row')}"
