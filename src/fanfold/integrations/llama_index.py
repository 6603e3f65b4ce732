"""A wrapper of the function-calling LLM of LlamaIndex (extra `fanfold[llama-index]`).

    llm = FanfoldLLM(OpenAI("gpt-5"), session="run-42", store="sqlite:agent.db")
    agent = FunctionAgent(llm=llm, tools=[*tools, *llm.recall_tools()])

A memory of LlamaIndex is not asked inside a run, so the place to make a request fit is the LLM. Memory and scratchpad
of the agent stay whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Part, Text, Thinking, text_of
from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import dialect_for
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    Heard,
    Outgoing,
    begun,
    name_by_content,
    session_name,
    split_leading,
)
from fanfold.integrations.requirement import require
from fanfold.integrations.telling import (
    as_object,
    forms,
    medium,
    show_contents,
    tell_arguments,
    tell_reply,
    tell_result,
    unknown_content,
)
from fanfold.session.pool import Lease
from fanfold.stores.store import Store
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
        """Close all sessions. Where the store keeps them, they can be opened again by their names."""
        self._adapter.close()

    # With tools: what agents send

    def chat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> ChatResponse:
        """Send a history that fits, with less of it if the model says "too long", and record the reply."""

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

        def send(adapted: Adapted[ChatMessage]) -> Iterator[ChatResponse]:
            pieces = iter(self.llm.stream_chat_with_tools(tools, **self._given(adapted, leading, more)))
            return chain(list(islice(pieces, 1)), pieces)  # whether it is too long shows with the first

        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        adapted, pieces = self._adapter.ask(self._adapter.fit(outgoing), send)
        piece = None
        for piece in pieces:
            yield piece
        if piece is not None:
            self._adapter.receive(adapted, _heard(piece))

    async def astream_chat_with_tools(
        self, tools: Sequence[BaseTool], user_msg: Any = None, chat_history: Any = None, **more: Any
    ) -> AsyncIterator[ChatResponse]:
        """The same, piece by piece and awaited."""

        async def send(adapted: Adapted[ChatMessage]) -> AsyncIterator[ChatResponse]:
            asked = self.llm.astream_chat_with_tools(tools, **self._given(adapted, leading, more))
            return await begun(aiter(await asked))

        async def whole() -> AsyncIterator[ChatResponse]:
            piece = None
            async for piece in pieces:
                yield piece
            if piece is not None:
                await self._adapter.areceive(adapted, _heard(piece))

        leading, outgoing = self._outgoing(tools, user_msg, chat_history, more)
        adapted, pieces = await self._adapter.aask(await self._adapter.afit(outgoing), send)
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
        leading, spoken = split_leading(messages, lambda one: one.role in ("system", "developer"))
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
            options={"model": known.model_name, "window": known.context_window},
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


def _heard(response: ChatResponse) -> Heard[ChatMessage]:
    raw: Any = response.raw
    bill: Any = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
    told = bill.model_dump(exclude_none=True) if hasattr(bill, "model_dump") else bill
    usage: TokenUsage | None = usage_of(told) if told else None
    return Heard(messages=[response.message], usage=usage)


# Messages


def tell(message: ChatMessage) -> Message:
    """What a message says."""
    parts = tuple(part for part, _ in _contents(message))
    if message.role == "tool":
        beside = message.additional_kwargs
        return tell_result(str(beside.get("tool_call_id") or ""), parts, name=beside.get("name"))
    if message.role != "assistant":
        return Message("user", parts)
    calls = _calls(message)
    told = [Call(one.tool_call_id or "", one.tool_name, tell_arguments(one.tool_kwargs)) for one in calls]
    return tell_reply(parts, told)


def build(shown: Message, was: ChatMessage | None) -> ChatMessage:
    """A message for what is shown: a copy of the framework's own with other words, or a new one."""
    kept = dict(was.additional_kwargs) if was is not None else {}
    if shown.role == "assistant":
        kept.pop("tool_calls", None)  # the same calls once more, as they were
        blocks = [*_show(shown.parts, was), *_show_calls(shown, was)]
        return ChatMessage(role="assistant", blocks=blocks, additional_kwargs=kept)
    if shown.results:
        result = shown.results[0]
        given = kept or {"tool_call_id": result.call}
        return ChatMessage(role="tool", blocks=_show(result.parts, was), additional_kwargs=given)
    return ChatMessage(role="user", blocks=_show(shown.parts, was))


CHAT, CLAUDE = forms(tell, build)


def _contents(message: ChatMessage) -> list[tuple[Part, Any]]:
    """The blocks of a message with what each says, but for calls."""
    return [(_part(block), block) for block in message.blocks if not isinstance(block, ToolCallBlock)]


def _part(block: Any) -> Part:
    if isinstance(block, TextBlock):
        return Text(str(block.text))
    if isinstance(block, ThinkingBlock):
        return Thinking(block.content or "", block.additional_information.get("signature") or None)
    data, media = _data(block), getattr(block, f"{block.block_type}_mimetype", None)
    if data or getattr(block, "url", None):
        usual = {"image": "image/png", "document": None}.get(block.block_type, f"{block.block_type}/unknown")
        return medium(media or usual, data, str(block.url) if block.url else None)
    return unknown_content(
        {"kind": block.block_type, "id": digest(repr(block).encode("utf-8", "surrogatepass"))}
    )


def _data(block: Any) -> str | None:
    """The bytes of a picture, sound, film or file in base64, which is how LlamaIndex holds them."""
    if isinstance(block, ImageBlock) and not block.url:
        return str(block.resolve_image(as_base64=True).read().decode())
    held = getattr(block, "data" if block.block_type == "document" else block.block_type, None)
    return held.decode() if isinstance(held, bytes) else None


def _calls(message: ChatMessage) -> list[ToolCallBlock]:
    """The calls; older LLMs have them beside the blocks."""
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    return calls or [_older(call) for call in message.additional_kwargs.get("tool_calls") or ()]


def _older(call: Any) -> ToolCallBlock:
    told = call if isinstance(call, Mapping) else call.model_dump()
    function = told.get("function") or told
    given = function.get("arguments", function.get("input")) or {}
    return ToolCallBlock(
        tool_call_id=told.get("id"), tool_name=str(function.get("name") or ""), tool_kwargs=given
    )


def _show(parts: Sequence[Part], was: ChatMessage | None) -> list[Any]:
    """The blocks for what is shown, but for calls."""
    items = show_contents(parts, _contents(was) if was is not None else ())
    return [TextBlock(text=text_of(one)) if isinstance(one, Part) else one for one in items]


def _show_calls(shown: Message, was: ChatMessage | None) -> Iterator[ToolCallBlock]:
    own = {call.tool_call_id: call for call in _calls(was)} if was is not None else {}
    for part in shown.calls:
        call = own.get(part.id)
        if call is not None and tell_arguments(call.tool_kwargs) == part.raw:
            yield call
        else:
            as_text = call is not None and isinstance(call.tool_kwargs, str)
            given = part.raw if as_text else as_object(part.raw)
            yield ToolCallBlock(tool_call_id=part.id, tool_name=part.name, tool_kwargs=given)
