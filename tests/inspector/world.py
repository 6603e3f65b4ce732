"""A store with sessions, an inspector on it, and a plain HTTP client that has its cookie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import quote

import fanfold
from fanfold.inspector.app import Inspector
from fanfold.inspector.serve import make_server
from fanfold.strategies.elide import elide
from fanfold.testing import called, replied, response
from tests.serving import QuickServer, serving, until

TOKEN = "a-token-for-the-tests-of-the-inspector"
ROWS = "\n".join(f"row {n}: the disk hums and all is well" for n in range(400))
WICKED = "</script><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"


def work(chat: fanfold.Session, steps: int = 6, *, bills: bool = True) -> None:
    """Look at a disk, again and again: every output is long."""
    chat.say("Watch the disk, and tell me when it hums. " + WICKED)
    for step in range(steps):
        counted = chat.request(max_tokens=500).sent.tokens
        call = called(f"c{step}", "look", json.dumps({"disk": step}))
        body = replied(f"I look at disk {step}.", call)
        chat.receive(response(body, prompt=counted + 3 if bills else None))
        chat.answer(f"c{step}", f"disk {step} {WICKED}\x1b[31m red\n{ROWS}")
    chat.request(max_tokens=500)


def open_worked(store: Any, name: str = "run", **options: Any) -> fanfold.Session:
    """A session in which old outputs were shortened."""
    given = {"model": "gpt-5.2", "window": 9_000, "strategy": elide(keep=1), "on_moved": "reapply", **options}
    chat = fanfold.open(name, store=store, **given)
    work(chat)
    return chat


def open_handed_over(store: Any) -> tuple[fanfold.Session, str]:
    """A session that was reduced to a hand-over, and the edit that did it."""
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=8_000)
    chat.say("Fix the column in parser.py. Never touch vendor/.")
    for step in range(150):
        counted = chat.request(max_tokens=500).sent.tokens
        call = called(f"c{step}", "read", json.dumps({"path": f"src/module_{step}.py"}))
        chat.receive(response(replied(f"I read module_{step} to find the column.", call), prompt=counted))
        chat.answer(f"c{step}", f"# module_{step}\n" + f"column_{step} = lost({step})\n" * 60)
        folds = [one for one in chat.edits() if one.kind == "fold"]
        if folds:
            return chat, folds[0].decision.id
    raise AssertionError("nothing was handed over")


def trial_ended(visitor: Visitor, session: str = "run") -> dict[str, Any]:
    """The newest trial, once it is at its end."""
    found = list[dict[str, Any]]()

    def ended() -> bool:
        found[:] = visitor.ask(f"sessions/{session}/trials")["trials"][:1]
        return not found[0]["running"]

    until(ended)
    return found[0]


class Page:
    """An inspector on a free port."""

    def __init__(self, store: Any, *, write: bool = True, tokens: Any = None, **options: Any) -> None:
        self.inspector = Inspector(store, tokens or {TOKEN: ("default",)}, write=write, **options)

    def __enter__(self) -> Page:
        self.server = QuickServer(make_server(self.inspector).config)
        self.inspector.is_stopping = lambda: bool(self.server.should_exit)
        self._served = serving(self.server)
        self.port = self._served.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._served.__exit__(None, None, None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, as plainly as can be."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            told = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, told)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def enter(self, token: str = TOKEN) -> Visitor:
        """Come in by the link."""
        status, headers, _ = self.send("GET", f"/?token={token}")
        assert status == 200
        return Visitor(self, headers["set-cookie"].partition(";")[0])


class Visitor:
    """Somebody who came in by a link."""

    def __init__(self, page: Page, cookie: str) -> None:
        self.page, self.cookie = page, cookie

    def ask(self, path: str, status: int = 200) -> Any:
        """Read something of the API."""
        found, _, body = self.page.send("GET", f"/inspector/api/{path}", cookie=self.cookie)
        assert found == status, body
        return json.loads(body)

    def tell(self, session: str, verb: str, /, status: int = 200, **fields: Any) -> Any:
        """Change something."""
        told = {"cookie": self.cookie, "x-fanfold-inspector": "1", "content-type": "application/json"}
        path = f"/inspector/api/sessions/{quote(session, safe='')}/{verb}"
        found, _, body = self.page.send("POST", path, json.dumps(fields).encode(), **told)
        assert found == status, body
        return json.loads(body)

    @contextmanager
    def follow(self, session: str = "") -> Iterator[HTTPResponse]:
        """The stream of events of a session, or of the list."""
        connection = HTTPConnection("127.0.0.1", self.page.port, timeout=60)
        try:
            path = f"/inspector/api/events?session={quote(session, safe='')}"
            connection.request("GET", path, headers={"cookie": self.cookie})
            yield connection.getresponse()
        finally:
            connection.close()
