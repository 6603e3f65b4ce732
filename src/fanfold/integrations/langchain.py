"""A middleware for LangChain's agents, and with it for LangGraph and deepagents (extra `fanfold[langchain]`).

    agent = create_agent("openai:gpt-5", tools, middleware=[FanfoldMiddleware(store="sqlite:agent.db")])
    agent.invoke({"messages": [("user", "…")]}, {"configurable": {"thread_id": "run-42"}})

Before every request to the model the history is made to fit. The agent's state and its checkpoints stay whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Document, Message, Part, Text, Thinking, text_of
from fanfold.core.record import TokenUsage
from fanfold.dialects.anthropic.read import part as read_claude
from fanfold.dialects.chat.read import read_block as read_chat
from fanfold.dialects.registry import dialect_for
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    FrameworkHook,
    Heard,
    Outgoing,
    bill_of,
    name_by_content,
    names_of,
    reply_schema,
    session_name,
    split_leading,
)
from fanfold.integrations.requirement import require
from fanfold.integrations.telling import (
    ToldForm,
    as_object,
    forms,
    medium,
    show_contents,
    tell_arguments,
    tell_reply,
    tell_result,
    unknown_content,
)
from fanfold.stores.store import Store
from fanfold.text.json_text import to_json

require("langchain", "1.2", "langchain")
require("langchain-core", "1.2.10", "langchain")
require("langgraph", "1.1.5", "langchain")

from langchain.agents.middleware import AgentMiddleware, ModelRequest  # noqa: E402 the right versions are there
from langchain.tools import ToolRuntime  # noqa: E402
from langchain_core.exceptions import ContextOverflowError  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool, StructuredTool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.config import get_config  # noqa: E402

SUMMARIZER = "SummarizationMiddleware"
"""The name of the summariser in deepagents: a middleware of this name takes its place."""
_CALLS = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk")
_SUMMARIZER = (
    "LangChain's summariser is active beside fanfold, and both shorten the history. "
    "Take SummarizationMiddleware out; in deepagents, use FanfoldMiddleware.for_deepagents()."
)
_EDITOR = (
    "LangChain's ContextEditingMiddleware is active beside fanfold, and both shorten the history. Take it out: fanfold "
    "cannot show the model what it cleared."
)


class FanfoldMiddleware(FrameworkHook, AgentMiddleware):  # type: ignore[misc, unused-ignore]
    """Keeps what an agent sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, … `recall=False`
    offers the model no tools to look things up again.
    """

    def __init__(
        self, *, store: Store | str | None = None, recall: bool = True, name: str = "Fanfold", **options: Any
    ) -> None:
        super().__init__()
        self._name = name
        self._adapter = Adapter(store, recall=recall, too_long=(ContextOverflowError,), **options)
        self.tools: Sequence[BaseTool] = [self._recall_tool(tool) for tool in self._adapter.recall_tools]

    @classmethod
    def for_deepagents(cls, **options: Any) -> FanfoldMiddleware:
        """A middleware that replaces the summariser of deepagents. Give it to each sub-agent, too."""
        require("deepagents", "0.7", "deepagents")  # before 0.7, no middleware takes the place of another
        return cls(name=SUMMARIZER, **options)

    @property
    def name(self) -> str:
        """The name by which agents tell middlewares apart."""
        return self._name

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Send a history that fits, and record the reply."""
        return self._adapter.call(
            self._outgoing(request), lambda adapted: handler(_overridden(request, adapted)), _heard
        )

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """The same, awaited."""
        return await self._adapter.acall(
            self._outgoing(request), lambda adapted: handler(_overridden(request, adapted)), _heard
        )

    def _outgoing(self, request: ModelRequest) -> Outgoing[BaseMessage]:
        for message in request.messages:
            if message.additional_kwargs.get("lc_source") == "summarization":
                self._adapter.warn(_SUMMARIZER)
            if "context_editing" in message.response_metadata:
                self._adapter.warn(_EDITOR)
        model = request.model
        converter = converter_for(model)
        leading, spoken = _split(request.messages)
        profile = getattr(model, "profile", None) or {}
        return Outgoing(
            session=_session(request.state, request.runtime),
            messages=spoken,
            converter=converter,
            system="\n\n".join(_prompts(request.system_message, leading)) or None,
            tools=[as_dict(tool) for tool in _offered(request.tools)],
            params={**_schema(request.response_format), **_thinking(model)},
            max_tokens=getattr(model, "max_tokens", None),
            options={
                "model": _model_name(model),
                "window": profile.get("max_input_tokens"),
            },
        )

    def _recall_tool(self, tool: Function) -> BaseTool:
        def look_up(*, runtime: ToolRuntime, **arguments: Any) -> str:
            name = _session(runtime.state, runtime)
            return self._adapter.recall(name, tool.name, arguments)

        async def alook_up(*, runtime: ToolRuntime, **arguments: Any) -> str:
            name = _session(runtime.state, runtime)
            return await self._adapter.arecall(name, tool.name, arguments)

        # Without types as texts: LangGraph looks at them to see what it has to hand in.
        look_up.__annotations__ = alook_up.__annotations__ = {"runtime": ToolRuntime}
        return LookUp.from_function(
            look_up,
            alook_up,
            name=tool.name,
            description=tool.description,
            args_schema=tool.schema,
            infer_schema=False,
        )


class LookUp(StructuredTool):  # type: ignore[misc, unused-ignore]
    """A recall tool. It answers whatever names a model gives to its arguments, even `self`."""

    def _run(self, /, **arguments: Any) -> Any:
        return self.func(**arguments) if self.func is not None else None

    async def _arun(self, /, **arguments: Any) -> Any:
        return await self.coroutine(**arguments) if self.coroutine is not None else None


def _overridden(request: ModelRequest, adapted: Adapted[BaseMessage]) -> ModelRequest:
    """The request with what fits in it, and without thinking where it has to pause."""
    changed: dict[str, Any] = {"messages": [*_split(request.messages)[0], *adapted.messages]}
    if not set(map(_tool_name, request.tools)) - RECALL:
        changed["tools"] = []  # an agent without tools of its own gets none
    if adapted.pauses_thinking:
        changed["model"] = request.model.model_copy(update={"thinking": {"type": "disabled"}})
    return request.override(**changed)


def _split(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    return split_leading(messages, lambda message: isinstance(message, SystemMessage))


def _prompts(system: SystemMessage | None, leading: Sequence[BaseMessage]) -> list[str]:
    """The words of the system prompt."""
    return [str(message.text) for message in (*([system] if system is not None else ()), *leading)]


def _heard(response: Any) -> Heard[BaseMessage] | None:
    """The reply in whatever a model call returned."""
    response = getattr(response, "model_response", response)
    messages = [response] if isinstance(response, AIMessage) else getattr(response, "result", [])
    reply = next((message for message in messages if isinstance(message, AIMessage)), None)
    if reply is None:
        return None
    stop = reply.response_metadata.get("finish_reason") or reply.response_metadata.get("stop_reason")
    return Heard(messages=[reply], usage=_usage(reply), stop=stop)


def _usage(reply: AIMessage) -> TokenUsage | None:
    bill = reply.usage_metadata
    if not bill:
        return None
    into, out = bill.get("input_token_details") or {}, bill.get("output_token_details") or {}
    read, written = into.get("cache_read") or 0, into.get("cache_creation") or 0
    written = written or sum(into.get(f"ephemeral_{span}_input_tokens") or 0 for span in ("5m", "1h"))
    reasoning = out.get("reasoning") or 0
    return bill_of(
        bill["input_tokens"], bill["output_tokens"], read=read, written=written, reasoning=reasoning
    )


# Names


def _session(state: Any, runtime: Any) -> str:
    """Thread and agent; without a thread, or below another agent, the first message tells the conversation."""
    info = getattr(runtime, "execution_info", None)
    thread = getattr(info, "thread_id", None)
    agent = (get_config().get("metadata") or {}).get("lc_agent_name") or "agent"
    nested = "|" in (getattr(info, "checkpoint_ns", None) or "")
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    begun = name_by_content(CHAT, messages or ()) if nested or thread is None else None
    return session_name(thread, agent, begun)


def _model_name(model: Any) -> str | None:
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name.removeprefix("models/") if isinstance(name, str) else None


# Tools and schemas


def as_dict(tool: BaseTool | dict[str, Any]) -> dict[str, Any]:
    """A tool's definition in the form of Chat Completions; a provider's own tool as it is."""
    if isinstance(tool, dict):
        return tool
    made: dict[str, Any] = convert_to_openai_tool(tool)
    return made


def _tool_name(tool: BaseTool | dict[str, Any]) -> str:
    return next(iter(names_of([tool])), "") if isinstance(tool, dict) else tool.name


def _offered(tools: Sequence[Any]) -> list[Any]:
    return list(tools) if set(map(_tool_name, tools)) - RECALL else []


def _schema(response_format: Any) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    if response_format is None:
        return {}
    specs = getattr(response_format, "schema_specs", None) or [getattr(response_format, "schema_spec", None)]
    schemas = [spec.json_schema for spec in specs if spec is not None]
    schema = schemas or [_json_schema(getattr(response_format, "schema", response_format))]
    return reply_schema(schema[0])


def _json_schema(schema: Any) -> Any:
    if isinstance(schema, dict):
        return schema
    from pydantic import TypeAdapter

    return TypeAdapter(schema).json_schema()


def _thinking(model: Any) -> dict[str, Any]:
    """How an Anthropic model thinks, for that decides what may be left out of a running loop."""
    thinking = getattr(model, "thinking", None)
    return {"thinking": dict(thinking)} if isinstance(thinking, Mapping) else {}


# Messages


def tell(message: BaseMessage) -> Message:
    """What a message says."""
    parts = tuple(part for part, _ in _contents(message))
    if isinstance(message, ToolMessage):
        failed = message.status == "error"
        return tell_result(message.tool_call_id, parts, failed=failed, name=message.name)
    if isinstance(message, AIMessage):
        return tell_reply(parts, _calls(message))
    return Message("system" if isinstance(message, SystemMessage) else "user", parts)


def build(shown: Message, was: BaseMessage | None) -> BaseMessage:
    """A message for what is shown: a copy of the framework's own with other words, or a new one without an id."""
    if shown.results:
        result = shown.results[0]
        if isinstance(was, ToolMessage):
            return was.model_copy(update={"content": _show(result.parts, was), "artifact": None})
        status = "error" if result.error else "success"
        return ToolMessage(content=result.text, tool_call_id=result.call, name=result.name, status=status)
    if shown.role == "assistant":
        return _reply(shown, was if isinstance(was, AIMessage) else None)
    if was is not None:
        return was.model_copy(update={"content": _show(shown.parts, was)})
    return (SystemMessage if shown.role == "system" else HumanMessage)(content=shown.text)


CHAT, CLAUDE = forms(tell, build)


def converter_for(model: Any) -> ToldForm[BaseMessage]:
    """How the messages of a model are told: Anthropic's rules on thinking bind what may be left out."""
    # Every chat model of LangChain has to define `_llm_type`; no public name tells whose API a model speaks.
    kind = getattr(model, "_llm_type", "")
    named = dialect_for(_model_name(model)) == "anthropic" and "anthropic" in kind
    return CLAUDE if named or kind == "anthropic-chat" else CHAT


def _calls(message: AIMessage) -> list[Call]:
    """The calls of a reply, those with arguments that are no JSON too: their ids must stay paired."""
    made = [Call(call["id"] or "", call["name"], tell_arguments(call["args"])) for call in message.tool_calls]
    wrong = [
        Call(call.get("id") or "", call.get("name") or "unknown", call.get("args") or "")
        for call in message.invalid_tool_calls
    ]
    return [*made, *wrong]


def _contents(message: BaseMessage) -> list[tuple[Part, dict[str, Any]]]:
    """The blocks of a message with what each says, but for calls, which are told elsewhere."""
    content = [message.content] if isinstance(message.content, str) else message.content
    blocks = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content if block
    ]
    return [(_part(block), block) for block in blocks if block.get("type") not in _CALLS]


def _part(block: dict[str, Any]) -> Part:
    """What a block says: one of LangChain's own, or of a provider's."""
    match block:
        case {"type": "text"}:
            return Text(str(block.get("text", "")))
        case {"type": "redacted_thinking"}:
            return Thinking("", str(block.get("data", "")))
        case {"type": "thinking" | "reasoning"}:
            signature = block.get("signature") or (block.get("extras") or {}).get("signature")
            return Thinking(_thought_text(block), signature or None)
        case {"type": "text-plain", "text": str(text)}:
            return Document("text/plain", text=text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return medium("image/*", url=url)
        case {"type": "image" | "document", "source": dict()}:
            return read_claude(block)
        case {"type": "file", "file": dict()}:
            return read_chat(block)
        case {"type": "image" | "file" | "audio" | "video" | "media" as kind}:
            usual = {"image": "image/png", "file": "application/pdf"}.get(kind, f"{kind}/unknown")
            data, address = block.get("base64") or block.get("data"), block.get("url")
            if isinstance(data, str) or isinstance(address, str):
                return medium(block.get("mime_type") or usual, data, address, block.get("filename"))
    return unknown_content(block)


def _thought_text(block: dict[str, Any]) -> str:
    text = block.get("thinking") or block.get("reasoning")
    if text is None:
        pieces = block.get("summary") or ()
        text = "".join(str(piece.get("text", "") if isinstance(piece, dict) else piece) for piece in pieces)
    return str(text)


def _show(parts: Sequence[Part], was: BaseMessage) -> Any:
    """What is shown of a message's content: a text, or blocks where there is more than words in it."""
    items = show_contents(parts, _contents(was))
    blocks = [one if isinstance(one, dict) else {"type": "text", "text": text_of(one)} for one in items]
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(str(block.get("text", "")) for block in blocks)
    return blocks


def _reply(shown: Message, was: AIMessage | None) -> AIMessage:
    """A reply with other words or arguments; thoughts that are not shown any more are left out."""
    known = None if was is None else {call["id"] for call in was.tool_calls}
    calls = [
        {"type": "tool_call", "id": part.id, "name": part.name, "args": as_object(part.raw)}
        for part in shown.calls
        if known is None or part.id in known
    ]
    if was is None:
        return AIMessage(content=shown.text, tool_calls=calls)
    content, own = _show(shown.parts, was), was.content if isinstance(was.content, list) else []
    beside = [
        _with_arguments(one, calls) for one in own if isinstance(one, dict) and one.get("type") in _CALLS
    ]
    if beside and isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    extra = {key: value for key, value in was.additional_kwargs.items() if key != "tool_calls"}
    changed = {"content": [*content, *beside] if beside else content, "tool_calls": calls}
    return was.model_copy(update={**changed, "additional_kwargs": extra})


def _with_arguments(block: dict[str, Any], calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A call among the blocks of a content, with the arguments that are shown of it."""
    id = block.get("call_id") or block.get("id")
    found = next((call for call in calls if call["id"] == id), None)
    if found is None:
        return block
    if block["type"] == "function_call":
        return {**block, "arguments": to_json(found["args"])}
    return {**block, ("input" if block["type"] == "tool_use" else "args"): found["args"]}
