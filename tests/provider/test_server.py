"""The server keeps its word about connections, paths, errors, failures and records."""

import ast
import http.client
import json
import random
import threading
import time
from pathlib import Path

import pytest

import fanfold.testing.provider
from fanfold.testing.provider import Fail, Limits, Provider, Turn

from . import test_rules_anthropic, test_rules_chat, test_rules_gemini, test_rules_responses

HOME = Path(fanfold.testing.provider.__file__).parent
USER = {"role": "user", "content": "hello"}
BODIES = {
    "chat": ("/v1/chat/completions", {"model": "gpt-4o", "messages": [USER]}),
    "responses": ("/v1/responses", {"model": "gpt-5", "input": [USER]}),
    "anthropic": (
        "/v1/messages?beta=true",
        {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": [USER]},
    ),
    "gemini": ("/v1beta/models/gemini-3-pro:generateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
}
each_api = pytest.mark.parametrize("api", BODIES)


def post(provider, path, body, headers=None, method="POST"):
    """Send one request as bare HTTP; give back status, headers and body."""
    host = provider.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def send(provider, api, **more):
    path, body = BODIES[api]
    if more.pop("stream", False):
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        body = body if api == "gemini" else {**body, "stream": True}
    return post(provider, path, {**body, **more})


def test_it_imports_the_standard_library_a_public_tokenizer_and_itself_only():
    names = set()
    for file in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(str(node.module))
            if isinstance(node, ast.ImportFrom) and node.level > 0:
                depth = len(file.relative_to(HOME).parts)
                assert node.level <= depth, f"{file.name} reaches out of the package"
    import sys

    known = {*sys.stdlib_module_names, "splintr"}  # no bill is honest without a tokenizer
    foreign = {each for each in names if each.split(".")[0] not in known}
    assert {each for each in foreign if not each.startswith("fanfold.testing.provider.")} == set()


def test_every_rule_states_itself_in_one_sentence():
    for rules in fanfold.testing.provider.RULES.values():
        for rule in rules:
            assert (rule.__doc__ or "").strip().endswith("."), rule.__name__
            assert "\n" not in (rule.__doc__ or ""), rule.__name__


TABLES = {"chat": test_rules_chat, "responses": test_rules_responses}
TABLES |= {"anthropic": test_rules_anthropic, "gemini": test_rules_gemini}


@each_api
def test_a_broken_request_never_breaks_the_server(api):
    chance, provider = random.Random(7), Provider()
    path = BODIES[api][0].split("?")[0]
    for of in TABLES[api].CASES:
        for _ in range(25):
            body = json.dumps(damaged(of.passed, chance)).encode()
            assert provider._respond("POST", path, {}, body)
    assert [each.reason for each in provider.requests if each.verdict == "failed"] == []
    assert {each.verdict for each in provider.requests} == {"accepted", "rejected"}


def damaged(value, chance, depth=0):
    """The value with something in it replaced by junk."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.2 * depth:
        return chance.choice([None, 0, True, "x", "", [], {}, ["x"], {"type": "text"}, [None]])
    keys = list(value) if isinstance(value, dict) else range(len(value))
    hit = chance.choice(list(keys))
    if isinstance(value, list):
        return [damaged(item, chance, depth + 1) if at == hit else item for at, item in enumerate(value)]
    return {key: damaged(item, chance, depth + 1) if key == hit else item for key, item in value.items()}


@each_api
def test_a_reply_comes_with_the_same_ids_in_every_run(api):
    replies = []
    for _ in range(2):
        with Provider(Turn("hi", calls=[("grep", {"a": 1})])) as provider:
            replies.append([send(provider, api)[2], send(provider, api)[2]])
    assert replies[0] == replies[1]
    assert replies[0][0] != replies[0][1]


@each_api
def test_a_connection_is_kept(api):
    with Provider() as provider:
        connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=60)
        path, body = BODIES[api]
        for _ in range(3):
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
            assert connection.sock is not None
        connection.close()
        assert len(provider.requests) == 3


@each_api
def test_records_what_came_and_what_became_of_it(api):
    with Provider() as provider:
        send(provider, api)
        send(provider, api, **({"contents": []} if api == "gemini" else {"messages": [], "input": []}))
    accepted, rejected = provider.requests
    assert (accepted.api, accepted.method, accepted.verdict, accepted.status) == (
        api,
        "POST",
        "accepted",
        200,
    )
    assert accepted.body == BODIES[api][1]
    assert accepted.usage
    assert accepted.tokens > 0
    assert (rejected.verdict, rejected.status, rejected.usage) == ("rejected", 400, None)
    assert rejected.rule
    assert rejected.reason
    assert provider.rejected == [rejected]


SHAPES = {
    "chat": {"error": {"message": "you must provide a model parameter"}},
    "responses": {"error": {"param": "model", "code": "missing_required_parameter"}},
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "model: Field required"},
    },
}


@pytest.mark.parametrize("api", SHAPES)
def test_errors_have_the_providers_shape(api):
    with Provider() as provider:
        status, _, raw = send(provider, api, model="")
    body = json.loads(raw)
    assert status == 400
    assert SHAPES[api]["error"].items() <= body["error"].items()
    assert set(body) == ({"type", "error", "request_id"} if api == "anthropic" else {"error"})


def test_gemini_errors_have_code_and_status():
    with Provider() as provider:
        status, _, raw = send(provider, "gemini", contents=[])
    assert status == 400
    assert json.loads(raw)["error"].items() >= {"code": 400, "status": "INVALID_ARGUMENT"}.items()


@each_api
@pytest.mark.parametrize("body", [b"{", b"[1]", b""])
def test_a_body_that_is_no_json_object_is_refused(api, body):
    with Provider() as provider:
        status, _, raw = post(provider, BODIES[api][0], body)
    assert status == 400
    assert "JSON" in json.loads(raw)["error"]["message"]


def test_unknown_paths_and_methods_are_not_found():
    with Provider() as provider:
        for path in ("/v1/nothing", "/v1/messages/batches", "/v1beta/models/gemini-3-pro:embedContent"):
            assert post(provider, path, {})[0] == 404
        assert post(provider, "/v1/responses", b"", method="GET")[0] == 404


@each_api
def test_a_wrong_key_is_refused(api):
    path, body = BODIES[api]
    with Provider(key="secret") as provider:
        assert post(provider, path, body)[0] == 401
        assert post(provider, path, body, {"authorization": "Bearer secret"})[0] == 200


@each_api
def test_too_many_bytes_are_refused(api):
    small = Limits(anthropic_bytes=10, openai_bytes=10, gemini_bytes=10)
    with Provider(limits=small) as provider:
        assert send(provider, api)[0] == (400 if api == "gemini" else 413)


WORDS = {
    "chat": "This model's maximum context length is 8 tokens. However, your messages resulted in 14 tokens.",
    "responses": "Your input exceeds the context window of this model.",
    "anthropic": "prompt is too long: 14 tokens > 8 maximum",
    "gemini": "The input token count (14) exceeds the maximum number of tokens allowed (8).",
}


@each_api
def test_a_prompt_longer_than_the_window_is_refused_in_the_providers_words(api):
    with Provider(window=8, count=lambda text: 10) as provider:
        status, _, raw = send(provider, api)
    assert status == 400
    assert WORDS[api] in json.loads(raw)["error"]["message"]


def test_prompt_and_ceiling_share_the_window_of_anthropic_and_chat():
    with Provider(window=113, count=lambda text: 10) as provider:
        _, _, messages = send(provider, "anthropic", max_tokens=100)
        _, _, chat = send(provider, "chat", max_tokens=100)
        assert send(provider, "anthropic", max_tokens=99)[0] == 200
        assert send(provider, "responses", max_output_tokens=100)[0] == 200
    assert "exceed context limit: 14 + 100 > 113" in json.loads(messages)["error"]["message"]
    assert "(14 in the messages, 100 in the completion)" in json.loads(chat)["error"]["message"]


def test_counts_tokens_without_using_up_the_script():
    with Provider([Turn("only one")]) as provider:
        body = {"model": "claude-sonnet-4-5", "messages": [USER]}
        assert json.loads(post(provider, "/v1/messages/count_tokens", body)[2]) == {"input_tokens": 6}
        broken = {**body, "messages": [{"role": "assistant", "content": "x"}]}
        assert post(provider, "/v1/messages/count_tokens", broken)[0] == 400
        assert send(provider, "anthropic")[0] == 200
    assert [each.verdict for each in provider.requests] == ["counted", "rejected", "accepted"]


def test_a_script_may_be_a_function_of_the_request():
    def script(request):
        return Turn(f"{request.api} {request.number}")

    with Provider(script) as provider:
        send(provider, "chat")
        _, _, raw = send(provider, "anthropic")
    assert json.loads(raw)["content"] == [{"type": "text", "text": "anthropic 1"}]


def test_a_script_that_raises_says_so():
    with Provider(lambda request: 1 / 0) as provider:
        status, _, raw = send(provider, "chat")
    assert (status, provider.requests[0].verdict) == (400, "failed")
    assert "ZeroDivisionError" in json.loads(raw)["error"]["message"]


@each_api
def test_a_script_that_is_over_says_so(api):
    with Provider([Turn("one")]) as provider:
        assert send(provider, api)[0] == 200
        status, _, raw = send(provider, api)
    assert status == 400
    assert "The script is over" in json.loads(raw)["error"]["message"]


@each_api
def test_fails_as_told(api):
    with Provider([Fail.rate_limit(2.5), Fail.server_error(), Fail.overloaded(), Turn("well")]) as provider:
        limited, broken, busy, fine = [send(provider, api) for _ in range(4)]
    assert (limited[0], limited[1]["retry-after"]) == (429, "2.5")
    assert (broken[0], busy[0], fine[0]) == (500, 529 if api == "anthropic" else 503, 200)
    assert [each.verdict for each in provider.requests] == ["failed", "failed", "failed", "accepted"]


@each_api
def test_garbage_is_not_json(api):
    with Provider([Fail.garbage(), Fail.garbage()]) as provider:
        status, _, whole = send(provider, api)
        _, _, streamed = send(provider, api, stream=True)
    assert status == 200
    assert whole.startswith(b"<!doctype")
    assert streamed.startswith(b"data: <!doctype")


@each_api
def test_a_closed_connection_gives_no_answer(api):
    with Provider([Fail.close()]) as provider, pytest.raises((http.client.HTTPException, ConnectionError)):
        send(provider, api)


@each_api
def test_a_cut_stream_ends_in_the_middle(api):
    turn = Turn("a long enough text")
    with Provider([turn, Fail.cut(turn, after=2), Fail.cut(turn, after=2)]) as provider:
        _, _, whole = send(provider, api, stream=True)
        with pytest.raises(http.client.IncompleteRead) as cut:
            send(provider, api, stream=True)
        with pytest.raises(http.client.IncompleteRead):
            send(provider, api)
    assert cut.value.partial.count(b"data: ") == 2
    assert whole.count(b"data: ") > 2
    assert provider.requests[1].verdict == "failed"


@each_api
def test_an_error_can_come_in_the_middle_of_a_stream(api):
    with Provider([Fail.error_event(Turn("a long enough text"), after=2)]) as provider:
        _, _, raw = send(provider, api, stream=True)
    assert (
        "Overloaded"
        in json.loads(raw.split(b"data: ")[-1])["error" if api != "responses" else "message"].__str__()
    )


@each_api
def test_a_slow_stream_takes_its_time(api):
    with Provider([Fail.slow(Turn("abcd"), delay=0.02)]) as provider:
        begun = time.monotonic()
        _, _, raw = send(provider, api, stream=True)
        assert time.monotonic() - begun >= 0.02 * raw.count(b"data: ")


def test_stops_cleanly_with_connections_open():
    with Provider() as provider:
        connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=60)
        connection.request("POST", "/v1/nothing", b"{}")
        connection.getresponse().read()
        before = threading.active_count()
    deadline = time.monotonic() + 60
    while threading.active_count() >= before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() < before
    connection.close()
    with pytest.raises(RuntimeError, match="not running"):
        assert provider.url


def test_many_clients_at_once_are_all_recorded():
    with Provider(Turn("hi")) as provider:
        threads = [threading.Thread(target=send, args=(provider, api)) for api in BODIES for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(each.number for each in provider.requests) == list(range(40))


def test_gemini_streams_an_array_where_no_events_are_asked_for():
    with Provider(Turn("hello there")) as provider:
        path, body = BODIES["gemini"]
        _, _, raw = post(provider, path.replace(":generate", ":streamGenerate"), body)
    texts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in json.loads(raw)]
    assert "".join(texts) == "hello there"
