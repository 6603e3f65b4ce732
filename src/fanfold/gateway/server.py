"""The gateway in a server of its own: uvicorn with httptools, and uvloop where it is installed."""

from __future__ import annotations

import signal
import sys
from functools import partial
from logging import LogRecord, getLogger
from typing import Any

from msgspec.structs import replace

from fanfold.config.settings_file import keep_file, taking_over
from fanfold.core.errors import FanfoldError, MissingExtra
from fanfold.gateway.safety import BrokenOff
from fanfold.gateway.settings import ServeSettings, check_settings, read_settings
from fanfold.inspector.serve import bind

LONGEST_HEAD = 256 << 10
"""Bytes of a request's line and headers; httptools alone would take any number."""
HEAD_TIME = 60.0
"""Seconds in which a request's line and headers have to come."""
AT_START = ("host", "port", "store", "memory", "manage")
"""Settings that hold as they were when it was started."""
DRAIN = 30
"""Seconds that running replies get to end after SIGTERM."""


def serve(settings: ServeSettings, given: dict[str, Any]) -> None:
    """Serve until somebody says stop. `given` is what the command line said: it holds after a reload, too."""
    try:
        import uvicorn

        from fanfold.gateway.app import Gateway
    except ImportError as error:
        raise MissingExtra(f"The gateway needs {error.name}: pip install 'fanfold[serve]'") from error
    keep_file()
    gateway = Gateway(settings)
    config = uvicorn.Config(
        gateway,
        host=settings.host,
        port=settings.port,
        http=limited_protocol(),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=DRAIN,
    )
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: gateway.between(partial(reload, gateway, given)))
    getLogger("uvicorn.error").addFilter(is_news)
    server = uvicorn.Server(config)
    gateway.is_stopping = lambda: bool(server.should_exit)
    # From here on nobody who connects is turned away, so what is printed is true.
    place = bind(settings.host, settings.port, config.backlog)
    print(
        f"fanfold serves {settings.url}; sessions are kept in {settings.store}. Ctrl-C ends it.",
        file=sys.stderr,
    )
    print_link(gateway)
    server.run(sockets=[place])


def limited_protocol() -> type[Any]:
    """uvicorn's protocol, which hangs up on whoever sends headers without end, or takes too long for them."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Limited(HttpToolsProtocol):
        head = 0
        in_head = True
        since = 0.0
        """When the connection was made, or the head began that is coming in."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.since = self.loop.time()
            self.looking = self.loop.call_later(HEAD_TIME, self.look)

        def connection_lost(self, exc: Exception | None) -> None:
            self.looking.cancel()
            super().connection_lost(exc)

        def look(self) -> None:
            """Hang up if a head is not whole in time."""
            if self.in_head and self.loop.time() - self.since >= HEAD_TIME:
                self.transport.close()
            else:
                self.looking = self.loop.call_later(HEAD_TIME, self.look)

        def on_message_begin(self) -> None:
            self.head, self.in_head, self.since = 0, True, self.loop.time()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            if not self.url.startswith(b"/"):
                self.url = b"//"  # an address of another server, where uvicorn would see its path only
            super().on_headers_complete()
            self.headers = []  # what comes behind a body is no header, though uvicorn would add it to them

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.in_head:
                self.head += len(data)
                if self.head > LONGEST_HEAD:
                    self.transport.close()

    return Limited


def print_link(gateway: Any) -> None:
    """Say how to look into it: by a link that works once, on this machine; elsewhere by a key."""
    settings = gateway.settings
    if gateway.inspection is None:
        return
    if not settings.is_local:
        print("The inspector is at /; a key's holder gets a link by POST /inspector/link.", file=sys.stderr)
        return
    link = f"{settings.url}/?token={gateway.inspection.token()}"
    print(f"Open {link} to see what models saw; the link works once.", file=sys.stderr)


def is_news(record: LogRecord) -> bool:
    """Whether a line of the server's log says more than that a provider hung up; the metrics count those."""
    return not (record.exc_info and isinstance(record.exc_info[1], BrokenOff))


def reload(gateway: Any, given: dict[str, Any]) -> None:
    """Read the settings again; where they are wrong, go on with the old ones and say so."""
    log = getLogger("fanfold.gateway")
    try:
        with taking_over():
            told, now = read_settings(given), gateway.settings
            late = [name for name in AT_START if getattr(told, name) != getattr(now, name)]
            settings = replace(told, **{name: getattr(now, name) for name in late})
            check_settings(settings)  # it still listens where it did
            gateway.configure(settings)
    except FanfoldError as error:
        log.error("The settings were read again and are wrong, so the old ones hold: %s", error)
        return
    log.warning("The settings were read again.")
    if late:
        log.warning("These hold only from the next start on: %s.", ", ".join(late))
    print_link(gateway)
