"""Copies: what the model looked up again, so that an erasure reaches that, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fanfold.core.edit import RECALL, SEARCH
from fanfold.core.errors import FanfoldError
from fanfold.core.log import Log
from fanfold.core.message import Call, Message
from fanfold.outputs.recall import ref_of
from fanfold.session.gc import tips_of
from fanfold.stores.store import Tenant

_FOUND = re.compile(r"^([om]\d+):\d+:", re.MULTILINE)
"""How an answer of the search over all outputs begins a line."""


def copies_of(tenant: Tenant, id: str) -> tuple[str, ...]:
    """The entries of a tenant's sessions in which a recall tool gave back some of an entry, or of such an answer."""
    stored = tenant.store
    logs = [
        Log(tenant.tree, stored.load(tenant.name, session).records)
        for session in stored.sessions(tenant.name)
    ]
    found: dict[str, None] = {}
    todo = [id]
    while todo:
        source = todo.pop()
        new = {copy for log in logs for copy in _answers(log, source)} - {id, *found}
        found.update(dict.fromkeys(sorted(new)))
        todo.extend(new)
    return tuple(found)


def _answers(log: Log, id: str) -> Iterator[str]:
    """The entries of one session that answer a recall tool's call with some of an entry."""
    refs = {kept.ref for kept in log.kept.values() if id in log.leaves((kept.entry,))}
    refs |= {edit for edit in log.decisions if id in log.leaves((edit,))}
    messages = list(_messages(log)) if refs else []
    asked = [call for _, message in messages for call in message.calls if call.name in RECALL]
    for entry, message in messages:
        answered = {result.call for result in message.results}
        if any(call.id in answered and _named(call, message) & refs for call in asked):
            yield entry


def _messages(log: Log) -> Iterator[tuple[str, Message]]:
    """Every body of every message of every branch, once."""
    seen: set[str] = set()
    for tip in tips_of(log):
        at: str | None = tip
        while at is not None and at not in seen:
            seen.add(at)
            for message in log.bodies(at):
                yield at, message
            at = log.tree[at].parent


def _named(call: Call, answer: Message) -> set[str]:
    """The references that a recall tool's answer was made from."""
    if call.name == SEARCH:
        return {ref for result in answer.results for ref in _FOUND.findall(result.text)}
    try:
        ref = ref_of(call.args)
    except FanfoldError:
        return set()
    return {ref}
