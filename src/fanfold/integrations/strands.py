"""A plug-in for Strands Agents (extra `fanfold[strands]`).

    agent = Agent(model, tools=tools, plugins=[FanfoldWindow(store="sqlite:agent.db")])

Before every request to the model the messages are made to fit. `agent.messages` stays whole.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Message
from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import dialect_for, dialect_named
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    FrameworkHook,
    Heard,
    Outgoing,
    bill_of,
    session_name,
)
from fanfold.integrations.requirement import require
from fanfold.stores.store import Store
from fanfold.text.json_text import to_json

require("strands-agents", "1.62", "strands")

from strands.agent.conversation_manager import (  # noqa: E402 the right version is there
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.middleware import InvokeModelStage  # noqa: E402
from strands.plugins import Plugin  # noqa: E402
from strands.types.events import ToolResultEvent  # noqa: E402
from strands.types.exceptions import ContextWindowOverflowException  # noqa: E402
from strands.types.tools import AgentTool  # noqa: E402

Block = dict[str, Any]
"""A block of a message's content, as Bedrock's Converse API and Strands have it."""
_RIVALS = (
    "A manager of Strands is active beside fanfold, and both shorten the history. Take conversation_manager and "
    "context_manager out of the Agent, or say context_manager=False: what Strands cuts away, the history lacks."
)
_KEPT_AWAY = (
    "This model keeps the conversation at its provider, and Strands sends only what is new. fanfold leaves these "
    "requests alone."
)


class FanfoldWindow(FrameworkHook, Plugin):  # type: ignore[misc, unused-ignore]
    """Keeps what an agent sends inside the model's window, and loses nothing.

    `session` names the conversation of an agent that has no session manager. `options` are those of `fanfold.open` and
    `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, … `recall=False` offers the model no tools to look things up
    again.
    """

    name = "fanfold"

    def __init__(
        self,
        session: str | None = None,
        *,
        store: Store | str | None = None,
        recall: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        errors = (ContextWindowOverflowException,)
        self._session = session
        self._adapter = Adapter(store, recall=recall, too_long=errors, **options)
        self._names = frozenset(tool.name for tool in self._adapter.recall_tools)

    def init_agent(self, agent: Any) -> None:
        """Stand between an agent and its model, and offer the recall tools."""
        if _is_default(agent.conversation_manager):
            agent.conversation_manager = Uncut()
        elif not isinstance(agent.conversation_manager, NullConversationManager) or agent.context_manager:
            self._adapter.warn(_RIVALS)
        agent.tool_registry.process_tools([LookUpTool(self, tool) for tool in self._adapter.recall_tools])
        agent.add_middleware(InvokeModelStage, self.wrap)

    async def wrap(self, context: Any, next_fn: Any) -> AsyncIterator[Any]:
        """Send a history that fits, with less of it where the model says "too long", and record the reply."""
        if context.model.stateful:
            self._adapter.warn(_KEPT_AWAY)
            async for event in next_fn(context):
                yield event
            return
        context = self._with_own_tools(context)
        adapted = await self._adapter.afit(self._outgoing(context))
        while True:
            try:
                async for event in next_fn(_replaced(context, adapted)):
                    if "stop" in event:
                        await self._record(adapted, event["stop"])
                    yield event
                return
            except Exception as error:
                smaller = await self._adapter.arefused(adapted, error)
                if smaller is None:
                    raise
                adapted = smaller

    def session_of(self, agent: Any) -> str:
        """The name of an agent's session: that of its session manager, and the agent's id."""
        return session_name(self._session or agent.session_id, agent.agent_id)

    async def look_up(self, agent: Any, tool: str, arguments: object) -> str:
        """What a recall tool answers."""
        return await self._adapter.arecall(self.session_of(agent), tool, arguments)

    async def _record(self, adapted: Adapted[Block], stop: Sequence[Any]) -> None:
        reason, message, bill = stop[:3]
        # Strands puts another message into the history where a reply was broken off.
        broken = reason == "cancelled" or (reason == "max_tokens" and _holds(message, "toolUse"))
        if message["content"] and not broken:
            heard = Heard(messages=[message], usage=_usage(bill), stop=reason)
            await self._adapter.areceive(adapted, heard)

    def _with_own_tools(self, context: Any) -> Any:
        """An agent without tools of its own is offered none."""
        if all(spec["name"] in self._names for spec in context.tool_specs):
            return context.replace(tool_specs=[])
        return context

    def _outgoing(self, context: Any) -> Outgoing[Block]:
        config = _config(context.model)
        name = config.get("model_id")
        claude = dialect_for(name or "") == "anthropic"
        return Outgoing(
            session=self.session_of(context.agent),
            messages=_without_tail(context),
            converter=CLAUDE if claude else OTHERS,
            system=_system(context.system_prompt),
            tools=list(map(_tool, context.tool_specs)),
            params=_thinking(config) if claude else {},
            max_tokens=config.get("max_tokens") or (config.get("params") or {}).get("max_tokens"),
            options={"model": name, "window": context.model.context_window_limit},
        )


class Uncut(SlidingWindowConversationManager):  # type: ignore[misc, unused-ignore]
    """Strands' default manager, which here cuts nothing.

    Its state is that of the default one, so a session that was kept without fanfold can be restored with it, and back.
    """

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """Leave the messages whole."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        """Raise what fanfold could do nothing about."""
        if e is not None:
            raise e

    def get_state(self) -> dict[str, Any]:
        """The state of the default one."""
        return {**super().get_state(), "__name__": SlidingWindowConversationManager.__name__}

    def restore_from_session(self, state: dict[str, Any]) -> list[Any] | None:
        """Go on from the state of the default one."""
        restored: list[Any] | None = super().restore_from_session({**state, "__name__": type(self).__name__})
        return restored


class LookUpTool(AgentTool):  # type: ignore[misc, unused-ignore]
    """A tool with which the model looks up what it no longer sees."""

    def __init__(self, plugin: FanfoldWindow, tool: Function) -> None:
        super().__init__()
        self._plugin, self._tool = plugin, tool

    @property
    def tool_name(self) -> str:
        """Its name."""
        return self._tool.name

    @property
    def tool_spec(self) -> Any:
        """What the model is told of it."""
        schema = {"json": self._tool.schema}
        return {
            "name": self._tool.name,
            "description": self._tool.description or "",
            "inputSchema": schema,
        }

    @property
    def tool_type(self) -> str:
        """What kind of tool it is."""
        return "fanfold"

    async def stream(
        self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncIterator[Any]:
        """What the model asked for, or a text that it can act on."""
        text = await self._plugin.look_up(invocation_state["agent"], self.tool_name, tool_use["input"])
        yield ToolResultEvent(
            {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": text}]}
        )


def _is_default(given: Any) -> bool:
    """Whether a manager is the one that an agent gets where nobody asked for one."""
    default = SlidingWindowConversationManager()
    return type(given) is type(default) and vars(given) == vars(default)


def _replaced(context: Any, adapted: Adapted[Block]) -> Any:
    """The request with what fits in it, and without thinking where it has to pause."""
    messages, tail = list(adapted.messages), _tail(context)
    if tail:
        messages[-1] = {**messages[-1], "content": [*messages[-1]["content"], *tail]}
    if adapted.pauses_thinking:
        context = context.replace(model=_without_thinking(context.model))
    return context.replace(messages=messages)


def _tail(context: Any) -> list[Block]:
    """What plug-ins put behind the last message, anew for each request: it is sent, but not recorded."""
    number = context.dynamic_trailing_blocks
    return list(context.messages[-1]["content"][-number:]) if number and context.messages else []


def _without_tail(context: Any) -> list[Block]:
    tail = len(_tail(context))
    if not tail:
        return list(context.messages)
    *before, last = context.messages
    return [*before, {**last, "content": last["content"][:-tail]}]


# The model


def _config(model: Any) -> Mapping[str, Any]:
    config = model.get_config()
    return config if isinstance(config, Mapping) else vars(config)


_SETTINGS = ("params", "additional_request_fields")
"""Where Anthropic's and Bedrock's models have the settings of thinking."""


def _thinking(config: Mapping[str, Any]) -> dict[str, Any]:
    """How a Claude thinks, for that decides what may be left out of a running loop."""
    found = [(config.get(place) or {}).get("thinking") for place in _SETTINGS]
    thinking = next((one for one in found if isinstance(one, Mapping)), None)
    return {"thinking": dict(thinking)} if thinking else {}


def _without_thinking(model: Any) -> Any:
    """A copy of a model, on the same client, that does not think."""
    made, config = copy(model), dict(_config(model))
    for place in _SETTINGS:
        if "thinking" in (config.get(place) or {}):
            config[place] = {key: value for key, value in config[place].items() if key != "thinking"}
    made.config = config
    return made


def _usage(bill: Mapping[str, int]) -> TokenUsage | None:
    """A bill. Anthropic and Bedrock count what was cached beside the input, others within it; the total tells."""
    if not bill.get("inputTokens"):
        return None
    given, output = bill["inputTokens"], bill.get("outputTokens", 0)
    read, written = bill.get("cacheReadInputTokens") or 0, bill.get("cacheWriteInputTokens") or 0
    if bill.get("totalTokens", 0) >= given + output + read + written:
        given += read + written
    return bill_of(given, output, read=read, written=written)


def _system(prompt: Any) -> Any:
    if prompt is None or isinstance(prompt, str):
        return prompt
    return [{"type": "text", "text": block["text"]} for block in prompt if "text" in block] or None


def _tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec["inputSchema"]
    return {
        "name": spec["name"],
        "description": spec.get("description") or "",
        "input_schema": schema.get("json", schema),
    }


# Messages


class Converse:
    """Messages of Strands, which are Bedrock's, in the form of Anthropic's Messages: block for block the same."""

    dialect = "anthropic"

    def __init__(self, *, claude: bool) -> None:
        self._claude = claude

    def body(self, message: Block) -> dict[str, Any]:
        """A message as one of Anthropic's; where the prompt cache is marked is not part of it."""
        return {"role": message["role"], "content": [told for _, told in self._told(message)]}

    def build(self, shown: Message, wire: Any, was: Block | None) -> Block:
        """A message for what is shown: blocks of which nothing changed are the framework's own."""
        wire = wire or dialect_named(self.dialect).wire(shown)[0]
        own = list(self._told(was)) if was is not None else []
        content = (
            [{"type": "text", "text": wire["content"]}]
            if isinstance(wire["content"], str)
            else wire["content"]
        )
        return {"role": wire["role"], "content": [_built(block, own) for block in content]}

    def _told(self, message: Block) -> Iterator[tuple[Block, Block]]:
        """Each block, as it is and as Anthropic has it."""
        for block in message["content"]:
            if "cachePoint" not in block:
                yield block, self._block(block)

    def _block(self, block: Block) -> Block:
        match block:
            case {"text": str(text)}:
                return {"type": "text", "text": text}
            case {"toolUse": use}:
                return {
                    "type": "tool_use",
                    "id": use["toolUseId"],
                    "name": use["name"],
                    "input": use["input"],
                }
            case {"toolResult": result}:
                content = list(map(self._block, result["content"]))
                told = {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": content}
                return told | ({"is_error": True} if result.get("status") == "error" else {})
            case {"json": value}:
                return {"type": "text", "text": to_json(value)}
            case {"reasoningContent": thought}:
                return self._thought(thought)
            case {"image": {"format": kind, "source": {"bytes": bytes(data)}}}:
                return {"type": "image", "source": _source(data, f"image/{kind}")}
            case {"document": {"format": "pdf", "source": {"bytes": bytes(data)}}}:
                return {"type": "document", "source": _source(data, "application/pdf")}
            case _:
                return {"type": "text", "text": _name_of(block)}

    def _thought(self, thought: Mapping[str, Any]) -> Block:
        """A thought; Anthropic's rules on thinking bind Claude only."""
        said = thought.get("reasoningText") or {}
        if not self._claude:
            return {"type": "reasoning", "text": said.get("text", "")}
        if "redactedContent" in thought:
            return {"type": "redacted_thinking", "data": b64encode(thought["redactedContent"]).decode()}
        return {"type": "thinking", "thinking": said.get("text", ""), "signature": said.get("signature", "")}


CLAUDE, OTHERS = Converse(claude=True), Converse(claude=False)


def _source(data: bytes, media: str) -> dict[str, str]:
    return {"type": "base64", "media_type": media, "data": b64encode(data).decode()}


def _name_of(block: Block) -> str:
    """The words of some content; of a file, a name that tells it from others."""
    kind, value = next(iter(block.items()))
    if kind == "citationsContent":
        return "".join(part.get("text", "") for part in value.get("content") or ())
    if kind == "document":
        source = value.get("source") or {}
        if isinstance(source.get("bytes"), bytes):
            return str(source["bytes"].decode("utf-8", "replace"))
    return f"[{kind} {digest(repr(value).encode('utf-8', 'surrogatepass'))}]"


def _built(block: Block, own: Sequence[tuple[Block, Block]]) -> Block:
    """A block for what is shown."""
    for is_own, told in own:
        if told == block:
            return is_own
    match block:
        case {"type": "tool_use", "id": id}:
            use: Block = next((one["toolUse"] for one, told in own if told.get("id") == id), {})
            return {"toolUse": {**use, "toolUseId": id, "name": block["name"], "input": block["input"]}}
        case {"type": "tool_result", "tool_use_id": id}:
            status = "error" if block.get("is_error") else "success"
            return {"toolResult": {"toolUseId": id, "status": status, "content": _result(block, own)}}
        case _:
            return {"text": str(block.get("text", ""))}


def _result(block: Block, own: Sequence[tuple[Block, Block]]) -> list[Block]:
    """What is shown of a result; its pictures are the framework's own."""
    content = block.get("content") or ""
    if isinstance(content, str):
        return [{"text": content}]
    found = next((one for one in own if one[1].get("tool_use_id") == block["tool_use_id"]), None)
    pairs = list(zip(found[0]["toolResult"]["content"], found[1]["content"], strict=True)) if found else []
    return [_built(one, pairs) for one in content]


def _holds(message: Block, kind: str) -> bool:
    return any(kind in block for block in message["content"])
