"""A wrapper of the function-calling LLM of LlamaIndex (extra `fanfold[llama-index]`).

    llm = FanfoldLLM(OpenAI("gpt-5"), session="run-42", store="sqlite:agent.db")
    agent = FunctionAgent(llm=llm, tools=[*tools, *llm.recall_tools()])

A memory of LlamaIndex is not asked inside a run, so the place to make a request fit is the LLM. Memory and scratchpad
of the agent stay whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Result, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import dialect_for
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import Adapted, Adapter, Heard, Outgoing, name_by_content, session_name
from fanfold.integrations.requirement import require
from fanfold.session.pool import Lease
from fanfold.stores.store import Store
from fanfold.text.json_text import from_json, to_json
from fanfold.tokens.usage import usage_of

require("llama-index-core", "0.14", "llama-index")

from llama_index.core.base.llms.types import (  # noqa: E402 the right version is there
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ImageBlock,
    LLMMetadata,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import PrivateAttr  # noqa: E402
from llama_index.core.llms.function_calling import FunctionCallingLLM  # noqa: E402
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata  # noqa: E402

_THREAD: ContextVar[str | None] = ContextVar("fanfold_thread", default=None)
_UNNAMED = (
    "Which conversation is meant is not known. Say FanfoldLLM(…, session=…), or run the agent within "
    'thread("…"): the model can look things up then.'
)


@contextmanager
def thread(name: str) -> Iterator[None]:
    """Name the conversation of every agent that is run within this block."""
    token = _THREAD.set(name)
    try:
        yield
    finally:
        _THREAD.reset(token)


class FanfoldLLM(FunctionCallingLLM):  # type: ignore[misc, unused-ignore]
    """An LLM that keeps what is sent with tools inside the model's window, and loses nothing.

    `session` names the conversation; `thread` names it for one run. `agent` tells the sessions of several agents apart.
    `options` are those of `fanfold.open` and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, …
    """

    llm: Any
    """The LLM that is asked."""
    session: str | None = None
    agent: str = "agent"
    _adapter: Adapter = PrivateAttr()

    def __init__(
        self,
        llm: FunctionCallingLLM,
        *,
        session: str | None = None,
        agent: str = "agent",
        store: Store | str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(llm=llm, session=session, agent=agent, callback_manager=llm.callback_manager)
        self._adapter = Adapter(store, **options)

    @classmethod
    def class_name(cls) -> str:
        """What LlamaIndex calls it."""
        return "fanfold_llm"

    @property
    def metadata(self) -> LLMMetadata:
        """What is known of the model that is asked."""
        return self.llm.metadata

    def recall_tools(self) -> list[FunctionTool]:
        """The tools with which the model looks up what it no longer sees: give them to the agent."""
        return [self._tool(tool) for tool in self._adapter.recall_tools]

    def session_named(self, name: str) -> Lease:
        """A session by its name, to look, pin or undo in it by `with` or `async with`."""
        return self._adapter.session(name)

    def close(self) -> None:
        """End all sessions; they go on under their names where the store keeps them."""
        self._adapter.close()

    # With tools: what agents send

    def chat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> ChatResponse:
        """Ask with a history that fits, with less of it where the model says "too long", and record the reply."""

        def send(adapted: Adapted[ChatMessage]) -> ChatResponse:
            return self.llm.chat_with_tools(tools, **self._given(adapted, leading, more))

        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        return self._adapter.call(outgoing, send, _heard)

    async def achat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> ChatResponse:
        """The same, awaited."""

        async def send(adapted: Adapted[ChatMessage]) -> ChatResponse:
            return await self.llm.achat_with_tools(tools, **self._given(adapted, leading, more))

        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        return await self._adapter.acall(outgoing, send, _heard)

    def stream_chat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> Iterator[ChatResponse]:
        """The same, piece by piece."""
        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        adapted = self._adapter.fit(outgoing)
        while True:
            try:
                pieces = iter(self.llm.stream_chat_with_tools(tools, **self._given(adapted, leading, more)))
                piece = next(pieces, None)
                break
            except Exception as error:
                smaller = self._adapter.refused(adapted, error)
                if smaller is None:
                    raise
                adapted = smaller
        while piece is not None:
            yield piece
            last, piece = piece, next(pieces, None)
            if piece is None:
                self._adapter.receive(adapted, _heard(last))

    async def astream_chat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> AsyncIterator[ChatResponse]:
        """The same, piece by piece and awaited."""
        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        adapted = await self._adapter.afit(outgoing)
        while True:
            try:
                asked: Awaitable[Any] = self.llm.astream_chat_with_tools(
                    tools, **self._given(adapted, leading, more)
                )
                pieces = aiter(await asked)
                first = await anext(pieces, None)
                break
            except Exception as error:
                smaller = await self._adapter.arefused(adapted, error)
                if smaller is None:
                    raise
                adapted = smaller

        async def whole() -> AsyncIterator[ChatResponse]:
            piece = first
            while piece is not None:
                yield piece
                last, piece = piece, await anext(pieces, None)
                if piece is None:
                    await self._adapter.areceive(adapted, _heard(last))

        return whole()

    def get_tool_calls_from_response(self, response: ChatResponse, *args: Any, **more: Any) -> Any:
        """The calls that a reply has."""
        return self.llm.get_tool_calls_from_response(response, *args, **more)

    def _prepare_chat_with_tools(self, *args: Any, **more: Any) -> dict[str, Any]:
        # Abstract in LlamaIndex's FunctionCallingLLM, whose own verbs call it: who wraps a model has to pass it on.
        made: dict[str, Any] = self.llm._prepare_chat_with_tools(*args, **more)
        return made

    # Without tools: single questions, which go on as they are

    def chat(self, messages: Sequence[ChatMessage], **more: Any) -> ChatResponse:
        """Ask without tools; this is left alone."""
        return self.llm.chat(messages, **more)

    async def achat(self, messages: Sequence[ChatMessage], **more: Any) -> ChatResponse:
        """The same, awaited."""
        return await self.llm.achat(messages, **more)

    def stream_chat(self, messages: Sequence[ChatMessage], **more: Any) -> Any:
        """The same, piece by piece."""
        return self.llm.stream_chat(messages, **more)

    async def astream_chat(self, messages: Sequence[ChatMessage], **more: Any) -> Any:
        """The same, piece by piece and awaited."""
        return await self.llm.astream_chat(messages, **more)

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        """Go on with a text; this is left alone."""
        return self.llm.complete(prompt, formatted, **more)

    async def acomplete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        """The same, awaited."""
        return await self.llm.acomplete(prompt, formatted, **more)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        """The same, piece by piece."""
        return self.llm.stream_complete(prompt, formatted, **more)

    async def astream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        """The same, piece by piece and awaited."""
        return await self.llm.astream_complete(prompt, formatted, **more)

    def _outgoing(
        self, tools: Sequence[BaseTool], said: Any, history: Any, more: Mapping[str, Any]
    ) -> tuple[list[ChatMessage], Outgoing[ChatMessage]]:
        """What stands before the conversation, and the request."""
        added = [ChatMessage(role="user", content=said)] if isinstance(said, str) else [said] if said else []
        messages = [*(history or ()), *added]
        until = next(
            (at for at, one in enumerate(messages) if one.role not in ("system", "developer")), len(messages)
        )
        leading, spoken = messages[:until], messages[until:]
        known = self.llm.metadata
        claude = dialect_for(known.model_name) == "anthropic"
        converter = CLAUDE if claude else CHAT
        thinking = getattr(self.llm, "thinking_dict", None) if claude else None
        name = _THREAD.get() or self.session or name_by_content(converter, spoken)
        # A reply by a schema is asked for in messages of its own: it is a conversation beside the agent's.
        outgoing = Outgoing(
            session=session_name(name, self.agent, "reply" if more.get("tool_required") else None),
            messages=spoken,
            converter=converter,
            system="\n\n".join(message.content or "" for message in leading),
            tools=[tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools],
            params={"thinking": dict(thinking)} if thinking else {},
            max_tokens=getattr(self.llm, "max_tokens", None),
            options={"model": known.model_name, "window": _window(known)},
        )
        return leading, outgoing

    @staticmethod
    def _given(
        adapted: Adapted[ChatMessage], leading: list[ChatMessage], more: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the LLM is asked with, without thinking where it has to pause."""
        paused = {"thinking": {"type": "disabled"}} if adapted.pauses_thinking else {}
        return {"chat_history": [*leading, *adapted.messages], **more, **paused}

    def _tool(self, tool: Function) -> FunctionTool:
        async def look_up(**arguments: Any) -> str:
            name = _THREAD.get() or self.session
            if name is None:
                return _UNNAMED
            return await self._adapter.arecall(session_name(name, self.agent), tool.name, arguments)

        return FunctionTool(async_fn=look_up, metadata=RecallMetadata(tool))


class RecallMetadata(ToolMetadata):  # type: ignore[misc, unused-ignore]
    """What the model is told of a recall tool."""

    def __init__(self, tool: Function) -> None:
        super().__init__(description=tool.description or "", name=tool.name)
        self._schema = tool.schema

    def get_parameters_dict(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return dict(self._schema)


def _window(known: LLMMetadata) -> int | None:
    """The window that LlamaIndex knows of a model, for those that fanfold does not know."""
    from fanfold.tokens.models import kin

    return None if kin(known.model_name) is not None else known.context_window


def _heard(response: ChatResponse) -> Heard[ChatMessage]:
    raw: Any = response.raw
    bill: Any = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
    told = bill.model_dump(exclude_none=True) if hasattr(bill, "model_dump") else bill
    usage: TokenUsage | None = usage_of(told) if told else None
    return Heard(messages=[response.message], usage=usage)


# Messages


class ChatBlocks:
    """Messages of LlamaIndex in the form of Chat Completions."""

    dialect = "openai.chat"

    def body(self, message: ChatMessage) -> dict[str, Any]:
        """A message as one of Chat Completions."""
        if _answers(message) is not None:
            return {"role": "tool", "tool_call_id": _answers(message), "content": _words(message)}
        if message.role != "assistant":
            return {"role": "user", "content": _content(message, _chat_block)}
        thought = "\n".join(block.content or "" for block in _thoughts(message))
        calls = [
            {"id": call.tool_call_id or "", "type": "function", "function": {"name": call.tool_name, "arguments": raw}}
            for call, raw in _calls(message)
        ]  # fmt: skip
        return {
            "role": "assistant",
            "content": _words(message) or None,
            **({"reasoning_content": thought} if thought else {}),
            **({"tool_calls": calls} if calls else {}),
        }

    def build(self, shown: Message, wire: Any, was: ChatMessage | None) -> ChatMessage:
        """A message for what is shown."""
        return _build(shown, was)


class ClaudeBlocks:
    """Messages of LlamaIndex in the form of Anthropic's Messages, which has rules about thinking."""

    dialect = "anthropic"
    one_result = True

    def body(self, message: ChatMessage) -> dict[str, Any]:
        """A message as one of Anthropic's."""
        answered = _answers(message)
        if answered is not None:
            block = {"type": "tool_result", "tool_use_id": answered, "content": _words(message)}
            return {"role": "user", "content": [block]}
        if message.role != "assistant":
            return {"role": "user", "content": _content(message, _claude_block)}
        words = [{"type": "text", "text": text}] if (text := _words(message)) else []
        calls = [
            {"type": "tool_use", "id": call.tool_call_id or "", "name": call.tool_name, "input": _object(raw)}
            for call, raw in _calls(message)
        ]
        return {"role": "assistant", "content": [*map(_claude_thought, _thoughts(message)), *words, *calls]}

    def build(self, shown: Message, wire: Any, was: ChatMessage | None) -> ChatMessage:
        """A message for what is shown."""
        return _build(shown, was)


CHAT, CLAUDE = ChatBlocks(), ClaudeBlocks()
_APART = (ThinkingBlock, ToolCallBlock)


def _answers(message: ChatMessage) -> str | None:
    """The call that a message answers."""
    return str(message.additional_kwargs.get("tool_call_id") or "") if message.role == "tool" else None


def _words(message: ChatMessage) -> str:
    return "\n".join(_block_text(block) for block in message.blocks if not isinstance(block, _APART))


def _thoughts(message: ChatMessage) -> list[ThinkingBlock]:
    return [block for block in message.blocks if isinstance(block, ThinkingBlock)]


def _calls(message: ChatMessage) -> list[tuple[ToolCallBlock, str]]:
    """The calls, each with its arguments as a text; older LLMs have them beside the blocks."""
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if not calls:
        calls = [_older(call) for call in message.additional_kwargs.get("tool_calls") or ()]
    return [
        (call, call.tool_kwargs if isinstance(call.tool_kwargs, str) else to_json(call.tool_kwargs))
        for call in calls
    ]


def _older(call: Any) -> ToolCallBlock:
    told = call if isinstance(call, Mapping) else call.model_dump()
    function = told.get("function") or told
    given = function.get("arguments", function.get("input")) or {}
    return ToolCallBlock(
        tool_call_id=told.get("id"), tool_name=str(function.get("name") or ""), tool_kwargs=given
    )


def _object(raw: str) -> Any:
    """Arguments as an object; those that are none stay what the model wrote."""
    read = from_json(raw)
    return read if isinstance(read, dict) else {"raw": raw} if raw else {}


def _content(message: ChatMessage, tell: Callable[[Any], dict[str, Any]]) -> Any:
    if all(isinstance(block, TextBlock) for block in message.blocks):
        return message.content or ""
    return [tell(block) for block in message.blocks]


def _block_text(block: Any) -> str:
    if isinstance(block, TextBlock):
        return str(block.text)
    return f"[{block.block_type} {digest(repr(block).encode('utf-8', 'surrogatepass'))}]"


def _chat_block(block: Any) -> dict[str, Any]:
    if not isinstance(block, ImageBlock):
        return {"type": "text", "text": _block_text(block)}
    if block.url:
        return {"type": "image_url", "image_url": {"url": str(block.url)}}
    return {
        "type": "image_url",
        "image_url": {"url": f"data:{block.image_mimetype};base64,{_picture(block)}"},
    }


def _claude_block(block: Any) -> dict[str, Any]:
    if not isinstance(block, ImageBlock):
        return {"type": "text", "text": _block_text(block)}
    if block.url:
        return {"type": "image", "source": {"type": "url", "url": str(block.url)}}
    source = {"type": "base64", "media_type": block.image_mimetype, "data": _picture(block)}
    return {"type": "image", "source": source}


def _picture(block: ImageBlock) -> str:
    return str(block.resolve_image(as_base64=True).read().decode())


def _claude_thought(block: ThinkingBlock) -> dict[str, Any]:
    signature = block.additional_information.get("signature") or ""
    return {"type": "thinking", "thinking": block.content or "", "signature": signature}


def _build(shown: Message, was: ChatMessage | None) -> ChatMessage:
    """A message for what is shown: a copy of the framework's own with other words, or a new one."""
    result = next((part for part in shown.parts if isinstance(part, Result)), None)
    if shown.role == "assistant":
        return _reply(shown, was)
    if result is not None:
        kept = was.additional_kwargs if was is not None else {"tool_call_id": result.call}
        return ChatMessage(role="tool", content=result.text, additional_kwargs=dict(kept))
    rest = [block for block in was.blocks if not isinstance(block, TextBlock)] if was is not None else []
    return ChatMessage(role="user", blocks=[TextBlock(text=shown.text), *rest])


def _reply(shown: Message, was: ChatMessage | None) -> ChatMessage:
    """A reply with other words or arguments; thoughts that are not shown any more are left out."""
    thinks = any(isinstance(part, Thinking) and part != Thinking() for part in shown.parts)
    blocks: list[Any] = list(_thoughts(was)) if was is not None and thinks else []
    if was is not None and _words(was) == shown.text:
        blocks += [block for block in was.blocks if not isinstance(block, _APART)]
    elif shown.text:
        blocks.append(TextBlock(text=shown.text))
    own = {call.tool_call_id: (call, raw) for call, raw in _calls(was)} if was is not None else {}
    for part in shown.parts:
        if isinstance(part, Call):
            call, raw = own.get(part.id, (None, None))
            blocks.append(call if call is not None and raw == part.raw else _changed_call(part, call))
    kept = dict(was.additional_kwargs) if was is not None else {}
    kept.pop("tool_calls", None)  # the same calls once more, as they were
    return ChatMessage(role="assistant", blocks=blocks, additional_kwargs=kept)


def _changed_call(part: Call, was: ToolCallBlock | None) -> ToolCallBlock:
    as_text = was is not None and isinstance(was.tool_kwargs, str)
    return ToolCallBlock(
        tool_call_id=part.id, tool_name=part.name, tool_kwargs=part.raw if as_text else _object(part.raw)
    )
