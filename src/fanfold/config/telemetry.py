"""Telemetry: spans and figures for those who watch fanfold from outside.

Nobody watches by default, and then nothing is made. `watch` sets who does; `fanfold.integrations.otel` is one.

    with model_call():                          # a span `chat gpt-5`; retries are inside of it
        request = chat.request()                # tells the span what is asked, and a reduction is a span below it
        chat.receive(send(request))             # tells the span what was answered and billed

A session finds the call that it belongs to in the context, across threads and tasks. So whoever sends needs one line.
Contents of conversations are told only to a watcher that asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Protocol

from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Result, Text, Thinking
from fanfold.core.plan import Outcome, Trigger
from fanfold.core.record import TokenUsage
from fanfold.core.view import View
from fanfold.dialects.dialect import Reply
from fanfold.text.json_text import to_json

Attributes = Mapping[str, str | int | float | bool | Sequence[str]]
OPERATION, PROVIDER, MODEL = "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"
CONVERSATION, ERROR = "gen_ai.conversation.id", "error.type"
_PROVIDERS = {"gemini": "gcp.gemini"}
"""What the conventions call a provider, where they do not call it what its dialect begins with."""

_MODELS = ("model", "modelVersion", "model_version")
_IDS = ("id", "responseId", "response_id")


class WatchedSpan(Protocol):
    """Something that takes time."""

    def rename(self, name: str) -> None:
        """Call it something else, because more is known of it."""

    def set(self, attributes: Attributes) -> None:
        """Say more about it."""

    def end(self) -> None:
        """It is over."""


class Watcher(Protocol):
    """Who is told."""

    @property
    def contents(self) -> bool:
        """Whether it is told what is said, too."""

    def start(self, name: str, attributes: Attributes, *, client: bool = False) -> WatchedSpan:
        """A span begins, inside the current one; `client` where it waits for somebody else's server."""

    def inside(self, span: WatchedSpan) -> AbstractContextManager[object]:
        """Make a span the current one."""

    def measure(self, name: str, amount: float, attributes: Attributes) -> None:
        """Take in a figure of `FIGURES`."""


FIGURES = {
    "gen_ai.client.operation.duration": ("s", "How long calls to models took, with everything tried again."),
    "gen_ai.client.token.usage": ("{token}", "Tokens of each request and of its reply, as billed."),
    "fanfold.reduction.saved": ("{token}", "Tokens by which each reduction made the request smaller."),
}
"""The unit of each figure, and what it says; each is a histogram, so that it also counts how often it happened."""

_watcher: Watcher | None = None
_CALL: ContextVar[WatchedCall | None] = ContextVar("fanfold_model_call", default=None)


def watch(watcher: Watcher | None) -> None:
    """Set who is told what all sessions and gateways of this process do; None for nobody."""
    global _watcher
    _watcher = watcher


def is_watched() -> bool:
    """Whether anybody is told."""
    return _watcher is not None


def provider_of(dialect: str) -> str:
    """The provider as the conventions call it."""
    name = dialect.partition(".")[0]
    return _PROVIDERS.get(name, name)


# Calls to models


class WatchedCall:
    """A call to a model on its way: all that is tried again is one call."""

    def __init__(self, watcher: Watcher, span: WatchedSpan) -> None:
        self._watcher, self._span, self._began = watcher, span, perf_counter()
        self._usage, self._is_answered = TokenUsage(), False
        self._known: dict[str, Any] = {OPERATION: "chat"}
        """What the figures are told by."""

    def ask(self, dialect: str, model: str | None, **more: Any) -> None:
        """What is asked, and of whom."""
        self._known |= {PROVIDER: provider_of(dialect), **({MODEL: model} if model else {})}
        self.set({**self._known, **more})
        self._span.rename(f"chat {model}" if model else "chat")

    def send(self, view: View, session: str, tokens: int) -> None:
        """What a session sends."""
        edited = any(row.kind in ("fold", "drop") or row.was is not None for row in view.rows)
        self.set({CONVERSATION: session, "fanfold.request.tokens": tokens})
        if edited:
            self.set({"gen_ai.conversation.compacted": True})
        if self._watcher.contents:
            self.set({"gen_ai.input.messages": to_json([_told(message) for message in view.messages])})

    def hear(self, reply: Reply) -> None:
        """What was answered; where the model looked something up in between, the bills are added up."""
        if reply.usage is not None:
            self._usage += reply.usage
            self.set(_usage_attributes(self._usage))
        if reply.stop is not None:
            self._is_answered = reply.stop != "cut"
            self.set({"gen_ai.response.finish_reasons": [reply.stop]})
        if self._watcher.contents:
            self.set({"gen_ai.output.messages": to_json([_told(message) for message in reply.messages])})

    def hear_origin(self, response: object) -> None:
        """Which model answered, and how the provider calls the reply; a response says it, or an event of a stream."""
        for holder in (response, _field(response, "message"), _field(response, "response")):
            model, id = (_first(holder, names) for names in (_MODELS, _IDS))
            if model:
                self.set({"gen_ai.response.model": model, **({"gen_ai.response.id": id} if id else {})})
                return

    def fail(self, kind: str) -> None:
        """What went wrong, by its kind: an error's text may quote the conversation. What is said first, holds."""
        if ERROR not in self._known:
            self._known[ERROR] = kind
            self.set({ERROR: kind})

    def leave(self, error: BaseException) -> None:
        """It ends with an error. Clients hang up as soon as they have the whole reply, and then nothing went wrong."""
        if not self._is_answered:
            left = isinstance(error, GeneratorExit) or type(error).__name__ == "CancelledError"
            self.fail("cancelled" if left else type(error).__qualname__)

    def set(self, attributes: Attributes) -> None:
        """Say more about it."""
        self._span.set(attributes)

    def end(self) -> None:
        """It is over."""
        seconds = perf_counter() - self._began
        self._watcher.measure("gen_ai.client.operation.duration", seconds, self._known)
        self._span.end()


@contextmanager
def model_call() -> Iterator[WatchedCall | None]:
    """What happens inside is one call to a model; None where nobody watches."""
    watcher = _watcher
    if watcher is None:
        yield None
        return
    span = watcher.start("chat", {OPERATION: "chat"}, client=True)
    call = WatchedCall(watcher, span)
    token = _CALL.set(call)
    try:
        with watcher.inside(span):
            yield call
    except BaseException as error:
        call.leave(error)
        raise
    finally:
        _CALL.reset(token)
        call.end()


def current_call() -> WatchedCall | None:
    """The call to a model that the present work belongs to, if somebody watches it."""
    return None if _watcher is None else _CALL.get()


# What sessions do


def tell_bill(usage: TokenUsage, dialect: str, model: str | None) -> None:
    """A request was billed."""
    if _watcher is None:
        return
    known = {OPERATION: "chat", PROVIDER: provider_of(dialect), **({MODEL: model} if model else {})}
    for kind, tokens in (("input", usage.prompt), ("output", usage.output)):
        _watcher.measure("gen_ai.client.token.usage", tokens, {**known, "gen_ai.token.type": kind})


class ReductionSpan:
    """A reduction, from its beginning to its end; nothing where nobody watches."""

    def __init__(self, session: str, trigger: Trigger, before: int, *, dry_run: bool = False) -> None:
        self._watcher = None if dry_run else _watcher
        known: Attributes = {
            CONVERSATION: session,
            "fanfold.trigger": trigger,
            "fanfold.tokens.before": before,
        }
        self._span = self._watcher.start("fanfold.reduce", known) if self._watcher else None

    def end(self, outcome: Outcome | None) -> None:
        """How it ended; None where it was broken off."""
        if self._span is None or self._watcher is None:
            return
        self._span.set(
            {"fanfold.status": "failed", ERROR: "broken off"} if outcome is None else _ended(outcome)
        )
        if outcome is not None:
            by = {"fanfold.status": outcome.status, "fanfold.strategy": outcome.strategy or "none"}
            self._watcher.measure("fanfold.reduction.saved", outcome.saved, by)
        self._span.end()


def _ended(outcome: Outcome) -> Attributes:
    return {
        "fanfold.status": outcome.status,
        "fanfold.tokens.before": outcome.before,
        "fanfold.tokens.after": outcome.after,
        "fanfold.edits": len(outcome.decisions),
        "fanfold.cost": outcome.cost,
        **({"fanfold.strategy": outcome.strategy} if outcome.strategy else {}),
        **({ERROR: outcome.status} if outcome.status in ("failed", "does-not-fit") else {}),
    }


@contextmanager
def recall_span(session: str, call: Call) -> Iterator[list[str]]:
    """The model looks something up; what it is answered is put into the list."""
    watcher, answer = _watcher, list[str]()
    if watcher is None:
        yield answer
        return
    # A name that a model made up is content, and there is no end of such names.
    name = call.name if call.name in RECALL else "unknown"
    known = {OPERATION: "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    named = {CONVERSATION: session, "gen_ai.tool.call.id": call.id}
    span = watcher.start(f"execute_tool {name}", {**known, **named})
    try:
        yield answer
        if watcher.contents:
            span.set({"gen_ai.tool.call.arguments": call.raw, "gen_ai.tool.call.result": "".join(answer)})
    except BaseException as error:
        span.set({ERROR: type(error).__qualname__})
        raise
    finally:
        span.end()


# In the words of the conventions


def _usage_attributes(usage: TokenUsage) -> Attributes:
    """The bill; what the conventions call input tokens includes those of the cache."""
    return {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }


def _first(value: object, names: Sequence[str]) -> str | None:
    found = (_field(value, name) for name in names)
    return next((text for text in found if isinstance(text, str) and text), None)


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _told(message: Message) -> dict[str, Any]:
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: object) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Call():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.raw}
        case Result():
            return {"type": "tool_call_response", "id": part.call, "response": part.text}
        case Thinking():
            return {"type": "reasoning", "content": part.text}
        case _:
            return {"type": type(part).__name__.lower()}
