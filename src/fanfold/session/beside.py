"""What stands beside the chain and can be erased like an entry: system prompts, labels, contexts, what people wrote.

A context goes with one request only. People write notes, folds of their own, and lines that they pin.

Each has the id of an entry that says these words at the start of a conversation. The stub is stored under this id, so
the words are known again when a client sends them once more, or when an export brings them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from fanfold.core.edit import Decision, Fold, Note, Pin
from fanfold.core.errors import BadInput, NotFound
from fanfold.core.ids import entry_id
from fanfold.core.log import Log
from fanfold.core.message import Message, Text, text_of
from fanfold.core.record import Edited, Frame, Framed, Opened, Record, Sent
from fanfold.core.tree import Entry
from fanfold.session.cache import no_request
from fanfold.session.state import State
from fanfold.stores.search import labels_in_words, search
from fanfold.stores.store import Batch, Tenant
from fanfold.stores.tenant_tree import TenantTree

SYSTEM, LABELS, CONTEXT = "system", "labels", "context"
"""Name all system prompts, all labels, and the contexts of all requests, that a session ever had."""
NAMELESS = "erased"
"""The name of a note that was erased."""
_ONE_REQUEST = re.compile(r"request ([0-9]{1,9})")
"""Names the context of one request, by its number."""


def _as_message(words: str) -> Message:
    """Words as what is stored when they are erased."""
    return Message("system", (Text(words),))


def written(decision: Decision) -> Message | None:
    """The words that a person wrote with a decision; a note is taken for that whoever made it."""
    match decision.edit:
        case Note(text=text):
            return _as_message(text)
        case Fold(shows=str(text)) | Pin(text=str(text)) if text and decision.by == "person":
            return _as_message(text)
    return None


def labels_as_message(labels: Mapping[str, str]) -> Message:
    """Labels in words."""
    return _as_message(labels_in_words(labels))


def words_id(words: Message) -> str:
    """The id by which a system prompt or a note can be erased."""
    return entry_id(None, words)


def words_beside(record: Record) -> Iterator[Message]:
    """The system prompt, the labels, the context, or what people wrote that a record holds."""
    match record:
        case Framed(frame=frame):
            yield from frame.system
        case Edited(decisions=decisions):
            yield from filter(None, map(written, decisions))
        case Opened(labels=labels) if labels:
            yield labels_as_message(labels)
        case Sent(context=str(context)):
            yield _as_message(context)


def find_beside(state: State, name: str) -> list[Message] | None:
    """System prompts, labels, contexts, or what a person wrote, by name; None where it stands for something else."""
    log = state.log
    words = {words_id(one): one for record in log.records for one in words_beside(record)}
    if name == SYSTEM:
        found = {words_id(one): one for _, frame in log.frames for one in frame.system}
        if not found:
            raise NotFound("This session has no system prompt.")
    elif name == "name":
        raise BadInput("The name of a session cannot be erased: write nothing personal into it.")
    elif name == LABELS:
        every = (one.labels for one in log.records if isinstance(one, Opened) and one.labels)
        found = {words_id(one): one for one in map(labels_as_message, every)}
        if not found:
            raise NotFound("This session has no labels.")
    elif name == CONTEXT or _ONE_REQUEST.fullmatch(name):
        found = {words_id(one): one for one in map(_as_message, _contexts(log, name))}
    elif (decision := log.decisions.get(name)) is not None:
        made = written(decision)
        if made is None or decision.by != "person":
            raise BadInput(
                f"{name!r} is an edit: erase the messages that it was made from, and it goes with them."
            )
        found = {name: made}
    else:
        found = {id: one for id, one in words.items() if name and id.startswith(name)}
        if len(found) != 1:
            return None
    return [one for one in found.values() if not _is_stub(log, one)]


def _contexts(log: Log, name: str) -> list[str]:
    """The contexts of all requests, or of one."""
    one = _ONE_REQUEST.fullmatch(name)
    if one is None:
        found = [sent.context for sent in log.sent if sent.context]
        if not found:
            raise NotFound("No request of this session has a context.")
        return found
    number = int(one[1])
    if number >= len(log.sent):
        raise no_request(log, number)
    context = log.sent[number].context
    if not context:
        raise NotFound(f"Request {number} has no context.")
    return [context]


def _is_stub(log: Log, message: Message) -> bool:
    """Whether nothing but stubs is left in a message."""
    stubs = {f"[erased: {reason}]" for reason in log.erasures.values()}
    return bool(message.parts) and all(text_of(part) in stubs for part in message.parts)


_BESIDE = ("system", "edit", "labels", "context")
"""What a search calls them."""


def put_stub(tenant: Tenant, session: str, message: Message, reason: str) -> Entry:
    """Put an entry with these words in the tree and a stub of it in the store, named by all sessions that have them."""
    entry = tenant.tree.add(None, message)
    words = text_of(message)
    passages = search(tenant.store, tenant.name, words) if words.strip() else ()
    others = {passage.session for passage in passages if passage.kind in _BESIDE}
    new = (entry.to_stub(reason),) if tenant.store.entry(tenant.name, entry.id) is None else ()
    for name in dict.fromkeys((session, *sorted(others))):
        tenant.store.append(tenant.name, name, Batch((), new, passed=(entry.id,)), expect=None)
        new = ()
    return entry


def without_erased(state: State, frame: Frame) -> Frame:
    """A frame with stubs in the place of system prompts that were erased in this session, and are sent again."""
    erasures = state.log.erasures if frame.system else {}
    state.tree.fetch(erasures)
    for id in erasures:
        if id in state.tree:
            frame = with_stub(state.log, frame, state.tree[id])
    return frame


def context_or_stub(log: Log, context: str) -> str:
    """The context of a request, or a stub of it if it was erased in this session, and is sent again."""
    reason = log.erasures.get(words_id(_as_message(context))) if log.erasures else None
    return context if reason is None else f"[erased: {reason}]"


def with_stub(log: Log, frame: Frame, stub: Entry) -> Frame:
    """A frame with a stub in the place of what it is a stub of."""
    tree = log.tree
    if stub.parent is not None or not isinstance(tree, TenantTree):
        return frame
    shown = (stub.message if tree.is_destroyed(stub.id, one) else one for one in frame.system)
    return msgspec.structs.replace(frame, system=tuple(shown))


def notes_with(log: Log, words: Message) -> Iterator[str]:
    """The notes, and the folds of people, that say just these words."""
    for id, decision in log.decisions.items():
        if isinstance(decision.edit, Note | Fold) and written(decision) == words:
            yield id
