"""LangChain: `trim_messages`, and the agent middlewares that clear tool results and that summarize."""

# /// script
# dependencies = ["langchain==1.4.7"]
# ///

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import tokens
from bench.peers.shell import Limits, Wire, serve, stub


def exact(messages: Sequence[BaseMessage]) -> int:
    """Tokens of LangChain's messages."""
    return tokens(given(message) for message in messages)


def taken(body: Wire) -> BaseMessage:
    """A message of the Chat dialect as LangChain's own."""
    content = body.get("content") or ""
    match body["role"]:
        case "assistant":
            return AIMessage(content, tool_calls=[call._asdict() for call in calls(body)])  # type: ignore[misc]
        case "tool":
            return ToolMessage(content, tool_call_id=body["tool_call_id"])
        case "system":
            return SystemMessage(content)
        case _:
            return HumanMessage(content)


def given(message: BaseMessage) -> Wire:
    """The way back."""
    text = str(message.text)
    match message:
        case AIMessage(tool_calls=made):
            return spoken("assistant", text, [Asked(c["id"] or "", c["name"], c["args"]) for c in made])
        case ToolMessage(tool_call_id=call):
            return answered(call, text)
        case SystemMessage():
            return spoken("system", text)
        case _:
            return spoken("user", text)


class Whole:
    """The whole history is looked at anew before each call of the model."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.messages: list[BaseMessage] = []

    def take(self, body: Wire) -> BaseMessage:
        """LangChain's form."""
        return taken(body)

    def give(self, message: BaseMessage) -> Iterable[Wire]:
        """The Chat dialect's."""
        return [given(message)]


class Trim(Whole):
    """`trim_messages(strategy="last")`: it has no target below its limit, so the limit is the trigger."""

    def show(self, fresh: list[BaseMessage]) -> Iterable[BaseMessage]:
        """The newest messages that fit."""
        self.messages += fresh
        return trim_messages(
            self.messages,
            strategy="last",
            token_counter=exact,
            max_tokens=self.limits.trigger,
            include_system=True,
            start_on=("human", "ai"),
        )


class Clear(Whole):
    """`ClearToolUsesEdit`, which keeps the last three results."""

    def show(self, fresh: list[BaseMessage]) -> Iterable[BaseMessage]:
        """A copy with older results cleared, as the middleware makes it before each call."""
        self.messages += fresh
        edited: list[Any] = deepcopy(self.messages)
        ClearToolUsesEdit(trigger=self.limits.trigger).apply(edited, count_tokens=exact)
        return edited


class Summarize(Whole):
    """`SummarizationMiddleware`, whose state is replaced by the summary and the newest messages."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.middleware = SummarizationMiddleware(
            FakeListChatModel(responses=[""]),
            trigger=("tokens", limits.trigger),
            keep=("tokens", limits.target),
            token_counter=exact,
            summarizer=lambda messages: stub.ask(exact(messages)),
        )

    def show(self, fresh: list[BaseMessage]) -> Iterable[BaseMessage]:
        """The state after the middleware; the system prompt stands beside it."""
        self.messages += fresh
        system = [message for message in self.messages if isinstance(message, SystemMessage)]
        talk = [message for message in self.messages if not isinstance(message, SystemMessage)]
        changed = self.middleware.before_model({"messages": talk}, None)  # type: ignore[arg-type]
        if changed is not None:
            talk = [message for message in changed["messages"] if not isinstance(message, RemoveMessage)]
        self.messages = [*system, *talk]
        return self.messages


POLICIES = {"trim_messages": Trim, "ClearToolUsesEdit": Clear, "SummarizationMiddleware": Summarize}

if __name__ == "__main__":
    serve(POLICIES)
