"""A session under test, beside what must be true of it. Every operation checks its own laws."""

import copy
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import currently_in_test_context, event

import fanfold
from fanfold import (
    Budget,
    Decision,
    DoesNotFit,
    Drop,
    FanfoldError,
    Fold,
    Memory,
    Message,
    Note,
    Repair,
    Session,
    Undo,
)
from fanfold.core.edit import covers_of
from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.message import text_of, user
from fanfold.core.plan import Outcome
from fanfold.core.record import Edited, Inherited, Sent
from fanfold.core.view import Row, View
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.session.undo import standing_edits
from fanfold.testing import replied
from laws import holds
from laws.marks import Marks

TOOLS = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
happened: Counter[str] = Counter()
"""What really occurred, over all worlds."""


def occurred(what: str, really: bool = True) -> None:
    """Count it, and tell hypothesis."""
    if really:
        happened[what] += 1
        if currently_in_test_context():
            event(what)


class Track:
    """What is remembered about one session."""

    def __init__(self) -> None:
        self.last: tuple[list[Any], set[str], str, dict[str, Any], str, int] | None = None
        self.sent: list[tuple[int, list[Any]]] = []
        self.read = 0
        """The version up to which its edits were judged; an erasure takes records away, but no version."""
        self.back: set[str] = set()
        """The edits that a person undid, and neither released nor gave back."""
        self.counted: set[tuple[str, str]] = set()
        """What was counted, and of which row: once is enough."""


class World:
    """One tenant, one or more sessions, and everything they were told."""

    def __init__(
        self,
        strategy: Any = None,
        *,
        budget: Budget | None = None,
        summarizer: Any = None,
        model: str | None = None,
    ) -> None:
        self.now = 0.0
        self.store = Memory()
        self.kept: dict[str, Message] = {}
        self.bodies: dict[str, list[Message]] = {}
        """Every body that an entry had before it was erased, in any session."""
        self.marks = Marks()
        self.gone: set[str] = set()
        self.model = summarizer
        self.chat = fanfold.open(
            "run",
            model=model,
            system="You mend builds. \udc80",
            tools=TOOLS,
            budget=budget or Budget(window=2_000),
            strategy=strategy,
            summarizer=self._asked,
            store=self.store,
            clock=self._clock,
        )
        self.sessions: list[Session] = [self.chat]
        self.tracks: dict[str, Track] = {"run": Track()}
        self.room = self._room()
        """What the window leaves for the view, in the meter's own tokens: above it, an edit is forced."""

    def _clock(self) -> float:
        self.now += 1
        return self.now

    def _asked(self, question: Any) -> str:
        return self.model(self, question) if self.model is not None else "A summary."

    @property
    def log(self) -> Any:
        return holds.log_of(self.chat)

    @property
    def track(self) -> Track:
        return self.tracks[self.chat.name]

    # what happens

    def do(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        """One verb; a refusal must leave everything as it was."""
        before = (list(self.log.records), holds.fingerprint(self.chat._state.view()))
        try:
            return getattr(self.chat, verb)(*args, **kwargs)
        except FanfoldError as error:
            _reads_as_a_sentence(error)
            self._can_be_gone(error)
            assert len(before[0]) == len(self.log.records), f"{verb} failed and wrote"
            assert before[1] == holds.fingerprint(self.chat._state.view()), (
                f"{verb} failed and changed the view"
            )
            return None

    def _can_be_gone(self, error: FanfoldError) -> None:
        """An edit that has to be undone first is none that cannot be undone."""
        named = re.findall(r"(?:covered|hidden) by ((?:e\d+(?:, )?)+)", str(error))
        occurred("named a cover", bool(named))
        for id in ", ".join(named).split(", ") if named else ():
            assert not isinstance(self.log.decisions[id].edit, Repair), f"{error} names a mend"

    def _brings_room(self, error: FanfoldError) -> None:
        """Every undo that is to be released brought rows into view."""
        rows = {id for row in self.chat.view().rows for id in self.log.rows_repaired_by(row.id)}
        for undo in re.findall(r"e\d+", "".join(re.findall(r"Release [^(]*", str(error)))):
            target = self.log.decisions[self.log.decisions[undo].edit.edit].edit
            assert rows & set(covers_of(target)), f"{undo} brought nothing back"

    def pin(self, entry: str) -> None:
        """Pin an entry; one that is in view, be it repaired, can be pinned."""
        shown = any(entry in self.log.rows_repaired_by(row.id) for row in self.chat.view().rows)
        occurred("pinned a mended entry", shown and self.chat.view().row(entry) is None)
        assert self.do("pin", entry) is not None or not shown, f"{entry} is in view and cannot be pinned"

    def go_on(self) -> None:
        """More is said, and the model has seen it."""
        for word in ("one ", "two "):
            self.do("say", word * 60)
            self.do("add", replied(word * 60))

    def request(self, *, max_tokens: int | None = None, context: str | None = None) -> dict[str, Any] | None:
        """A request, and the laws of requests."""
        held = self._held()
        arguments: dict[str, Any] = {"max_tokens": max_tokens, "context": context, "temperature": 0}
        if self.log.head is None:
            return None
        self._judge(max_tokens, context)
        try:
            request = self.chat.request(**arguments)
        except DoesNotFit as error:
            occurred("does not fit")
            _reads_as_a_sentence(error)
            self._brings_room(error)
            return None
        written = len(self.log.records)
        assert self.chat.request(**arguments) == request, "asked again, another request"
        assert len(self.log.records) == written, "asked again, something was written"
        holds.it_fits(self.chat, request, max_tokens)
        holds.it_obeys_the_grammar(request)
        self._still_held(held)
        self._prefix_holds(request, arguments)
        return request  # type: ignore[no-any-return]

    def _held(self) -> tuple[set[str], dict[str, Any], str | None, int]:
        """The pinned lines, the rows that are pinned or that a person brought back, where, and at how many edits."""
        view, back = self.chat.view(), self._brought_back()
        shown = [line for message in view.messages for line in _lines(message)]
        lines = {line for text in view.pinned_texts for line in text.splitlines() if line.strip()}
        entries = {row.id: row.messages for row in view.rows if row.pinned or row.id in back}
        there = {line for line in lines if any(line in other for other in shown)}
        return there, entries, view.tip, len(self.log.decisions)

    def _brought_back(self) -> set[str]:
        """The rows in view that a person brought back, as they were or repaired."""
        rows = {id for edit in self.track.back for id in covers_of(self.log.decisions[edit].edit)}
        return {
            row.id for row in self.chat.view().rows if not rows.isdisjoint(self.log.rows_repaired_by(row.id))
        }

    def _still_held(self, before: tuple[set[str], dict[str, Any], str | None, int]) -> None:
        view = self.chat.view()
        if before[2] not in holds.path_of(self.chat):
            return
        reduced = any(d.reduces and d.by == "auto" for d in list(self.log.decisions.values())[before[3] :])
        occurred("reduced beside what a person undid", reduced and bool(self._brought_back()))
        lines = [line for message in view.messages for line in _lines(message)]
        standing, pinned = self._standing_again(before[3]), {pin.entry for _, pin in self.log.pins()}
        for line in before[0]:
            assert any(line in other for other in lines), f"the pinned line {line!r} is gone"
        for id, messages in before[1].items():
            row = view.row(id)
            shown = self.log.leaves((id,))
            repaired = any(row.kind == "mend" and shown <= self.log.leaves((row.id,)) for row in view.rows)
            stays = repaired or (row is not None and row.messages == messages)
            assert stays or (id in standing and id not in pinned), f"{id} is gone, which was kept"

    def _standing_again(self, made: int) -> set[str]:
        """What earlier edits cover: they stand again where the talk went forward to the place at which they were made,
        or the very message was said again, say while a model was asked."""
        earlier = set(list(self.log.decisions)[:made])
        shown = {id for row in self.chat.view().rows for id in (row.id, *self.log.under(row.id))}
        again = {edit: covers_of(self.log.decisions[edit].edit) for edit in shown & earlier}
        return {id for edit, covers in again.items() for id in (*covers, *self.log.under(edit))}

    def _prefix_holds(self, request: dict[str, Any], arguments: dict[str, Any]) -> None:
        view, log, track = self.chat.view(), self.log, self.track
        number = len(log.sent) - 1
        body = holds.wires(self.chat, view)
        if arguments["context"] is None:
            assert request["messages"][len(log.frame().system) :] == body
        if track.last is not None:
            wires, shown, frame, params, tip, at = track.last
            same = frame == log.frame().id and params == arguments and tip in holds.path_of(self.chat)
            sent = [i for i, record in enumerate(log.records) if isinstance(record, Sent)]
            past = {None, *log.tree.path(tip)} - {tip}
            made = sum(len(r.decisions) for r in log.records[: sent[at]] if isinstance(r, Edited))
            untouched = not shown & self._standing_again(made)
            if same and untouched and not holds.touched(log.records[sent[at] :], shown, past):
                occurred("prefix")
                assert body[: len(wires)] == wires, "the prefix moved"
        track.last = (body, {row.id for row in view.rows}, log.frame().id, arguments, view.tip, number)  # type: ignore[assignment]
        track.sent.append((number, body))

    def compact(self, *, force: bool = False) -> None:
        """A reduction, and that undoing it gives everything back."""
        if self.log.head is None:
            return
        held, made = self._held(), len(self.log.decisions)
        self._judge()
        outcome = self.chat.compact(force=force)
        assert outcome.after <= outcome.before or any(isinstance(d.edit, Note) for d in outcome.decisions)
        self._is_no_false_success(outcome)
        assert len(self.log.decisions) == made + len(outcome.decisions)
        self._still_held(held)

    def settle(self) -> None:
        """The work of the background."""
        held, made = self._held(), len(self.log.decisions)
        self._judge()
        outcome = self.chat.settle()
        assert outcome is not None or len(self.log.decisions) == made
        if outcome is not None:
            self._is_no_false_success(outcome)
        self._still_held(held)

    def _is_no_false_success(self, outcome: Outcome) -> None:
        """What is said to have been reduced is smaller; where bytes matter it may be so in bytes alone."""
        bytes_matter = self.chat._state.terms.budget.max_bytes is not None
        assert outcome.status != "reduced" or outcome.saved > 0 or bytes_matter

    def undo(self, pick: int, *, through: bool = False) -> None:
        """Undo an edit: the view is that of a log in which it was never made."""
        undone = self.log.undone()
        edits = [d.id for d in self.log.decisions.values() if d.id not in undone]
        if not edits:
            return
        decisions = self.do("undo", edits[pick % len(edits)], through=through)
        if decisions is None:
            return
        self._undone(decisions)
        never = {d.id for d in decisions} | {d.edit.edit for d in decisions}
        other = self._log_without(never)
        repairs = {id for d in decisions for id in self._repairs_of(self.log.meant(d.edit.edit), other)}
        occurred("undo under a mend", bool(repairs))
        never |= repairs
        if any(isinstance(self.log.decisions[id].edit, Undo) for id in never - {d.id for d in decisions}):
            occurred("undo chain")
        if not self._is_named(never) and not self._keeps_aside(never):
            occurred("undo")
            assert self.chat.view().messages == self._without(never).messages

    def undo_under_a_cover(self, pick: int) -> None:
        """Try to undo an edit that a later one covers."""
        hidden = [id for row in self.chat.view().rows for id in row.covers if id in self.log.decisions]
        if hidden:
            self._undone(self.do("undo", hidden[pick % len(hidden)]) or ())

    def _is_named(self, never: set[str]) -> bool:
        """Whether edits that were undone on another path cover these: no log has them without what they cover."""
        others = (d.edit for d in self.log.decisions.values() if d.id not in never)
        return any(not never.isdisjoint(covers_of(edit)) for edit in others)

    def _repairs_of(self, edit: str, other: Log) -> set[str]:
        """The repairs of what an edit changed that were made because it stood, or because it did not.

        In the other log it was the other way round when they were made, so there they would never have been made.
        """
        log, shown = self.log, {edit, *covers_of(self.log.decisions[edit].edit)}
        repairs = [
            id for id, d in log.decisions.items() if isinstance(d.edit, Repair) and log.under(id) & shown
        ]
        return {id for id in repairs if _stood(log, edit, log.born[id]) != _stood(other, edit, log.born[id])}

    def redo(self, *edit: str) -> Any:
        """Give an edit back: what it covers may be edited again."""
        decisions = self.do("redo", *edit)
        self._undone(decisions or ())
        return decisions

    def release(self, pick: int) -> None:
        """Let automatic edits touch again what was undone."""
        undone = list(self.log.undone())
        if undone:
            edit = undone[pick % len(undone)]
            self.do("release", edit)
            self.track.back -= {self.log.meant(edit)} & set(undone)

    def _undone(self, decisions: Iterable[Decision]) -> None:
        """Remember what a person's decisions took away, or gave back."""
        for decision in decisions:
            while isinstance(decision.edit, Undo):
                decision = self.log.decisions[decision.edit.edit]
            back = decision.id in self.log.undone()
            self.track.back = self.track.back | {decision.id} if back else self.track.back - {decision.id}

    def _keeps_aside(self, never: set[str]) -> bool:
        """Whether a pin keeps another edit aside, or would have: it depends on what its person saw then."""
        here, there = ({*view.shadowed} for view in (self.chat.view(), self._without(never)))
        occurred("undo beside what a pin keeps aside", here != there)
        return here != there and any(self.log.pins())

    def _without(self, never: set[str]) -> View:
        """The view of a log in which these edits were never made."""
        log = self._log_without(never)
        return show(log, log.head, log.version, self.chat._state.gauge)

    def _log_without(self, never: set[str]) -> Log:
        return Log(self.log.tree, [_less(record, never) for record in self.log.records])

    def undo_and_redo(self, pick: int) -> None:
        """Undoing the undo gives the edit back."""
        edits = [d.id for d in standing_edits(self.chat._state)]
        if not edits:
            return
        before = self.chat.view().messages
        target = edits[pick % len(edits)]
        if (undone := self.do("undo", target)) is not None:
            self._undone(undone)
            occurred("undo chain")
            assert self.redo(target) is not None, "what was undone cannot be redone"
            assert self.chat.view().messages == before

    def rewind_and_forward(self, pick: int) -> None:
        """Going back and forward again changes nothing."""
        path = holds.path_of(self.chat)
        if len(path) < 2:
            return
        before = holds.fingerprint(self.chat.view())
        self.chat.rewind(pick % len(path))
        self.check()
        if self.chat.head != path[-1]:
            self.chat.forward()
        assert holds.fingerprint(self.chat.view()) == before

    def rewind_turns(self, turns: int, *, inclusive: bool) -> None:
        """Turns go and stay whole: what is gone begins with a request."""
        before = holds.path_of(self.chat)
        written = len(self.log.records)
        self.do("rewind", turns=turns, inclusive=inclusive)
        if len(self.log.records) > written:
            left = len(holds.path_of(self.chat))
            assert self.log.message(before[left]).is_request, "a turn was cut"
            gone = sum(self.log.message(id).is_request for id in before[left:])
            assert gone == turns + (not inclusive), f"{gone} turns are gone"

    def unpin(self, edit: str) -> None:
        """Let go of a pin: the same is not pinned any more."""
        pin = self.log.decisions[edit].edit
        self.do("unpin", edit)
        assert all(other != pin for _, other in self.log.pins()), "it is still pinned"

    def forward(self, pick: int | None = None) -> None:
        """Go forward: to any entry, or by itself, and then never to where the session is, or was on its way here."""
        before, ids = set(holds.path_of(self.chat)), list(self.kept)
        to = () if pick is None or not ids else (ids[pick % len(ids)],)
        head = self.do("forward", *to)
        if head is not None and not to:
            occurred("forward")
            assert head not in before, "forward went back"

    def fork(self, *, edits: bool) -> None:
        """A session of its own shows the same, or every entry afresh."""
        name = f"fork-{len(self.sessions)}"
        before = holds.fingerprint(self.chat._state.view())
        other = self.chat.fork(name, edits=edits)
        occurred("fork")
        if edits:
            assert holds.fingerprint(other._state.view()) == before
        else:
            path = holds.path_of(self.chat)
            assert [row.id for row in other.view().rows] == path
            assert [row.was or row.messages[0] for row in other.view().rows] == list(
                map(self.log.message, path)
            )
        self.tracks[name] = Track()
        self.tracks[name].read = holds.log_of(other).version  # judged already, in the room that was left then
        self.tracks[name].back = set(self.track.back) if edits else set()
        self.sessions.append(other)

    def switch(self, pick: int) -> None:
        self.chat = self.sessions[pick % len(self.sessions)]

    def erase(self, pick: int, reason: str = "asked for") -> None:
        """Destroy an entry, once everything so far is judged by what stood there: an erasure changes the past."""
        self.check()
        path = holds.path_of(self.chat)
        if path and self.do("erase", path[pick % len(path)], reason) is not None:
            occurred("erase")
            self.gone.add(path[pick % len(path)])
            occurred("erase of a re-dressed body", self.marks.erased(path[pick % len(path)], self.sessions))
            self.marks.are_gone(self.sessions)
            for track in self.tracks.values():
                track.sent.clear()

    def merge(self, transcript: Any) -> Any:
        """Adopt a transcript; the same once more writes nothing."""
        given = copy.deepcopy(transcript)
        before = holds.path_of(self.chat)
        merged = self.do("merge", transcript)
        assert transcript == given, "merge changed what it was handed"
        if merged is None:
            return None
        occurred("re-dressed merge", merged.replaced > 0)
        occurred("forked merge", merged.forked)
        self.marks.sent_again(given, before, holds.path_of(self.chat))
        self.marks.are_gone(self.sessions)
        written = len(self.log.records)
        self.do("merge", copy.deepcopy(given))
        assert len(self.log.records) == written, "the same transcript again wrote something"
        return merged

    def replace(self, pick: int, text: str) -> int | None:
        """Send the present path again with another body in one place; gives back which, unless that was erased."""
        bodies, path = self.transcript(), holds.path_of(self.chat)
        if len(bodies) < 2 or len(bodies) != len(path):
            return None
        at, mark = pick % (len(bodies) - 1), self.marks.new()
        bodies[at]["content"] = f"{text} {mark}"
        if path[at] in self.gone:
            self.merge(bodies)
            return None
        self.marks.put(mark, path[at])
        return at if self.merge(bodies) is not None else None

    def transcript(self, pick: int = -1) -> list[Any]:
        """The present path as a client would send it again, erased messages included: any body that they had."""
        dialect = OpenAIChat()
        bodies: list[Any] = []
        for id in holds.path_of(self.chat):
            message = self._erased_body(id, pick) if id in self.gone else self.log.message(id)
            bodies += copy.deepcopy(dialect.wire(message))
        return bodies

    def _erased_body(self, id: str, pick: int) -> Message:
        bodies = self.bodies.get(id) or [self.kept[id]]
        occurred("re-sent body of an erased entry", len(bodies) > 1)
        return bodies[pick % len(bodies)]

    # what must hold

    def check(self) -> None:
        """Everything that must hold after every step."""
        for id, entry in self.log.tree.entries.items():
            if id not in self.gone:
                self.kept.setdefault(id, entry.message)
        for id in self.log.replaced.keys() - self.gone:
            known = self.bodies.setdefault(id, [self.kept[id]])
            known += [body for body in self.log.bodies(id) if body not in known]
        holds.nothing_is_lost(self.chat, self.kept, self.gone)
        holds.every_entry_is_covered_once(self.chat)
        holds.the_view_is_that_of_a_log_read_anew(self.chat)
        holds.only_edits_of_this_path_stand(self.chat)
        self._judge()
        self._count()

    def _judge(self, max_tokens: int | None = None, context: str | None = None) -> None:
        """See what the edits made since saved, in the room that was left then; those to come are made in this one."""
        holds.edits_made_the_view_smaller(self.chat, self.track.read, self.room)
        self.track.read = self.log.version
        self.room = self._room(max_tokens, context)

    def _room(self, max_tokens: int | None = None, context: str | None = None) -> int:
        """What the window leaves for a view by the last bill, or once an edit voids that: it must fit by either."""
        terms, learned = self.chat._state.terms, self.chat._state.learned
        budget = terms.budget.reserving(max_tokens)
        spare = terms.meter.message(user(context)) if context else 0
        return min(budget.measured_by(one).room for one in (learned, learned.voided())) - spare

    def _count(self) -> None:
        rows = self.chat.view().rows
        given = {id for row in rows for id in row.results}
        for row in rows:
            self._once("fold of folds", row, row.kind in ("fold", "drop") and self._covers_folds(row))
            self._once("elided part", row, row.was is not None)
            self._once("mended row", row, row.kind == "mend")
            self._once("parallel results", row, row.kind == "entry" and len(given & {*row.calls}) > 1)
            self._once("several results in one message", row, row.kind == "entry" and len(row.results) > 1)

    def _covers_folds(self, row: Row) -> bool:
        below = (self.log.decisions.get(id) for id in row.covers)
        return any(one is not None and isinstance(one.edit, Fold | Drop) for one in below)

    def _once(self, what: str, row: Row, really: bool) -> None:
        """Count what occurred to a row, however long it stands there."""
        if really and (what, row.id) not in self.track.counted:
            self.track.counted.add((what, row.id))
            occurred(what)

    def finish(self) -> None:
        """What must hold at the end, for every session."""
        for session in self.sessions:
            self.chat = session
            self.check()
            holds.written_and_read_back_it_shows_the_same(session)
            for number, wires in self.track.sent:
                assert holds.wires(session, session.sent(number)[1]) == wires, (
                    f"request {number} is not what it was"
                )


def _reads_as_a_sentence(error: FanfoldError) -> None:
    assert str(error).endswith("."), f"{error} is no sentence"


def _less(record: Any, never: set[str]) -> Any:
    match record:
        case Edited(decisions=decisions, time=time):
            return Edited(tuple(d for d in decisions if d.id not in never), time)
        case Inherited(edits=edits, at=at):
            return Inherited(tuple(id for id in edits if id not in never), at)
    return record


def _stood(log: Log, edit: str, version: int) -> bool:
    """Whether an edit was made, and not undone, as of a version."""
    return log.born.get(edit, version + 1) <= version and edit not in log.undone(version)


def _lines(message: Message) -> list[str]:
    return text_of(message, unescaped=True).splitlines()
