"""What was erased is not sent any more, though the client sends it again and again."""

import json
import time

import pytest

import fanfold
from fanfold.core.errors import StoreFailed
from fanfold.gateway.settings import VirtualKey
from tests.gateway.gate import Gate, Upstream

REPLY = {
    "id": "r1",
    "object": "chat.completion",
    "model": "gpt-4o",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22},
}

TOOL = {"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}


def body(*messages):
    told = [{"role": role, "content": text} for role, text in messages]
    return json.dumps({"model": "gpt-4o", "messages": told, "tools": [TOOL]}).encode()


@pytest.mark.parametrize(
    ("first", "erased"),
    [
        ([("user", "My number is 555-0199.")], None),
        ([("system", "The customer's number is 555-0199."), ("user", "Hello.")], "system"),
    ],
    ids=["message", "system"],
)
def test_erased_words_go_to_no_provider_though_nothing_else_was_edited(tmp_path, first, erased):
    store = f"sqlite:{tmp_path / 'agent.db'}"
    more = [*first, ("assistant", "Noted."), ("user", "Thanks.")]
    with Upstream([json.dumps(REPLY).encode()]) as upstream:
        with Gate(upstream.url, store=store) as gate:
            gate.post("/v1/chat/completions", body(*first))
            assert b"555-0199" in upstream.body
        kept = fanfold.SQLite(tmp_path / "agent.db")
        (name,) = kept.sessions("default")
        with fanfold.open(name, store=kept) as chat:
            chat.erase(erased or chat.view().rows[0].id, "asked for")
        with Gate(upstream.url, store=store) as gate:
            status, headers, _ = gate.post("/v1/chat/completions", body(*more))
    assert (status, "x-fanfold-bypassed" in headers) == (200, False)
    assert b"555-0199" not in upstream.body
    told = json.loads(upstream.body)["messages"]
    assert [told[0]["content"], told[-1]["content"]] == ["[erased: asked for]", "Thanks."]
    assert b"555-0199" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_where_the_store_fails_a_conversation_with_something_erased_is_refused(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise StoreFailed("The disk is gone.")

    first = [("user", "My number is 555-0199.")]
    more = [*first, ("assistant", "Noted."), ("user", "Thanks.")]
    other = [("user", "Something else.")]
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        gate.post("/v1/chat/completions", body(*first), x_session_id="one")
        gate.post("/v1/chat/completions", body(*other), x_session_id="two")
        kept = fanfold.SQLite(tmp_path / "agent.db")
        name = next(each for each in kept.sessions("default") if "one" in each)
        with fanfold.open(name, store=kept) as chat:
            chat.erase(chat.view().rows[0].id, "asked for")
        gate.post("/v1/chat/completions", body(*more), x_session_id="one")
        known = len(upstream.requests)
        bypass = {"x_session_id": "one", "x_fanfold_bypass": "1"}
        status, headers, _ = gate.post("/v1/chat/completions", body(*more), **bypass)
        assert (status, "x-fanfold-bypassed" in headers) == (200, False), "it is managed all the same"
        assert b"555-0199" not in upstream.body
        assert gate.post("/v1/chat/completions", body(*other), **{**bypass, "x_session_id": "two"})[0] == 200
        monkeypatch.setattr(gate.gateway.conversations.pool.store, "append", fail)
        monkeypatch.setattr(gate.gateway.conversations.pool.store, "load", fail)
        again = [*more, ("assistant", "Noted."), ("user", "Bye.")]
        status, _, told = gate.post("/v1/chat/completions", body(*again), x_session_id="one")
        assert (status, b"erased" in told) == (503, True)
        assert len(upstream.requests) == known + 2
        longer = [*other, ("assistant", "Noted."), ("user", "Go on.")]
        status, headers, _ = gate.post("/v1/chat/completions", body(*longer), x_session_id="two")
        assert (status, headers["x-fanfold-bypassed"]) == (200, "failed: StoreFailed")


def test_what_was_erased_since_a_gateway_last_served_it_does_not_go_out_while_the_store_is_down(tmp_path):
    store = f"sqlite:{tmp_path / 'agent.db'}"
    first = [("user", "My number is 555-0199.")]
    more = [*first, ("assistant", "Noted."), ("user", "Thanks.")]
    with Upstream([json.dumps(REPLY).encode()]) as upstream:
        with Gate(upstream.url, store=store) as gate:
            gate.post("/v1/chat/completions", body(*first))
        kept = fanfold.SQLite(tmp_path / "agent.db")
        (name,) = kept.sessions("default")
        with fanfold.open(name, store=kept) as chat:
            chat.erase(chat.view().rows[0].id, "asked for")
        kept.close()
        (tmp_path / "agent.db").write_bytes(b"no database, but a disk that returns what it likes " * 99)
        known = len(upstream.requests)
        with Gate(upstream.url, store=store) as gate:
            for extra in ({}, {"x_fanfold_bypass": "1"}, {"x_session_id": "new"}):
                status, _, told = gate.post("/v1/chat/completions", body(*more), **extra)
                assert (status, b"erased" in told, len(upstream.requests)) == (503, True, known), extra
    assert b"555-0199" not in (tmp_path / "agent.db.erased.jsonl").read_bytes()


def test_where_a_store_across_a_network_was_never_reached_nothing_goes_out():
    """Whoever erased something may have done so on another machine."""
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(
            upstream.url, store="postgresql://nobody@127.0.0.1:9/none?connect_timeout=2", journal=""
        ) as gate,
    ):
        status, _, told = gate.post("/v1/chat/completions", body(("user", "Hello.")))
        assert (status, b"was not reached" in told, upstream.requests) == (503, True, [])
        assert gate.send("GET", "/healthz")[0] == 200


def test_while_the_store_is_down_from_the_start_agents_go_on_and_nothing_erased_goes_out(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    store = f"sqlite:{folder / 'agent.db'}"
    first = [("user", "My number is 555-0199.")]
    more = [*first, ("assistant", "Noted."), ("user", "Thanks.")]
    keys = {
        name: VirtualKey(key=f"a-key-of-{name}-and-more", tenant=name, openai="sk-real")
        for name in ("ana", "bob")
    }
    ana, bob = ({"authorization": f"Bearer a-key-of-{name}-and-more"} for name in ("ana", "bob"))
    with Upstream([json.dumps(REPLY).encode()]) as upstream:
        with Gate(upstream.url, store=store, keys=keys) as gate:
            gate.post("/v1/chat/completions", body(*first), **ana)
            kept = fanfold.SQLite(folder / "agent.db")
            (name,) = kept.sessions("ana")
            with fanfold.open(name, store=kept, tenant="ana") as chat:
                chat.erase(chat.view().rows[0].id, "asked for")
            kept.close()
            gate.post("/v1/chat/completions", body(*more), **ana)
        assert b"555-0199" not in (folder / "agent.db.erased.jsonl").read_bytes()
        aside = tmp_path / "agent.db"
        (folder / "agent.db").rename(aside)
        (folder / "agent.db").write_bytes(b"no database, but a disk that returns what it likes " * 99)
        known = len(upstream.requests)
        with Gate(upstream.url, store=store, keys=keys) as gate:
            status, _, told = gate.post("/v1/chat/completions", body(*more), **ana)
            assert (status, b"erased" in told, len(upstream.requests)) == (503, True, known)
            status, headers, _ = gate.post("/v1/chat/completions", body(("user", "Hello.")), **bob)
            assert (status, headers["x-fanfold-bypassed"]) == (200, "failed: Corrupt")
            assert upstream.body == body(("user", "Hello."))
            aside.rename(folder / "agent.db")
            until = time.monotonic() + 60
            while gate.post("/v1/chat/completions", body(*more), **ana)[0] == 503:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert b"555-0199" not in upstream.body


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/messages/count_tokens", 404), ("/v1/responses/input_tokens", 404), ("/v1/chat/completions", 503)],
)
def test_what_cannot_be_cleaned_of_erased_words_is_not_sent(tmp_path, path, status):
    """A count of tokens has the whole history in it; JSON with the same name twice cannot be read in one way only."""
    first = [("user", "My number is 555-0199.")]
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        gate.post("/v1/chat/completions", body(*first), x_session_id="one")
        gate.post("/v1/chat/completions", body(("user", "Something else.")), x_session_id="two")
        kept = fanfold.SQLite(tmp_path / "agent.db")
        name = next(each for each in kept.sessions("default") if "one" in each)
        twice = b'{"model":"gpt-4o","model":"gpt-4o","messages":[{"role":"user","content":"My number is 555-0199."}]}'
        words = (
            twice if status == 503 else body(*first).replace(b'"messages"', b'"input"', "responses" in path)
        )
        assert gate.post(path, words, x_session_id="one")[0] == 200, "before"
        with fanfold.open(name, store=kept) as chat:
            chat.erase(chat.view().rows[0].id, "asked for")
        known = len(upstream.requests)
        assert gate.post(path, words, x_session_id="one")[0] == status
        assert len(upstream.requests) == known


BESIDE = {
    "/v1/embeddings": {"input": ["My number is 555-0199."]},
    "/v1/completions": {"prompt": "My number is 555-0199."},
    "/v1/moderations": {"input": "My number is 555-0199."},
    "/v1/messages/batches": {"requests": [{"params": json.loads(body(("user", "My number is 555-0199.")))}]},
    "/v1/conversations": {"items": [{"role": "user", "content": "My number is 555-0199."}]},
    "/v1beta/models/g:embedContent": {"content": {"parts": [{"text": "My number is 555-0199."}]}},
    "/v1beta/models/g:batchGenerateContent": {"batch": {"displayName": "My number is 555-0199."}},
    "/v1beta/cachedContents": {"contents": [{"parts": [{"text": "My number is 555-0199."}]}]},
}


def erase_number(tmp_path, gate, owner="default", **headers):
    """Say a number through the gateway, and erase it."""
    gate.post("/v1/chat/completions", body(("user", "My number is 555-0199.")), **headers)
    kept = fanfold.SQLite(tmp_path / "agent.db")
    (name,) = kept.sessions(owner)
    with fanfold.open(name, store=kept, tenant=owner) as chat:
        chat.erase(chat.view().rows[0].id, "asked for")
    kept.close()


@pytest.mark.parametrize("path", BESIDE)
def test_requests_that_no_session_reads_bring_nothing_erased_to_a_provider(tmp_path, path):
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        words = json.dumps(BESIDE[path]).encode()
        assert gate.post(path, words)[0] == 200, "nothing was erased so far"
        erase_number(tmp_path, gate, x_session_id="one")
        known = len(upstream.requests)
        for named in ({}, {"x_session_id": "one"}, {"x_fanfold_bypass": "1"}):
            status, _, told = gate.post(path, words, **named)
            assert (status, b"x-fanfold-session" in told or b"this session" in told) == (403, True)
        assert len(upstream.requests) == known
        assert gate.send("GET", "/v1/models")[0] == 200, "what brings no words is passed on"
        other = json.dumps({"input": "Something else."}).encode()
        assert gate.post(path, other, x_fanfold_session="catalog")[0] == 200
        assert upstream.body == other


def test_what_one_tenant_erased_stops_no_request_of_another(tmp_path):
    keys = {
        name: VirtualKey(key=f"a-key-of-{name}-and-more", tenant=name, openai=f"sk-{name}")
        for name in ("ana", "bob")
    }
    ana, bob = ({"authorization": f"Bearer a-key-of-{name}-and-more"} for name in ("ana", "bob"))
    words = json.dumps(BESIDE["/v1/embeddings"]).encode()
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}", keys=keys) as gate,
    ):
        erase_number(tmp_path, gate, "ana", **ana)
        assert gate.post("/v1/embeddings", words, **ana)[0] == 403
        assert gate.post("/v1/embeddings", words, **bob)[0] == 200


def test_a_request_beside_a_session_with_something_erased_is_not_passed_on(tmp_path):
    title = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "A title for: My number is 555-0199."}],
    }
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        words = json.dumps(title).encode()
        assert gate.post("/v1/chat/completions", words, x_session_id="one")[0] == 200
        erase_number(tmp_path, gate, x_session_id="one")
        known = len(upstream.requests)
        status, _, told = gate.post("/v1/chat/completions", words, x_session_id="one")
        assert (status, b"erased in this session" in told, len(upstream.requests)) == (403, True, known)
        status, headers, _ = gate.post("/v1/chat/completions", words, x_session_id="two")
        assert (status, headers["x-fanfold-bypassed"]) == (200, "side call")


def test_while_nobody_knows_what_was_erased_nothing_is_passed_on_unread():
    with (
        Upstream() as upstream,
        Gate(
            upstream.url, store="postgresql://nobody@127.0.0.1:9/none?connect_timeout=2", journal=""
        ) as gate,
    ):
        status, _, told = gate.post("/v1/embeddings", b'{"input": "x"}')
        assert (status, b"was not reached" in told, upstream.requests) == (503, True, [])


def test_what_cannot_be_read_at_all_is_not_passed_on_where_something_was_erased(tmp_path):
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        erase_number(tmp_path, gate, x_session_id="one")
        known = len(upstream.requests)
        for path in ("/v1/chat/completions", "/v1/messages/count_tokens", "/v1/embeddings"):
            assert gate.post(path, b"packed", content_encoding="br")[0] in (403, 404, 503)
        assert len(upstream.requests) == known
