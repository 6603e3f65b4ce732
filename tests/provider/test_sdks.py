"""The official SDKs run a tool loop against the provider: streaming and not, sync and async.

There is nothing to verify on loopback, and reading the machine's certificates takes longer than most requests.
"""

import asyncio
import json
from functools import cached_property

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from fanfold.testing.provider import Fail, Provider, Turn
from fanfold.testing.provider.tokens import quarter

STEPS = 5
THOUGHT = "First I look around, then I decide."
FUNCTION = {"name": "grep", "description": "Search.", "parameters": {"type": "object", "properties": {}}}
QUESTION = "Where is the bug? " * 300


def script(request):
    """Parallel calls for some steps, then a text; every turn with thinking."""
    if request.number >= STEPS:
        return Turn("Found it.", thinking=THOUGHT)
    calls = [("grep", {"pattern": f"x{request.number}"}), ("grep", {"pattern": "ünï"})]
    return Turn("Let me look." if request.number % 2 else "", calls=calls, thinking=THOUGHT)


class Chat:
    """A loop with Chat Completions."""

    output = "a.py:1"

    def __init__(self, provider):
        self.told = {"base_url": provider.openai_base_url, "api_key": "any", "max_retries": 0}
        self.history = [{"role": "user", "content": QUESTION}]

    @cached_property
    def client(self):
        return openai.OpenAI(**self.told, http_client=openai.DefaultHttpxClient(verify=False))

    @cached_property
    def async_client(self):
        return openai.AsyncOpenAI(**self.told, http_client=openai.DefaultAsyncHttpxClient(verify=False))

    @property
    def request(self):
        tools = [{"type": "function", "function": FUNCTION}]
        return {"model": "gpt-5.2", "messages": self.history, "tools": tools, "max_completion_tokens": 900}

    def ask(self, stream):
        if not stream:
            return self.client.chat.completions.create(**self.request)
        with self.client.chat.completions.stream(
            **self.request, stream_options={"include_usage": True}
        ) as events:
            return events.get_final_completion()

    async def aask(self, stream):
        if not stream:
            return await self.async_client.chat.completions.create(**self.request)
        options = {"stream_options": {"include_usage": True}}
        async with self.async_client.chat.completions.stream(**self.request, **options) as events:
            return await events.get_final_completion()

    def take(self, reply):
        message = reply.choices[0].message
        self.history.append(message.to_dict())
        calls = message.tool_calls or []
        for call in calls:
            assert json.loads(call.function.arguments)["pattern"]
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": self.output})
        return None if calls else message.content

    def cached(self, reply):
        return reply.usage.prompt_tokens_details.cached_tokens

    async def close(self):
        await self.async_client.close()


class Responses(Chat):
    """A loop with Responses, nothing stored, reasoning encrypted."""

    @property
    def request(self):
        asked = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}
        return {
            "model": "gpt-5.2",
            "input": self.history,
            "tools": [{"type": "function", **FUNCTION}],
            **asked,
        }

    def ask(self, stream):
        if not stream:
            return self.client.responses.create(**self.request)
        with self.client.responses.stream(**self.request) as events:
            return events.get_final_response()

    async def aask(self, stream):
        if not stream:
            return await self.async_client.responses.create(**self.request)
        async with self.async_client.responses.stream(**self.request) as events:
            return await events.get_final_response()

    def take(self, reply):
        assert reply.output[0].type == "reasoning"
        assert reply.output[0].summary[0].text == THOUGHT
        self.history += [item.to_dict() for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        for call in calls:
            assert json.loads(call.arguments)["pattern"]
            self.history.append(
                {"type": "function_call_output", "call_id": call.call_id, "output": self.output}
            )
        return None if calls else reply.output_text

    def cached(self, reply):
        return reply.usage.input_tokens_details.cached_tokens


class Unconverted(Responses):
    """The same, the input handed over as it is: in long loops the SDK takes longer to convert it than all the rest."""

    @property
    def request(self):
        return {**super().request, "input": [], "extra_body": {"input": self.history}}


class Anthropic:
    """A loop with Messages, thinking on, the prompt marked at its end."""

    output = "a.py:1"

    def __init__(self, provider):
        self.told = {"base_url": provider.anthropic_base_url, "api_key": "any", "max_retries": 0}
        self.history = [{"role": "user", "content": QUESTION}]

    @cached_property
    def client(self):
        return anthropic.Anthropic(**self.told, http_client=anthropic.DefaultHttpxClient(verify=False))

    @cached_property
    def async_client(self):
        client = anthropic.DefaultAsyncHttpxClient(verify=False)
        return anthropic.AsyncAnthropic(**self.told, http_client=client)

    @property
    def request(self):
        tool = {"name": "grep", "input_schema": FUNCTION["parameters"]}
        more = {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "cache_control": {"type": "ephemeral"},
        }
        told = {"model": "claude-scripted-4-5", "max_tokens": 2000, "messages": self.history}
        return {**told, "tools": [tool], **more}

    def ask(self, stream):
        if not stream:
            return self.client.messages.create(**self.request)
        with self.client.messages.stream(**self.request) as events:
            return events.get_final_message()

    async def aask(self, stream):
        if not stream:
            return await self.async_client.messages.create(**self.request)
        async with self.async_client.messages.stream(**self.request) as events:
            return await events.get_final_message()

    def take(self, reply):
        assert (reply.content[0].type, reply.content[0].thinking) == ("thinking", THOUGHT)
        self.history.append({"role": "assistant", "content": reply.content})
        calls = [part for part in reply.content if part.type == "tool_use"]
        assert all(call.input["pattern"] for call in calls)
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": self.output} for call in calls]
        self.history += [{"role": "user", "content": results}] if results else []
        return None if calls else reply.content[-1].text

    def cached(self, reply):
        return reply.usage.cache_read_input_tokens

    async def close(self):
        await self.async_client.close()


class Gemini:
    """A loop with generateContent, thoughts shown and signed."""

    output = "a.py:1"

    def __init__(self, provider):
        plain = {"verify": False}
        told = {"base_url": provider.gemini_base_url, "client_args": plain, "async_client_args": plain}
        self.client = genai.Client(api_key="any", http_options=told)
        self.history = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]

    @property
    def request(self):
        declared = types.FunctionDeclaration(name="grep", parameters_json_schema=FUNCTION["parameters"])
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[declared])],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            thinking_config=types.ThinkingConfig(include_thoughts=True),
        )
        return {"model": "gemini-3-pro-preview", "contents": self.history, "config": config}

    def ask(self, stream):
        if not stream:
            return self.client.models.generate_content(**self.request)
        return _joined(list(self.client.models.generate_content_stream(**self.request)))

    async def aask(self, stream):
        if not stream:
            return await self.client.aio.models.generate_content(**self.request)
        return _joined(
            [each async for each in await self.client.aio.models.generate_content_stream(**self.request)]
        )

    def take(self, reply):
        parts = reply.candidates[0].content.parts
        thoughts = "".join(part.text for part in parts if part.thought)
        assert set(thoughts.split(THOUGHT)) == {""}
        self.history.append(reply.candidates[0].content)
        calls = [part.function_call for part in parts if part.function_call]
        assert all(call.args["pattern"] for call in calls)
        results = [
            types.Part.from_function_response(name=call.name, response={"output": self.output})
            for call in calls
        ]
        self.history += [types.Content(role="user", parts=results)] if results else []
        return None if calls else "".join(part.text for part in parts if part.text and not part.thought)

    def cached(self, reply):
        return reply.usage_metadata.cached_content_token_count or 0

    async def close(self):
        await self.client.aio.aclose()


def _joined(chunks):
    """One reply of all the chunks' parts."""
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    chunks[-1].candidates[0].content.parts = parts
    return chunks[-1]


LOOPS = [Chat, Responses, Anthropic, Gemini]
LONG_LOOPS = [Chat, Unconverted, Anthropic, Gemini]
each_long_loop = pytest.mark.parametrize("loop", LONG_LOOPS, ids=lambda loop: loop.__name__)
each_loop = pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def verdicts(provider):
    return [(each.verdict, each.reason) for each in provider.requests]


@each_loop
@both_ways
def test_a_tool_loop_runs_through(loop, stream):
    with Provider(script, window=20_000) as provider:
        talk, shares = loop(provider), []
        for _ in range(STEPS + 1):
            reply = talk.ask(stream)
            shares.append(talk.cached(reply))
            text = talk.take(reply)
    assert text == "Found it."
    assert verdicts(provider) == [("accepted", "")] * (STEPS + 1)
    assert all(each.stream is stream for each in provider.requests)
    assert shares[0] == 0
    assert 1024 <= shares[1] <= shares[-1]


@pytest.mark.slow  # the provider cannot tell; sessions that await are tried in tests/wire
@each_loop
@both_ways
def test_a_tool_loop_runs_through_asynchronously(loop, stream):
    async def run(provider):
        talk = loop(provider)
        for _ in range(STEPS + 1):
            text = talk.take(await talk.aask(stream))
        await talk.close()
        return text

    with Provider(script, window=20_000) as provider:
        assert asyncio.run(run(provider)) == "Found it."
    assert verdicts(provider) == [("accepted", "")] * (STEPS + 1)


FAULTS = [
    (Fail.rate_limit(), openai.RateLimitError, anthropic.RateLimitError, 429),
    (Fail.server_error(), openai.InternalServerError, anthropic.InternalServerError, 500),
    (Fail.overloaded(), openai.InternalServerError, anthropic.InternalServerError, 503),
]


@pytest.mark.parametrize(("fault", "openais", "anthropics", "status"), FAULTS)
def test_failures_are_the_sdks_own_exceptions(fault, openais, anthropics, status):
    with Provider([fault] * 4) as provider:
        for loop, error in [(Chat, openais), (Responses, openais), (Anthropic, anthropics)]:
            with pytest.raises(error):
                loop(provider).ask(stream=False)
        with pytest.raises(genai.errors.APIError) as raised:
            Gemini(provider).ask(stream=False)
    assert raised.value.code == status


@each_loop
@both_ways
def test_a_broken_rule_is_a_bad_request(loop, stream):
    with Provider(script) as provider:
        talk = loop(provider)
        talk.take(talk.ask(stream))
        del talk.history[1 if loop is not Responses else 2]
        with pytest.raises(
            (openai.BadRequestError, anthropic.BadRequestError, genai.errors.ClientError)
        ) as raised:
            talk.ask(stream)
    assert provider.rejected[0].rule
    assert provider.rejected[0].reason.strip() in str(raised.value).replace("\\n", "\n")


@each_loop
def test_a_prompt_that_is_too_long_is_a_bad_request(loop):
    refused = (openai.BadRequestError, anthropic.BadRequestError, genai.errors.ClientError)
    with Provider(script, window=1_000) as provider, pytest.raises(refused):
        loop(provider).ask(stream=False)
    assert provider.requests[0].tokens > 1_000


@each_loop
def test_a_cut_stream_does_not_pass_for_a_whole_one(loop):
    broken = pytest.raises(Exception, match=r"Connection error|peer closed|incomplete|not completed")
    with Provider([Fail.cut(Turn("a long enough text"), after=2)]) as provider, broken:
        loop(provider).ask(stream=True)
    assert provider.requests[0].reason == "cut"


def test_an_sdk_tries_again_after_a_rate_limit():
    with Provider([Fail.rate_limit(0), Turn("well")]) as provider:
        client = openai.OpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=1)
        reply = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])
    assert reply.choices[0].message.content == "well"
    assert [each.status for each in provider.requests] == [429, 200]


def test_changed_thinking_is_refused():
    with Provider(script) as provider:
        talk = Anthropic(provider)
        talk.take(talk.ask(stream=False))
        talk.history[1]["content"][0].thinking = "Something else."
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
            talk.ask(stream=False)


def test_hidden_thinking_comes_redacted_and_goes_back():
    with Provider([Turn("a", hidden="secret", thinking="open"), Turn("b")]) as provider:
        talk = Anthropic(provider)
        reply = talk.ask(stream=True)
        assert [part.type for part in reply.content] == ["thinking", "redacted_thinking", "text"]
        talk.history += [
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": "go on"},
        ]
        assert talk.ask(stream=False).content[0].text == "b"


def test_tokens_are_counted_for_every_sdk():
    with Provider(count=quarter) as provider:
        talk = Anthropic(provider)
        counted = talk.client.messages.count_tokens(model="claude-scripted-4-5", messages=talk.history)
        gemini = Gemini(provider)
        tokens = gemini.client.models.count_tokens(model="gemini-3-pro-preview", contents=QUESTION)
        responses = Responses(provider).client.responses.input_tokens.count(model="gpt-5.2", input=QUESTION)
    assert counted.input_tokens == tokens.total_tokens == responses.input_tokens == len(QUESTION) // 4 + 4


@pytest.mark.parametrize("stop", ["length", "refusal"])
@both_ways
def test_a_reply_says_why_it_stopped(stop, stream):
    with Provider(Turn("half a", stop=stop)) as provider:
        chat, responses = Chat(provider).ask(stream=False), Responses(provider).ask(stream=False)
        messages, gemini = Anthropic(provider).ask(stream), Gemini(provider).ask(stream)
    long = stop == "length"
    assert chat.choices[0].finish_reason == ("length" if long else "content_filter")
    assert responses.incomplete_details.reason == ("max_output_tokens" if long else "content_filter")
    assert messages.stop_reason == ("max_tokens" if long else "refusal")
    assert gemini.candidates[0].finish_reason.name == ("MAX_TOKENS" if long else "SAFETY")
