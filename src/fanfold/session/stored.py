"""Sessions of a store as a tool looks at them: opened as their agent left them, and shown as values for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from fanfold.config.choice import remembered_options
from fanfold.config.naming import ASKING
from fanfold.config.options import Options, value_of
from fanfold.config.settings_file import find_model
from fanfold.core.errors import BadInput, NotFound
from fanfold.core.message import Call, Message, text_of
from fanfold.core.record import Erased, Move, Opened, Record, Sent
from fanfold.core.view import Row, View
from fanfold.dialects.dialect import encode
from fanfold.dialects.tools import functions
from fanfold.dialects.weigh import framed
from fanfold.session import erase, find, undo
from fanfold.session.beside import words_beside, words_id
from fanfold.session.client_marks import caches_without_fanfold
from fanfold.session.everything import without_recall
from fanfold.session.gc import entries_ever
from fanfold.session.open import open_aside
from fanfold.session.preview import last_reply
from fanfold.session.reduce import pressure
from fanfold.session.session import Session, Verbs
from fanfold.session.summarize import ANY_WINDOW, summarize
from fanfold.stores.store import Store, Tenant
from fanfold.stores.summary import Summary
from fanfold.text.json_text import sendable
from fanfold.tokens.models import lookup
from fanfold.tokens.pressure import Pressure

_LISTED = 8
"""So many sessions are named where another was meant."""


class StoredSessions:
    """The sessions of one tenant in a store."""

    def __init__(
        self, store: Store, tenant: str, model: str | None = None, window: int | None = None
    ) -> None:
        self.store = store
        self.tenant = tenant
        self.model = model
        self.window = window

    def names(self) -> list[str]:
        """The sessions kept here."""
        return self.store.sessions(self.tenant)

    def find(self, name: str) -> None:
        """Make sure that a session is here."""
        if not self.store.load(self.tenant, name, most=1).records:
            raise no_session(name, self.names())

    def records(self, name: str) -> list[Record]:
        """All that was recorded in a session."""
        self.find(name)
        return list(self.store.load(self.tenant, name).records)

    def open(self, name: str) -> Session:
        """The session as its agent left it: what it was opened with is remembered, else told by what was recorded.

        What the command is told is not remembered: the agent goes on as before. It has the agent's strategy, to
        foretell what a request reduces; a function of the agent's own is not known here, and counts as the default.
        """
        records = self.records(name)
        options = self.options(records)
        if not asks_or_is_unknown(last_opening(records)):
            options["strategy"] = None
        return open_aside(name, **options)

    def options(self, records: list[Record]) -> dict[str, Any]:
        """What the command is told, and what records tell where nothing is remembered: earlier releases wrote less."""
        last = last_opening(records)
        options = {"store": self.store, "tenant": self.tenant, "model": self.model, "window": self.window}
        before = remembered_options(Options(model=self.model, window=self.window, strategy=()), last)
        known = self.model or before.model
        model = known or model_of(records)
        listed = model is not None and lookup(model) is not None
        if known is None and listed:
            options["model"] = model
        if self.model and self.window is None and last and last.model not in (None, self.model):
            find_model(self.model)  # its agent could not open it so either
        if self.window is None and before.window is None and not listed:
            options["window"] = ANY_WINDOW
        if last is None or last.dialect is None:
            options["dialect"] = self._dialect(records)
        return options

    def _dialect(self, records: list[Record]) -> str:
        heads = [record.head for record in records if isinstance(record, Move) and record.head]
        for head in reversed(heads[-20:]):
            entry = self.store.entry(self.tenant, head)
            if entry is not None and entry.message.wire is not None:
                return entry.message.wire.dialect
        return "openai.chat"

    def message(self, id: str) -> Message | None:
        """The message of an entry."""
        entry = self.store.entry(self.tenant, id)
        return entry.message if entry else None


def asks_or_is_unknown(last: Opened | None) -> bool:
    """Whether what a session's strategy does cannot be foretold here: it asks a model, or is of a plug-in elsewhere."""
    names = list(last.strategy) if last is not None else []
    if any((one if isinstance(one, str) else one.get("name")) in ASKING for one in names):
        return True
    try:
        value_of("strategy", names or None)
    except BadInput:
        return True
    return False


def last_opening(records: list[Record]) -> Opened | None:
    """What a session remembers of how it was opened."""
    return next((record for record in reversed(records) if isinstance(record, Opened)), None)


def model_of(records: list[Record]) -> str | None:
    """The model that the last request was made for."""
    for record in reversed(records):
        if isinstance(record, Sent):
            model = record.params.get("model")
            return model if isinstance(model, str) else None
    return None


def no_session(name: str, names: Sequence[str]) -> NotFound:
    """The error that there is no session of a name, with those that there are."""
    there = f"there are {list_names(names)}" if names else "there are none yet"
    return NotFound(f"There is no session {name!r} here; {there}.")


def list_names(names: Sequence[str]) -> str:
    """The first names, and a sign where there are more."""
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")


def tenant_of(chat: Verbs) -> Tenant:
    """The tenant that an open session belongs to, with its store."""
    return chat._state.terms.tenant


def edits_along(chat: Session, names: Sequence[str]) -> list[str]:
    """Those of some names that are automatic edits whose words go along when the others are erased."""
    return chat._do(erase.edits_along, names)


def summary_of(chat: Verbs) -> Summary:
    """An open session in a few figures, as a list of sessions has them."""
    return replace(summarize(chat._state), name=chat.name)


def opening_of(chat: Verbs) -> Opened:
    """What an open session is opened with; its dialect and model are always told, where they are known."""
    terms = chat._state.terms
    return replace(terms.opened, dialect=chat._state.dialect.name, model=terms.model)


def pressure_next(chat: Verbs) -> Pressure:
    """How full the window is for a request that asks for as long a reply as the last one did."""
    return chat._do(pressure, last_reply(chat._state))


def edit_meant(chat: Verbs, undo: str) -> str:
    """The edit that an undo, or an undo of an undo, is about."""
    return chat._state.log.meant(undo)


def names_message(chat: Verbs, name: str) -> bool:
    """Whether an undo of this name brings one message back."""
    chat._state.read_whole()
    return undo.message_named(chat._state, name) is not None


class Unedited(NamedTuple):
    """A conversation without any edit, in the form of its provider."""

    dialect: str
    model: str | None
    frame: dict[str, Any]
    messages: list[Any]
    times: list[float | None]
    """When each was recorded, where that is known."""


def as_request_without_edits(chat: Verbs) -> Unedited:
    """Everything that was said on the way to where the session stands, as one request."""
    state = chat._state
    state.read_whole()
    log, dialect = state.log, state.dialect
    said = [(id, message) for id in state.path if (message := log.said(id)) is not None]
    request = encode(dialect, without_recall(log.frame(), dialect.name), [message for _, message in said], {})
    messages = list(request.pop(dialect.field))
    before = len(messages) - len(said)  # a system prompt may stand before them
    times: list[float | None] = [*[None] * before, *(log.times.get(id) for id, _ in said)]
    if before < 0:  # some were joined
        times = [None for _ in messages]
    return Unedited(
        dialect=dialect.name, model=state.terms.model, frame=request, messages=messages, times=times
    )


def earlier_bodies(chat: Verbs, entry: str) -> list[Message]:
    """What a message said before its client sent other words in its place, oldest first."""
    log = chat._state.log
    if entry not in log.replaced or (now := log.said(entry)) is None:
        return []
    found = [log.told(entry, born - 1) for born, _ in log.replaced[entry]]
    return [one for one in found if [*map(text_of, one.parts)] != [*map(text_of, now.parts)]]


def calls_of(chat: Verbs) -> dict[str, Call]:
    """Every call that the model made on the way to where the session stands, by its id."""
    log = chat._state.log
    said = (log.said(id) for id in log.tree.path(log.head))
    return {call.id: call for message in said if message is not None for call in message.calls}


def head_ahead(chat: Verbs) -> str | None:
    """The entry that `forward` goes to; None where there is no rewind to go forward from."""
    state = chat._state
    state.read_whole()
    return next((id for id in reversed(state.log.behind) if id not in state.depth), None)


def left_behind(chat: Verbs) -> list[str]:
    """The entries that the session recorded or came by, and that are on no way to where it stands; oldest first."""
    state = chat._state
    state.read_whole()
    log = state.log
    left = (id for id in entries_ever(log) if id not in state.depth)
    return sorted(left, key=lambda one: (log.times.get(one, 0.0), log.tree[one].depth))


def tip_beyond(chat: Verbs, entry: str) -> str:
    """Where the conversation ended that went on from an entry which was left behind, the newest where it parted."""
    beyond, tip, tree = {entry}, entry, chat._state.log.tree
    for id in left_behind(chat):
        if tree[id].parent in beyond:
            beyond.add(id)
            tip = id
    return tip


def count_left(chat: Verbs, to: str) -> int:
    """How many messages are on the way to where the session stands, and not on the way to another entry."""
    state = chat._state
    return len(set(state.path).difference(state.log.tree.path(undo.entry_named(state, to))))


def count_unedited(chat: Verbs, number: int = -1) -> int:
    """The tokens of a request with everything in it that was said, in the window's tokens; 0 if there is none."""
    state = chat._state
    if len(state.log.sent) < -number:
        return 0
    sent = state.log.sent[number]
    return state.limits().billed(sent.whole or sent.tokens)


class Alone(NamedTuple):
    """How a client's own request would fare without fanfold."""

    again: int = 0
    """The tokens of it that the one before had, too."""
    caches: bool = False
    """Whether a bill of this session tells of a provider's cache."""
    marked: bool = True
    """Whether that would cache the client's own requests, too."""


def alone(chat: Verbs) -> Alone:
    """How the last request of a client would fare without fanfold."""
    state = chat._state
    totals = state.log.totals
    return Alone(
        again=count_unedited(chat, -2),
        caches=totals is not None and bool(totals.cached or totals.written),
        marked=caches_without_fanfold(state),
    )


def count_erasures(chat: Verbs) -> int:
    """How often something was erased here: what was made from a session before that may quote it."""
    chat._state.read_whole()
    return sum(isinstance(record, Erased) for record in chat._state.log.records)


def has_context(chat: Verbs, number: int) -> bool:
    """Whether a request went out with a context that can be erased."""
    log = chat._state.log
    context, stubs = log.sent[number].context, {f"[erased: {reason}]" for reason in log.erasures.values()}
    return bool(context) and context not in stubs


def request_with(chat: Verbs, context: str) -> int:
    """The last request with the context of this id, as a search finds it."""
    chat._state.read_whole()
    sent = chat._state.log.sent
    for number in reversed(range(len(sent))):
        if any(words_id(one) == context for one in words_beside(sent[number])):
            return number
    raise NotFound(f"No request has the context {context[:12]!r} any more.")


def undone_refs(chat: Verbs) -> dict[str, str]:
    """The references to what an edit hid that was undone since, each with this edit."""
    chat._state.read_whole()
    return find.undone_behind(chat._state)


def places_of(chat: Verbs) -> dict[str, str]:
    """The entry in which each output arrived, by the output's reference."""
    return {ref: kept.entry for ref, kept in chat._state.log.kept.items() if kept.is_part}


def tools_of(chat: Verbs) -> list[tuple[str, Any]]:
    """The tools of an open session as they are defined, each with its name."""
    state = chat._state
    frame = state.log.frame()
    dialect = frame.dialect or state.dialect.name
    named = ((functions((body,), dialect), body) for body in frame.tools)
    return [(", ".join(tool.name for tool in tools) or "built in", body) for tools, body in named]


class History(NamedTuple):
    """All that was said in a session, in its dialect."""

    frame: dict[str, Any]
    messages: tuple[Any, ...]
    times: tuple[float | None, ...]


def whole_history(chat: Verbs) -> History:
    """The conversation as it was recorded, up to where the session stands; what was erased is not in it."""
    state = chat._state
    state.read_whole()
    log, dialect = state.log, state.dialect
    said = [(id, message) for id in log.tree.path(log.head) if (message := log.said(id)) is not None]
    body = encode(dialect, framed(log.frame(), dialect)[0], [sendable(message) for _, message in said], {})
    messages = tuple(body.pop(dialect.field))
    times = [log.times.get(id) for id, _ in said]
    before = len(messages) - len(times)  # a system prompt may stand among them
    return History(body, messages, (*(None,) * before, *times) if before >= 0 else (None,) * len(messages))


def places_in_history(chat: Verbs) -> dict[str | None, int]:
    """Which message of the whole history each entry is, by its number."""
    log = chat._state.log
    said = (id for id in log.tree.path(log.head) if log.said(id) is not None)
    return {id: number for number, id in enumerate(said)}


def without_any_room(view: View) -> View:
    """The view without its room, where no window is known."""
    unlimited = view.room is not None and view.room >= ANY_WINDOW // 2
    return replace(view, room=None) if unlimited else view


def describe(view: View) -> dict[str, Any]:
    """A view for programs."""
    return {
        "tip": view.tip,
        "tokens": view.tokens,
        "room": view.room,
        "frame": view.frame.tokens,
        "overhead": view.overhead,
        "rows": [describe_row(row) for row in (view.frame, *view.rows) if row.messages],
    }


def describe_row(row: Row) -> dict[str, Any]:
    """A row of a view for programs."""
    return {
        "id": row.id,
        "kind": row.kind,
        "role": row.role,
        "tokens": row.tokens,
        "covers": row.covers,
        "count": row.count,
        "edits": row.why,
        "reason": row.reason,
        "pinned": row.pinned,
        "messages": row.messages,
    }
