"""A context provider for Microsoft Agent Framework (extra `fanfold[agent-framework]`).

    agent = Agent(client, tools=tools, context_providers=[FanfoldProvider(store="sqlite:agent.db")])
    await agent.run("…", session=agent.create_session(session_id="run-42"))

Before every request to the model the messages are made to fit. The session's history stays whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Message as Shown
from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import dialect_for, dialect_named
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    FrameworkHook,
    Heard,
    Outgoing,
    begun,
    bill_of,
    session_name,
    split_leading,
)
from fanfold.integrations.requirement import require
from fanfold.stores.store import Store
from fanfold.text.json_text import from_json, to_json

require("agent-framework-core", "1.23", "agent-framework")

from agent_framework import (  # noqa: E402 the right version is there
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    CompactionProvider,
    Content,
    ContextProvider,
    FunctionTool,
    Message,
    ResponseStream,
    SessionContext,
)

Block = dict[str, Any]
"""A block of a message, as Anthropic's Messages have it."""
_RIVALS = (
    "A compaction strategy of Agent Framework is active beside fanfold, and both shorten the history. Take "
    "compaction_strategy and CompactionProvider out of the agent and its client."
)
_KEPT_AWAY = (
    "This client keeps the conversation at its service, and Agent Framework sends only what is new. fanfold leaves "
    'these requests alone: say Agent(…, default_options={"store": False}) to have them fitted.'
)
_LOADED_LATE = (
    "require_per_service_call_history_persistence loads the history after fanfold has seen a request. fanfold leaves "
    "these requests alone: take it out of the agent to have them fitted."
)


class FanfoldProvider(FrameworkHook, ContextProvider):  # type: ignore[misc, unused-ignore]
    """Keeps what an agent sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, … `recall=False`
    offers the model no tools to look things up again.
    """

    def __init__(
        self,
        source_id: str = "fanfold",
        *,
        store: Store | str | None = None,
        recall: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(source_id)
        self._adapter = Adapter(store, recall=recall, **options)

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Stand between the agent and its model in this run, and offer the recall tools."""
        rivals = any(isinstance(each, CompactionProvider) for each in agent.context_providers)
        if rivals or agent.compaction_strategy is not None:
            self._adapter.warn(_RIVALS)
        if getattr(agent, "require_per_service_call_history_persistence", False):
            self._adapter.warn(_LOADED_LATE)
            return
        name = self.session_of(agent, session)
        context.extend_tools(self.source_id, [self._tool(name, tool) for tool in self._adapter.recall_tools])
        context.extend_middleware(self.source_id, FittedChat(self._adapter, name))

    def session_of(self, agent: Any, session: AgentSession) -> str:
        """The name of a session: the id of Agent Framework's, and the agent's name."""
        return session_name(session.session_id, agent.name or "agent")

    def _tool(self, session: str, tool: Function) -> FunctionTool:
        async def look_up(**arguments: Any) -> str:
            return await self._adapter.arecall(session, tool.name, arguments)

        return FunctionTool(
            name=tool.name, description=tool.description or "", func=look_up, input_model=tool.schema
        )


class FittedChat(ChatMiddleware):  # type: ignore[misc, unused-ignore]
    """Every request of one run of an agent, made to fit."""

    def __init__(self, adapter: Adapter, session: str) -> None:
        self._adapter, self._session = adapter, session
        self._recall = frozenset(tool.name for tool in adapter.recall_tools)

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Send a history that fits, with less of it where the model says "too long", and record the reply."""
        if "compaction_strategy" in context.kwargs or getattr(context.client, "compaction_strategy", None):
            self._adapter.warn(_RIVALS)
        options = self._with_own_tools(dict(context.options or {}))
        context.options = options
        if _kept_away(context.client, options):
            self._adapter.warn(_KEPT_AWAY)
            await call_next()
            return
        leading, outgoing = self._outgoing(context.client, list(context.messages), options)

        async def send(adapted: Adapted[Message]) -> Any:
            context.messages = [*leading, *_apart(adapted)]
            context.options = _pause_thinking(options, adapted)
            await call_next()
            if isinstance(context.result, ResponseStream):
                context.result = await self._begin(context.result, adapted, options)
            return context.result

        await self._adapter.acall(outgoing, send, _heard)

    async def _begin(
        self, stream: ResponseStream[Any, Any], adapted: Adapted[Message], options: Mapping[str, Any]
    ) -> ResponseStream[Any, Any]:
        """A stream of which the first piece has arrived: whether a request is too long shows only then."""
        pieces = await begun(stream)
        final: list[ChatResponse] = []

        async def updates() -> AsyncIterator[Any]:
            try:
                async for update in pieces:
                    yield update
            except BaseException:
                await stream.close()
                raise
            final.append(await stream.get_final_response())
            heard = _heard(final[0])
            if heard is not None:
                await self._adapter.areceive(adapted, heard)

        def finish(seen: Sequence[Any]) -> ChatResponse:
            own = list(stream.updates)
            if len(own) == len(seen) and all(a is b for a, b in zip(own, seen, strict=True)):
                return final[0]
            return ChatResponse.from_updates(seen, output_format_type=options.get("response_format"))

        return ResponseStream(updates(), finalizer=finish)

    def _with_own_tools(self, options: dict[str, Any]) -> dict[str, Any]:
        """An agent without tools of its own is offered none."""
        tools = options.get("tools") or []
        if tools and all(getattr(tool, "name", None) in self._recall for tool in tools):
            return {key: value for key, value in options.items() if key not in ("tools", "tool_choice")}
        return options

    def _outgoing(
        self, client: Any, messages: list[Message], options: Mapping[str, Any]
    ) -> tuple[list[Message], Outgoing[Message]]:
        """What stands before the conversation, and the request."""
        leading, spoken = split_leading(messages, lambda message: message.role == "system")
        model = options.get("model") or getattr(client, "model", None)
        claude = dialect_for(model or "") == "anthropic"
        thinking = options.get("thinking") if claude else None
        outgoing = Outgoing(
            session=self._session,
            messages=spoken,
            converter=CLAUDE if claude else OTHERS,
            system=_system(options.get("instructions"), leading),
            tools=[_function(tool) for tool in options.get("tools") or ()],
            params=_schema(options.get("response_format"))
            | ({"thinking": dict(thinking)} if thinking else {}),
            max_tokens=options.get("max_tokens"),
            options={"model": model},
        )
        return leading, outgoing


def _heard(response: Any) -> Heard[Message] | None:
    """A reply with something in it; a stream is none yet."""
    if not isinstance(response, ChatResponse) or not any(each.contents for each in response.messages):
        return None
    stop = str(response.finish_reason or "stop")
    return Heard(messages=response.messages, usage=_usage(response), stop=stop)


def _kept_away(client: Any, options: Mapping[str, Any]) -> bool:
    """Whether the service has the history, so that a request has only what is new."""
    store = options.get("store")
    stores = getattr(client, "STORES_BY_DEFAULT", False) if store is None else store
    return bool(options.get("conversation_id") or stores)


def _apart(adapted: Adapted[Message]) -> Iterator[Message]:
    """The messages to send. A tool's message holds results only: what was joined to them stands behind them."""
    own = set(map(id, adapted.outgoing.messages))
    for message in adapted.messages:
        results = [content for content in message.contents if content.type == "function_result"]
        if id(message) in own or not results or len(results) == len(message.contents):
            yield message
            continue
        yield Message("tool", results)
        yield Message("user", [content for content in message.contents if content.type != "function_result"])


def _pause_thinking(options: dict[str, Any], adapted: Adapted[Message]) -> dict[str, Any]:
    """The options, without thinking where it has to pause."""
    if adapted.pauses_thinking:
        return {key: value for key, value in options.items() if key != "thinking"}
    return options


def _system(instructions: Any, leading: Sequence[Message]) -> str:
    given = [instructions] if isinstance(instructions, str) else list(instructions or ())
    return "\n".join([*map(str, given), *(message.text for message in leading)])


def _function(tool: Any) -> dict[str, Any]:
    """A tool as it is counted; one that the service runs, as what is sent for it."""
    if isinstance(tool, FunctionTool):
        schema = tool.parameters()
        return {"name": tool.name, "description": tool.description or "", "input_schema": schema}
    told = dict(tool) if isinstance(tool, Mapping) else {"description": repr(tool)}
    return {"name": str(told.get("name") or told.get("type") or "tool"), "input_schema": {}, **told}


def _schema(wanted: Any) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    if wanted is None:
        return {}
    schema = dict(wanted) if isinstance(wanted, Mapping) else wanted.model_json_schema()
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def _usage(response: ChatResponse) -> TokenUsage | None:
    """A bill. Anthropic counts what was cached beside the input, others within it."""
    bill = response.usage_details or {}
    given, output = bill.get("input_token_count"), bill.get("output_token_count") or 0
    if not given:
        return None
    read, written = (
        bill.get("cache_read_input_token_count") or 0,
        bill.get("cache_creation_input_token_count") or 0,
    )
    if any(key.startswith("anthropic.") for key in bill):
        given += read + written
    reasoning = bill.get("reasoning_output_token_count") or 0
    return bill_of(given, output, read=read, written=written, reasoning=reasoning)


# Messages


class FrameworkMessages:
    """Messages of Agent Framework in the form of Anthropic's Messages, which can hold what they hold."""

    dialect = "anthropic"

    def __init__(self, *, claude: bool) -> None:
        self._claude = claude

    def body(self, message: Message) -> dict[str, Any]:
        """A message as one of Anthropic's."""
        role = "assistant" if message.role == "assistant" else "user"
        return {"role": role, "content": [told for _, told in self._told(message)]}

    def build(self, shown: Shown, wire: Any, was: Message | None) -> Message:
        """A message for what is shown: contents of which nothing changed are the framework's own."""
        wire = wire or dialect_named(self.dialect).wire(shown)[0]
        own = list(self._told(was)) if was is not None else []
        told = wire["content"]
        blocks = [{"type": "text", "text": told}] if isinstance(told, str) else told
        contents = [content for block in blocks for content in _built(block, own)]
        results = any(content.type == "function_result" for content in contents)
        role = "tool" if results else "user" if wire["role"] == "user" else "assistant"
        if was is None:
            return Message(role, contents)
        return Message(
            role if results else was.role,
            contents,
            author_name=was.author_name,
            additional_properties=was.additional_properties,
        )

    def _told(self, message: Message) -> Iterator[tuple[list[Content], Block]]:
        """Contents, as they are and as Anthropic has them."""
        contents = [content for content in message.contents if content.type != "usage"]
        for content, following in zip(contents, [*contents[1:], None], strict=False):
            if self._claude and _is_seal(content):
                continue
            if self._claude and content.type == "text_reasoning":
                seal = following if following is not None and _is_seal(following) else None
                sign = content.protected_data or (seal.protected_data if seal else None)
                thought = {"type": "thinking", "thinking": content.text or "", "signature": sign or ""}
                yield [content, *([seal] if seal else [])], thought
            elif content.type != "text" or content.text:
                yield [content], _block(content)


CLAUDE, OTHERS = FrameworkMessages(claude=True), FrameworkMessages(claude=False)


def _is_seal(content: Content) -> bool:
    """Whether a content is only the signature of the thought before it, as a stream has it."""
    return content.type == "text_reasoning" and content.text is None and bool(content.protected_data)


def _block(content: Content) -> Block:
    """A content as Anthropic has it."""
    match content.type:
        case "text":
            return {"type": "text", "text": content.text}
        case "function_call":
            return {
                "type": "tool_use",
                "id": content.call_id,
                "name": content.name,
                "input": _arguments(content),
            }
        case "function_result":
            told = {"type": "tool_result", "tool_use_id": content.call_id, "content": _result(content)}
            return told | ({"is_error": True} if content.exception is not None else {})
        case "text_reasoning":
            return {"type": "reasoning", "id": content.id, "text": content.text or content.protected_data}
        case "data" | "uri" if content.has_top_level_media_type("image"):
            return {"type": "image", "source": _source(content)}
        case "data":
            return {"type": "text", "text": f"[{content.media_type} {digest(str(content.uri).encode())}]"}
        case _:
            return {"type": "text", "text": to_json(content.to_dict(exclude={"raw_representation"}))}


def _arguments(call: Content) -> Any:
    """The arguments of a call; those that are no JSON object stay what the model wrote."""
    given = call.arguments
    read = from_json(given) if isinstance(given, str) else given
    if isinstance(read, Mapping):
        return dict(read)
    return {"raw": given} if given else {}


def _result(result: Content) -> Any:
    """What a tool answered: a text, or blocks where there are pictures in it."""
    items = list(result.items or ())
    if all(item.type == "text" for item in items):
        return "\n".join(item.text or "" for item in items) if items else str(result.result or "")
    return [_block(item) for item in items]


def _source(image: Content) -> Block:
    uri = str(image.uri)
    if not uri.startswith("data:"):
        return {"type": "url", "url": uri}
    return {"type": "base64", "media_type": image.media_type, "data": uri.partition(",")[2]}


def _built(block: Block, own: Sequence[tuple[list[Content], Block]]) -> list[Content]:
    """The contents for what is shown of a block."""
    for contents, told in own:
        if told == block:
            return contents
    match block:
        case {"type": "tool_use", "id": id, "name": name, "input": given}:
            was = next((contents[0] for contents, told in own if told.get("id") == id), None)
            made = copy(was) if was is not None else Content.from_function_call(id, name)
            made.arguments = to_json(given)
            return [made]
        case {"type": "tool_result", "tool_use_id": id}:
            was = next((contents[0] for contents, told in own if told.get("tool_use_id") == id), None)
            failed = ("failed" if block.get("is_error") else None) if was is None else was.exception
            return [Content.from_function_result(id, result=_items(block, was), exception=failed)]
        case _:
            return [Content.from_text(str(block.get("text", "")))]


def _items(block: Block, was: Content | None) -> list[Content]:
    """What is shown of a result; its pictures are the framework's own."""
    content = block.get("content") or ""
    if isinstance(content, str):
        return [Content.from_text(content)]
    own = [([item], _block(item)) for item in (was.items if was is not None else None) or ()]
    return [made for one in content for made in _built(one, own)]
