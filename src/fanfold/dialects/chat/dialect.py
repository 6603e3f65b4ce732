"""The dialect itself; reading, writing and streams are beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Text, Wire
from fanfold.core.record import Frame
from fanfold.core.view import Row, Violation
from fanfold.dialects import tool_rules
from fanfold.dialects.carrying import foreign_thinking, plain_thoughts
from fanfold.dialects.chat import repair as repairing
from fanfold.dialects.chat import rules
from fanfold.dialects.chat.read import ROLES, located, role_of
from fanfold.dialects.chat.reasoning import allowed
from fanfold.dialects.chat.stream import Chunks
from fanfold.dialects.chat.write import joined, patched, with_context, written
from fanfold.dialects.dialect import Allowed, Assembly, Marks, Memory, Patch, Reply, Split, plain
from fanfold.dialects.framing import messages_of, offered, read_frame, received
from fanfold.dialects.names import CHAT, FIELDS
from fanfold.dialects.rules import broken, faults
from fanfold.tokens.models import Model
from fanfold.tokens.usage import billed_usage


class OpenAIChat:
    """The dialect for `openai.chat`."""

    name = CHAT
    field = FIELDS[name]

    def __init__(self, model: Model | None = None) -> None:
        self._model = model

    def split(self, request: Any) -> Split:
        """Take a request (or a bare list of messages) apart; leading system messages are the frame's."""
        body = request if isinstance(request, Mapping) else {"messages": request}
        messages, tools = messages_of(body), body.get("tools")
        framed = ("messages", "tools") if isinstance(tools, list | tuple) and tools else ("messages",)
        params = {key: value for key, value in body.items() if key not in framed}
        first = next((i for i, body in enumerate(messages) if role_of(body) != "system"), len(messages))
        rest = messages[first:] if first else messages
        return Split(tuple(messages[:first]), rest, tuple(tools or ()) if "tools" in framed else (), params)

    def whole(self, request: Any, memory: Callable[[], Memory]) -> Any:
        """Nothing is ever left to the server's memory."""
        return request

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt (texts or messages) and tools as a frame."""
        return read_frame(self.name, system, tools, self._system, "`type` and `function`")

    def _system(self, body: Any, where: str) -> Message:
        return Message("system", (Text(body),)) if isinstance(body, str) else self.message(body, where)

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one wire message."""
        body = plain(body, where)
        if not isinstance(body, dict):
            raise BadMessage(
                f"{where} is {type(body).__name__}, not a message: give a dict with role and content."
            )
        role = ROLES.get(str(body.get("role")))
        if role is None:
            known = ", ".join(ROLES)
            raise BadMessage(f"{where} has the role {body.get('role')!r}; known roles are {known}.")
        parts = tuple(part for _, part in located(body, role, where))
        return Message(role, parts, Wire(self.name, body))

    def wire(self, message: Message, was: Message | None = None) -> tuple[Any, ...]:
        """One message in wire form."""
        wants = self._has("wants_reasoning")
        return received(self.name, message, was, patched) or tuple(written(message, reasoning=wants))

    def lost(self, message: Message) -> tuple[str, ...]:
        """Thinking that did not come over this wire has no place in it, unless its maker takes plain words."""
        if self._has("wants_reasoning") and plain_thoughts(message):
            return ()
        return foreign_thinking(message, self.name)

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """OpenAI's reasoning models take the limit of the reply by another name."""
        name = "max_completion_tokens" if self._has("max_completion_tokens") else "max_tokens"
        return {} if tokens is None else {name: tokens}

    def _has(self, quirk: str) -> bool:
        return self._model is not None and quirk in self._model.quirks

    def allow(self, rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
        """Nothing depends on the parameters, but for models that want their reasoning back while they think."""
        return allowed(rows, params) if self._has("wants_reasoning") else Allowed(rows, params)

    def encode(
        self,
        frame: Frame,
        rows: Sequence[Row],
        params: Mapping[str, Any],
        *,
        context: str | None = None,
        marks: Marks | None = None,
    ) -> dict[str, Any]:
        """The keyword arguments for `client.chat.completions.create`."""
        messages = [body for message in frame.system for body in self.wire(message)]
        messages += joined(rows)
        if context:
            messages = [*messages[:-1], *with_context(messages[-1:], context)]
        request: dict[str, Any] = {**params, "messages": messages, **offered(frame, self.name)}
        if marks and self._model is not None and self._model.provider == "openai":
            request.setdefault("prompt_cache_key", marks.key)
        return request

    def reply(self, response: Any) -> Reply:
        """Read a whole response: a `chat.completion`, as a dict or an SDK object."""
        body = plain(response, "response")
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise BadMessage("The response has no `choices`: give what chat.completions.create returned.")
        message = self.message(choices[0].get("message"), "response.choices[0].message")
        usage = body.get("usage")
        return Reply((message,), billed_usage(usage), choices[0].get("finish_reason"))

    def assembly(self) -> Assembly:
        """A place to collect a stream of chunks."""
        return Chunks(self.message)

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that a message breaks by itself."""
        return faults(message, rules.MESSAGE) + rules.body_faults(self.wire(message))

    def check(self, rows: Sequence[Row], params: Mapping[str, Any], settled: int = 0) -> list[Violation]:
        """The rules of Chat Completions that these rows break."""
        new = rules.unsettled(rows, settled)
        if new and not broken(new, params, rules.ORDER):
            return []
        return broken(rows, params, rules.ORDER)

    def check_frame(self, frame: Frame, params: Mapping[str, Any]) -> list[Violation]:
        """OpenAI's rules that these tools break; others who speak this dialect may take more."""
        if self._model is None or self._model.provider != "openai":
            return []
        return tool_rules.broken(frame, self.name, params, tool_rules.CHAT)

    def repair(self, rows: Sequence[Row], params: Mapping[str, Any]) -> list[Patch]:
        """The smallest repairs that make these rows legal."""
        return repairing.repair(rows, self.faults)
