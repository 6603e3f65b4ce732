"""The gateway as one raw ASGI application. A server such as uvicorn imports `app`; `fanfold serve` does that itself.

    uvicorn fanfold.gateway.app:app --port 4141

Settings come from `fanfold.toml` when the server starts.
"""

from __future__ import annotations

from asyncio import (
    AbstractEventLoop,
    CancelledError,
    Lock,
    create_task,
    current_task,
    get_running_loop,
    sleep,
)
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger
from time import time
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from fanfold.core.errors import Busy, FanfoldError
from fanfold.gateway.client import Client
from fanfold.gateway.clients import client_named
from fanfold.gateway.conversations import Conversations
from fanfold.gateway.course import Courses
from fanfold.gateway.exchange import Exchange, serve_exchange
from fanfold.gateway.guard import EVERY
from fanfold.gateway.headers import get
from fanfold.gateway.inspector import Inspection, is_for_inspector
from fanfold.gateway.journal import Journal, journal_path
from fanfold.gateway.keys import Keys
from fanfold.gateway.metrics import Metrics
from fanfold.gateway.route import Destination, find_destination, is_stateless
from fanfold.gateway.safety import Refused, check_json, check_request, read_body
from fanfold.gateway.settings import ServeSettings, read_settings
from fanfold.gateway.upstream import Upstreams
from fanfold.gateway.work import WORK, do_now, settle

P = ParamSpec("P")
T = TypeVar("T")
Session = tuple[str, str]
"""A tenant and the name of one of its sessions."""
_LOG = getLogger("fanfold.gateway")
_SHARED = "What a provider stores is not open here: behind this key it is one customer's, and several tenants have it."
_TEXT = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]


class Gateway:
    """Stands between agents and their providers."""

    def __init__(self, settings: ServeSettings | None = None) -> None:
        self._given = settings
        self.upstreams, self.metrics = Upstreams(), Metrics()
        self.courses = Courses()
        self._turns: WeakValueDictionary[Session, Lock] = WeakValueDictionary()
        self.journal: Journal | None = None
        self._loop: AbstractEventLoop | None = None
        """Where it is served, once it is."""
        self.active = 0
        """Requests that are being served."""
        self.conversations: Conversations | None = None
        """None where nothing is managed."""
        self.is_stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to end: pages that listen are told so, for it waits for them."""
        self.inspection: Inspection | None = None
        """None where nobody may look."""
        if settings is not None:
            self.configure(settings)

    def __reduce__(self) -> tuple[type[Gateway], tuple[ServeSettings | None]]:
        """An engine such as Ray Serve copies the application to its workers: each begins anew with these settings."""
        return Gateway, (self._given,)

    def configure(self, settings: ServeSettings) -> None:
        """Take settings over, for the requests that come from now on."""
        self.settings, self.keys = settings, Keys(settings)
        self._hosts = settings.allowed_hosts
        if self.journal is not None:
            self.journal.close()
        self.journal = Journal(journal_path(settings.store, settings.journal))
        if settings.manage and self.conversations is None:
            self.conversations = Conversations(settings.store, settings.memory)
        # Another key may mean another tenant: whoever looks comes in anew.
        if self.inspection is not None:
            self.inspection.close()
        offered = settings.inspector != "off" and self.conversations is not None
        self.inspection = Inspection(self) if offered else None

    def between(self, work: Callable[[], None]) -> None:
        """Do something between two steps of what is served; a signal may come in the middle of one."""
        if self._loop is None:
            work()
        else:
            self._loop.call_soon_threadsafe(work)

    def turn(self, tenant: str, name: str) -> Lock:
        """One after the other: whoever works on a session of this name in this process."""
        return self._turns.get((tenant, name)) or self._turns.setdefault((tenant, name), Lock())

    def do_now(
        self, session: Session, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do something short in a session, here and now; `Busy` where somebody would have to be waited for."""
        turn = self._turns.get(session)
        if self.conversations is None or (turn is not None and turn.locked()):
            raise Busy
        return do_now(self.conversations.pool, session, size, work, *args, **kwargs)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """What a server calls."""
        if self._given is None and scope["type"] != "lifespan":
            self._read_settings()  # some engines never say that they start
        match scope["type"]:
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await self._refuse_websocket(scope, receive, send)
            case "http" if self.inspection is not None and is_for_inspector(scope):
                await self.inspection(scope, receive, send)
            case "http":
                await self._serve(scope, Client(send, receive))

    async def _live(self, receive: Any, send: Any) -> None:
        self._loop = get_running_loop()
        learning = create_task(self._learn())
        try:
            await self._live_on(receive, send)
        finally:
            learning.cancel()
            self._loop = None

    async def _live_on(self, receive: Any, send: Any) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                if self._given is None:
                    self._read_settings()
                if self.conversations is not None:
                    await WORK.run(self.conversations.warm)
                    await self._try_store(self.conversations)
                await send({"type": "lifespan.startup.complete"})
            else:
                if self.inspection is not None:
                    self.inspection.close()
                await self.upstreams.close()
                if self.journal is not None:
                    self.journal.close()
                if self.conversations is not None:
                    await WORK.run(self.conversations.close)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _try_store(self, conversations: Conversations) -> None:
        """Say at the start that the store cannot be used; agents are served all the same."""
        try:
            await WORK.run(conversations.learn)
        except FanfoldError as error:
            _LOG.error("Requests are not managed until the store can be used: %s", error)

    async def _learn(self) -> None:
        """Hear what others erase also while nobody asks: the store may be down when the next request comes.

        Then the store may do what a request would else wait for.
        """
        while True:
            await sleep(EVERY)
            if self.conversations is not None:
                with suppress(FanfoldError):
                    await WORK.run(self.conversations.learn)
                    await WORK.run(settle, self.conversations.pool)

    def _read_settings(self) -> None:
        self._given = read_settings()
        self.configure(self._given)

    async def _refuse_websocket(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Codex tries a websocket first and falls back at once on 426."""
        await receive()
        if "websocket.http.response" in scope.get("extensions", {}):
            await send({"type": "websocket.http.response.start", "status": 426, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close"})

    async def _serve(self, scope: dict[str, Any], client: Client) -> None:
        """One request: refused, answered here, or taken to its provider."""
        method, headers = scope["method"], scope["headers"]
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        destination: Destination | None = None
        self.active += 1
        try:
            check_request(method, path, headers, self._hosts)
            if await self._answer_here(method, path, scope, client):
                return
            destination = find_destination(method, path, scope["query_string"].decode("latin-1"), headers)
            await self._take_on(destination, path, scope, client)
        except Refused as refused:
            await self._refuse(client, destination, refused)
        except (ConnectionError, CancelledError):
            if not client.gone:
                raise
            if not client.satisfied:  # codex hangs up as soon as it has all
                self.metrics.add("streams_cut", by="client")
        except Exception as error:
            _LOG.error("%s %s failed: %s", method, path, type(error).__name__, exc_info=error)
            await self._refuse(client, destination, Refused(500, "The gateway failed; its log says how."))
        finally:
            self.active -= 1
            if client.status:
                self.metrics.add("requests", dialect=_name(destination), status=str(client.status))

    async def _answer_here(self, method: str, path: str, scope: dict[str, Any], client: Client) -> bool:
        """Answer what is asked of the gateway itself; tell whether that was so."""
        headers = scope["headers"]
        if (get(headers, b"upgrade") or "").lower() == "websocket":
            await client.tell(426, b"", [])
        elif path == "/" and method in ("GET", "HEAD"):
            await client.tell(200, b"", [])
        elif path == "/healthz" and method in ("GET", "HEAD"):
            await client.tell_json(200, {"status": "ok"})
        elif path == "/metrics" and method == "GET":
            if self.keys.needed:
                self.keys.find(headers, "")
            await client.tell(200, self.metrics.text(active_requests=self.active).encode(), _TEXT)
        else:
            return False
        return True

    async def _take_on(
        self, destination: Destination | None, path: str, scope: dict[str, Any], client: Client
    ) -> None:
        """Take a request to its provider, for as long as the client is there."""
        method, headers, query = scope["method"], scope["headers"], scope["query_string"].decode("latin-1")
        if destination is None:
            raise Refused(
                404, f"No provider has {method} {path}. Is the base URL right? See `fanfold serve --print`."
            )
        holder = self.keys.find(headers, query)
        is_known = destination.route is not None or is_stateless(method, path)
        if destination.provider in holder.shared and not is_known:
            raise Refused(404, _SHARED)
        body = await read_body(client.receive, headers, self.settings.max_body)
        if body:
            check_json(headers)
        exchange = Exchange(
            to=destination, method=method, path=path, query=query, headers=headers, body=body, holder=holder
        )
        serving = current_task()
        assert serving is not None
        client.watch(serving)
        try:
            await serve_exchange(self, exchange, client)
        finally:
            client.leave()
            self._note(exchange, client)

    def _note(self, exchange: Exchange, client: Client) -> None:
        """Add a line for a request that a provider answered, or should have."""
        if exchange.to.purpose != "reply":
            return
        account, now = exchange.account, time()
        account.client, account.tenant = client_named(exchange.headers), exchange.holder.tenant
        account.dialect, account.status = exchange.to.dialect, client.status
        account.first = max(0.0, client.began - account.time)
        account.total = now - account.time
        if self.journal is not None:
            self.journal.write(account)

    async def _refuse(self, client: Client, destination: Destination | None, refused: Refused) -> None:
        if refused.status == 502:
            self.metrics.add("upstream_failures", provider=destination.provider if destination else "none")
        if (
            client.started
        ):  # too late for a status: the connection is closed, so that nobody takes it for the end
            raise refused
        with suppress(ConnectionError):
            await client.refuse(destination.dialect if destination else None, refused.status, str(refused))


def _name(destination: Destination | None) -> str:
    return destination.dialect if destination else "none"


app = Gateway()
