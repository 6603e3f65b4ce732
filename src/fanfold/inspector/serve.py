"""Serving the inspector: until somebody says stop, or in a thread beside a program."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fanfold.core.errors import BadInput, BadSetting, MissingExtra
from fanfold.inspector.safety import LOOPBACK, new_token

if TYPE_CHECKING:
    from fanfold.inspector.app import Inspector
    from fanfold.session.async_session import AsyncSession
    from fanfold.session.session import Session

_PATIENCE = 10.0


def make_server(inspector: Inspector, **options: Any) -> Any:
    """A uvicorn server for an inspector."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra(f"The inspector needs {error.name}: pip install 'fanfold[serve]'") from error
    config = uvicorn.Config(
        inspector,
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        **options,
    )
    server = uvicorn.Server(config)
    inspector.is_stopping = lambda: bool(server.should_exit)
    return server


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound already, so that its port is known before anything is served."""
    if host not in LOOPBACK:
        raise BadSetting(
            f"The inspector listens on this machine only, not on {host}. Reach it from elsewhere by a tunnel, such as "
            f"`ssh -L {port}:127.0.0.1:{port}`."
        )
    return bind(host, port)


def bind(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """A socket that listens, or the reason why it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=backlog)
    except socket.gaierror as error:
        raise BadSetting(f"The host {host} is not known: {error.strerror}.") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise BadSetting(f"Port {port} cannot be used: {reason}. Choose another with --port.") from error


def address(bound: socket.socket, token: str) -> str:
    """The link that opens the page; it works once."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"


class InspectorServer:
    """A page that shows a running session. In a notebook it shows itself in a frame."""

    def __init__(self, inspector: Inspector, token: str, session: str = "") -> None:
        self._bound = listen("127.0.0.1", 0)
        self._inspector = inspector
        self._grant = inspector.access.grant(token)
        self._place = f"#/s/{quote(session, safe='')}/now" if session else ""
        self.url = address(self._bound, token) + self._place
        """The link that opens the page; it works once."""
        self._server = make_server(inspector)
        self._thread = threading.Thread(target=self._server.run, args=([self._bound],), daemon=True)
        self._thread.start()
        until = time.monotonic() + _PATIENCE
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        """Serve no longer."""
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._bound.close()

    def __enter__(self) -> InspectorServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<fanfold inspector at {self.url}>"

    def _repr_html_(self) -> str:
        # Each time it is shown it has a link of its own. The token stands behind the #, where only the page reads it.
        page, token = self.url.partition("?")[0], self._inspector.access.add(self._grant)
        source = f"{page}#frame={token}{self._place.removeprefix('#')}"
        return f'<iframe src="{source}" width="100%" height="640" style="border:0"></iframe>'


def inspect(chat: Session | AsyncSession, *, write: bool = True) -> InspectorServer:
    """Show a running session in a page on this machine: what is in its window and why, and what was left out.

    Returns a `InspectorServer` with the `url` to open, which shows itself in a notebook; `close` ends it.
    """
    from fanfold.session.async_session import AsyncSession
    from fanfold.session.session import Session

    if not isinstance(chat, Session | AsyncSession):
        raise BadInput(
            f"`inspect` shows a session: give what `fanfold.open` returned, not {repr(chat)[:80]}."
        )
    from fanfold.inspector.answer import NextLink
    from fanfold.inspector.app import Inspector
    from fanfold.session.stored import tenant_of

    tenant, token = tenant_of(chat), new_token()
    shown = Inspector(
        tenant.store,
        {token: (tenant.name,)},
        write=write,
        framed=True,
        title=chat.name,
        renewal=NextLink(
            "Show the session again in the program that it runs in:", "fanfold.inspect(chat).url"
        ),
    )
    return InspectorServer(shown, token, chat.name)
