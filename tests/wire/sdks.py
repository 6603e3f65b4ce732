"""The official SDKs, each asked through a session: whole or streamed, by calling or by awaiting.

There is nothing to verify on loopback, and reading the machine's certificates would take longer than a test.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import anthropic
import openai
from google import genai

from fanfold import AsyncSession, Session
from fanfold.dialects.dialect import Reply
from fanfold.testing.provider import Provider

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAMES = ("grep", "read")
ABOUT = "Looks at files of the project and gives back what it found, line by line."


class Chat:
    """OpenAI's Chat Completions."""

    model = "gpt-5.2"
    dialect = "openai.chat"
    api = "chat"
    reply = 300
    tools = tuple(
        {"type": "function", "function": {"name": name, "description": ABOUT, "parameters": SCHEMA}}
        for name in NAMES
    )
    params: Mapping[str, Any] = {}

    def __init__(self, provider: Provider) -> None:
        self.told: dict[str, Any] = {"base_url": provider.openai_base_url, "api_key": "any", "max_retries": 0}

    @cached_property
    def client(self) -> Any:
        return openai.OpenAI(**self.told, http_client=openai.DefaultHttpxClient(verify=False))

    @cached_property
    def later(self) -> Any:
        return openai.AsyncOpenAI(**self.told, http_client=openai.DefaultAsyncHttpxClient(verify=False))

    def call(self, client: Any, request: dict[str, Any], stream: bool) -> Any:
        """The reply or its stream; from the asynchronous client, something to await."""
        more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        return client.chat.completions.create(**request, **more)

    async def close(self) -> None:
        """Let go of what was opened to await."""
        await self.later.close()


class Responses(Chat):
    """OpenAI's Responses, nothing stored, reasoning encrypted."""

    dialect = "openai.responses"
    api = "responses"
    tools = tuple(
        {"type": "function", "name": name, "description": ABOUT, "parameters": SCHEMA} for name in NAMES
    )
    params: Mapping[str, Any] = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    }

    def call(self, client: Any, request: dict[str, Any], stream: bool) -> Any:
        return client.responses.create(**request, stream=stream)


class Unconverted(Responses):
    """The same, input and tools handed over as they are: the SDK takes longer to convert it than all the rest does."""

    def call(self, client: Any, request: dict[str, Any], stream: bool) -> Any:
        long = {name: request[name] for name in ("input", "tools") if name in request}
        rest = {name: value for name, value in request.items() if name not in long}
        return client.responses.create(**rest, stream=stream, extra_body=long)


class Anthropic:
    """Anthropic's Messages, thinking with a budget."""

    model = "claude-opus-4-5"
    dialect = "anthropic"
    api = "anthropic"
    reply = 1_100
    tools = tuple({"name": name, "description": ABOUT, "input_schema": SCHEMA} for name in NAMES)
    params: Mapping[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}

    def __init__(self, provider: Provider) -> None:
        self.told: dict[str, Any] = {
            "base_url": provider.anthropic_base_url,
            "api_key": "any",
            "max_retries": 0,
        }

    @cached_property
    def client(self) -> Any:
        return anthropic.Anthropic(**self.told, http_client=anthropic.DefaultHttpxClient(verify=False))

    @cached_property
    def later(self) -> Any:
        client = anthropic.DefaultAsyncHttpxClient(verify=False)
        return anthropic.AsyncAnthropic(**self.told, http_client=client)

    def call(self, client: Any, request: dict[str, Any], stream: bool) -> Any:
        return client.messages.create(**request, stream=stream)

    async def close(self) -> None:
        await self.later.close()


class Gemini:
    """Gemini's generateContent, thoughts shown and signed."""

    model = "gemini-3-pro-preview"
    dialect = "gemini"
    api = "gemini"
    reply = 300
    tools = (
        {
            "function_declarations": [
                {"name": name, "description": ABOUT, "parameters_json_schema": SCHEMA} for name in NAMES
            ]
        },
    )
    params: Mapping[str, Any] = {
        "config": {
            "automatic_function_calling": {"disable": True},
            "thinking_config": {"include_thoughts": True},
        }
    }

    def __init__(self, provider: Provider) -> None:
        plain = {"verify": False}
        options = {"base_url": provider.gemini_base_url, "client_args": plain, "async_client_args": plain}
        self.client: Any = genai.Client(api_key="any", http_options=options)
        self.later: Any = self.client.aio

    def call(self, client: Any, request: dict[str, Any], stream: bool) -> Any:
        models = client.models
        return models.generate_content_stream(**request) if stream else models.generate_content(**request)

    async def close(self) -> None:
        await self.later.aclose()


Sdk = Chat | Responses | Anthropic | Gemini
SDKS: tuple[type[Sdk], ...] = (Chat, Responses, Anthropic, Gemini)
QUICK: tuple[type[Sdk], ...] = (Chat, Unconverted, Anthropic, Gemini)


@dataclass(frozen=True)
class Way:
    """How the provider is asked."""

    stream: bool
    awaited: bool

    def __str__(self) -> str:
        return f"{'streamed' if self.stream else 'whole'}-{'async' if self.awaited else 'sync'}"


WAYS = tuple(Way(stream, awaited) for awaited in (False, True) for stream in (False, True))


def ask(sdk: Sdk, chat: Session, stream: bool = False, **more: Any) -> Reply:
    """One request of the session, and its reply recorded."""
    request = chat.request(max_tokens=sdk.reply, **sdk.params, **more)
    got = sdk.call(sdk.client, request, stream)
    if not stream:
        return chat.receive(got)
    with chat.listen(got) as events:
        for _ in events:
            pass
    assert events.reply is not None
    return events.reply


async def aask(sdk: Sdk, chat: AsyncSession, stream: bool = False, **more: Any) -> Reply:
    """The same, awaited."""
    request = await chat.request(max_tokens=sdk.reply, **sdk.params, **more)
    got = await sdk.call(sdk.later, request, stream)
    if not stream:
        return await chat.receive(got)
    async with chat.listen(got) as events:
        async for _ in events:
            pass
    assert events.reply is not None
    return events.reply
