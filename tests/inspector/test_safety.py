"""Nobody but the holder of a link sees anything, nobody else's page changes anything, and reading is only reading."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import fanfold
from fanfold.core.errors import BadSetting
from fanfold.inspector.answer import NextLink
from fanfold.inspector.desk import WRITES
from fanfold.inspector.serve import listen
from fanfold.stores.sqlite import SQLite
from fanfold.stores.store import Store
from tests.inspector.world import TOKEN, Page, open_worked

GOOD = {"x-fanfold-inspector": "1", "content-type": "application/json"}
NOTE = json.dumps({"name": "plan", "text": "look on"}).encode()
PATH = "/inspector/api/sessions/run/note"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLite]:
    kept = SQLite(tmp_path / "agent.db")
    open_worked(kept).close()
    yield kept
    kept.close()


def test_a_browser_is_told_in_a_page_how_to_get_another_link(store: SQLite) -> None:
    told = NextLink("Start it again:", "fanfold inspect 'sqlite:<a>.db'")
    with Page(store, renewal=told) as page:
        page.enter()
        status, headers, body = page.send("GET", f"/?token={TOKEN}", accept="text/html,*/*")
        assert (status, headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert b"This link was used before" in body
        assert b"fanfold inspect &#x27;sqlite:&lt;a&gt;.db&#x27;" in body
        assert "set-cookie" not in headers
        assert json.loads(page.send("GET", f"/?token={TOKEN}")[2])["error"].startswith("This link was used")


def test_without_the_cookie_nothing_is_told(store: SQLite) -> None:
    with Page(store) as page:
        for path in ("sessions", "sessions/run", "about", "events?session=run", "sessions/run/export"):
            status, _, body = page.send("GET", f"/inspector/api/{path}")
            assert status == 401
            assert b"Watch" not in body
        assert page.send("GET", "/inspector/api/sessions", cookie="fanfold=x; a=b")[0] == 401
        assert page.send("POST", PATH, NOTE, **GOOD)[0] == 401


def test_a_link_works_once(store: SQLite) -> None:
    with Page(store) as page:
        assert "set-cookie" not in page.send("HEAD", f"/?token={TOKEN}")[1]
        _, headers, _ = page.send("GET", f"/?token={TOKEN}")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=Strict" in headers["set-cookie"]
        assert page.send("GET", f"/?token={TOKEN}")[0] == 401
        assert page.send("GET", "/?token=wrong")[0] == 401


def test_a_cookie_of_another_program_locks_nobody_out(store: SQLite) -> None:
    with Page(store) as page:
        own = page.enter().cookie
        for cookie in (f'{{"a": 1}}=x; {own}', f'a="b c; {own}', f"=; ;;{own} ; z", f"a=é; {own}"):
            assert page.send("GET", "/inspector/api/sessions", cookie=cookie)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "", "[", "127.0.0.1.evil.example", "localhost@evil"]
)
def test_a_strange_name_is_refused(store: SQLite, host: str) -> None:
    with Page(store) as page:
        visitor = page.enter()
        assert page.send("GET", "/inspector/api/sessions", cookie=visitor.cookie, host=host)[0] == 421
        assert page.send("GET", "/", host=host)[0] == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        {"x-fanfold-inspector": "1", "content-type": "text/plain"},
        {**GOOD, "origin": "https://evil.example"},
        {**GOOD, "origin": "null"},
        {**GOOD, "origin": "http://["},
        {**GOOD, "sec-fetch-site": "cross-site"},
        {**GOOD, "sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_write(store: SQLite, headers: dict[str, str]) -> None:
    with Page(store) as page:
        visitor = page.enter()
        status, _, _ = page.send("POST", PATH, NOTE, cookie=visitor.cookie, **headers)
        assert status in (403, 415)
        assert visitor.ask("sessions/run")["notes"] == []


def test_no_other_site_is_given_leave(store: SQLite) -> None:
    with Page(store) as page:
        visitor = page.enter()
        told = {"cookie": visitor.cookie, "origin": "https://evil.example"}
        for method in ("GET", "OPTIONS"):
            _, headers, _ = page.send(method, "/inspector/api/sessions", **told)
            assert not [name for name in headers if name.startswith("access-control")]


def test_every_answer_forbids_inline_script_and_other_hosts(store: SQLite) -> None:
    with Page(store) as page:
        visitor = page.enter()
        for path in ("/", "/inspector/app.js", "/inspector/api/sessions", "/nowhere"):
            _, headers, _ = page.send("GET", path, cookie=visitor.cookie)
            check_headers(headers)
        with visitor.follow("run") as stream:
            check_headers({name.lower(): value for name, value in stream.getheaders()})


def check_headers(headers: dict[str, str]) -> None:
    """No inline script, nothing from elsewhere, nothing kept."""
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_reading_changes_nothing_and_a_write_is_refused(store: SQLite) -> None:
    before = content(store.file)
    with Page(store, write=False) as page:
        visitor = page.enter()
        for path in ("", "/view", "/edits", "/requests", "/requests/0", "/outputs", "/next", "/ledger"):
            visitor.ask(f"sessions/run{path}")
        assert visitor.ask("search?words=disk")["hits"]
        dry = visitor.tell("run", "note", name="plan", text="look on", dry_run=True)
        assert dry["after"] > dry["before"]
        for verb, fields in {
            "note": {"name": "plan", "text": "look on"},
            "undo": {},
            "fork": {"name": "other"},
            "erase": {"entry": "x", "reason": "y"},
        }.items():
            assert "--write" in visitor.tell("run", verb, status=403, **fields)["error"]
        assert not visitor.ask("about")["write"]
    assert content(store.file) == before


READS = {
    *("load", "load_later", "checkpoint", "taught", "path", "entry", "read_entries", "find", "tracks"),
    *("summaries", "referring", "sessions", "log_ends", "signatures", "get_blob", "blobs"),
}


def test_of_everything_that_a_store_does_it_is_known_whether_it_writes() -> None:
    methods = {name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")}
    assert methods == READS | WRITES | {"tenant", "close"}
    assert not READS & WRITES


def content(file: Path) -> list[str]:
    """All that sessions have written; where entries are found is noted by the store itself, in its own time."""
    with closing(sqlite3.connect(file)) as connection:
        lines = list(connection.iterdump())
    tables = tuple(f'INSERT INTO "{name}"' for name in ("line", "checkpoint", "signature"))
    found = [line for line in lines if line.startswith(tables)]
    assert found
    return found


def test_tenants_are_sealed(store: SQLite) -> None:
    with fanfold.open("secret", store=store, tenant="other", model="gpt-5.2") as chat:
        chat.say("A secret of another tenant.")
    with Page(store, tokens={TOKEN: ("default",), "b" * 30: ("other",)}) as page:
        one, two = page.enter(), page.enter("b" * 30)
        assert [each["name"] for each in one.ask("sessions")] == ["run"]
        assert [each["name"] for each in two.ask("sessions")] == ["secret"]
        assert one.ask("sessions?tenant=other", 404)
        assert one.ask("sessions/secret?tenant=other", 404)
        assert one.ask("sessions/secret", 404)
        assert two.ask("sessions/run", 404)
        assert one.ask("search?words=secret")["hits"] == []
        assert {hit["session"] for hit in two.ask("search?words=secret")["hits"]} == {"secret"}
        one.ask("search?words=secret&tenant=other", 404)
        one.ask("sessions/secret/trials?tenant=other", 404)
        status, _, _ = page.send(
            "GET", "/inspector/api/events?session=secret&tenant=other", cookie=one.cookie
        )
        assert status == 404


@pytest.mark.parametrize(
    "path", ["/inspector/../app.py", "/inspector/%2e%2e/app.py", "/inspector/vendor/../../app.py"]
)
def test_only_files_of_the_bundle_are_served(store: SQLite, path: str) -> None:
    with Page(store) as page:
        assert page.send("GET", path)[0] == 404


def test_a_body_that_is_too_large_or_no_json_is_refused(store: SQLite) -> None:
    with Page(store) as page:
        visitor = page.enter()
        assert page.send("POST", PATH, b"{", cookie=visitor.cookie, **GOOD)[0] == 400
        assert page.send("POST", PATH, b"[" * 5_000, cookie=visitor.cookie, **GOOD)[0] == 400
        assert page.send("POST", PATH, b"[]", cookie=visitor.cookie, **GOOD)[0] == 400
        assert page.send("POST", PATH, b" " * (1 << 21), cookie=visitor.cookie, **GOOD)[0] == 413
        assert page.send("PUT", PATH, NOTE, cookie=visitor.cookie, **GOOD)[0] == 405


def test_it_listens_on_this_machine_only() -> None:
    with pytest.raises(BadSetting, match="tunnel"):
        listen("0.0.0.0", 0)


def test_only_a_framed_page_is_told_its_secret_and_only_once(store: SQLite) -> None:
    body = json.dumps({"token": TOKEN}).encode()
    with Page(store) as page:
        assert page.send("POST", "/inspector/api/enter", body, **GOOD)[0] == 401
        page.enter()
    with Page(store, framed=True) as page:
        assert (
            page.send("POST", "/inspector/api/enter", body, **{"content-type": "application/json"})[0] == 403
        )
        evil = {**GOOD, "origin": "https://evil.example"}
        assert page.send("POST", "/inspector/api/enter", body, **evil)[0] == 403
        status, headers, told = page.send("POST", "/inspector/api/enter", body, **GOOD)
        assert (status, "set-cookie" in headers) == (200, False)
        secret = {"x-fanfold-visitor": json.loads(told)["visitor"]}
        assert page.send("GET", "/inspector/api/sessions", **secret)[0] == 200
        assert page.send("GET", "/inspector/api/sessions", **{"x-fanfold-visitor": "guessed"})[0] == 401
        assert page.send("POST", PATH, NOTE, **secret)[0] == 403
        assert page.send("POST", "/inspector/api/enter", body, **GOOD)[0] == 401
