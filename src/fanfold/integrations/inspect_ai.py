"""A compaction strategy for Inspect AI (extra `fanfold[inspect-ai]`).

    fold = FanfoldCompaction(store="sqlite:agent.db")
    react(tools=[bash(), *fold.tools()], compaction=fold)

Inspect asks it where a request grows over a threshold, and goes on from what it returned. The messages of the agent
stay whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import uuid4

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Part, Text, Thinking, text_of
from fanfold.dialects.registry import dialect_for
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapter,
    FrameworkHook,
    Newest,
    Outgoing,
    as_function,
    reply_schema,
    session_name,
    split_leading,
)
from fanfold.integrations.requirement import require
from fanfold.integrations.telling import (
    as_object,
    forms,
    medium,
    show_contents,
    shows_thoughts,
    tell_arguments,
    tell_reply,
    tell_result,
    unknown_content,
)
from fanfold.stores.store import Store
from fanfold.text.json_text import to_json

require("inspect-ai", "0.3.285", "inspect-ai")

# `sample_active` and `get_model_input_tokens` are private, and Inspect has no public name for either (0.3.285).
from inspect_ai.log._samples import sample_active  # noqa: E402 the right version is there
from inspect_ai.model import (  # noqa: E402
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    CompactionStrategy,
    ContentText,
    Model,
)
from inspect_ai.model._model_info import get_model_input_tokens  # noqa: E402
from inspect_ai.tool import Tool, ToolCall, ToolDef, ToolInfo, ToolParams  # noqa: E402

_KEPT = 500
"""For this many conversations, what they were before they were shortened is remembered."""
_KEPT_STATES = 20
"""This many states of each are remembered, because agents can go back to an earlier one."""
_NOTHING = "Nothing of this conversation was trimmed yet: all of it is in your messages."
_PARAMETERS = {
    "ref_id": "The reference, such as o1.",
    "offset": "The number to begin at.",
    "limit": "How many lines.",
    "pattern": "An RE2 pattern.",
}
"""What the parameters of the recall tools are; Inspect wants a description of each."""
_THINKS = {"thinking": {"type": "adaptive"}}


class _Compacted(NamedTuple):
    """What was returned in the place of a whole conversation."""

    ids: frozenset[str]
    whole: list[ChatMessage]


@dataclass
class _Conversation:
    """What an agent said and heard, as it was before it was shortened."""

    returned: list[_Compacted] = field(default_factory=list)
    """The newest first."""

    def whole(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The conversation that messages stand for: the newest of what was returned that is all among them, and what
        came after it. An agent that went back to an earlier state, or that was forked there, has no newer one."""
        given = {id for message in messages for id in _ids(message)}
        for ids, whole in self.returned:
            if ids <= given:
                said = ids.union(id for message in whole for id in _ids(message))
                return [*whole, *(message for message in messages if not said.issuperset(_ids(message)))]
        return list(messages)

    def know(self, sent: Sequence[ChatMessage], whole: list[ChatMessage]) -> None:
        """Remember what was returned, and what for."""
        ids = frozenset(id for message in sent for id in _ids(message))
        self.returned[:] = [_Compacted(ids, whole), *self.returned][:_KEPT_STATES]


class FanfoldCompaction(FrameworkHook, CompactionStrategy):  # type: ignore[misc, unused-ignore]
    """Keeps what an agent sends inside the model's window, and loses nothing.

    `threshold` is where Inspect asks for it: tokens, or a share of the window. `options` are those of `fanfold.open`
    and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, …
    """

    def __init__(
        self,
        threshold: int | float | None = None,
        *,
        store: Store | str | None = None,
        **options: Any,
    ) -> None:
        window = options.get("window")
        if threshold is None:
            threshold = int(window * 0.85) if isinstance(window, int) else 0.85
        super().__init__(type="edit", threshold=threshold, memory=False)
        self._adapter = Adapter(store, **options)
        self._conversations = Newest[str, _Conversation](_KEPT)
        self._current: ContextVar[str | None] = ContextVar("fanfold_session", default=None)
        """The session of the agent that is running; a tool that it calls sees the same."""

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        """What is to be sent instead. It is smaller than what was given, and no message is added to the history."""
        name = self.session_of(messages)
        self._current.set(name)
        talk = self._conversation(name)
        whole = talk.whole(messages)
        leading, outgoing = _outgoing(name, model, whole, tools)
        adapted = await self._adapter.afit(outgoing)
        if _size([*leading, *adapted.messages]) >= _size(messages):
            # Inspect counts more than fanfold does, or the provider refused: what it has is too long.
            smaller = await self._adapter.arefused(adapted, ValueError("prompt is too long"))
            adapted = smaller if smaller is not None else adapted
        sent = [*leading, *adapted.messages]
        talk.know(sent, whole)
        return sent, None

    def tools(self) -> list[Tool]:
        """The recall tools, with which the model looks up what it no longer sees: give them to the agent."""
        return [self._tool(tool) for tool in self._adapter.recall_tools]

    def session_of(self, messages: Sequence[ChatMessage]) -> str:
        """The name of a session: task, sample, epoch, and the agent's conversation in it."""
        active = sample_active()
        first = digest(str(messages[0].id if messages else "").encode())
        if active is None:
            return session_name("inspect", first)
        return session_name(active.task, active.sample.id, active.epoch, first)

    def _conversation(self, name: str) -> _Conversation:
        self._conversations.keep(name, self._conversations.get(name) or _Conversation())
        return self._conversations[name]

    def _tool(self, tool: Function) -> Tool:
        async def look_up(**kwargs: Any) -> str:
            name = self._current.get()
            return _NOTHING if name is None else await self._adapter.arecall(name, tool.name, kwargs)

        params = ToolParams.model_validate(tool.schema)
        for key, parameter in params.properties.items():
            parameter.description = _PARAMETERS.get(key, key)
        made = ToolDef(look_up, name=tool.name, description=tool.description or "", parameters=params)
        return made.as_tool()


def _ids(message: ChatMessage) -> list[str]:
    """The id of a message, or those of the messages that Inspect joined to it."""
    joined = (message.metadata or {}).get("combined_from")
    return [str(id) for id in joined] if joined else [str(message.id)]


def _size(messages: Sequence[ChatMessage]) -> int:
    """How long messages are together, about."""
    return sum(len(to_json(CHAT.body(message))) for message in messages)


def _outgoing(
    name: str, model: Model, whole: Sequence[ChatMessage], tools: Sequence[ToolInfo]
) -> tuple[list[ChatMessage], Outgoing[ChatMessage]]:
    """The messages of the system that stand before the conversation, and the request."""
    leading, messages = split_leading(whole, lambda message: message.role == "system")
    claude = dialect_for(model.name) == "anthropic"
    return leading, Outgoing(
        session=name,
        messages=messages,
        converter=CLAUDE if claude else CHAT,
        system="\n\n".join(message.text for message in leading),
        tools=[
            as_function(Function(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True)))
            for tool in tools
        ],
        params=_schema(model) | (_THINKS if claude and any(map(_thinks, messages)) else {}),
        max_tokens=model.config.max_tokens,
        options={"model": model.name, "window": get_model_input_tokens(model)},
    )


def _schema(model: Model) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    wanted = model.config.response_schema
    if wanted is None:
        return {}
    return reply_schema(wanted.json_schema.model_dump(exclude_none=True))


# Messages


def tell(message: ChatMessage) -> Message:
    """What a message says."""
    parts = tuple(part for part, _ in _contents(message))
    if isinstance(message, ChatMessageTool):
        error = message.error
        said = (Text(error.message),) if error is not None else parts
        failed = error is not None
        return tell_result(message.tool_call_id or "", said, failed=failed, name=message.function)
    if not isinstance(message, ChatMessageAssistant):
        return Message("user", parts)
    calls = message.tool_calls or ()
    return tell_reply(parts, [Call(one.id, one.function, tell_arguments(one.arguments)) for one in calls])


def build(shown: Message, was: ChatMessage | None) -> ChatMessage:
    """A message for what is shown: a copy of the framework's own with another id, or a new one."""
    if shown.role == "assistant":
        return _reply(shown, was if isinstance(was, ChatMessageAssistant) else None)
    if not shown.results:
        return _change(was, content=_show(shown.parts, was)) if was else ChatMessageUser(content=shown.text)
    result = shown.results[0]
    if not isinstance(was, ChatMessageTool):
        return ChatMessageTool(content=result.text, tool_call_id=result.call, function=result.name)
    error = replace(was.error, message=result.text) if was.error is not None else None
    return _change(was, content=_show(result.parts, was), error=error)


CHAT, CLAUDE = forms(tell, build)


def _contents(message: ChatMessage) -> list[tuple[Part, Any]]:
    """The contents of a message, with what each says."""
    if isinstance(message.content, str):
        return [(Text(message.content), ContentText(text=message.content))] if message.content else []
    return [(_part(one), one) for one in message.content]


def _thinks(message: ChatMessage) -> bool:
    return shows_thoughts(part for part, _ in _contents(message))


def _part(one: Any) -> Part:
    match one.type:
        case "text":
            return Text(str(one.text))
        case "reasoning":
            sealed = one.reasoning if one.redacted else one.signature
            return Thinking("" if one.redacted else one.reasoning, sealed or None)
        case "tool_use":  # what tools of the provider did and found
            return Text(f"[{one.name} {one.arguments}: {one.result}]")
        case "image":
            return medium("image/*", url=one.image)
        case "audio" | "video":
            return medium(f"{one.type}/{one.format}", url=getattr(one, one.type))
        case "document":
            return medium(one.mime_type or None, url=one.document, name=one.filename or None)
    return unknown_content(one.model_dump(mode="json"))


def _show(parts: Sequence[Part], was: ChatMessage) -> Any:
    """What is shown of a message's content: a text, or contents where there is more than words in it."""
    items = show_contents(parts, _contents(was))
    shown = [ContentText(text=text_of(one)) if isinstance(one, Part) else one for one in items]
    return "\n".join(one.text for one in shown) if all(one.type == "text" for one in shown) else shown


def _change(was: ChatMessage, **changes: Any) -> ChatMessage:
    return was.model_copy(update={"id": uuid4().hex, **changes})


def _reply(shown: Message, was: ChatMessageAssistant | None) -> ChatMessage:
    """A reply with other words or arguments; thoughts that are not shown any more are left out."""
    given = {call.id: as_object(call.raw) for call in shown.calls}
    if was is None:
        made = [ToolCall(id=one.id, function=one.name, arguments=given[one.id]) for one in shown.calls]
        return ChatMessageAssistant(content=shown.text, tool_calls=made or None)
    kept = [replace(one, arguments=given.get(one.id, one.arguments)) for one in was.tool_calls or ()]
    return _change(was, content=_show(shown.parts, was), tool_calls=kept or None)
