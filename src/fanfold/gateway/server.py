"""The gateway in a server of its own: uvicorn with httptools, and uvloop where it is installed."""

from __future__ import annotations

import signal
from logging import LogRecord, getLogger
from typing import Any

from fanfold.core.errors import FanfoldError, MissingExtra
from fanfold.gateway.safety import BrokenOff
from fanfold.gateway.settings import ServeSettings, read_settings

DRAIN = 30
"""Seconds that running replies get to end after SIGTERM."""


def serve(settings: ServeSettings, given: dict[str, Any]) -> None:
    """Serve until somebody says stop. `given` is what the command line said: it holds after a reload, too."""
    try:
        import uvicorn

        from fanfold.gateway.app import Gateway
    except ImportError as error:
        raise MissingExtra(f"The gateway needs {error.name}: install `fanfold[serve]`.") from error
    gateway = Gateway(settings)
    config = uvicorn.Config(
        gateway,
        host=settings.host,
        port=settings.port,
        http="httptools",
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
        signal.signal(signal.SIGHUP, lambda *_: reload(gateway, given))
    getLogger("uvicorn.error").addFilter(is_news)
    uvicorn.Server(config).run()


def is_news(record: LogRecord) -> bool:
    """Whether a line of the server's log says more than that a provider hung up; the metrics count those."""
    return not (record.exc_info and isinstance(record.exc_info[1], BrokenOff))


def reload(gateway: Any, given: dict[str, Any]) -> None:
    """Read the settings again; where they are wrong, go on with the old ones and say so."""
    log = getLogger("fanfold.gateway")
    try:
        gateway.configure(read_settings(given))
        log.warning("The settings were read again.")
    except FanfoldError as error:
        log.error("The settings were read again and are wrong, so the old ones hold: %s", error)
