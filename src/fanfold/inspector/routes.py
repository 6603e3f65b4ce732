"""Which path is answered by which function. docs/inspector.md has the same table, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.core.errors import BadInput, Covered, FanfoldError, Gone, NotFound, PartlyCovered, StoreFailed
from fanfold.inspector import changes, reads, search
from fanfold.inspector.answer import Denied, HttpAnswer, HttpDownload, answer_json
from fanfold.inspector.desk import ONLY_READS, Desk, Seat, check_place
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.trials import PolicyTrials


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What questions are answered from."""

    desk: Desk
    trials: PolicyTrials
    about: Callable[[], Any]
    health: Callable[[], Any] | None
    """The figures of a gateway, for whoever may see them."""


Work = Callable[[Sources, Inquiry], Any]


def _of_session(work: Callable[[Seat, Inquiry], Any]) -> Work:
    """Look at a session."""
    return lambda at, asked: at.desk.use(asked.tenant, asked.name, lambda seat: work(seat, asked))


def _change(work: Callable[[Seat, Inquiry], Any]) -> Work:
    """Change a session, or tell what that would do."""

    def change(at: Sources, asked: Inquiry) -> Any:
        if not at.desk.write and not asked.body.get("dry_run"):
            raise Denied(403, ONLY_READS)
        if not asked.body.get("dry_run"):
            check_place(at.desk.store)
        return at.desk.use(asked.tenant, asked.name, lambda seat: work(seat, asked))

    return change


def _of_trials(verb: str) -> Work:
    """List the trials of a session, begin one or cancel one; none of that changes the session."""

    def work(at: Sources, asked: Inquiry) -> Any:
        if "dry_run" in asked.body:
            raise BadInput("A trial changes nothing, so there is no dry run of it.")
        told = getattr(at.trials, verb)
        return at.desk.use(asked.tenant, asked.name, lambda seat: told(seat, asked))

    return work


def _health(at: Sources, asked: Inquiry) -> Any:
    if at.health is None:
        raise Denied(404, "There is nothing here by this name.")
    return at.health()


def _export(at: Sources, asked: Inquiry) -> HttpDownload:
    pieces = reads.export(at.desk, asked)
    first = next(pieces)  # it is not there, or it begins
    return HttpDownload(f"{asked.name}.jsonl", first, pieces)


READS: Mapping[str, Work] = {
    "about": lambda at, asked: at.about(),
    "health": _health,
    "sessions": lambda at, asked: reads.list_sessions(at.desk, asked),
    "search": lambda at, asked: search.search_all(at.desk, asked),
    "sessions/{name}": _of_session(reads.overview),
    "sessions/{name}/view": _of_session(reads.view_rows),
    "sessions/{name}/rows/{id}": _of_session(reads.view_row),
    "sessions/{name}/entries/{id}": _of_session(reads.entry),
    "sessions/{name}/edits": _of_session(reads.list_edits),
    "sessions/{name}/edits/{id}": _of_session(reads.edit),
    "sessions/{name}/requests": _of_session(reads.list_requests),
    "sessions/{name}/requests/{n}": _of_session(reads.request),
    "sessions/{name}/pictures": _of_session(reads.pictures),
    "sessions/{name}/bodies/{n}": _of_session(reads.request_body),
    "sessions/{name}/outputs": _of_session(reads.list_outputs),
    "sessions/{name}/outputs/{ref}": _of_session(reads.output),
    "sessions/{name}/grep": _of_session(search.grep),
    "sessions/{name}/search": _of_session(search.search),
    "sessions/{name}/elsewhere": _of_session(search.elsewhere),
    "sessions/{name}/ledger": _of_session(reads.ledger),
    "sessions/{name}/next": _of_session(reads.next_request),
    "sessions/{name}/trials": _of_trials("list"),
    "sessions/{name}/export": _export,
}
"""What is read."""
WRITES: Mapping[str, Work] = {
    **{f"sessions/{{name}}/{verb}": _change(changes.change) for verb in changes.ACTIONS},
    "sessions/{name}/fork": _change(changes.fork),
    "sessions/{name}/erase": _change(changes.erase),
    "sessions/{name}/try": _of_trials("start"),
    "sessions/{name}/cancel": _of_trials("cancel"),
}
"""What is changed."""


def _shape(words: Sequence[str]) -> tuple[str, ...]:
    """A path with its names left out: the second word is a session's, the fourth is what is looked at in it."""
    return tuple("" if at in (1, 3) else word for at, word in enumerate(words))


_TABLES = {
    method: {_shape(path.split("/")): work for path, work in table.items()}
    for method, table in (("GET", READS), ("POST", WRITES))
}


def find_work(method: str, words: Sequence[str]) -> Work:
    """What answers this path; a word of it may have any sign, a slash too."""
    if method not in _TABLES:
        raise Denied(405, "The API is read with GET and changed with POST.")
    work = _TABLES[method].get(_shape(words))
    if work is None or "" in words:
        raise Denied(404, "There is nothing here by this name.")
    return work


def answer(work: Work, at: Sources, asked: Inquiry) -> HttpAnswer | HttpDownload:
    """Do the work; what it returns becomes JSON."""
    found = work(at, asked)
    return found if isinstance(found, HttpDownload) else answer_json(found)


def status_of(error: FanfoldError) -> int:
    """The HTTP status for an error of the library; its sentence is the answer."""
    match error:
        case NotFound():
            return 404
        case Gone():
            return 410
        case Covered() | PartlyCovered():
            return 409
        case BadInput():
            return 400
        case StoreFailed():
            return 503
    return 422
