"""The sessions behind the gateway: found, merged, reduced, and told what was answered.

Everything here may wait for a store or count for a while, so it runs in threads beside the event loop.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, TypeVar

import msgspec

from fanfold.config.defaults import meter_for
from fanfold.core.errors import BadInput, FanfoldError, StoreFailed
from fanfold.core.message import user
from fanfold.core.view import Row, View
from fanfold.dialects.dialect import Reply, reply_limit
from fanfold.dialects.http.events import wire_bytes
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import dialect_named, facts
from fanfold.dialects.tools import function_names
from fanfold.gateway.arrival import ArrivalClip
from fanfold.gateway.body import compose, with_less_room
from fanfold.gateway.budget import fuller_budget, has_own_budget
from fanfold.gateway.clients import client_named
from fanfold.gateway.compaction import Reference, asks_for_summary, expand, new_reference
from fanfold.gateway.course import Continuation, Course, Place, chart
from fanfold.gateway.guard import Guard
from fanfold.gateway.headers import Headers, header_value
from fanfold.gateway.hidden import (
    Rounds,
    added_tools,
    defers_itself,
    find_rounds,
    hidden_tools,
    may_recall,
    own_calls,
    put_back,
    with_recall_tools,
)
from fanfold.gateway.identity import Identity, find_seen, identify
from fanfold.gateway.keys import Holder
from fanfold.gateway.responses import StoredResponses, is_kept, told_response
from fanfold.gateway.shelf import Shelf
from fanfold.session.cache import CacheUse
from fanfold.session.passing import Addition, hear, last_history, messages_since, pass_on
from fanfold.session.pool import MEMORY, Lease, Pool
from fanfold.session.request import SentRequest
from fanfold.session.session import Session
from fanfold.session.stored import Alone, alone, count_unedited
from fanfold.tokens.pressure import Pressure

_COMMON = "gpt-5.2"
"""A model with the vocabulary by which OpenAI's and Anthropic's are counted; others are read when one comes."""
_PAUSE = 5.0
"""Seconds until a store is tried again that could not be opened."""
_KEPT_NAMES = 2_000
"""Of so many sessions it is kept what only saves time: a store tells it again."""
_KEPT_KNOWN = 10_000
"""Of so many it is known that they were served here, which matters while the store is down."""
_KEPT_ROUNDS = 200
_SMALL = 2
"""A request of fewer bytes than this for each token of its window is surely inside it."""
_SUMMARIZED = "summary of "
_TOLD = "told "
ENOUGH = "Nothing more is looked up in this turn. Go on with what you have, or use another tool."
_SHAPED = frozenset({"fold", "drop", "note"})


class Unmanaged(Exception):
    """A request that is passed on as it is, and why."""


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """A request that belongs to a session, as it is to be sent."""

    name: str
    holder: Holder
    lease: Lease
    """The right to use the session for recording what is answered."""
    asked: HttpRequest
    sent: SentRequest
    body: bytes | None
    """What to send; None for the client's own bytes, because nothing is edited."""
    after: int
    """Tokens of what is sent."""
    edits: int
    """How many edits shape it."""
    whole: int
    """The tokens of the client's own request, as it would be sent without a reduction."""
    alone: Alone = Alone()
    """How that would fare."""
    hidden: frozenset[str] = frozenset()
    """The model's tools that the client knows nothing of: calls to them are answered here."""
    spent: int | None = None
    """Tokens that earlier rounds of the same reply took; None in its first round."""

    def headers(self) -> Headers:
        """What the client is told about it."""
        told = {"session": self.name, "tokens": str(self.after), "edits": str(self.edits)}
        told["tokens-before"] = str(self.whole)
        return [(f"x-fanfold-{name}".encode(), header_value(value)) for name, value in told.items()]


class Conversations:
    """The sessions of one store, for many tenants."""

    def __init__(self, store: str, memory: int = MEMORY) -> None:
        self.pool = Pool(store, memory=memory, recall=False)
        self._names: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        """The session that each claim and first message led to."""
        self._seen: OrderedDict[tuple[str, str], dict[str, tuple[int, str]]] = OrderedDict()
        """What was last sent of each session, by tenant and first message: most requests only add to it."""
        self._rounds: OrderedDict[tuple[str, str], tuple[str | None, Rounds]] = OrderedDict()
        """What clients were not told, by tenant and session, and up to which entry that is known."""
        self._clips: OrderedDict[tuple[str, str], ArrivalClip] = OrderedDict()
        """What shapes the outputs that arrive in each session."""
        self._wholes: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        """How many messages a client last sent in each session, and the tokens of all of it."""
        self._vain: OrderedDict[tuple[str, str], int] = OrderedDict()
        """The tokens at which nothing could be left out of a session, though it was time."""
        self._guard = Guard(store, lambda: self.pool.store)
        self._fills = not has_own_budget()
        self._down = (0.0, "")
        """Until when the store is not tried again, and why."""
        self.responses = StoredResponses(self.pool)
        self._shelf = Shelf(self.pool)
        """The session in which each stored response was given, and the one that a client had summarized."""
        self._clients: OrderedDict[tuple[str, str], str] = OrderedDict()
        """The program that speaks in each session, by tenant and session: it owns the history."""

    def guards(self, tenant: str, name: str | None = None) -> bool:
        """Whether something that was erased may be in what a client sends in a session, or in an unknown one.

        What was erased must not go out again, so such a request is never passed on as the client has it. A session is
        known if it was served here and nothing had been erased in it.
        """
        if not self._guard.concerns(tenant):
            return False
        return name is None or self._guard.has(tenant, name) or (tenant, name) not in self._wholes

    def guards_claim(self, tenant: str, claim: str) -> bool:
        """Whether something was erased in a session of a tenant that a client calls by this name."""
        return not self.is_told or self._guard.names(tenant, claim)

    @property
    def is_told(self) -> bool:
        """Whether it is known what was erased; it is not where the store could not be reached so far."""
        return self._guard.is_told

    def learn(self) -> None:
        """Read in which sessions something was erased; raises `StoreFailed` if the store cannot be reached."""
        self.check_store()
        self._guard.learn()

    def check_store(self) -> None:
        """Raise `StoreFailed` if the store cannot be opened; it is not tried with every request."""
        until, reason = self._down
        if monotonic() < until:
            raise StoreFailed(reason)
        try:
            _ = self.pool.store
        except FanfoldError as error:
            self._down = (monotonic() + _PAUSE, str(error))
            raise

    def _lease(self, name: str, holder: Holder, request: HttpRequest) -> Lease:
        client = self._clients.get((holder.tenant, name), "a client")
        model = holder.model_for(request.dialect, request.model)
        chosen = {"strategy": holder.strategy, "labels": {"client": client}}
        given: dict[str, Any] = {option: value for option, value in chosen.items() if value is not None}
        given["filters"] = (self._clip(name, holder),)
        if holder.window is not None and self._fills:
            given["budget"] = fuller_budget(model, holder.window, request.dialect)
        elif holder.window is not None:
            given["window"] = holder.window
        if _defers(holder, request):
            given["defer"] = True
        return self.pool.session(name, tenant=holder.tenant, dialect=request.dialect, model=model, **given)

    def _clip(self, name: str, holder: Holder) -> ArrivalClip:
        key = (holder.tenant, name)
        clip = self._clips.get(key) or ArrivalClip()
        _keep(self._clips, key, clip)
        return clip

    def find(self, headers: Headers, holder: Holder, request: HttpRequest) -> str:
        """The name of the session that a request belongs to; a new one where it belongs to none."""
        try:
            self.learn()
        except FanfoldError:
            if name := self._remember(headers, holder, request):
                return name  # what is known of it tells whether it may be passed on
            raise
        name = self._find(headers, holder, request)
        key = (holder.tenant, name)
        _keep(self._clients, key, self._clients.get(key) or client_named(headers))
        return name

    def _remember(self, headers: Headers, holder: Holder, request: HttpRequest) -> str | None:
        """The session that a request goes on from, as far as this process knows without the store."""
        identity = identify(headers, request)
        if identity.claim is not None:
            return self._names.get((holder.tenant, identity.claim, identity.root))
        return find_seen(self._seen.get((holder.tenant, identity.root), {}), _messages(request))[0]

    def _find(self, headers: Headers, holder: Holder, request: HttpRequest) -> str:
        request = expand(request)
        if isinstance(previous := request.body.get("previous_response_id"), str):
            return self._find_reply(holder.tenant, previous)
        identity = identify(headers, request)
        if identity.claim is not None:
            return self._find_claimed(identity, holder, request)
        seen = self._seen.get((holder.tenant, identity.root), {})
        name, mark = find_seen(seen, _messages(request))
        name = name or self._recognize(identity, holder, request)
        seen[name] = mark
        if len(seen) > _KEPT_ROUNDS:
            seen.pop(next(iter(seen)))
        _keep(self._seen, (holder.tenant, identity.root), seen)
        return name

    def _recognize(self, identity: Identity, holder: Holder, request: HttpRequest) -> str:
        """The session that a history belongs to, by all that the store knows; a new one where there is none."""
        found = self.pool.find(request.body, tenant=holder.tenant, dialect=request.dialect)
        if found.session is not None and (found.at_head or _has_reply(request, found.matched)):
            return found.session
        if not _offers_tools(request) and _is_small(request, holder):
            raise Unmanaged("side call")
        return f"{identity.name}-{secrets.token_hex(3)}"

    def _find_claimed(self, identity: Identity, holder: Holder, request: HttpRequest) -> str:
        key = (holder.tenant, str(identity.claim), identity.root)
        name = self._names.get(key)
        if name is None:
            found = self.pool.find(
                request.body, tenant=holder.tenant, dialect=request.dialect, hint=identity.name
            )
            own = [session for session in found.candidates if identity.owns(session)]
            if not own and _offers_tools(request) and (begun := self._begun(key[0], key[1])):
                own = [begun]  # the client begins anew with a summary of this one
            if not own and not _offers_tools(request) and _is_small(request, holder):
                raise Unmanaged("side call")
            name = own[0] if own else identity.name
        _keep(self._names, key, name)
        if asks_for_summary(request):
            self._shelf.put(key[0], _SUMMARIZED + key[1], name)
        return name

    def _begun(self, tenant: str, claim: str) -> str | None:
        """The session that a client had summarized, for whoever asks first."""
        found = self._shelf.get(tenant, _SUMMARIZED + claim, latest=True)
        if found:
            self._shelf.put(tenant, _SUMMARIZED + claim, "")
        return found or None

    def _find_reply(self, tenant: str, reply: str) -> str:
        found = self._shelf.get(tenant, reply, latest=True)
        if not found:
            raise Unmanaged("stored elsewhere")
        return found

    def _given(self, tenant: str, request: HttpRequest) -> HttpRequest:
        """The request with what its references mean: a reply of several rounds was told under the first one's id."""
        request = expand(request)
        previous = request.body.get("previous_response_id")
        last = self._shelf.get(tenant, _TOLD + previous) if isinstance(previous, str) else None
        if last is None:
            return request
        return msgspec.structs.replace(request, body={**request.body, "previous_response_id": last})

    def keep_told(self, managed: Managed, rounds: list[str | None], told: Any) -> None:
        """Keep a response that was told in one or several rounds, and which one of them goes on; `managed` began it."""
        asked, first, last, tenant = managed.asked, rounds[0], rounds[-1], managed.holder.tenant
        if asked.dialect != "openai.responses" or not is_kept(asked.body):
            return
        if first != last and first and last:
            self._shelf.put(tenant, _TOLD + first, last)
        if isinstance(told, Mapping):
            with self._lease(managed.name, managed.holder, asked) as chat:
                head = chat.head
            self.responses.keep(tenant, told, asked=asked.body, tip=managed.sent.sent.tip, head=head)

    def knows(self, tenant: str, reply: str) -> bool:
        """Whether a response was given to this tenant, and not deleted."""
        return bool(self._shelf.get(tenant, reply, latest=True)) or self.responses.has(tenant, reply)

    def delete(self, tenant: str, reply: str) -> dict[str, Any]:
        """Delete a stored response: nobody looks it up, or goes on from it, any more."""
        told = self.responses.delete(tenant, reply)
        if self._shelf.get(tenant, reply, latest=True):
            self._shelf.put(tenant, reply, "")
        return told

    def refer(self, name: str, holder: Holder, request: HttpRequest) -> Reference:
        """Record a history, and make a reference to it that a client can send in its place."""
        reference = new_reference(name)
        with self._lease(name, holder, request) as chat:
            given = self._given(holder.tenant, request)
            chat.merge(put_back(given, self._rounds_in(chat, holder, request)))
            chat.receive(Reply((), id=reference.reply))
        self._shelf.put(holder.tenant, reference.reply, name)
        return reference

    def prepare(self, name: str, holder: Holder, request: HttpRequest) -> Managed:
        """Adopt the history that the client sent, reduce what is too long, and write what is to be sent.

        The recall tools enter with the first edit, which changes the beginning of the prompt anyway, and stay.
        """
        given = self._given(holder.tenant, request)
        with self._lease(name, holder, request) as chat:
            may = may_recall(request)
            view, clip = chat.view(), self._clip(name, holder)
            edited = bool(self._edits(name, holder, view))
            hides = edited or _defers(holder, request)
            rounds = self._rounds_in(chat, holder, request) if hides else {}
            whole = msgspec.structs.replace(given, body=put_back(given, rounds))
            recalls = may and edited
            clip.fit(view, chat.pressure().room) if recalls else clip.rest()
            merged = chat.merge(with_recall_tools(whole) if recalls else whole.body)
            if may and not recalls and self._will_edit(chat, merged.params, holder):
                recalls, merged = True, chat.merge(with_recall_tools(whole))
            return self._write(chat, name, holder, request, merged.params, recalls)

    def _will_edit(self, chat: Session, params: Mapping[str, Any], holder: Holder) -> bool:
        """Whether a reduction of the next request is due and finds something; a vain look is not soon done again."""
        pressure, key = _pressure(chat, params, holder), (holder.tenant, chat.name)
        if not pressure.due or pressure.tokens > pressure.room:
            return pressure.due
        if key in self._vain and pressure.tokens < self._vain[key] + pressure.room // 20:
            return False
        if chat.compact(dry_run=True).decisions:
            return True
        _keep(self._vain, key, pressure.tokens)
        return False

    def follow(self, step: Continuation) -> tuple[Managed, Course] | None:
        """Adopt what a client added to its last request, which is sent as it is; None where it cannot be just so."""
        course = step.course
        key = (course.holder.tenant, course.name)
        if self._guard.has(*key):
            return None
        _keep(self._clients, key, self._clients.get(key, "a client"))
        frame = course.frame if step.reframed else None
        added = Addition(mark=course.mark, known=step.known, new=step.new, frame=frame, params=course.params)
        with course.lease as chat:
            passed = pass_on(chat, added, _is_as_it_came)
            unaided = alone(chat)
        if passed is None:
            return None
        sent, mark = passed
        managed = Managed(
            name=course.name,
            holder=course.holder,
            lease=course.lease,
            asked=course.asked,
            sent=sent,
            body=None,
            after=sent.view.tokens,
            edits=0,
            whole=self._at_least(key, len(step.new), sent.view.tokens, more=True),
            alone=unaided,
        )
        return managed, msgspec.structs.replace(course, mark=mark)

    def chart(self, managed: Managed, place: Place, data: bytes) -> Course | None:
        """The course of a request that is sent as it came, so that of the next one only what is new is read."""
        holder, asked = managed.holder, managed.asked
        if managed.body is not None or managed.hidden or _defers(holder, asked):
            return None
        with managed.lease as chat:
            mark, bodies = last_history(chat, managed.sent.view.rows)
        course = Course(
            place=place,
            name=managed.name,
            holder=holder,
            lease=managed.lease,
            mark=mark,
            asked=asked,
            before=frozenset(),
            frame=((), ()),
            lead=(),
            params=holder.budgeted(dialect_named(asked.dialect).split(asked.body).params),
            head=b"",
            tail=b"",
            ends=(),
        )
        return chart(course, asked, data, bodies)

    def _edits(self, name: str, holder: Holder, view: View) -> set[str]:
        """The edits that shape what is sent; where one of them stands for something erased, the session is guarded."""
        shaped = shaped_rows(view)
        if any(row is view.frame or (row.kind == "entry" and view.said(row.id) is None) for row in shaped):
            self._guard.add(holder.tenant, name)
        return {edit for row in shaped for edit in (row.why or (row.id,))}

    def refused(self, managed: Managed, error: Mapping[str, Any]) -> Managed | None:
        """The provider said that it is too long: what to send instead, if anything can be left out."""
        with self._lease(managed.name, managed.holder, managed.asked) as chat:
            if not chat.refused(error):
                return None
        if managed.spent is not None:
            return self.go_on(managed, managed.spent)
        return self.prepare(managed.name, managed.holder, managed.asked)

    def go_on(self, managed: Managed, spent: int) -> Managed:
        """What to send after calls were answered here, and the reply so far took these tokens."""
        with self._lease(managed.name, managed.holder, managed.asked) as chat:
            params = dialect_named(managed.asked.dialect).split(managed.asked.body).params
            return self._write(chat, managed.name, managed.holder, managed.asked, params, True, spent)

    def _write(
        self,
        chat: Session,
        name: str,
        holder: Holder,
        request: HttpRequest,
        params: Mapping[str, Any],
        recalls: bool,
        spent: int | None = None,
    ) -> Managed:
        sent = chat.request(**holder.budgeted(params))
        view = chat.view()
        edits = self._edits(name, holder, view)
        # What a client leaves to a server's memory is sent in full: the provider need not have stored it.
        hidden = hidden_tools(request, sent, recalls=recalls)
        changed = edits or hidden or expand(request).body.get("previous_response_id") is not None
        body = wire_bytes(with_less_room(compose(request, sent), spent or 0)) if changed else None
        return Managed(
            name=name,
            holder=holder,
            lease=self._lease(name, holder, request).as_it_is(),
            asked=request,
            sent=sent,
            body=body,
            after=view.tokens,
            edits=len(edits),
            whole=self._count_whole(chat, holder.tenant, request),
            alone=alone(chat),
            hidden=hidden,
            spent=spent,
        )

    def _count_whole(self, chat: Session, tenant: str, request: HttpRequest) -> int:
        """The tokens of the client's own request."""
        sent = len(request.body.get(facts(request.dialect).field) or ())
        return self._at_least((tenant, chat.name), sent, count_unedited(chat))

    def _at_least(self, key: tuple[str, str], sent: int, tokens: int, *, more: bool = False) -> int:
        """Tokens of so many messages, or so many `more`. Bills correct estimates, but what grew is not shorter now."""
        before, most = self._wholes.get(key, (0, 0))
        sent += before if more else 0
        tokens = max(tokens, most) if sent >= before else tokens
        _keep(self._wholes, key, (sent, tokens), _KEPT_KNOWN)
        return tokens

    def answer(self, managed: Managed, reply: Reply, *, enough: bool = False) -> None:
        """Answer the calls of a reply that are for the gateway; `enough` tells the model to go on without."""
        with self._lease(managed.name, managed.holder, managed.asked) as chat:
            for call in own_calls(reply):
                chat.answer(call, ENOUGH if enough else chat.recall(call))

    def _rounds_in(self, chat: Session, holder: Holder, request: HttpRequest) -> Rounds:
        """What the client was not told, by this process or another: only what is new in the log is read."""
        key, head = (holder.tenant, chat.name), chat.head
        known, rounds = self._rounds.get(key, (None, {}))
        if head is not None and head != known:
            last, new = messages_since(chat, known)
            said = last if last is not None and last.role != "assistant" else None
            finds = _defers(holder, request)
            rounds = {**rounds, **find_rounds(new, request.dialect, finds=finds, said=said)}
        _keep(self._rounds, key, (head, rounds))
        return rounds

    def hear(self, managed: Managed, events: Iterable[Any]) -> Reply | None:
        """Record what was answered in a stream; one that broke off is recorded as cut."""
        with managed.lease as chat:
            reply = hear(chat, events, managed.sent)
            head = chat.head
        if reply is not None and reply.stop == "cut":
            self._leave(managed)
        elif reply is not None and reply.id is not None:
            self._keep_reply(managed, reply.id, told_response(events), head)
        return reply

    def _leave(self, managed: Managed) -> None:
        """Go back before a reply that broke off: it is recorded, and the conversation goes on without it."""
        with self._lease(managed.name, managed.holder, managed.asked) as chat:
            tip = managed.sent.sent.tip
            if tip is not None and chat.head != tip:
                chat.rewind(tip)

    def receive(self, managed: Managed, body: Any) -> Reply:
        """Record what was answered as a whole."""
        with managed.lease as chat:
            reply = chat.receive(body, to=managed.sent)
            head = chat.head
        if reply.id is not None:
            self._keep_reply(managed, reply.id, body, head)
        return reply

    def _keep_reply(self, managed: Managed, id: str, told: Any, head: str | None) -> None:
        """Keep a response that the client may look up, or go on from, by its id.

        Of several rounds the client is told one response: that is kept when all of them are there.
        """
        asked, tenant = managed.asked, managed.holder.tenant
        if asked.dialect != "openai.responses" or not is_kept(asked.body):
            return
        self._shelf.put(tenant, id, managed.name)
        if isinstance(told, Mapping) and not managed.hidden:
            self.responses.keep(tenant, told, asked=asked.body, tip=managed.sent.sent.tip, head=head)

    def missed(self, managed: Managed) -> CacheUse | None:
        """What broke the provider's cache for the last request, if anything did."""
        with self._lease(managed.name, managed.holder, managed.asked) as chat:
            use = chat.cache()
        return use if use.broken is not None and use.again else None

    def warm(self) -> None:
        """Read what the first request would wait for: the vocabulary that most models are counted by."""
        meter_for(None, _COMMON).message(user("Hello."))

    def close(self) -> None:
        """Close all sessions, and the store."""
        self.pool.close()


K = TypeVar("K")
V = TypeVar("V")


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int = _KEPT_NAMES) -> None:
    """Keep something, and forget what was not used for longest."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _defers(holder: Holder, request: HttpRequest) -> bool:
    """Whether the client's tools wait, and the search for them is the gateway's."""
    return holder.defer and not defers_itself(request)


def _messages(request: HttpRequest) -> list[Any]:
    return list(dialect_named(request.dialect).split(request.body).messages)


def shaped_rows(view: View) -> list[Row]:
    """The rows because of which something else is sent than the client sent.

    Repairs alone are none: what a provider takes from the client directly, it takes from the gateway, too. What was
    erased is one: of all that clients and providers say, it alone has no wire form.
    """
    return [row for row in (view.frame, *view.rows) if not _is_as_it_came(row)]


def _is_as_it_came(row: Row) -> bool:
    return (
        row.was is None and row.kind not in _SHAPED and None not in [message.wire for message in row.messages]
    )


def _pressure(chat: Session, params: Mapping[str, Any], holder: Holder) -> Pressure:
    """How full the window is with a request of these parameters."""
    return chat.pressure(max_tokens=reply_limit(holder.budgeted(params)))


def _offers_tools(request: HttpRequest) -> bool:
    """Whether the model may call functions."""
    dialect = dialect_named(request.dialect)
    try:
        frame = dialect.frame((), [*dialect.split(request.body).tools, *added_tools(request.body)])
        return bool(function_names(frame, request.dialect))
    except BadInput:
        return False


def _has_reply(request: HttpRequest, count: int) -> bool:
    """Whether the model speaks in the first messages."""
    dialect = dialect_named(request.dialect)
    bodies = dialect.split(request.body).messages[:count]
    return any(dialect.message(body).role == "assistant" for body in bodies)


def _is_small(request: HttpRequest, holder: Holder) -> bool:
    """Whether a request is surely inside of its window; one of an unknown model is not looked at."""
    if holder.window is None:
        return True
    return len(wire_bytes(request.body)) < _SMALL * holder.window
