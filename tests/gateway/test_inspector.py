"""The inspector at `/` of the gateway: who comes in, what is sealed, and what a click does to the next request."""

import json
from http.client import HTTPConnection

import pytest

from fanfold.testing.provider import Provider
from tests.browser import opened
from tests.gateway.gate import Gate, Upstream
from tests.gateway.looping import STEPS, outputs, run, script

BROWSER = {"accept": "text/html,application/xhtml+xml"}
ALICE, BOB = "alice-key-0123456789", "bob-key-0123456789ab"
KEYS = {
    name: {"key": key, "tenant": name, "openai": "sk-upstream"}
    for name, key in {"alice": ALICE, "bob": BOB}.items()
}


def token(gate):
    return gate.gateway.inspection.token()


class Visitor:
    """Somebody who came in by a link."""

    def __init__(self, gate, link):
        self.gate = gate
        status, headers, _ = gate.send("GET", link, headers=BROWSER)
        assert status == 200
        self.cookie = headers["set-cookie"].partition(";")[0]

    def ask(self, path, status=200):
        found, _, body = self.gate.send("GET", f"/inspector/api/{path}", headers={"cookie": self.cookie})
        assert found == status, body
        return json.loads(body)

    def tell(self, session, verb, **fields):
        headers = {"cookie": self.cookie, "x-fanfold-inspector": "1", "content-type": "application/json"}
        path = f"/inspector/api/sessions/{session}/{verb}"
        status, _, body = self.gate.send("POST", path, json.dumps(fields).encode(), headers)
        return status, json.loads(body)


@pytest.fixture
def upstream():
    with Upstream() as upstream:
        yield upstream


def test_a_browser_gets_the_page_and_old_clients_their_answer(upstream):
    with Gate(upstream.url) as gate:
        status, headers, body = gate.send("GET", "/", headers=BROWSER)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b"/inspector/app.js" in body
        assert "script-src 'self'" in headers["content-security-policy"]
        assert gate.send("HEAD", "/")[0::2] == (200, b"")
        assert gate.send("HEAD", "/", headers=BROWSER)[0::2] == (200, b"")
        assert gate.send("GET", "/")[0::2] == (200, b"")
        assert gate.send("GET", "/inspector/app.js")[0] == 200
        assert gate.send("GET", "/v1/models")[2] == b"{}"
    assert [path for _, path, _, _ in upstream.requests] == ["/v1/models"]


def test_nobody_sees_anything_without_the_link(upstream):
    with Gate(upstream.url) as gate:
        link = f"/?token={token(gate)}"
        assert gate.send("GET", "/inspector/api/sessions")[0] == 401
        visitor = Visitor(gate, link)
        assert gate.send("GET", link, headers=BROWSER)[0] == 401
        assert visitor.ask("sessions") == []
        strange = {"cookie": visitor.cookie, "host": "evil.example"}
        assert gate.send("GET", "/inspector/api/sessions", headers=strange)[0] == 421
        assert gate.send("POST", "/inspector/link")[0] == 403
    assert upstream.requests == []


def test_a_key_opens_its_own_tenant_and_no_other(upstream):
    keys = {name: _key(**fields) for name, fields in KEYS.items()}
    with Gate(upstream.url, keys=keys) as gate:
        body = (
            b'{"model":"gpt-5.2","messages":[{"role":"user","content":"A secret of Alice."}],"tools":[%b]}'
            % TOOL
        )
        gate.post("/v1/chat/completions", body, authorization=f"Bearer {ALICE}")
        links = {}
        for name, key in (("alice", ALICE), ("bob", BOB)):
            status, _, told = gate.send("POST", "/inspector/link", headers={"authorization": f"Bearer {key}"})
            assert status == 200
            links[name] = json.loads(told)["link"]
        assert gate.send("POST", "/inspector/link")[0] == 401
        evil = {"authorization": f"Bearer {BOB}", "origin": "https://evil.example"}
        assert gate.send("POST", "/inspector/link", headers=evil)[0] == 403
        alice, bob = Visitor(gate, links["alice"]), Visitor(gate, links["bob"])
        (session,) = alice.ask("sessions")
        assert bob.ask("sessions") == []
        bob.ask(f"sessions/{session['name']}", 404)
        bob.ask("sessions?tenant=alice", 404)
        assert alice.ask("about")["tenants"] == ["alice"]
        assert not alice.ask("about")["health"]
        alice.ask("health", 404)
        operator = Visitor(gate, f"/?token={token(gate)}")
        assert operator.ask("about")["tenants"] == ["alice", "bob"]
        gate.gateway.configure(gate.settings)
        alice.ask("sessions", 401)


TOOL = b'{"type":"function","function":{"name":"run","parameters":{"type":"object","properties":{}}}}'


def _key(**fields):
    from fanfold.gateway.settings import VirtualKey

    return VirtualKey(**fields)


def test_it_can_be_read_only_or_off(upstream):
    with Gate(upstream.url, inspector="off") as gate:
        assert gate.send("GET", "/", headers=BROWSER)[0::2] == (200, b"")
        assert gate.send("GET", "/inspector/app.js")[0] == 404
    with (
        Provider(script, window=32_000) as provider,
        Gate(provider.url, window=32_000, inspector="read") as gate,
    ):
        run(gate, 3)
        visitor = Visitor(gate, f"/?token={token(gate)}")
        (session,) = visitor.ask("sessions")
        status, said = visitor.tell(session["name"], "note", name="plan", text="look on")
        assert (status, "only reads" in said["error"]) == (403, True)
        assert visitor.ask(f"sessions/{session['name']}")["notes"] == []


def test_the_next_body_that_a_provider_receives_is_what_the_click_promised():
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        talk = run(gate)
        assert outputs(2) not in sent(provider)
        with opened(f"{gate.url}/?token={token(gate)}#/") as seen:
            page = seen.page
            page.get_by_role("row", name="openai").get_by_role("link").first.click()
            page.get_by_role("heading", name="tokens are in the window").wait_for()
            page.get_by_role("searchbox").fill("src/m2_7.py")
            page.keyboard.press("Enter")
            page.get_by_role("link", name="See why").first.click()
            page.get_by_role("button", name="Bring it back …").first.click()
            page.get_by_role("dialog").get_by_role("button", name="Bring it back", exact=True).click()
            page.get_by_role("button", name="Undo", exact=True).wait_for()
            assert seen.complaints == []
            assert all(url.startswith((gate.url, "data:")) for url in seen.requests)
        talk.output = outputs(STEPS)
        talk.take(talk.ask(False))
        assert outputs(2) in sent(provider)
        assert {each.verdict for each in provider.requests} == {"accepted"}


def sent(provider):
    """All that can be read in the last request that the provider received."""
    messages = provider.requests[-1].body["messages"]
    return "\n".join(str(message.get("content")) for message in messages)


def test_what_a_client_owns_is_not_rewound():
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(gate, 3)
        visitor = Visitor(gate, f"/?token={token(gate)}")
        (session,) = visitor.ask("sessions")
        assert session["client"] == "openai"
        row = visitor.ask(f"sessions/{session['name']}/view")["rows"][0]["id"]
        status, said = visitor.tell(session["name"], "rewind", to=row)
        assert (status, "owns this history" in said["error"]) == (400, True)
        with opened(f"{gate.url}/?token={token(gate)}#/s/{session['name']}/now/{row}") as seen:
            seen.page.get_by_text("Why is it like this?").wait_for()
            assert seen.page.get_by_role("button", name="Pin …").count() == 1
            assert seen.page.get_by_role("button", name="Go back to here …").count() == 0


def test_health_tells_what_the_metrics_count():
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(gate)
        visitor = Visitor(gate, f"/?token={token(gate)}")
        told = visitor.ask("health")
        counted = {one["name"]: one["count"] for one in told["counts"] if not one["labels"]}
        assert counted["managed"] == STEPS
        assert counted["edited"] == gate.gateway.metrics.count("edited") > 0
        openai = next(one for one in told["upstreams"] if one["provider"] == "openai")
        assert openai == {
            "provider": "openai",
            "address": provider.url,
            "answers": {"200": STEPS},
            "failures": 0,
        }
        assert told["pool"]["open"] == 1
        assert told["active"] == 0


def test_what_the_gateway_does_is_seen_while_it_does_it():
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        talk = run(gate, 2)
        visitor = Visitor(gate, f"/?token={token(gate)}")
        connection = HTTPConnection("127.0.0.1", gate.port, timeout=60)
        connection.request("GET", "/inspector/api/events", headers={"cookie": visitor.cookie})
        stream = connection.getresponse()
        first = stream.readline()
        stream.readline()
        talk.output = outputs(2)
        talk.take(talk.ask(False))
        assert stream.readline() != first
        connection.close()


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, b"<pre>fanfold serve</pre>"),
        (KEYS, b"<pre>curl -X POST -H &quot;Authorization: Bearer $KEY&quot; http://127.0.0.1:"),
    ],
)
def test_a_used_link_says_where_the_next_one_comes_from(upstream, keys, told):
    with Gate(upstream.url, keys={name: _key(**fields) for name, fields in keys.items()}) as gate:
        link = f"/?token={token(gate)}"
        Visitor(gate, link)
        status, _, body = gate.send("GET", link, headers=BROWSER)
    assert status == 401
    assert told in body
