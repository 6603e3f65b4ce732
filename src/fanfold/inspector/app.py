"""The inspector as one raw ASGI application: `fanfold inspect` serves it alone, the gateway can mount it.

/                        the page
/inspector/…             the files of the page
/inspector/api/…         JSON, and one stream of server-sent events
"""

from __future__ import annotations

from asyncio import FIRST_COMPLETED, create_task, wait
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from importlib.resources import files
from logging import getLogger
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from fanfold.core.errors import FanfoldError
from fanfold.inspector.answer import (
    NOBODY,
    NOTEBOOK,
    Denied,
    Headers,
    HttpAnswer,
    HttpDownload,
    NextLink,
    answer_json,
    answer_used,
    head,
)
from fanfold.inspector.desk import Desk
from fanfold.inspector.events import Follower
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.routes import Sources, answer, find_work, status_of
from fanfold.inspector.safety import MOST_BODY, PREFIX, Access, Grant, get
from fanfold.inspector.trials import PolicyTrials
from fanfold.replay.page import look
from fanfold.session.threads import Threads
from fanfold.stores.store import Store

_LOG = getLogger("fanfold.inspector")
_MEDIA = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "txt": "text/plain",
    "svg": "image/svg+xml",
}
WORK = Threads("inspector", 8)


class Inspector:
    """Shows the sessions of a store to whoever has a token."""

    def __init__(
        self,
        store: Store,
        access: Access | Mapping[str, Collection[str]],
        *,
        hosts: Collection[str] = (),
        write: bool = False,
        framed: bool = False,
        title: str = "",
        renewal: NextLink | None = None,
        health: Callable[[], Any] | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`access` is each token with the tenants that it names; `hosts` are names of this host besides `localhost`.

        Who shares tokens with something else gives an `Access`, which has hosts of its own. `health` tells the figures
        of a gateway, where there is one. `renewal` says how to get another link.
        """
        self.desk = Desk(store, write=write)
        self.access = access if isinstance(access, Access) else Access(access, hosts)
        self.trials = PolicyTrials()
        self.is_stopping = is_stopping
        """Whether the server is about to end: then streams end first, for it waits for them."""
        self._follower = Follower(self.desk.beside, lambda: self.is_stopping())
        self._health = health
        self.framed = framed
        """Whether a notebook shows the page in a frame. Its secret is in the page then, and no cookie is needed."""
        self._framed_by = NOTEBOOK if framed else NOBODY
        self._title = title
        self._renewal = renewal or NextLink()
        self._files = _read_bundle()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """What a server calls."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            self.trials.close()
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        try:
            self.access.check_host(scope["headers"])
            if scope["path"] == f"{PREFIX}api/events" and scope["method"] == "GET":
                await self._stream(scope, receive, send)
                return
            told = await self._answer(scope, receive)
        except Denied as denied:
            told = answer_json({"error": str(denied)}, denied.status)
        except FanfoldError as error:
            told = answer_json({"error": str(error), "kind": type(error).__name__}, status_of(error))
        except Exception as error:
            _LOG.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            told = answer_json({"error": "The inspector failed; its log says how."}, 500)
        headers = told.head(self._framed_by)
        if isinstance(told, HttpDownload):
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await _send_file(told, receive, send)
            return
        await send({"type": "http.response.start", "status": told.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else told.body})

    async def _answer(self, scope: dict[str, Any], receive: Any) -> HttpAnswer | HttpDownload:
        path, method = scope["path"], scope["method"]
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if path.startswith(f"{PREFIX}api/"):
            return await self._answer_api(scope, receive, query)
        if method not in ("GET", "HEAD"):
            raise Denied(405, "Only the API takes this.")
        name = "index.html" if path == "/" else path.removeprefix(PREFIX) if path.startswith(PREFIX) else ""
        if name not in self._files:
            raise Denied(404, "There is nothing here by this name.")
        # The page itself comes with the cookie, and no redirect: a browser that followed a link from another program
        # would not send a strict cookie with that.
        entering = name == "index.html" and method == "GET" and query.get("token")
        try:
            cookie = self._enter(scope, query["token"]) if entering else []
        except Denied:
            if "text/html" not in (get(scope["headers"], b"accept") or ""):
                raise
            return answer_used(self._renewal)
        return HttpAnswer(200, self._files[name], _media(name), cookie)

    def _enter(self, scope: dict[str, Any], token: str) -> Headers:
        """The cookie that a token becomes; none where a link is opened again by who came in by it."""
        try:
            return self.access.enter(token, secure=scope["scheme"] == "https")
        except Denied as used:
            with suppress(Denied):
                self.access.find(scope["headers"])
                return []
            raise used

    async def _answer_api(
        self, scope: dict[str, Any], receive: Any, query: dict[str, str]
    ) -> HttpAnswer | HttpDownload:
        headers, method = scope["headers"], scope["method"]
        if self.framed and (method, scope["path"]) == ("POST", f"{PREFIX}api/enter"):
            self.access.check_write(headers)
            return answer_json(
                {"visitor": self.access.admit(str(_read_json(await _read_body(receive)).get("token")))}
            )
        grant = self.access.find(headers)
        raw = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        words = tuple(map(unquote, raw.removeprefix(f"{PREFIX}api/").split("/")))
        work = find_work(method, words)
        if method == "POST":
            self.access.check_write(headers)
        asked = Inquiry(
            tenant=_choose_tenant(grant.tenants, query),
            # A browser takes . and .. in a path for folders, so a session with such a name is named behind the ?.
            name=query.get("name", words[1]) if words[1:] else "",
            id=words[3] if words[3:] else "",
            verb=words[2] if method == "POST" and words[2:] else "",
            query=query,
            body=_read_json(await _read_body(receive)) if method == "POST" else {},
        )
        return await WORK.run(answer, work, self._sources(grant), asked)

    def _sources(self, grant: Grant) -> Sources:
        """What somebody with this grant is answered from."""
        return Sources(
            desk=self.desk,
            trials=self.trials,
            about=lambda: self._about(grant),
            health=self._health if grant.health else None,
        )

    def _about(self, grant: Grant) -> dict[str, Any]:
        import fanfold  # late: the version is asked of the installed package

        return {
            "tenants": grant.tenants,
            "health": self._health is not None and grant.health,
            "write": self.desk.write,
            "version": fanfold.__version__,
            "title": self._title,
        }

    async def _stream(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Tell by server-sent events that a session, or the list of them, is not what it was."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        tenant = _choose_tenant(self.access.find(scope["headers"]).tenants, query)
        headers = head("text/event-stream", self._framed_by)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        telling = create_task(self._follower.follow(tenant, query.get("session", ""), send))
        leaving = create_task(_wait_until_gone(receive))
        try:
            await wait((telling, leaving), return_when=FIRST_COMPLETED)
        finally:
            telling.cancel()
            leaving.cancel()
        if telling.done() and not telling.cancelled() and (error := telling.exception()) is not None:
            _LOG.debug("A stream ended: %s", error)  # its browser has gone
        if not leaving.done():
            await send({"type": "http.response.body", "body": b""})


def _read_bundle() -> dict[str, bytes]:
    """The files of the page, by name."""
    found = {"look.css": look().encode()}
    folder = files("fanfold.inspector") / "bundle"
    for inner, prefix in ((folder, ""), (folder / "vendor", "vendor/")):
        for file in inner.iterdir():
            if file.is_file():
                found[prefix + file.name] = file.read_bytes()
    return found


def _media(name: str) -> str:
    return f"{_MEDIA.get(name.rpartition('.')[2], 'application/octet-stream')}; charset=utf-8"


def _choose_tenant(tenants: tuple[str, ...], query: Mapping[str, str]) -> str:
    """The tenant that is asked for; another one than the token names does not exist."""
    tenant = query.get("tenant") or tenants[0]
    if tenant not in tenants:
        raise Denied(404, "There is no tenant by this name.")
    return tenant


async def _read_body(receive: Any) -> bytes:
    pieces, size = [], 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Denied(400, "The request was not whole.")
        pieces.append(event.get("body", b""))
        size += len(pieces[-1])
        if size > MOST_BODY:
            raise Denied(413, "The request is too large.")
        if not event.get("more_body"):
            return b"".join(pieces)


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise Denied(400, "This is no JSON.") from None
    if not isinstance(found, dict):
        raise Denied(400, "A change is a JSON object.")
    return found


async def _send_file(file: HttpDownload, receive: Any, send: Any) -> None:
    """Send a file piece by piece; no more of it is read once the browser has gone.

    If it cannot be read to its end, the error ends the connection: the browser then says that the file is not whole.
    """
    leaving = create_task(_wait_until_gone(receive))
    try:
        piece = file.first
        while piece and not leaving.done():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await WORK.run(next, file.rest, b"")
        await send({"type": "http.response.body", "body": b""})
    finally:
        leaving.cancel()


async def _wait_until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _live(receive: Any, send: Any) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
