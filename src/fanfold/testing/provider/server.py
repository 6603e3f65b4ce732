"""The HTTP server: HTTP/1.1 with kept connections, on a free port of the loopback."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Scripted:
    """A status, headers, and the body in the pieces it is sent in."""

    status: int
    chunks: Iterable[bytes]
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    delay: float = 0
    """Seconds to wait before each piece."""
    broken: bool = False
    """Whether the connection is closed in the middle of the body."""


Respond = Callable[[str, str, Mapping[str, str], bytes], Scripted | None]


class Connection(BaseHTTPRequestHandler):
    """One client's connection, kept open from request to request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: "Server"

    def do_POST(self) -> None:
        """Read the body, ask for the answer, send it."""
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.respond(self.command, self.path, headers, body)
        if answer is None:
            self.close_connection = True
            return
        self._head(answer)
        self._send(answer)

    def do_GET(self) -> None:
        """No API here is read with GET; the answer says so."""
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            return b"".join(iter(self._chunk, b""))
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _head(self, answer: Scripted) -> None:
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send(self, answer: Scripted) -> None:
        for chunk in answer.chunks:
            time.sleep(answer.delay)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if answer.chunked else chunk)
            self.wfile.flush()
        if answer.broken:
            self.close_connection = True
        elif answer.chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    """Listens in a thread of its own and closes every connection when it stops."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, respond: Respond, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Connection)
        self.respond = respond
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Hear no more, and hang up on everyone."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        for connection in list(self._open):
            _hang_up(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, then serve it in a thread."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection and close it."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up."""


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
