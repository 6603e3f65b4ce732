"""The official SDKs as models to ask. Each is an extra: `fanfold[openai]`, `fanfold[anthropic]`, `fanfold[gemini]`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from fanfold.asking.aside import start_aside
from fanfold.asking.model import Completion
from fanfold.core.errors import BadSetting, MissingExtra
from fanfold.core.message import Message
from fanfold.dialects.dialect import bare_row
from fanfold.dialects.registry import dialect_for, dialect_named

_ANSWER = 8_192
"""The limit of an answer if nobody gave one and the provider demands it."""


class Sdk(ABC):
    """A model behind an official SDK; `client` and `later` are the SDK's two kinds of client."""

    dialect = ""
    package = ""
    extra = ""
    clients = ("", "")
    """What the SDK calls its clients: the one that is called, the one that is awaited."""

    def __init__(self, name: str, *, client: Any = None, later: Any = None, **options: Any) -> None:
        self.name = name
        self._given = (client, later)
        self._options = options
        self._kept: dict[str, Any] = {}
        """The clients that were made, shared with the models of other names."""

    @property
    def client(self) -> Any:
        """The client that is called; made from the options and the environment unless it was given."""
        return self._given[0] or self._client(self.clients[0])

    @property
    def later(self) -> Any:
        """The client that is awaited."""
        return self._given[1] or self._client(self.clients[1])

    def renamed(self, name: str) -> Self:
        """Another model of the same provider, through the same clients."""
        other = copy.copy(self)
        other.name = name
        return other

    def complete(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> Completion:
        """Ask, and wait."""
        return self._completion(self._send(self.client)(**self._request(messages, system, max_tokens)))

    async def acomplete(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> Completion:
        """Ask, and await; a client that is only called is called in a thread of its own."""
        called, awaited = self._given
        if called is not None and awaited is None and not (self._options or hasattr(called, "aio")):
            import asyncio  # late: most programs give both clients, or none

            asked = start_aside(lambda: self.complete(messages, system, max_tokens))
            return await asyncio.wrap_future(asked)
        return self._completion(await self._send(self.later)(**self._request(messages, system, max_tokens)))

    def _client(self, kind: str) -> Any:
        """A client, made once for the models of all names."""
        return self._kept[kind] if kind in self._kept else self._kept.setdefault(kind, self._make(kind))

    def _make(self, kind: str) -> Any:
        try:
            module = import_module(self.package)
        except ImportError as error:
            raise _missing_extra(type(self)) from error
        return getattr(module, kind)(**self._settings())

    def _settings(self) -> dict[str, Any]:
        """What a client is made with; `Careful` tries again, so the client does not."""
        return {"max_retries": 0, **self._options}

    @abstractmethod
    def _send(self, client: Any) -> Callable[..., Any]:
        """The function of a client that asks."""

    def _request(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> dict[str, Any]:
        dialect = dialect_named(self.dialect, self.name)
        rows = [bare_row(dialect, message, number, judged=False) for number, message in enumerate(messages)]
        params = {"model": self.name, **dialect.limit(max_tokens, _ANSWER)}
        return dialect.encode(dialect.frame((system,) if system else (), ()), rows, params)

    def _completion(self, response: Any) -> Completion:
        reply = dialect_named(self.dialect, self.name).reply(response)
        return Completion(reply.text, reply.usage, reply.stop)


class OpenAI(Sdk):
    """A model behind OpenAI's SDK (Chat Completions), or behind any server that speaks it: give `base_url`."""

    dialect, package, extra, clients = "openai.chat", "openai", "openai", ("OpenAI", "AsyncOpenAI")

    def _send(self, client: Any) -> Callable[..., Any]:
        return client.chat.completions.create  # type: ignore[no-any-return]


class Responses(OpenAI):
    """A model behind OpenAI's SDK that is asked through Responses; nothing is stored."""

    dialect = "openai.responses"

    def _send(self, client: Any) -> Callable[..., Any]:
        return lambda **request: client.responses.create(**request, store=False)


class Anthropic(Sdk):
    """A model behind Anthropic's SDK."""

    dialect, package, extra = "anthropic", "anthropic", "anthropic"
    clients = ("Anthropic", "AsyncAnthropic")

    def _send(self, client: Any) -> Callable[..., Any]:
        return client.messages.create  # type: ignore[no-any-return]


class Gemini(Sdk):
    """A model behind Google's SDK; one client serves both ways of asking."""

    dialect, package, extra, clients = "gemini", "google.genai", "gemini", ("Client", "Client")

    @property
    def later(self) -> Any:
        """The client that is awaited."""
        return self._given[1] or self.client.aio

    def _settings(self) -> dict[str, Any]:
        return self._options

    def _send(self, client: Any) -> Callable[..., Any]:
        return client.models.generate_content  # type: ignore[no-any-return]


SDKS: dict[str, type[Sdk]] = {
    "openai.chat": OpenAI,
    "openai.responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
}
"""The SDK that speaks each dialect."""


def model_named(name: str) -> Sdk:
    """A model by its name, through the SDK of its provider, with the key that the SDK finds in the environment."""
    sdk = SDKS[dialect_for(name)]
    try:
        found = find_spec(sdk.package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise _missing_extra(sdk)
    return sdk(name)


def model_behind(client: Any, name: str | None, dialect: str, *, awaited: bool) -> Sdk:
    """The session's own model, asked through a client of its SDK. A question may name another of that provider."""
    later = any(one.__name__.startswith("Async") for one in type(client).__mro__)
    if later and not awaited:
        raise BadSetting(
            f"{type(client).__name__} is awaited, and this session is not: open it with `fanfold.aopen`."
        )
    kind = "openai" if hasattr(client, "chat") else "anthropic" if hasattr(client, "messages") else "gemini"
    sdk = SDKS.get(dialect)
    if name is None or sdk is None or sdk.extra != kind:
        made = next(one for one in SDKS.values() if one.extra == kind).__name__
        raise BadSetting(
            f"A client of the SDK {kind} asks the session's own model, and that is {name or 'not known'}. Say which "
            f'model to ask: summarizer=fanfold.asking.{made}("…", client=client).',
            "summarizer",
        )
    # `Careful` tries again, so the client does not.
    once = client.with_options(max_retries=0) if hasattr(client, "with_options") else client
    return sdk(name, later=once) if later else sdk(name, client=once)


def _missing_extra(sdk: type[Sdk]) -> MissingExtra:
    return MissingExtra(f"{sdk.__name__} needs the package {sdk.package}: pip install 'fanfold[{sdk.extra}]'")
