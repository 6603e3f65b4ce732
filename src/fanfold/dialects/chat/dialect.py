"""The dialect `openai.chat`; how it reads, writes and judges stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Text, Wire
from fanfold.core.record import Frame
from fanfold.core.view import Violation
from fanfold.dialects import dialect
from fanfold.dialects.chat import rules
from fanfold.dialects.chat.facts import FACTS
from fanfold.dialects.chat.read import ROLES, locate_parts
from fanfold.dialects.chat.stream import ChatChunks
from fanfold.dialects.chat.write import join, patch, plain_thoughts, with_context, write
from fanfold.dialects.dialect import Allowed, Assembly, Context, Marks, Reply, SplitRequest
from fanfold.dialects.openai import OpenAIDialect
from fanfold.dialects.registry import CHAT
from fanfold.dialects.rules import Params, Patch, Rows
from fanfold.dialects.tools import chosen_from, few, well_named
from fanfold.tokens.models import Model
from fanfold.tokens.usage import billed_usage


class OpenAIChat(OpenAIDialect):
    """The dialect for `openai.chat`."""

    name = CHAT
    field = FACTS.field
    tool_like = "`type` and `function`"
    tool_rules = (well_named, few, chosen_from)
    patch = staticmethod(patch)
    check = staticmethod(rules.check)

    def __init__(self, model: Model | None = None) -> None:
        super().__init__(model)
        quirks = model.quirks if model is not None else ()
        self._wants_reasoning = "wants_reasoning" in quirks
        self._limit = "max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"

    def split(self, request: Any) -> SplitRequest:
        """Take a request (or a bare list of messages) apart; leading system messages are the frame's."""
        body = request if isinstance(request, Mapping) else {"messages": request}
        messages, tools = dialect.messages_of(body), body.get("tools")
        framed = ("messages", "tools") if isinstance(tools, list | tuple) and tools else ("messages",)
        params = {key: value for key, value in body.items() if key not in framed}
        first = next((i for i, body in enumerate(messages) if not _is_system(body)), len(messages))
        rest = messages[first:] if first else messages
        return SplitRequest(
            tuple(messages[:first]), rest, tuple(tools or ()) if "tools" in framed else (), params
        )

    def read_system(self, body: Any, where: str) -> Message:
        """A text, or a message of the system."""
        return Message("system", (Text(body),)) if isinstance(body, str) else self.message(body, where)

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one wire message."""
        body, role = dialect.read_role(body, ROLES, where)
        parts = tuple([part for _, part in locate_parts(body, role, where)])
        return Message(role, parts, Wire(self.name, body))

    def write(self, message: Message) -> Iterable[Any]:
        """A message that did not come over this wire; reasoning goes along if the model wants it back."""
        return write(message, reasoning=self._wants_reasoning)

    def lost(self, message: Message) -> tuple[str, ...]:
        """Thinking that did not come over this wire has no place in it, unless its maker takes plain words."""
        return () if self._wants_reasoning and plain_thoughts(message) else super().lost(message)

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """OpenAI's reasoning models take the limit of the reply by another name."""
        return {} if tokens is None else {self._limit: tokens}

    def allow(self, rows: Rows, params: Params) -> Allowed:
        """Nothing depends on the parameters, but for models that want their reasoning back while they think."""
        return rules.with_reasoning(rows, params) if self._wants_reasoning else Allowed(rows, params)

    def encode(
        self, frame: Frame, rows: Rows, params: Params, *, context: Context = None, marks: Marks | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for `client.chat.completions.create`."""
        messages = [body for message in frame.system for body in self.wire(message)]
        messages += join(rows)
        if context:
            messages = [*messages[:-1], *with_context(messages[-1:], context)]
        return {**params, "messages": messages, **self.tools(frame), **self.cache_key(marks, params)}

    def reply(self, response: Any) -> Reply:
        """Read a whole response: a `chat.completion`, as a dict or an SDK object."""
        body = dialect.plain(response, "response")
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise BadMessage("The response has no `choices`: give what chat.completions.create returned.")
        message = self.message(choices[0].get("message"), "response.choices[0].message")
        return Reply((message,), billed_usage(body.get("usage")), choices[0].get("finish_reason"))

    def assembly(self) -> Assembly:
        """A place to collect a stream of chunks."""
        return ChatChunks(self.message)

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that a message, and what is sent of it, break by themselves."""
        return rules.faults_of(message, self.wire(message))

    def repair(self, rows: Rows, params: Params) -> list[Patch]:
        """The smallest repairs that make these rows legal."""
        return rules.repair(rows, self.faults)


def _is_system(body: Any) -> bool:
    return isinstance(body, dict) and ROLES.get(str(body.get("role"))) == "system"


DIALECT = OpenAIChat
