"""An upstream that speaks another dialect than the client: the client does not notice."""

import pytest
from google.genai import types

from fanfold.core.errors import BadSetting
from fanfold.gateway.settings import ServeSettings, check_settings
from fanfold.testing.provider import Fail, Provider, Turn
from tests.gateway.gate import Gate
from tests.gateway.test_loops import outputs
from tests.provider.test_sdks import Anthropic, Chat, Gemini, Unconverted
from tests.turns import in_turn


class PlainMessages(Anthropic):
    """A loop that does not look for thinking, which not every provider shows."""

    @property
    def request(self):
        return {key: value for key, value in super().request.items() if key != "thinking"}

    def take(self, reply):
        self.history.append({"role": "assistant", "content": reply.content})
        calls = [part for part in reply.content if part.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": self.output} for call in calls]
        self.history += [{"role": "user", "content": results}] if results else []
        return None if calls else reply.content[-1].text


class PlainResponses(Unconverted):
    """The same with Responses."""

    def take(self, reply):
        self.history += [item.to_dict() for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        self.history += [
            {"type": "function_call_output", "call_id": call.call_id, "output": self.output} for call in calls
        ]
        return None if calls else reply.output_text


class PlainGemini(Gemini):
    """The same with Gemini."""

    def take(self, reply):
        said = reply.candidates[0].content
        self.history.append(said)
        calls = [part.function_call for part in said.parts if part.function_call]
        results = [
            types.Part.from_function_response(name=call.name, response={"output": self.output})
            for call in calls
        ]
        self.history += [types.Content(role="user", parts=results)] if results else []
        return None if calls else "".join(part.text for part in said.parts if part.text)


PAIRS = [
    (PlainMessages, "openai.chat"),
    (PlainMessages, "openai.responses"),
    (Chat, "anthropic"),
    (PlainResponses, "anthropic"),
    (PlainResponses, "openai.chat"),
    (PlainGemini, "anthropic"),
    (PlainGemini, "openai.chat"),
]
each_pair = pytest.mark.parametrize(("loop", "to"), PAIRS, ids=lambda one: getattr(one, "__name__", one))
WANTED = {"openai.chat": "gpt-4.1", "openai.responses": "gpt-5.2", "anthropic": "claude-sonnet-4-5"}
STEPS = 20
APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic"}


def script(request):
    if request.number >= STEPS:
        return Turn("Found it.")
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})])


def elsewhere(provider, to, **settings):
    upstreams = dict.fromkeys(("openai", "anthropic", "gemini"), f"{to}+{provider.url}")
    return Gate(None, upstreams=upstreams, models={"*": WANTED[to]}, window=24_000, **settings)


@in_turn("pair", PAIRS, "stream", [False, True])
def test_a_loop_runs_at_a_provider_of_another_dialect(pair, stream):
    loop, to = pair
    with Provider(script) as provider, elsewhere(provider, to) as gate:
        talk, texts = loop(gate), outputs()
        for _ in range(STEPS + 1):
            talk.output = next(texts)
            said = talk.take(talk.ask(stream))
        assert said == "Found it."
        assert gate.gateway.metrics.count("edited") > 3
    asked = {(each.api, each.verdict, each.model) for each in provider.requests}
    assert asked == {(APIS[to], "accepted", WANTED[to])}
    assert max(each.tokens for each in provider.requests) <= 24_000


@each_pair
def test_an_error_comes_in_the_clients_own_shape(loop, to):
    failing = Provider([Fail.server_error(503)] * 9)
    with failing as provider, elsewhere(provider, to) as gate, pytest.raises(Exception, match="overloaded"):
        loop(gate).ask(False)


def test_what_cannot_carry_over_is_told_in_a_header():
    body = b'{"model": "m", "max_tokens": 9, "top_k": 3, "messages": [{"role": "user", "content": "hi"}]}'
    with Provider(Turn("hello")) as provider, elsewhere(provider, "openai.chat") as gate:
        status, headers, said = gate.post("/v1/messages", body, x_api_key="mine")
        assert status == 200
        assert b"hello" in said
        assert "top_k" in headers["x-fanfold-lost"]
        assert provider.requests[0].headers["authorization"] == "Bearer mine"
        assert gate.post("/v1/messages/count_tokens", body)[0] == 404


def test_a_dialect_that_nobody_speaks_is_refused():
    with pytest.raises(BadSetting, match="with that before it"):
        check_settings(ServeSettings(upstreams={"anthropic": "klingon+http://127.0.0.1:1"}))


FAULTS = {
    "close": Fail.close(),
    "cut": Fail.cut(Turn("Done."), after=2),
    "garbage": Fail.garbage(),
    "down": Fail.server_error(503),
    "said": Fail.error_event(Turn("Done."), after=2),
}


@each_pair
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_there_never_passes_for_a_reply_and_the_next_try_goes_on(loop, to, stream, fault):
    with Provider([FAULTS[fault], Turn("Done.")]) as provider, elsewhere(provider, to) as gate:
        talk = loop(gate)
        with pytest.raises(Exception) as raised:  # noqa: PT011 each SDK has its own
            assert talk.take(talk.ask(stream)) == "Done.", "no reply, or half of one"
        if fault in ("close", "garbage", "down") and not stream:
            assert getattr(raised.value, "status_code", getattr(raised.value, "code", 0)) in (502, 503)
        again = loop(gate)
        assert again.take(again.ask(stream)) == "Done."
    assert [each.verdict for each in provider.requests] == ["failed", "accepted"]
