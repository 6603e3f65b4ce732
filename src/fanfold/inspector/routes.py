"""Which path is answered by which function. docs/inspector.md has the same table, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fanfold.core.errors import BadInput, Covered, FanfoldError, Gone, NotFound, PartlyCovered, StoreFailed
from fanfold.inspector import changing, looking
from fanfold.inspector.answer import Denied, HttpAnswer, answer_json
from fanfold.inspector.desk import ONLY_READS, Desk, Seat
from fanfold.inspector.looking import Inquiry
from fanfold.inspector.trying import PolicyTrials

Work = Callable[[Seat, Inquiry], Any]
READS: Mapping[tuple[str, int], Work] = {
    ("", 0): looking.overview,
    ("view", 0): looking.view_rows,
    ("rows", 1): looking.view_row,
    ("entries", 1): looking.entry,
    ("edits", 0): looking.list_edits,
    ("edits", 1): looking.edit,
    ("requests", 0): looking.list_requests,
    ("requests", 1): looking.request,
    ("pictures", 0): looking.pictures,
    ("bodies", 1): looking.request_body,
    ("outputs", 0): looking.list_outputs,
    ("outputs", 1): looking.output,
    ("grep", 0): looking.grep,
    ("search", 0): looking.search,
    ("ledger", 0): looking.ledger,
    ("next", 0): looking.next_request,
}
"""What is read of a session: the word behind its name, and how many more follow."""
WRITES: Mapping[str, Work] = {
    **dict.fromkeys(changing.ARGUMENTS, changing.change),
    "fork": changing.fork,
    "erase": changing.erase,
}
"""What is changed in a session."""


def answer_trial(desk: Desk, trials: PolicyTrials, asked: Inquiry, verb: str) -> HttpAnswer:
    """List the trials of a session, begin one or cancel one; none of that changes the session."""
    if "dry_run" in asked.body:
        raise BadInput("A trial changes nothing, so there is no dry run of it.")
    work = {"trials": trials.list, "try": trials.start, "cancel": trials.cancel}[verb]
    return answer_json(desk.use(asked.tenant, asked.name, lambda seat: work(seat, asked)))


def answer_read(desk: Desk, asked: Inquiry, words: tuple[str, ...]) -> HttpAnswer:
    """Answer a GET on a session: `words` is what stands behind its name in the path."""
    if words == ("export",):
        name = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in asked.name)
        header = f'attachment; filename="{name.encode("ascii", "replace").decode()}.jsonl"'
        body = looking.export(desk, asked)
        return HttpAnswer(200, body, "application/x-ndjson", [(b"content-disposition", header.encode())])
    work = READS.get((words[0] if words else "", len(words[1:])))
    if work is None:
        raise Denied(404, "There is nothing here by this name.")
    given = Inquiry(tenant=asked.tenant, name=asked.name, rest=words[1:], query=asked.query)
    return answer_json(desk.use(asked.tenant, asked.name, lambda seat: work(seat, given)))


def answer_write(desk: Desk, asked: Inquiry, words: tuple[str, ...]) -> HttpAnswer:
    """Answer a POST on a session."""
    work = WRITES.get(words[0]) if len(words) == 1 else None
    if work is None:
        raise Denied(404, "There is no change by this name.")
    if not desk.write and not asked.body.get("dry_run"):
        raise Denied(403, ONLY_READS)
    given = Inquiry(tenant=asked.tenant, name=asked.name, rest=words, body=asked.body)
    return answer_json(desk.use(asked.tenant, asked.name, lambda seat: work(seat, given)))


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
