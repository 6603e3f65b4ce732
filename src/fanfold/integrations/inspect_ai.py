"""A compaction strategy for Inspect AI (extra `fanfold[inspect-ai]`).

    fold = FanfoldCompaction(store="sqlite:agent.db")
    react(tools=[bash(), *fold.tools()], compaction=fold)

Inspect asks it where a request grows over a threshold, and goes on from what it returned. The messages of the agent
stay whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import uuid4

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Result, Thinking
from fanfold.dialects.registry import dialect_for
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import Adapter, Outgoing, session_name
from fanfold.integrations.requirement import require
from fanfold.session.pool import Lease
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
    ContentImage,
    ContentReasoning,
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


class FanfoldCompaction(CompactionStrategy):  # type: ignore[misc, unused-ignore]
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
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._current: ContextVar[str | None] = ContextVar("fanfold_session", default=None)
        """The session of the agent that is running; a tool that it calls sees the same."""

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        """What is to be sent instead: it is smaller than what was given, and no message is added to the history."""
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

    def session(self, name: str) -> Lease:
        """A session by its name, to look, pin or undo in it by `with` or `async with`."""
        return self._adapter.session(name)

    def session_of(self, messages: Sequence[ChatMessage]) -> str:
        """The name of a session: task, sample, epoch, and the agent's conversation in it."""
        active = sample_active()
        first = digest(str(messages[0].id if messages else "").encode())
        if active is None:
            return session_name("inspect", first)
        return session_name(active.task, active.sample.id, active.epoch, first)

    def close(self) -> None:
        """End all sessions; they go on under their names where the store keeps them."""
        self._adapter.close()

    def _conversation(self, name: str) -> _Conversation:
        talk = self._conversations.setdefault(name, _Conversation())
        self._conversations.move_to_end(name)
        while len(self._conversations) > _KEPT:
            self._conversations.popitem(last=False)
        return talk

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
    until = next((at for at, one in enumerate(whole) if one.role != "system"), len(whole))
    leading, messages = list(whole[:until]), whole[until:]
    claude = dialect_for(model.name) == "anthropic"
    return leading, Outgoing(
        session=name,
        messages=messages,
        converter=CLAUDE if claude else CHAT,
        system="\n\n".join(message.text for message in leading),
        tools=[_function(tool) for tool in tools],
        params=_schema(model) | (_THINKS if claude and any(map(_thoughts, messages)) else {}),
        max_tokens=model.config.max_tokens,
        options={"model": model.name, "window": _window(model)},
    )


def _window(model: Model) -> int | None:
    """The window that Inspect knows of a model, for those that fanfold does not know."""
    from fanfold.tokens.models import kin

    return None if kin(model.name) is not None else get_model_input_tokens(model)


def _schema(model: Model) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    wanted = model.config.response_schema
    if wanted is None:
        return {}
    schema = {"name": "reply", "schema": wanted.json_schema.model_dump(exclude_none=True)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _function(tool: ToolInfo) -> dict[str, Any]:
    schema = tool.parameters.model_dump(exclude_none=True)
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


# Messages


class ChatForm:
    """Messages of Inspect in the form of Chat Completions."""

    dialect = "openai.chat"

    def body(self, message: ChatMessage) -> dict[str, Any]:
        """A message as one of Chat Completions."""
        if isinstance(message, ChatMessageTool):
            return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": _output(message)}
        if not isinstance(message, ChatMessageAssistant):
            return {"role": "user", "content": _content(message, _chat_block)}
        thought = "\n".join(one.reasoning for one in _thoughts(message))
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": to_json(given)}}
            for id, name, given in _calls(message)
        ]
        return {
            "role": "assistant",
            "content": _words(message) or None,
            **({"reasoning_content": thought} if thought else {}),
            **({"tool_calls": calls} if calls else {}),
        }

    def build(self, shown: Message, wire: Any, was: ChatMessage | None) -> ChatMessage:
        """A message for what is shown."""
        return _build(shown, was)


class ClaudeForm:
    """Messages of Inspect in the form of Anthropic's Messages, which has rules about thinking."""

    dialect = "anthropic"
    one_result = True

    def body(self, message: ChatMessage) -> dict[str, Any]:
        """A message as one of Anthropic's."""
        if isinstance(message, ChatMessageTool):
            block = {
                "type": "tool_result",
                "tool_use_id": message.tool_call_id or "",
                "content": _output(message),
            }
            return {
                "role": "user",
                "content": [block | ({"is_error": True} if message.error is not None else {})],
            }
        if not isinstance(message, ChatMessageAssistant):
            return {"role": "user", "content": _content(message, _claude_block)}
        words = [{"type": "text", "text": text}] if (text := _words(message)) else []
        calls = [
            {"type": "tool_use", "id": id, "name": name, "input": given}
            for id, name, given in _calls(message)
        ]
        return {"role": "assistant", "content": [*map(_claude_thought, _thoughts(message)), *words, *calls]}

    def build(self, shown: Message, wire: Any, was: ChatMessage | None) -> ChatMessage:
        """A message for what is shown."""
        return _build(shown, was)


CHAT, CLAUDE = ChatForm(), ClaudeForm()


def _contents(message: ChatMessage) -> list[Any]:
    return [ContentText(text=message.content)] if isinstance(message.content, str) else list(message.content)


def _thoughts(message: ChatMessage) -> list[ContentReasoning]:
    return [one for one in _contents(message) if isinstance(one, ContentReasoning)]


def _words(message: ChatMessage) -> str:
    """What is said in a message; what tools of the provider did and found counts, too."""
    said = [one for one in _contents(message) if not isinstance(one, ContentReasoning)]
    return "\n".join(filter(None, map(_block_text, said)))


def _block_text(one: Any) -> str:
    if isinstance(one, ContentText):
        return str(one.text)
    if one.type == "tool_use":
        return f"[{one.name} {one.arguments}: {one.result}]"
    return f"[{one.type} {digest(to_json(one.model_dump(mode='json')).encode('utf-8', 'surrogatepass'))}]"


def _calls(message: ChatMessageAssistant) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of each call."""
    return [(call.id, call.function, call.arguments) for call in message.tool_calls or ()]


def _output(message: ChatMessageTool) -> str:
    """What a tool answered; of a failure, what went wrong."""
    return message.error.message if message.error is not None else _words(message)


def _content(message: ChatMessage, block: Callable[[Any], Mapping[str, Any]]) -> Any:
    return message.content if isinstance(message.content, str) else [block(one) for one in message.content]


def _chat_block(one: Any) -> dict[str, Any]:
    if isinstance(one, ContentImage):
        return {"type": "image_url", "image_url": {"url": one.image}}
    return {"type": "text", "text": _block_text(one)}


def _claude_block(one: Any) -> dict[str, Any]:
    if not isinstance(one, ContentImage):
        return {"type": "text", "text": _block_text(one)}
    if not one.image.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": one.image}}
    media, _, data = one.image.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def _claude_thought(one: ContentReasoning) -> dict[str, Any]:
    if one.redacted:
        return {"type": "redacted_thinking", "data": one.reasoning}
    return {"type": "thinking", "thinking": one.reasoning, "signature": one.signature or ""}


def _build(shown: Message, was: ChatMessage | None) -> ChatMessage:
    """A message for what is shown: a copy of the framework's own with another id, or a new one."""
    result = next((part for part in shown.parts if isinstance(part, Result)), None)
    if shown.role == "assistant":
        return _reply(shown, was if isinstance(was, ChatMessageAssistant) else None)
    if result is None:
        return _prompt(shown.text, was)
    if not isinstance(was, ChatMessageTool):
        return ChatMessageTool(content=result.text, tool_call_id=result.call, function=result.name)
    error = replace(was.error, message=result.text) if was.error is not None else None
    return _changed(was, content=result.text, error=error)


def _changed(was: ChatMessage, **changes: Any) -> ChatMessage:
    return was.model_copy(update={"id": uuid4().hex, **changes})


def _prompt(text: str, was: ChatMessage | None) -> ChatMessage:
    """What a person says, in other words; pictures stay beside them."""
    if was is None:
        return ChatMessageUser(content=text)
    rest = [one for one in _contents(was) if not isinstance(one, ContentText)]
    return _changed(was, content=[ContentText(text=text), *rest] if rest else text)


def _reply(shown: Message, was: ChatMessageAssistant | None) -> ChatMessage:
    """A reply with other words or arguments; thoughts that are not shown any more are left out."""
    calls = [part for part in shown.parts if isinstance(part, Call)]
    if was is None:
        made = [ToolCall(id=one.id, function=one.name, arguments=one.args) for one in calls]
        return ChatMessageAssistant(content=shown.text, tool_calls=made or None)
    given = {call.id: call.args for call in calls}
    kept = [replace(one, arguments=given.get(one.id, one.arguments)) for one in was.tool_calls or ()]
    content = list(_shown_contents(shown, was))
    return _changed(was, content=content, tool_calls=kept or None)


def _shown_contents(shown: Message, was: ChatMessageAssistant) -> Iterator[Any]:
    thinks = any(isinstance(part, Thinking) and part != Thinking() for part in shown.parts)
    own = _contents(was)
    yield from (one for one in own if isinstance(one, ContentReasoning) and thinks)
    if shown.text == _words(was):
        yield from (one for one in own if not isinstance(one, ContentReasoning))
    else:
        yield ContentText(text=shown.text)
