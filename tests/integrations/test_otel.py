"""What OpenTelemetry is told: by the real SDK, kept in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import fanfold
from fanfold import loop
from fanfold.testing.provider import Fail, Provider, Turn
from tests.gateway.gate import Gate

pytest.importorskip("opentelemetry.sdk")
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from fanfold.integrations.otel import instrument, uninstrument

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
SECRET = "the swordfish code"


class Watched:
    """What was told."""

    def __init__(self, **options: Any) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self._spans))
        meters = MeterProvider([self._reader])
        instrument(tracer_provider=self.traces, meter_provider=meters, **options)

    def spans(self, begins: str = "") -> list[ReadableSpan]:
        return [span for span in self._spans.get_finished_spans() if span.name.startswith(begins)]

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        found = data.resource_metrics[0].scope_metrics[0].metrics if data else []
        return [point for metric in found if metric.name == name for point in metric.data.data_points]

    def everything(self) -> str:
        return json.dumps([[span.name, dict(span.attributes or {})] for span in self.spans()], default=str)


@pytest.fixture
def watched() -> Iterator[Watched]:
    yield Watched()
    uninstrument()


def look(at: int = 0) -> str:
    return f"{at}: {SECRET} " + "line\n" * 900


def steps(number: int) -> list[Turn]:
    return [*(Turn(calls=[("look", {"at": at})]) for at in range(number)), Turn("Done.")]


def run(provider: Provider, **options: Any) -> str:
    client = OpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
    given = {"model": "gpt-4o", "window": 8_000, "tools": TOOLS, **options}
    with fanfold.open("run-42", **given) as chat:
        chat.say(f"Find {SECRET}.")
        return loop.run(chat, lambda body: client.chat.completions.create(**body), {"look": look}).text


def test_every_reply_of_a_loop_is_a_span_with_its_bill(watched: Watched) -> None:
    with Provider([Turn(calls=[("look", {})]), Turn("Done.")]) as provider:
        assert run(provider) == "Done."
    first, last = watched.spans("chat")
    assert (first.name, first.kind) == ("chat gpt-4o", SpanKind.CLIENT)
    told = dict(last.attributes or {})
    billed = provider.requests[1]
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "openai"
    assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == "gpt-4o"
    assert told["gen_ai.conversation.id"] == "run-42"
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert told["gen_ai.response.id"]
    assert told["gen_ai.usage.input_tokens"] == billed.tokens, "those of the cache are among them"
    assert told["gen_ai.usage.cache_read.input_tokens"] == billed.cached
    assert told["gen_ai.usage.output_tokens"] > 0
    assert "gen_ai.conversation.compacted" not in told
    assert "error.type" not in told
    tokens = watched.points("gen_ai.client.token.usage")
    assert sum(p.sum for p in tokens if p.attributes["gen_ai.token.type"] == "input") == sum(
        request.tokens for request in provider.requests
    )
    assert [point.count for point in watched.points("gen_ai.client.operation.duration")] == [2]


def test_what_was_read_from_the_cache_and_written_to_it_is_part_of_the_input(watched: Watched) -> None:
    words = "You read every page with care. " * 400
    with Provider([Turn("One."), Turn("Two.")]) as provider:
        client = Anthropic(base_url=provider.anthropic_base_url, api_key="any", max_retries=0)
        with fanfold.open("run-42", model="claude-sonnet-5-5", system=words) as chat:
            for _ in range(2):
                chat.say("And?")
                loop.run(chat, lambda body: client.messages.create(**body), {}, max_tokens=100)
    for span, billed in zip(watched.spans("chat"), provider.requests, strict=True):
        told = dict(span.attributes or {})
        assert told["gen_ai.provider.name"] == "anthropic"
        assert told["gen_ai.usage.input_tokens"] == billed.tokens
        assert told["gen_ai.usage.cache_read.input_tokens"] == billed.cached
        assert told["gen_ai.usage.cache_write.input_tokens"] == billed.usage["cache_creation_input_tokens"]
        assert told["gen_ai.usage.reasoning.output_tokens"] == 0
    assert provider.requests[0].usage["cache_creation_input_tokens"] > 1_000
    assert provider.requests[1].cached > 1_000


def test_a_request_that_is_too_long_behind_the_gateway_is_one_call(watched: Watched) -> None:
    page = {"role": "user", "content": "we talk about it " * 400}
    history = [one for _ in range(8) for one in (page, {"role": "assistant", "content": "Noted."})]
    with Provider([Turn("Hello.")], window=9_000) as provider, Gate(provider.url) as gate:
        client = OpenAI(base_url=gate.openai_base_url, api_key="any", max_retries=0)
        asked: Any = [*history, {"role": "user", "content": "And?"}]
        client.chat.completions.create(model="gpt-4o", messages=asked, tools=TOOLS)
    assert len(provider.rejected) == 1
    (span,) = watched.spans("chat")
    assert "error.type" not in (span.attributes or {})
    assert (span.attributes or {})["gen_ai.conversation.compacted"] is True


def test_a_reduction_is_a_span_inside_of_the_call_that_needed_it(watched: Watched) -> None:
    with Provider(steps(12), window=8_000) as provider:
        run(provider)
    calls = {span.context.span_id: span for span in watched.spans("chat")}
    reductions = watched.spans("fanfold.reduce")
    assert reductions
    for span in reductions:
        told = dict(span.attributes or {})
        assert span.kind == SpanKind.INTERNAL
        assert told["fanfold.status"] == "reduced"
        assert told["fanfold.tokens.after"] < told["fanfold.tokens.before"]
        assert {"fanfold.strategy", "fanfold.cost", "fanfold.trigger"} <= told.keys()
        assert span.parent is None or span.parent.span_id in calls, "`settle` reduces beside the calls"
    last = dict(watched.spans("chat")[-1].attributes or {})
    assert last["gen_ai.conversation.compacted"] is True
    saved = watched.points("fanfold.reduction.saved")
    assert sum(point.count for point in saved) == len(reductions)


def test_a_request_that_was_too_long_and_is_sent_again_is_one_call(watched: Watched) -> None:
    with Provider(steps(12), window=6_000) as provider:
        run(provider, window=12_000)
    assert provider.rejected, "else nothing is proved"
    taken = [request for request in provider.requests if request.verdict == "accepted"]
    assert len(watched.spans("chat")) == len(taken)
    assert any(span.parent for span in watched.spans("fanfold.reduce"))
    assert not any("error.type" in (span.attributes or {}) for span in watched.spans("chat"))


def test_what_goes_wrong_is_named_by_its_kind_only(watched: Watched) -> None:
    with Provider([Fail.server_error()]) as provider, pytest.raises(Exception, match="500"):
        run(provider)
    (span,) = watched.spans("chat")
    assert (span.attributes or {})["error.type"] == "InternalServerError"
    assert span.status.status_code == StatusCode.ERROR
    assert not span.events, "an exception's text may quote the conversation"


def test_what_the_model_looks_up_again_is_a_tool_that_is_executed(watched: Watched) -> None:
    with fanfold.open("r", model="gpt-4o", window=100_000, tools=TOOLS) as chat:
        chat.say("Look.")
        calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
        chat.add({"role": "assistant", "tool_calls": calls})
        chat.answer("c1", look())
        text = chat.recall(fanfold.Call("c9", "tool_output_cache", '{"ref_id": "o1"}'))
    assert SECRET in text
    (span,) = watched.spans("execute_tool")
    told = dict(span.attributes or {})
    assert (told["gen_ai.tool.name"], told["gen_ai.tool.call.id"]) == ("tool_output_cache", "c9")
    assert SECRET not in watched.everything()


def test_a_tool_that_the_model_made_up_is_not_named(watched: Watched) -> None:
    with fanfold.open("run-42", window=9_000) as chat:
        chat.recall(fanfold.Call("c1", "SECRET", "{}"))
    span = watched.spans()[-1]
    assert (span.name, span.attributes["gen_ai.tool.name"]) == ("execute_tool unknown", "unknown")
    assert "SECRET" not in watched.everything()


def test_contents_are_told_only_if_somebody_asks_for_them() -> None:
    for contents in (False, True):
        watched = Watched(contents=contents)
        try:
            with Provider(steps(12), window=8_000) as provider:
                run(provider)
        finally:
            uninstrument()
        assert (SECRET in watched.everything()) is contents
        if contents:
            told = json.loads(str((watched.spans("chat")[0].attributes or {})["gen_ai.input.messages"]))
            assert told == [{"role": "user", "parts": [{"type": "text", "content": f"Find {SECRET}."}]}]


def test_calls_that_run_at_once_keep_their_own_spans(watched: Watched) -> None:
    async def one(provider: Provider, name: str) -> None:
        client = AsyncOpenAI(base_url=provider.openai_base_url, api_key="any")
        async with fanfold.aopen(name, model="gpt-4o", window=8_000, tools=TOOLS) as chat:
            await chat.say("Look.")
            await loop.arun(chat, lambda body: client.chat.completions.create(**body), {"look": look})

    async def both(provider: Provider) -> None:
        await asyncio.gather(one(provider, "a"), one(provider, "b"))

    def script(request: Any) -> Turn:
        count = json.dumps(request.body).count('"tool"')
        return Turn(calls=[("look", {"at": count})]) if count < 3 else Turn("Done.")

    with Provider(script) as provider:
        asyncio.run(both(provider))
    names = [(span.attributes or {})["gen_ai.conversation.id"] for span in watched.spans("chat")]
    assert sorted(names) == ["a"] * 4 + ["b"] * 4


def test_a_call_that_is_cancelled_ends(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    async def never(_: Any) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        async with fanfold.aopen("c", model="gpt-4o") as chat:
            await chat.say("Hello.")
            task = asyncio.create_task(loop.arun(chat, never, {}))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    (span,) = watched.spans("chat")
    assert (span.attributes or {})["error.type"] == "cancelled"
    assert "detach" not in caplog.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_through_the_gateway_is_a_call(watched: Watched, stream: bool) -> None:
    with Provider([Turn("Hello.")]) as provider, Gate(provider.url) as gate:
        client = OpenAI(base_url=gate.openai_base_url, api_key="any", max_retries=0)
        given: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": SECRET}]}
        told = {"tools": TOOLS, "stream_options": {"include_usage": True}} if stream else {"tools": TOOLS}
        answer = client.chat.completions.create(**given, **told, stream=stream)
        if stream:
            list(answer)
    (span,) = watched.spans("chat")
    told = dict(span.attributes or {})
    assert (span.name, span.kind) == ("chat gpt-4o", SpanKind.CLIENT)
    assert told["server.address"] == "127.0.0.1"
    assert told["gen_ai.usage.input_tokens"] == provider.requests[0].tokens
    assert told["gen_ai.response.model"] == "gpt-4o"
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert told["gen_ai.conversation.id"]
    assert SECRET not in watched.everything()


CALL = {
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.response.id",
    "gen_ai.response.finish_reasons",
    "gen_ai.conversation.id",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "fanfold.request.tokens",
}
"""What is told of a call that fits and goes well; behind the gateway its server, too."""


@pytest.mark.parametrize("stream", [None, False, True], ids=["loop", "gateway", "streamed"])
def test_a_call_has_every_attribute_and_nothing_else(watched: Watched, stream: bool | None) -> None:
    with Provider([Turn("Hello.")]) as provider:
        if stream is None:
            run(provider)
        else:
            with Gate(provider.url) as gate:
                client = OpenAI(base_url=gate.openai_base_url, api_key="any", max_retries=0)
                said: Any = [{"role": "user", "content": SECRET}]
                asked: Any = {"model": "gpt-4o", "messages": said, "tools": TOOLS, "stream": stream}
                told: Any = {"stream_options": {"include_usage": True}} if stream else {}
                answer = client.chat.completions.create(**asked, **told)
                if stream:
                    list(answer)
    (span,) = watched.spans("chat")
    assert set(span.attributes or {}) == (CALL if stream is None else CALL | {"server.address"})
    tokens = watched.points("gen_ai.client.token.usage")
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in tokens} == {
        "input": provider.requests[0].tokens,
        "output": (span.attributes or {})["gen_ai.usage.output_tokens"],
    }
    (duration,) = watched.points("gen_ai.client.operation.duration")
    assert set(duration.attributes) == {
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
    }


def test_a_question_that_is_no_session_of_the_gateway_s_has_no_conversation(watched: Watched) -> None:
    with Provider([Turn("Hello.")]) as provider, Gate(provider.url) as gate:
        client = OpenAI(base_url=gate.openai_base_url, api_key="any", max_retries=0)
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": SECRET}])
    (span,) = watched.spans("chat")
    assert "gen_ai.conversation.id" not in (span.attributes or {})
    assert (span.attributes or {})["gen_ai.request.model"] == "gpt-4o"


def test_a_session_without_a_loop_tells_its_bills(watched: Watched) -> None:
    with Provider([Turn("Hello.")]) as provider, fanfold.open("r", model="gpt-4o", tools=TOOLS) as chat:
        client = OpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
        chat.say(f"Find {SECRET}.")
        chat.receive(client.chat.completions.create(**chat.request()))
    assert watched.spans() == []
    tokens = watched.points("gen_ai.client.token.usage")
    assert sum(p.sum for p in tokens if p.attributes["gen_ai.token.type"] == "input") == (
        provider.requests[0].tokens
    )


def test_a_provider_that_fails_behind_the_gateway_is_told_by_its_status(watched: Watched) -> None:
    with Provider([Fail.server_error(503)]) as provider, Gate(provider.url) as gate:
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello."}], "tools": TOOLS}
        status, _, _ = gate.post("/v1/chat/completions", json.dumps(body).encode())
    assert status == 503
    (span,) = watched.spans("chat")
    assert (span.attributes or {})["error.type"] == "503"


def test_without_it_nothing_of_opentelemetry_is_imported() -> None:
    code = (
        "import sys, fanfold; chat = fanfold.open('x', window=1_000); chat.say('Hello.'); chat.request();"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_logger_tells_without_contents_what_went_wrong(caplog: pytest.LogCaptureFixture) -> None:
    def broken(view: object, budget: object) -> None:
        raise ValueError(SECRET)

    with (
        caplog.at_level(logging.WARNING, "fanfold"),
        fanfold.open("logged", window=1_000, strategy=broken) as chat,
    ):
        for number in range(6):
            chat.say(f"Point {number}: " + "we talk about it. " * 25)
            chat.add({"role": "assistant", "content": "Noted."})
        chat.say("And now?")
        chat.request(max_tokens=100)
    assert "logged" in caplog.text
    assert "ValueError" in caplog.text
    assert SECRET not in caplog.text
