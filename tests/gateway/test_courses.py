"""A client sends its whole history again; of what begins as the last request did, only the end is read."""

import json

import pytest
from msgspec.structs import replace

import fanfold
from fanfold.dialects.http.request import read_request
from fanfold.gateway.conversations import Conversations
from fanfold.gateway.course import Courses, place_of
from fanfold.gateway.keys import Holder
from tests.gateway.gate import Gate, Upstream
from tests.gateway.test_erased import REPLY, TOOL

PATHS = {
    "/v1/chat/completions": "messages",
    "/v1/messages": "messages",
    "/v1/responses": "input",
    "/v1beta/models/gemini-3-pro:generateContent": "contents",
}
HOLDER = Holder(window=100_000)


def said(path, role, text, **more):
    if "gemini" in path:
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}], **more}
    return {"role": role, "content": text, **more}


def written(path, messages, before=None, **behind):
    """A request in bytes, with these fields before and behind its messages."""
    model = {} if "gemini" in path else {"model": "gpt-4o"}
    body = {**model, **(before or {}), PATHS[path]: messages, "tools": [TOOL], **behind}
    return json.dumps(body, separators=(",", ":")).encode()


def talk(path, steps):
    """A history of so many steps."""
    messages = [said(path, "user", "Where is the bug?")]
    for step in range(steps):
        messages += [said(path, "assistant", f"In part {step}."), said(path, "user", f"And behind {step}?")]
    return messages


class Known:
    """A conversation whose first request was read as a whole."""

    def __init__(self, path, data, headers=()):
        self.path, self.headers = path, list(headers)
        self.conversations, self.courses = Conversations("memory"), Courses()
        self.place = place_of("default", path, "", self.headers, "")
        self.first = read_request("POST", path, {}, data)
        self.name = self.conversations.find(self.headers, HOLDER, self.first)
        self.managed = self.conversations.prepare(self.name, HOLDER, self.first)
        course = self.conversations.chart(self.managed, self.place, data)
        self.charted = course is not None
        if course is not None:
            self.courses.keep(course)

    def find(self, data):
        return self.courses.find(self.place, HOLDER, self.headers, data)

    def follow(self, data):
        """What the session made of it; None where it has to be read as a whole."""
        step = self.find(data)
        found = self.conversations.follow(step) if step is not None else None
        if found is None:
            return None
        self.courses.keep(found[1])
        return found[0]


def texts(managed):
    """What the model sees of it."""
    return [message.text for message in managed.sent.view.messages]


@pytest.mark.parametrize("path", PATHS)
def test_only_the_messages_that_are_new_are_read(path):
    known = Known(path, written(path, talk(path, 1)))
    for steps in (2, 3, 4):
        data = written(path, talk(path, steps))
        step = known.find(data)
        assert (step.known, step.new) == (2 * steps - 1, talk(path, steps)[-2:])
        managed = known.follow(data)
        assert managed.body is None
        assert texts(managed) == texts(Known(path, data).managed)


def test_a_client_may_change_its_last_messages_if_it_names_its_session():
    """Claude Code moves its cache marks with every request."""
    path, named = "/v1/messages", [(b"x-claude-code-session-id", b"s1")]
    marked = [*talk(path, 3)[:-1], said(path, "user", "And behind 2?", cache_control={"type": "ephemeral"})]
    known = Known(path, written(path, marked), named)
    data = written(path, talk(path, 4))
    assert known.find(data).known == 6
    managed = known.follow(data)
    assert managed.body is None
    assert texts(managed) == texts(Known(path, data).managed)
    assert Known(path, written(path, marked)).find(data) is None


@pytest.mark.parametrize("path", PATHS)
def test_what_changed_behind_the_messages_is_read_again(path):
    known = Known(path, written(path, talk(path, 1), {"a": 1}, metadata={"turn": "1"}))
    other = {**TOOL, "function": {**TOOL["function"], "name": "look"}}
    data = written(path, talk(path, 2), {"a": 1}, metadata={"turn": "2"}, tools=[other])
    step = known.find(data)
    assert step.reframed
    whole = read_request("POST", path, {}, data)
    field = PATHS[path]
    assert {**step.course.asked.body, field: whole.body[field]} == whole.body
    assert step.course.asked.model == whole.model
    managed = known.follow(data)
    assert managed is None or managed.body is None


@pytest.mark.parametrize(
    "data",
    [
        written("/v1/chat/completions", talk("/v1/chat/completions", 1)),  # nothing is new
        written("/v1/chat/completions", talk("/v1/chat/completions", 2), {"seed": 1}),
        written("/v1/chat/completions", talk("/v1/chat/completions", 2))[:-1] + b',"model":"other"}',
        written("/v1/chat/completions", talk("/v1/chat/completions", 2))[:-1],
        written("/v1/chat/completions", [*talk("/v1/chat/completions", 1), "words"]),
        written(
            "/v1/chat/completions",
            [*talk("/v1/chat/completions", 1), {"role": "user", "content": "CONTEXT CHECKPOINT COMPACTION"}],
        ),
    ],
)
def test_what_is_not_certain_is_read_as_a_whole(data):
    path = "/v1/chat/completions"
    assert Known(path, written(path, talk(path, 1))).find(data) is None


def test_messages_are_found_where_the_same_stand_elsewhere_too():
    path = "/v1/chat/completions"
    messages = talk(path, 1)
    twice = {"metadata": {"messages": messages}}
    known = Known(path, written(path, messages, twice))
    assert not known.charted


def test_the_keys_of_other_tenants_and_settings_find_nothing():
    path = "/v1/chat/completions"
    known = Known(path, written(path, talk(path, 1)))
    data = written(path, talk(path, 2))
    other = place_of("other", path, "", [], "")
    assert known.courses.find(other, HOLDER, [], data) is None
    assert known.courses.find(known.place, Holder(window=50_000), [], data) is None
    assert known.find(data) is not None


def test_what_is_kept_of_many_conversations_is_bounded():
    path = "/v1/chat/completions"
    courses = Courses()
    one = Known(path, written(path, talk(path, 1))).find(written(path, talk(path, 2))).course
    places = [(*one.place[:2], f"session {number}", "") for number in range(300)]
    for place in places:
        courses.keep(replace(one, place=place, head=one.head + bytes(1 << 20)))
    data = one.head + bytes(1 << 20)
    assert courses.size < 20 << 20
    assert courses.find(places[0], HOLDER, [], data) is None


def test_what_another_process_erased_is_not_sent_again(tmp_path):
    path = "/v1/chat/completions"
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        messages = [said(path, "user", "My number is 555-0199.")]
        for step in range(3):
            gate.post(path, written(path, messages))
            assert upstream.body == written(path, messages)
            messages += [said(path, "assistant", "Noted."), said(path, "user", f"And {step}?")]
        kept = fanfold.SQLite(tmp_path / "agent.db")
        (name,) = kept.sessions("default")
        with fanfold.open(name, store=kept) as chat:
            chat.erase(chat.view().rows[0].id, "asked for")
        status, headers, _ = gate.post(path, written(path, messages))
        assert status == 200
        assert "x-fanfold-bypassed" not in headers
        assert b"555-0199" not in upstream.body
        assert json.loads(upstream.body)["messages"][-1]["content"] == "And 2?"


def test_a_conversation_that_goes_on_elsewhere_is_recorded_once(tmp_path):
    """Two gateways on one file: the client asks now the one and now the other."""
    path, store = "/v1/chat/completions", f"sqlite:{tmp_path / 'agent.db'}"
    with Upstream([json.dumps(REPLY).encode()]) as upstream:
        with Gate(upstream.url, store=store) as one, Gate(upstream.url, store=store) as other:
            messages = [said(path, "user", "Where is the bug?")]
            for gate in (one, one, other, other, one, other, one, one):
                status, _, _ = gate.post(path, written(path, messages), x_session_id="s")
                assert (status, upstream.body) == (200, written(path, messages))
                messages += [said(path, "assistant", "Noted."), said(path, "user", f"And {len(messages)}?")]
        kept = fanfold.SQLite(tmp_path / "agent.db")
        (name,) = kept.sessions("default")
        with fanfold.open(name, store=kept) as chat:
            told = [message.text for message in chat.view().messages]
    assert told == [message["content"] for message in messages[:-1]]


def test_a_reply_that_speaks_of_the_end_is_not_taken_for_its_end():
    """The word that ends a stream may also be said in it."""
    events = [
        b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"data: [DONE] and"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":" message_stop."},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    path, kind = "/v1/chat/completions", {"content-type": "text/event-stream"}
    messages = [said(path, "user", "How does a stream end?")]
    with Upstream(events, headers=kind, delay=0.01) as upstream, Gate(upstream.url) as gate:
        _, headers, body = gate.post(path, written(path, messages, stream=True))
        assert body == b"".join(events)
        pool = gate.gateway.conversations.pool
        with pool.session(headers["x-fanfold-session"]) as chat:
            assert chat.view().messages[-1].text == "data: [DONE] and message_stop."


def test_a_system_prompt_that_another_process_erased_is_not_sent_again(tmp_path):
    path = "/v1/chat/completions"
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{tmp_path / 'agent.db'}") as gate,
    ):
        messages = [said(path, "system", "The number is 555-0199."), said(path, "user", "Hello.")]
        for step in range(3):
            gate.post(path, written(path, messages))
            assert upstream.body == written(path, messages)
            messages += [said(path, "assistant", "Noted."), said(path, "user", f"And {step}?")]
        kept = fanfold.SQLite(tmp_path / "agent.db")
        (name,) = kept.sessions("default")
        with fanfold.open(name, store=kept) as chat:
            chat.erase("system", "asked for")
        assert gate.post(path, written(path, messages))[0] == 200
        assert b"555-0199" not in upstream.body
