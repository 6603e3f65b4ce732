"""Stored responses: what `GET`, `DELETE` and `input_items` of the Responses API tell, and `previous_response_id`.

What the conversation holds is not kept again: of a response only its own fields are kept, and which entries are its
input and its output. So an erasure reaches responses, too. They are kept for a tenant of their own beside the client's,
so that lists of sessions show conversations only; the id of another tenant's response is not known.

    stored.keep(tenant, told_body, asked=body, tip=sent.sent.tip, head=chat.head)    # after the reply
    body = stored.expand(tenant, body)                           # before a request: the whole input is in it
    stored.get(tenant, id), stored.delete(tenant, id), stored.input_items(tenant, id, query)

`UnknownResponse.trouble` is what to tell the client with `write_error`. All of it waits for the store: call it in a
thread. `serve_stored` answers the requests of clients, from here or from the provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

from fanfold.core.edit import RECALL
from fanfold.core.errors import BadInput, Gone, Moved, NotFound
from fanfold.core.message import user
from fanfold.core.record import Move
from fanfold.core.tree import Entry
from fanfold.dialects.http.errors import Trouble
from fanfold.dialects.http.replies import reply_id
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import DialectName, dialect_named
from fanfold.gateway.keys import Holder
from fanfold.session.pool import Pool
from fanfold.stores.store import Batch, Store
from fanfold.stores.tenant_tree import TenantTree
from fanfold.text.json_text import from_json, to_json

DIALECT: DialectName = "openai.responses"
_PAGE, _LONGEST_PAGE = 20, 100
_SHELF = "\N{SYMBOL FOR UNIT SEPARATOR}responses"
"""What is added to a tenant's name for the one that its responses are kept for."""
_ENDS = ("response.completed", "response.incomplete")
_DONE = ("completed", "incomplete")
"""A response in any other state becomes another one yet, and its provider knows which."""
_WINDOW = 100_000
"""Sessions want one; nothing is ever sent from these."""
Item = dict[str, Any]


class UnknownResponse(Exception):
    """A response that is not kept here, or not for this tenant."""

    def __init__(self, id: str, *, referred: bool) -> None:
        super().__init__(id)
        self.id = id
        self._referred = referred

    @property
    def trouble(self) -> Trouble:
        """What the client is told."""
        if not self._referred:
            return Trouble(kind="not_found", message=f"Response with id '{self.id}' not found.")
        return Trouble(
            kind="bad_request",
            message=f"Previous response with id '{self.id}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )


def is_kept(asked: Mapping[str, Any]) -> bool:
    """Whether a request wants its response to be kept; unless it says no, it does."""
    return asked.get("store") is not False


def may_be_looked_up(asked: HttpRequest | None, holder: Holder) -> bool:
    """Whether a response of no session is kept: behind our own keys, the tenant that got it must be known."""
    is_reply = asked is not None and asked.dialect == DIALECT and asked.route.purpose == "reply"
    return is_reply and asked is not None and holder.own_keys and is_kept(asked.body)


def told_response(events: Iterable[Any]) -> Item | None:
    """The whole response that a stream told at its end."""
    ends = (event for event in events if isinstance(event, Mapping) and event.get("type") in _ENDS)
    told = next((event.get("response") for event in ends), None)
    return told if isinstance(told, dict) else None


class StoredResponses:
    """The responses that are kept in the store of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def _store(self) -> Store:
        return self._pool.store

    def keep(
        self,
        tenant: str,
        told: Mapping[str, Any],
        *,
        asked: Mapping[str, Any],
        tip: str | None = None,
        head: str | None = None,
    ) -> None:
        """Keep a response as the client was told it.

        `tip` is the entry at which its input ended, and `head` the one at which the session stood after the reply. What
        no session has is kept in full.
        """
        id = told.get("id")
        if not isinstance(id, str) or not is_kept(asked) or told.get("status", "completed") not in _DONE:
            return
        own = None if tip is not None else _listed(asked.get("input"))
        fields = {key: value for key, value in told.items() if key != "output"}
        if "instructions" in fields:
            fields["instructions"] = (
                None  # a system prompt: the session has it, and an erasure finds it there
            )
        output = self._refer(tenant, _listed(told.get("output")), tip, head)
        kept = {"response": fields, "output": output, "tip": tip, "input": own}
        entry = TenantTree().add(None, user(to_json(kept)))
        try:
            self._store.create(_shelf(tenant), id, [Batch((Move(entry.id),), (entry,), prefixes=(None,))])
        except (Moved, Gone):
            return  # it is kept already, or was deleted

    def _refer(self, tenant: str, output: list[Item], tip: str | None, head: str | None) -> list[Item]:
        """Each item of an output as the entry that holds it, or as it is."""
        entries = list(self._store.path(tenant, head, stop=tip)) if head is not None else []
        holders = [(item, entry.id) for entry in entries for item in _items(entry)]
        found = [next((id for held, id in holders if held == item), None) for item in output]
        return [
            {"item": item} if id is None else {"entry": id} for item, id in zip(output, found, strict=True)
        ]

    def has(self, tenant: str, id: str) -> bool:
        """Whether a response is kept."""
        try:
            self._kept(tenant, id)
        except UnknownResponse:
            return False
        return True

    def get(self, tenant: str, id: str) -> Item:
        """A response as the client was told it."""
        kept = self._kept(tenant, id)[1]
        return {**kept["response"], "output": self._outputs(tenant, kept)}

    def _outputs(self, tenant: str, kept: Item) -> list[Item]:
        told: list[Item] = []
        for one in kept["output"]:
            entry = self._store.entry(tenant, one["entry"]) if "entry" in one else None
            if entry is not None and entry.erased is None:
                told += _items(entry)
            told += [one["item"]] if "item" in one else []
        return told

    def delete(self, tenant: str, id: str) -> Item:
        """Destroy what is kept of a response; the conversation that it was part of stays."""
        entry, _ = self._kept(tenant, id)
        with self._pool.session(id, tenant=_shelf(tenant), dialect=DIALECT, window=_WINDOW) as chat:
            chat.erase(entry.id, "the client deleted the response")
        return {"id": id, "object": "response", "deleted": True}

    def input_items(self, tenant: str, id: str, query: str = "") -> Item:
        """A page of the items that a response answered, the newest first unless the query says otherwise."""
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        kept = self._kept(tenant, id)[1]
        items = [_with_id(item, f"{id}.{at}") for at, item in enumerate(self._inputs(tenant, kept))]
        if asked.get("order") != "asc":
            items.reverse()
        after = next((at for at, item in enumerate(items) if item["id"] == asked.get("after")), -1)
        limit = asked.get("limit", "")
        most = min(max(int(limit), 1), _LONGEST_PAGE) if limit.isdecimal() and len(limit) < 6 else _PAGE
        page = items[after + 1 : after + 1 + most]
        ends = (
            {"first_id": page[0]["id"], "last_id": page[-1]["id"]}
            if page
            else {"first_id": None, "last_id": None}
        )
        return {"object": "list", "data": page, **ends, "has_more": after + 1 + most < len(items)}

    def expand(self, tenant: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request with its whole input in it, instead of the id of the response before."""
        previous = body.get("previous_response_id")
        if not isinstance(previous, str):
            return dict(body)
        kept = self._kept(tenant, previous, referred=True)[1]
        before = [*self._inputs(tenant, kept), *self._outputs(tenant, kept)]
        known = {item["id"]: item for item in before if isinstance(item.get("id"), str)}
        own = [_resolve(item, known) for item in _listed(body.get("input"))]
        rest = {key: value for key, value in body.items() if key != "previous_response_id"}
        return {**rest, "input": [*before, *own]}

    def _kept(self, tenant: str, id: str, *, referred: bool = False) -> tuple[Entry, Item]:
        """What is kept of a response."""
        shelf = _shelf(tenant)
        records = self._store.load(shelf, id).records
        heads = [record.head for record in records if isinstance(record, Move) and record.head is not None]
        entry = self._store.entry(shelf, heads[-1]) if heads else None
        kept = None if entry is None or entry.erased is not None else from_json(entry.message.text)
        if entry is None or not isinstance(kept, dict):
            raise UnknownResponse(id, referred=referred)
        return entry, kept

    def _inputs(self, tenant: str, kept: Item) -> list[Item]:
        """The items that a response answered, without what the client was never told of."""
        if kept["tip"] is None:
            return _listed(kept["input"])
        try:
            entries = list(self._store.path(tenant, kept["tip"]))
        except NotFound:
            return []
        items = [item for entry in reversed(entries) if entry.erased is None for item in _items(entry)]
        own = {str(item.get("call_id")) for item in items if item.get("name") in RECALL}
        return [item for item in items if str(item.get("call_id")) not in own]


def _shelf(tenant: str) -> str:
    """The tenant that a tenant's responses are kept for."""
    if tenant.endswith(_SHELF):
        raise BadInput(f"No tenant may be called {tenant!r}: responses are kept under such names.")
    return f"{tenant}{_SHELF}"


_WRITE: Callable[[Any], tuple[Any, ...]] = dialect_named(DIALECT).wire


def _items(entry: Entry) -> Iterator[Item]:
    for body in _WRITE(entry.message):
        yield from _listed(body if isinstance(body, str) else [body])


def _listed(given: Any) -> list[Item]:
    """An input as items; a text is a message of the user."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def _resolve(item: Item, known: Mapping[str, Item]) -> Item:
    is_reference = item.get("type") == "item_reference" or set(item) == {"id"}
    return known.get(str(item.get("id")), item) if is_reference else item


def _with_id(item: Item, seed: str) -> Item:
    """An item as a list tells it: every one has an id and a type, and content is a list of blocks."""
    told = {"id": reply_id(DIALECT, seed).replace("resp_", "item_"), "type": "message", **item}
    kind = "output_text" if told.get("role") == "assistant" else "input_text"
    content = told.get("content")
    return {**told, "content": [{"type": kind, "text": content}]} if isinstance(content, str) else told
