"""What a model to ask is, and what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from fanfold.core.errors import AskFailed
from fanfold.core.message import Message
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import TokenUsage

CUT = frozenset(
    ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_context_window_exceeded", "incomplete", "cut")
)  # fmt: skip
"""What providers say when an answer ended before it was complete."""
REFUSED = frozenset(
    ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII", "OTHER")
)
"""What they say when the model refused to answer."""


class Completion(msgspec.Struct, frozen=True):
    """What a model wrote."""

    text: str
    usage: TokenUsage | None = None
    stop: str | None = None
    """Why it stopped, in the provider's word."""

    @property
    def fault(self) -> str | None:
        """Why the text cannot be used, or None."""
        if self.stop in CUT:
            return f"the answer was cut off ({self.stop})"
        if self.stop in REFUSED:
            return f"the model refused ({self.stop})"
        return None


Completed = Completion | tuple[str, TokenUsage | None] | str


@runtime_checkable
class AskableModel(Protocol):
    """A model to ask. An `acomplete` beside it is awaited by asynchronous sessions."""

    @property
    def name(self) -> str:
        """How it is called; limits and prices are looked up by it."""

    def complete(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> Completed:
        """Its answer: a `Completion`, a text with its usage, or a bare text."""


class OpenAIClient(Protocol):
    """A client of OpenAI's SDK."""

    @property
    def chat(self) -> Any:
        """Chat Completions."""


class AnthropicClient(Protocol):
    """A client of Anthropic's SDK."""

    @property
    def messages(self) -> Any:
        """Messages."""


class GeminiClient(Protocol):
    """A client of Google's SDK."""

    @property
    def models(self) -> Any:
        """Its models."""


Client = OpenAIClient | AnthropicClient | GeminiClient
Answers = Callable[[Ask], str | Answer | Awaitable[str | Answer]]
Summarizer = str | Client | AskableModel | Answers
"""What strategies may ask: a model by its name, a client of its SDK, a `Model`, or a function."""


def is_client(value: object) -> bool:
    """Whether this is a client of one of the official SDKs, or is used like one."""
    return not isinstance(value, type) and any(
        hasattr(value, name) for name in ("chat", "messages", "models")
    )


def model_to_ask(
    summarizer: Any, name: str | None, dialect: str, *, awaited: bool
) -> AskableModel | Answers | None:
    """What a session asks for summaries: a name or a client becomes a model; the session's own is called this."""
    if summarizer is None or callable(summarizer) or isinstance(summarizer, AskableModel):
        return summarizer  # type: ignore[no-any-return]
    from fanfold.asking.sdks import (  # late: most programs give a model or a function
        model_behind,
        model_named,
    )

    if isinstance(summarizer, str):
        return model_named(summarizer)
    return model_behind(summarizer, name, dialect, awaited=awaited)


def completion(value: object) -> Completion:
    """Whatever a model returned, as a completion."""
    match value:
        case Completion():
            return value
        case str(text):
            return Completion(text)
        case (str(text), TokenUsage() | None as usage):
            return Completion(text, usage)
    raise AskFailed(f"a model answers with a text and its usage, not with {type(value).__name__}")
