"""What a tab follows by: a stream of server-sent events that tells when a session, or the list of them, has changed.

`app.py` opens a stream for each tab. `follow` looks at the store a few times a second and sends a `data:` event when
what it sees is another than before; the first comes at once. `watch` in `bundle/api.js` hears it, and the page asks
anew for what it shows. If the store cannot be looked at, `event: failed` says so in a sentence; the log says why, once.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable
from functools import partial
from logging import getLogger
from typing import Any

from fanfold.core.errors import FanfoldError, NotFound
from fanfold.inspector.desk import check_place
from fanfold.session.threads import Threads
from fanfold.stores.store import Store
from fanfold.text.json_text import write_json

_LOG = getLogger("fanfold.inspector")
WATCH = Threads("inspector-watch", 4)
"""Looking at sessions may take a while; watching goes on meanwhile."""
OFTEN = 0.3
"""Seconds between two looks at the store."""
_BEYOND = 1 << 31
"""More records than any session has."""
_QUIET = 10.0
"""Seconds after which a quiet stream says that it is still there."""


class Follower:
    """Tells tabs what changed, and the log what cannot be watched: each trouble once, however many tabs there are."""

    def __init__(self, store: Store, is_stopping: Callable[[], bool]) -> None:
        self._store, self._is_stopping = store, is_stopping
        self._troubles: dict[tuple[str, str], str] = {}
        """What was logged of a session, until it can be watched again."""

    async def follow(self, tenant: str, session: str, send: Any) -> None:
        """Tell until the server ends; the caller cancels it when the browser has gone."""
        known, quiet = "", 0.0
        while not self._is_stopping():
            now = await self._look(tenant, session)
            quiet += OFTEN
            if now != known or quiet >= _QUIET:
                line = now if now != known else ": still here"
                known, quiet = now, 0.0
                await send({"type": "http.response.body", "body": f"{line}\n\n".encode(), "more_body": True})
            await sleep(OFTEN)

    async def _look(self, tenant: str, session: str) -> str:
        """An event that is another one as soon as something changed."""
        try:
            mark = await WATCH.run(_mark, self._store, tenant, session)
        except Exception as error:
            return self._fail(tenant, session, error)
        self._troubles.pop((tenant, session), None)
        return f"data: {mark}"

    def _fail(self, tenant: str, session: str, error: Exception) -> str:
        """The event that says so; the log has each trouble once, with the place in the code if it is our own fault."""
        ours = not isinstance(error, FanfoldError)
        if self._troubles.get((tenant, session)) != repr(error):
            self._troubles[tenant, session] = repr(error)
            what = f"session {session!r}" if session else "the list of sessions"
            level = partial(_LOG.error, exc_info=error) if ours else _LOG.warning
            level("Tabs cannot follow %s of tenant %r: %s", what, tenant, error)
        says = "The inspector failed; its log says how." if ours else str(error)
        return f"event: failed\ndata: {write_json({'error': says}).decode()}"


def _mark(store: Store, tenant: str, session: str) -> str:
    """Something that changes with every record: where a session's log ends, or what the list would show."""
    check_place(store)
    if session:
        try:
            stored = store.load(tenant, session, after=_BEYOND, most=1)
        except NotFound:  # the screen says so; the tab follows as soon as it is there
            return write_json({"session": session, "seq": 0}).decode()
        return write_json({"session": session, "seq": stored.seq, "version": stored.version}).decode()
    found = store.summaries(tenant)
    seen = [(one.name, one.seen, one.requests, one.edits, one.messages, one.tokens) for one in found]
    return write_json({"sessions": len(found), "mark": hash(tuple(sorted(seen)))}).decode()
