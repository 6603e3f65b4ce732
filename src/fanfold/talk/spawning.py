"""Sessions from sessions: fork, spawn, close."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fanfold.budget import Budget
from fanfold.errors import BadInput, NotFound
from fanfold.message import Call
from fanfold.record import Beside, Edited, Framed, Kept, Moved, Record, Released, Spawned
from fanfold.registry import budget_for, codec_named, meter_for
from fanfold.talk.state import State, Terms


def fork(
    state: State, name: str, *, model: str | None = None, window: int | None = None, edits: bool = True
) -> State:
    """A session of its own on the same entries, with the standing edits or afresh."""
    state.read_whole()
    new = _sibling(state, name, model, window)
    with new:
        if edits:
            new.write(*(record for record in state.log.records if not _left_behind(record)))
        else:
            new.write(Framed(state.log.frame()), Moved(state.log.head, "fork", None, state.terms.clock()))
            new.write(*_outputs(state))
    new.find_open_calls()
    return new


def _left_behind(record: Record) -> bool:
    """What belongs to one session only; references stand in what is shown, and go along."""
    return isinstance(record, Beside) and not isinstance(record, Kept | Released)


def _outputs(state: State) -> Iterator[Record]:
    """The references, and what passes made of outputs when they arrived: a fork without edits has those too."""
    yield from (record for record in state.log.kept.values() if record.is_part)
    dead = state.log.undone()
    passed = [d for d in state.log.decisions.values() if d.by == "pass" and d.id not in dead]
    if passed:
        numbered = (replace(decision, id=f"e{i}") for i, decision in enumerate(passed, 1))
        yield Edited(tuple(numbered), state.terms.clock())


def spawn(state: State, call: Call | str, *, name: str | None = None, model: str | None = None) -> State:
    """A sub-agent's session, linked to the call that started it."""
    id = call.id if isinstance(call, Call) else call
    if id not in state.open_calls:
        raise NotFound(f"No call {id!r} waits for an answer here; a sub-agent belongs to an open call.")
    new = _sibling(state, name or f"{state.terms.name}/{id}", model, None)
    state.write(Spawned(id, new.terms.name))
    return new


def _sibling(state: State, name: str, model: str | None, window: int | None) -> State:
    tenant = state.terms.tenant
    if not name or name in tenant.states or tenant.store.load(tenant.name, name).seq:
        raise BadInput(f"There is a session named {name!r} already; choose another name.")
    new = State(_terms(state, name, model, window), None if model else state.learned.inherited())
    tenant.states[name] = new
    return new


def _terms(state: State, name: str, model: str | None, window: int | None) -> Terms:
    """The same terms under another name; another model brings its own limits, meter and quirks."""
    if model is None and window is None:
        return replace(state.terms, name=name)
    if model is None:
        return replace(state.terms, name=name, budget=_sized(state.terms.budget, Budget(window=window or 0)))
    return replace(
        state.terms,
        name=name,
        model=model,
        budget=_sized(state.terms.budget, budget_for(model, window)),
        meter=meter_for(None, model),
        codec=codec_named(state.codec.dialect, model),
    )


def _sized(budget: Budget, other: Budget) -> Budget:
    """A budget with the limits of another one, and its own thresholds."""
    limits = {name: getattr(other, name) for name in ("window", "max_input", "max_output", "shared")}
    return replace(budget, **limits)


def close(state: State) -> None:
    """End a session; its name is free again."""
    with state:
        if not state.closed:
            state.keeping.keep_checkpoint(state.projection, state.open_calls.values(), now=True)
        state.closed = True
        tenant = state.terms.tenant
        tenant.states.pop(state.terms.name, None)
        if getattr(tenant.store, "passing", False) and tenant.store.idle:
            tenant.store.close()
