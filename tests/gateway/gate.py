"""A gateway on a free port, and an upstream that remembers bytes and plays some back."""

import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn

from fanfold.gateway.app import Gateway
from fanfold.gateway.server import limited_protocol
from fanfold.gateway.settings import ServeSettings, check_settings
from tests.serving import QuickServer, serving


class Gate:
    """The gateway in a thread, in front of upstreams."""

    def __init__(self, upstream=None, **settings):
        if upstream is not None:
            settings["upstreams"] = dict.fromkeys(("openai", "anthropic", "gemini"), upstream)
        self.settings = ServeSettings(**{"store": "memory", "port": 0, **settings})
        check_settings(self.settings)
        self.gateway = Gateway(self.settings)

    def __enter__(self):
        config = uvicorn.Config(
            self.gateway,
            http=limited_protocol(),
            ws="none",
            lifespan="on",
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        self._served = serving(QuickServer(config))
        self.port = self._served.__enter__()
        return self

    def __exit__(self, *error):
        self._served.__exit__(None, None, None)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    openai_base_url = property(lambda self: self.url + "/v1")
    anthropic_base_url = gemini_base_url = url

    def send(self, method, path, body=b"", headers=None):
        """One request, as plainly as can be: status, headers and body of the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body or None, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def post(self, path, body, **headers):
        """Post JSON bytes."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", path, body, {"content-type": "application/json", **told})


@dataclass
class Upstream:
    """Remembers what came, and answers with these bytes in these pieces."""

    pieces: list = field(default_factory=lambda: [b"{}"])
    status: int = 200
    headers: dict = field(default_factory=lambda: {"content-type": "application/json"})
    cut: bool = False
    """Whether the connection is closed before the end."""
    delay: float = 0
    chunked: bool = True

    def __post_init__(self):
        self.requests = []
        self.broken = threading.Event()
        """Set when whoever asked went away."""

    def __enter__(self):
        upstream = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = (
                True  # else every answer in pieces waits 40 ms for the client to acknowledge
            )

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                upstream.requests.append((self.command, self.path, self.headers, body))
                upstream._answer(self)

            do_GET = do_DELETE = do_HEAD = do_POST  # noqa: N815 the names are the server's

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def body(self):
        """The body of the last request."""
        return self.requests[-1][3]

    def _answer(self, one):
        one.send_response_only(self.status)
        for name, value in self.headers.items():
            one.send_header(name, value)
        if self.chunked:
            one.send_header("transfer-encoding", "chunked")
        else:
            one.send_header("content-length", str(sum(map(len, self.pieces))))
        one.end_headers()
        try:
            for piece in self.pieces:
                one.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self.chunked else piece)
                one.wfile.flush()
                time.sleep(self.delay)
            if self.cut:
                one.close_connection = True
            elif self.chunked:
                one.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.broken.set()
            one.close_connection = True
