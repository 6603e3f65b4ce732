"""Sessions from sessions: fork, spawn, close."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypedDict, cast

from msgspec.structs import replace

from fanfold.config.choice import to_remember
from fanfold.config.options import Options, check_name, check_names, options_of
from fanfold.core.budget import Budget
from fanfold.core.errors import BadInput, NotFound
from fanfold.core.message import Call
from fanfold.core.record import (
    Beside,
    Edited,
    Erased,
    Framed,
    Kept,
    Move,
    Record,
    Released,
    Replaced,
    Spawned,
)
from fanfold.dialects.registry import dialect_for, dialect_named, most_bytes
from fanfold.session.erase import erase
from fanfold.session.gc import entries_ever
from fanfold.session.merge import offer_recall, reframe
from fanfold.session.state import State
from fanfold.session.terms import Terms
from fanfold.stores.store import Tenant


class Other(TypedDict, total=False):
    """What a session made from another one may do otherwise; all else is as it was there."""

    model: str | None
    """Another model, with its own limits, meter and rules."""
    dialect: str | None
    """Another provider's wire format: messages and tools are sent in that form from then on."""
    window: int | str | None


class SubAgent(Other, total=False):
    """What a sub-agent may have otherwise: also a system prompt and tools of its own."""

    system: str | Iterable[Any] | None
    tools: Iterable[Any] | None


def fork(state: State, name: str, edits: bool = True, other: Other | None = None) -> State:
    """A session of its own on the same entries, with the standing edits or afresh.

    What was erased meanwhile, also by others, does not come along.
    """
    state.read_whole()
    state.catch_up()
    known, were = dict(state.log.erasures), {id: state.tree[id].message for id in entries_ever(state.log)}
    new = _sibling(state, name, other or {}, recall=state.recall)
    if edits:  # without what belongs to one session only; references stand in what is shown, and go along
        records: list[Record] = [
            record
            for record in state.log.records
            if not isinstance(record, Beside) or isinstance(record, Kept | Released)
        ]
    else:
        records = list(_records_afresh(state))
    new.unit(lambda: new.write(*records))
    new.find_open_calls()
    state.catch_up()
    for id, reason in state.log.erasures.items():
        if id not in known:
            erase(new, id, reason, [were[id]] if id in were else ())
    return new


def _records_afresh(state: State) -> Iterator[Record]:
    """The conversation without its edits; what filters made of outputs when they arrived, a fork has too."""
    yield Framed(state.log.frame())
    yield from (record for record in state.log.records if isinstance(record, Move | Replaced | Erased))
    yield from (record for record in state.log.kept.values() if record.is_part)
    dead = state.log.undone()
    passed = [d for d in state.log.decisions.values() if d.by == "pass" and d.id not in dead]
    if passed:
        numbered = (replace(decision, id=f"e{i}") for i, decision in enumerate(passed, 1))
        yield Edited(tuple(numbered), state.terms.clock())


def spawn(state: State, call: Call | str, name: str | None = None, other: SubAgent | None = None) -> State:
    """A sub-agent's session, linked to the call that started it; it begins with nothing but what it is given."""
    id = call.id if isinstance(call, Call) else call
    if not isinstance(id, str) or id not in state.open_calls:
        raise NotFound(f"No call {id!r} waits for an answer here; a sub-agent belongs to an open call.")
    given = dict(other or {})
    frame = options_of({key: given.pop(key) for key in ("system", "tools") if key in given})
    new = _sibling(
        state,
        f"{state.terms.name}/{id}" if name is None else name,
        cast(Other, given),
        recall=state.terms.recall,
    )
    if frame.system or frame.tools:
        offer_recall(new, frame.tools)
        new.unit(lambda: reframe(new, frame.system, frame.tools))
    state.write(Spawned(state.open_calls[id].id, new.terms.name))
    return new


def _sibling(state: State, name: str, other: Other, *, recall: bool | None) -> State:
    tenant = state.terms.tenant
    name = check_name(name)
    if name in tenant.states or tenant.store.load(tenant.name, name).seq:
        raise BadInput(f"There is a session named {name!r} already; choose another name.")
    terms = replace(_terms(state, name, other), recall=recall)
    same = (terms.model, terms.dialect.name) == (state.terms.model, state.dialect.name)
    labels = (state.log.opened or terms.opened).labels  # they may have been erased
    terms = replace(terms, opened=replace(terms.opened, labels=labels, parent=state.terms.name))
    new = State(terms, state.learned.inherited() if same else None)
    new.introduce()
    tenant.states[name] = new
    return new


def _terms(state: State, name: str, other: Other) -> Terms:
    """The same terms under another name; another model brings its own limits, meter and quirks."""
    check_names(other, Other.__annotations__)
    terms, options = replace(state.terms, name=name), options_of(other)
    if options == Options():
        return terms
    model, new = options.model or terms.model, options.model not in (None, terms.model)
    told = dialect_for(model) if new and terms.opened.inferred else terms.dialect.name
    dialect = options.dialect or told
    last = replace(terms.opened, window=None) if new else terms.opened
    return replace(
        terms,
        model=model,
        opened=to_remember(options, last, dialect),
        budget=_size_budget(terms, options, model, dialect),
        meter=terms.metered(model),
        dialect=dialect_named(dialect, model),
    )


def _size_budget(terms: Terms, options: Options, model: str | None, dialect: str) -> Budget:
    """A budget with the limits of what is other, and the thresholds of this session."""
    if options.model is not None or options.window is not None:
        return terms.sized(model, options.window, dialect)
    usual = terms.budget.max_bytes == most_bytes(terms.dialect.name)
    return replace(terms.budget, max_bytes=most_bytes(dialect)) if usual else terms.budget


def close(state: State) -> None:
    """End a session; its name is free again."""

    def end() -> None:
        state.close()
        state.terms.tenant.states.pop(state.terms.name, None)
        state.terms.tenant.release()
        leave(state.terms.tenant)

    if state.damage:
        end()
    else:
        state.unit(end)


def leave(tenant: Tenant) -> None:
    """Close a store that was opened by name, if nobody uses it any more."""
    if tenant.store.passing and tenant.store.idle:
        tenant.store.close()
