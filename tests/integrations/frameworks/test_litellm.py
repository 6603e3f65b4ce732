"""The callback in LiteLLM's own functions, with the scripted provider behind them."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import litellm
import pytest
from litellm.types.utils import CallTypes

import fanfold
from fanfold.integrations.litellm import TRANSLATED, FanfoldLogger
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with
from tests.integrations.frameworks.litellm_proxy import serving

LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at a page.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
    },
}


@pytest.fixture(autouse=True)
def _no_callbacks() -> Iterator[None]:
    yield
    litellm.logging_callback_manager._reset_all_callbacks()


class Loop:
    """An agent of a page, as people write them around LiteLLM."""

    def __init__(self, trial: Trial) -> None:
        self.url = trial.openai_base_url
        self.fold = FanfoldLogger(store=trial.store, window=trial.window) if trial.store else None
        self.threads: dict[str, list[dict[str, Any]]] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        litellm.callbacks = [self.fold] if self.fold else []
        return asyncio.run(self._run(thread, text, mode))

    async def _run(self, thread: str, text: str, mode: str) -> str:
        messages = self.threads.setdefault(thread, [{"role": "system", "content": "You read."}])
        messages.append({"role": "user", "content": text})
        while True:
            reply = await self._ask(thread, messages, mode)
            messages.append(
                {
                    k: v
                    for k, v in reply.model_dump(exclude_none=True).items()
                    if k in ("role", "content", "tool_calls")
                }
            )
            if not reply.tool_calls:
                return reply.content
            for call in reply.tool_calls:
                output = look(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})

    async def _ask(self, thread: str, messages: list[dict[str, Any]], mode: str) -> Any:
        given: Any = {
            "model": "openai/gpt-4o", "messages": list(messages), "tools": [LOOK], "base_url": self.url,
            "api_key": "any", "litellm_session_id": thread, "max_retries": 0,
        }  # fmt: skip
        if mode == "router":
            params = {"model": "openai/gpt-4o", "base_url": self.url, "api_key": "any", "max_retries": 0}
            named = [{"model_name": name, "litellm_params": params} for name in ("reader", "reader-again")]
            router = litellm.Router(model_list=named, context_window_fallbacks=[{"reader": ["reader-again"]}])
            for key in ("base_url", "api_key", "max_retries"):
                del given[key]
            return (await router.acompletion(**{**given, "model": "reader"})).choices[0].message
        if mode == "run":
            return (await litellm.acompletion(**given)).choices[0].message
        given["stream_options"] = {"include_usage": True}
        chunks = [chunk async for chunk in await litellm.acompletion(**given, stream=True)]
        await asyncio.sleep(0)
        return litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message

    def history(self, thread: str) -> str:
        return "\n".join(body.get("content") or "" for body in self.threads[thread])

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


def test_an_agent_keeps_every_promise() -> None:
    check_integration(Loop, modes=("run", "router", "stream"))


def asked(provider: Provider, messages: list[Any], **more: Any) -> Any:
    given = {
        "base_url": provider.openai_base_url,
        "api_key": "any",
        "tools": [LOOK],
        "litellm_session_id": "t1",
    }
    return asyncio.run(litellm.acompletion(model="openai/gpt-4o", messages=messages, **{**given, **more}))


def long_history(steps: int) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
    for number in range(steps):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "look", "arguments": '{"number": 1}'},
        }
        history += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": look(number)},
        ]
    return history


def test_the_caller_s_messages_are_not_changed_and_untouched_ones_are_sent_as_they_are() -> None:
    fold, history = FanfoldLogger(window=8_000), long_history(30)
    before = json.dumps(history)
    litellm.callbacks = [fold]
    with Provider(Turn("Done.")) as provider:
        asked(provider, history)
        sent = provider.requests[0].body["messages"]
        assert json.dumps(history) == before
        assert sent[-1] == history[-1]
        assert len(json.dumps(sent)) < len(before) / 2


def hooked(fold: FanfoldLogger, messages: list[Any], **more: Any) -> Any:
    """What the callback makes of a call, before LiteLLM sends it."""
    given = {"model": "gpt-4o", "messages": messages, "tools": [LOOK], "litellm_call_id": "c", **more}
    return asyncio.run(fold.async_pre_call_deployment_hook(given, CallTypes.acompletion))


def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures() -> None:
    history = long_history(1)
    sealed = {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    history[1] |= {"thinking_blocks": [sealed], "provider_specific_fields": {"more": 1}}
    sent = hooked(FanfoldLogger(window=100_000), history)["messages"]
    assert [one is own for one, own in zip(sent, history, strict=True)] == [True] * 3
    assert sent[1]["thinking_blocks"] == [sealed]


@pytest.mark.parametrize("begun_with", [True, False])
def test_claude_s_thinking_goes_on_and_pauses_where_a_loop_began_without(begun_with: bool) -> None:
    thought = [{"type": "thinking", "thinking": "hm", "signature": "sealed"}] if begun_with else []
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
    history = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [*thought, call]},
        {"role": "user", "content": [result]},
    ]
    given = {"model": "claude-opus-4-1", "messages": history, "max_tokens": 4_000, "litellm_call_id": "c"}
    given["thinking"] = {"type": "enabled", "budget_tokens": 1_024}
    fold = FanfoldLogger(window=100_000)
    sent = asyncio.run(fold.async_pre_call_deployment_hook(given, CallTypes.anthropic_messages))
    assert sent["messages"] == history
    assert sent["thinking"]["type"] == ("enabled" if begun_with else "disabled")


def test_sub_agents_and_keys_have_sessions_of_their_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldLogger(store=store, window=100_000)
    for key, headers in (("k1", {}), ("k1", {"x-claude-code-agent-id": "a7"}), ("k2", {}), ("k1", {})):
        told = {"user_api_key_hash": key, "headers": headers}
        hooked(fold, long_history(1), litellm_session_id="t1", metadata=told)
    fold.close()
    names = sorted(summary.name.partition("/")[2] for summary in fanfold.Pool(store).summaries())
    assert names == ["t1", "t1", "t1/a7"]


@pytest.mark.parametrize("billed", [True, False])
def test_a_stream_is_recorded_with_its_bill_if_it_has_one_by_a_second_callback_too(
    billed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    fold = FanfoldLogger(window=100_000)

    async def main(url: str) -> None:
        given: Any = {"base_url": url, "api_key": "any", "tools": [LOOK], "litellm_session_id": "t1"}
        given |= {"model": "openai/gpt-4o", "messages": long_history(1)}
        litellm.callbacks = [FanfoldLogger(window=100_000)]
        await litellm.acompletion(**given)
        litellm.callbacks = [fold]
        told = {"stream_options": {"include_usage": True}} if billed else {}
        stream = await litellm.acompletion(**given, **told, stream=True)
        assert [chunk async for chunk in stream]
        for _ in range(600):  # LiteLLM tells of a reply behind the caller's back
            async with fold.session("t1") as chat:
                if (await chat.stats())["entries"] == 4:
                    return
            await asyncio.sleep(0.05)

    with Provider(Turn("Done.")) as provider:
        asyncio.run(main(provider.openai_base_url))
        tokens = provider.requests[1].tokens
    with fold.session("t1") as chat:
        assert chat.view().messages[-1].text == "Done."
        assert chat.stats()["billed_tokens"] == (tokens if billed else 0)
    assert "tokens for a request" not in caplog.text


def test_a_retry_by_the_caller_sends_the_same_bytes_and_records_nothing_twice() -> None:
    fold, history = FanfoldLogger(window=8_000), long_history(30)
    litellm.callbacks = [fold]
    with Provider([Fail.server_error(), Turn("Done.")]) as provider:
        with pytest.raises(litellm.InternalServerError):
            asked(provider, history, max_retries=0)
        asked(provider, history, max_retries=0)
        assert provider.requests[0].raw == provider.requests[1].raw
    with fold.session("t1") as chat:
        assert (chat.stats()["requests"], chat.branches) == (1, ())


def test_a_router_s_retry_sends_the_same_bytes_and_records_nothing_twice() -> None:
    fold, history = FanfoldLogger(window=8_000), long_history(30)
    litellm.callbacks = [fold]
    with Provider([Fail.server_error(), Turn("Done.")]) as provider:
        params = {
            "model": "openai/gpt-4o",
            "base_url": provider.openai_base_url,
            "api_key": "any",
            "max_retries": 0,
        }
        router = litellm.Router(
            model_list=[{"model_name": "reader", "litellm_params": params}], num_retries=2
        )
        given: Any = {"messages": history, "tools": [LOOK], "litellm_session_id": "t1"}
        asyncio.run(router.acompletion(model="reader", **given))
        assert provider.requests[0].raw == provider.requests[1].raw
    with fold.session("t1") as chat:
        assert (chat.stats()["requests"], chat.stats()["entries"]) == (1, len(history) + 1)


def test_a_conversation_goes_on_in_a_new_process_and_going_back_forks(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    history = [{"role": "user", "content": "first"}]
    with Provider([Turn(text) for text in ("one", "two", "three")]) as provider:
        for text in ("second", "another", ""):
            litellm.callbacks = [fold := FanfoldLogger(store=store, window=100_000)]
            said = asked(provider, history).choices[0].message.content
            if text == "second":
                history += [{"role": "assistant", "content": said}, {"role": "user", "content": text}]
            elif text == "another":
                history = [*history[:2], {"role": "user", "content": text}]
            time.sleep(0.2)  # LiteLLM tells of a reply behind the caller's back
            fold.close()
    with fanfold.open("t1", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_parallel_failed_and_broken_calls_stay_paired() -> None:
    litellm.callbacks = [FanfoldLogger(window=8_000)]
    history = long_history(30)
    function = {"name": "look", "arguments": '{"number": '}
    calls = [{"id": id, "type": "function", "function": function} for id in ("x1", "x2")]
    history += [{"role": "assistant", "content": None, "tool_calls": calls}]
    history += [{"role": "tool", "tool_call_id": id, "content": "Error: no JSON."} for id in ("x1", "x2")]
    with Provider(Turn("Done.")) as provider:
        asked(provider, history)
        sent = provider.requests[0].body["messages"]
        assert provider.rejected == []
    called = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    assert called == [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert called[-2:] == ["x1", "x2"]


def test_what_is_looked_up_beside_the_caller_s_tools_is_left_out() -> None:
    litellm.callbacks = [FanfoldLogger(window=8_000)]
    both = Turn(calls=[("tool_output_cache", {"ref_id": "o1"}), ("look", {"number": 1})])
    with Provider(both) as provider:
        calls = asked(provider, long_history(30)).choices[0].message.tool_calls
        assert [call.function.name for call in calls] == ["look"]


def test_anthropic_messages_are_kept_inside_the_window_and_looked_up_again() -> None:
    fold = FanfoldLogger(window=8_000)
    litellm.callbacks = [fold]
    history: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
    for number in range(30):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"number": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": look(number)}
        history += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]

    def script(request: Any) -> Turn:
        if request.number == 0:
            return Turn(calls=[("tool_output_cache", {"ref_id": "o1"})])
        return Turn("Done.")

    with Provider(script, window=9_000) as provider:
        tool = {"name": "look", "input_schema": LOOK["function"]["parameters"]}  # type: ignore[index]
        given: Any = {
            "model": "anthropic/claude-sonnet-4-6", "messages": history, "max_tokens": 1_000, "tools": [tool],
            "api_base": provider.anthropic_base_url, "api_key": "any", "litellm_session_id": "t1",
        }  # fmt: skip
        reply = asyncio.run(litellm.anthropic_messages(**given))
        assert provider.rejected == []
        assert len(provider.requests) == 2
        assert "page-000 begins" in json.dumps(provider.requests[1].body)
        assert reply["content"][-1]["text"] == "Done."


def test_without_a_session_the_first_message_tells_the_conversation(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    litellm.callbacks = [FanfoldLogger(store=store, window=100_000)]
    with Provider(Turn("Hello.")) as provider:
        for history in (long_history(1), long_history(2), [{"role": "user", "content": "Another."}]):
            asked(provider, history, litellm_session_id=None)
    assert len(fanfold.Pool(store).summaries()) == 2


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string", "description": "word " * 500}}}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    counted = []
    for more in ({}, {"response_format": form}):
        fold = FanfoldLogger(window=100_000)
        litellm.callbacks = [fold]
        with Provider(Turn("{}")) as provider:
            asked(provider, long_history(1), **more)
        with fold.session("t1") as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


def test_a_call_that_is_not_awaited_is_not_reached_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    litellm.callbacks = [FanfoldLogger(window=8_000)]
    history = long_history(30)
    with Provider(Turn("Done.")) as provider, caplog.at_level(logging.WARNING):
        url = provider.openai_base_url
        litellm.completion(model="openai/gpt-4o", messages=history, base_url=url, api_key="any", tools=[LOOK])
        assert len(provider.requests[0].body["messages"]) == len(history)
    assert "not reached by fanfold" in caplog.text


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("litellm")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "litellm_loop.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the list" in done.stdout


def converse(url: str, key: str) -> tuple[str, list[dict[str, Any]]]:
    """An agent of a page that asks a proxy."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at every page."}]
    while True:
        reply = posted(url, key, messages)["choices"][0]["message"]
        kept = {key: reply[key] for key in ("role", "content", "tool_calls") if reply.get(key)}
        messages.append(kept)
        if "tool_calls" not in kept:
            return reply["content"], messages
        for call in kept["tool_calls"]:
            output = look(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})


def posted(url: str, key: str, messages: list[dict[str, Any]]) -> Any:
    named = {"Authorization": f"Bearer {key}", "x-litellm-session-id": "run-1"}
    asked = {"model": "reader", "messages": messages, "tools": [LOOK]}
    response = httpx.post(f"{url}/v1/chat/completions", json=asked, headers=named, timeout=60)
    return response.raise_for_status().json()


def reading(steps: int) -> Any:
    """A model that looks at page after page, and once at an earlier one again."""
    done, again = [0], [False]

    def script(request: Any) -> Turn:
        if not again[0] and done[0] > steps // 2 and "ref=o1" in json.dumps(request.body):
            again[0] = True
            return Turn(calls=[("tool_output_cache", {"ref_id": "o1"})])
        done[0] += 1
        return Turn(calls=[("look", {"number": done[0] - 1})]) if done[0] <= steps else Turn("Done.")

    return script


def test_the_proxy_keeps_a_long_run_inside_the_window_and_the_conversations_of_keys_apart(
    tmp_path: Path,
) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    with (
        Provider(reading(120), window=16_000) as provider,
        serving(tmp_path, provider, store, 16_000) as url,
    ):
        said, messages = converse(url, "key-of-ann")
        sent = [request for request in provider.requests if request.method == "POST"]
        posted(url, "key-of-bob", messages[:1])
    outputs = [message["content"] for message in messages if message["role"] == "tool"]
    assert (said, outputs) == ("Done.", [look(number) for number in range(120)])
    assert len(sent) == 122, "the model looked one page up again, and the caller did not hear of it"
    assert {request.verdict for request in sent} == {"accepted"}
    assert max(request.tokens for request in sent) <= 16_000
    assert sum(request.cached for request in sent) / sum(request.tokens for request in sent) >= 0.8
    names = [summary.name for summary in fanfold.Pool(store).summaries()]
    assert len(names) == 2, "the same name of a session, under two keys"
    assert all(name.endswith("/run-1") and "key-of" not in name for name in names)


PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    "block", [PNG, {"type": "video_url", "video_url": {"url": "https://x.y/z"}}, {"type": "zork"}]
)
@pytest.mark.parametrize("model", ["anthropic/claude-opus-4-8", "gemini/gemini-2.5-pro"])
def test_pictures_and_unknown_content_go_on_as_the_identical_objects(model: str, block: Any) -> None:
    called = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    content = [{"type": "text", "text": "See."}, block]
    said = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": None, "tool_calls": called},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ]
    given = {"model": model, "messages": said, "litellm_call_id": "1"}
    sent = asyncio.run(
        FanfoldLogger(window=50_000).async_pre_call_deployment_hook(given, CallTypes.acompletion)
    )
    assert sent is not None
    assert all(a is b for a, b in zip(sent["messages"], said, strict=True))
    assert TRANSLATED.build(fanfold.Message("tool"), TRANSLATED.body(said[2]), None) == said[2]


def test_openai_gets_no_picture_in_a_result_because_it_refuses_them() -> None:
    called = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    said = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": called},
        {"role": "tool", "tool_call_id": "c1", "content": [PNG]},
    ]
    given = {"model": "openai/gpt-4o", "messages": said, "litellm_call_id": "1"}
    sent = asyncio.run(
        FanfoldLogger(window=50_000).async_pre_call_deployment_hook(given, CallTypes.acompletion)
    )
    assert sent is not None
    assert sent["messages"][2]["content"] == "[an image that cannot be shown here: image/png]"


@pytest.mark.parametrize("more", [{"max_tokens": "100"}, {"max_tokens": "many"}, {"max_tokens": None}])
def test_messages_that_are_objects_or_of_an_unknown_role_and_odd_limits_end_no_call(more: Any) -> None:
    said = [litellm.Message(content="Hello."), {"role": "user", "content": "Hi."}]
    odd = [{"role": "critic", "content": "Hm."}, {"role": "user", "content": "Hi."}]
    for messages in (said, odd):
        given = {"model": "openai/gpt-4o", "messages": messages, "litellm_call_id": "1", **more}
        hook = FanfoldLogger(window=50_000).async_pre_call_deployment_hook
        sent = asyncio.run(hook(given, CallTypes.acompletion))
        assert sent is not None
        assert all(a is b for a, b in zip(sent["messages"], messages, strict=True))
