"""A capability for Pydantic AI (extra `fanfold[pydantic-ai]`).

    agent = Agent("openai:gpt-5", capabilities=[Fanfold(store="sqlite:agent.db")])
    agent.run_sync("…", conversation_id="run-42")

Before every request to the model the messages are made to fit. The message history stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Part, Text, Thinking, text_of
from fanfold.core.record import TokenUsage
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    FrameworkHook,
    Heard,
    Newest,
    Outgoing,
    as_function,
    bill_of,
    name_by_content,
    reply_schema,
    session_name,
)
from fanfold.integrations.requirement import require
from fanfold.integrations.telling import (
    forms,
    medium,
    show_contents,
    shows_thoughts,
    tell_reply,
    tell_result,
    unknown_content,
)
from fanfold.stores.store import Store

require("pydantic-ai-slim", "2.66", "pydantic-ai")

from pydantic_ai import RunContext, Tool  # noqa: E402 the right version is there
from pydantic_ai.capabilities import AbstractCapability  # noqa: E402
from pydantic_ai.exceptions import ModelContextWindowExceededError, RetryModelRequest  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

_KEPT_RUNS = 1_000
_RIVALS = {"ProcessHistory", "OpenAICompaction", "AnthropicCompaction"}
_RIVAL = (
    "%s is active beside fanfold. If both shorten the history, it loses messages, and fanfold takes what is left for "
    "another conversation. Take it out of the capabilities, unless it only changes texts."
)


class Fanfold(FrameworkHook, AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]
    """Keeps what an agent sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, … `recall=False`
    offers the model no tools to look things up again.
    """

    def __init__(self, *, store: Store | str | None = None, recall: bool = True, **options: Any) -> None:
        errors = (ModelContextWindowExceededError,)
        self._adapter = Adapter(store, recall=recall, too_long=errors, **options)
        self._names = frozenset(tool.name for tool in self._adapter.recall_tools)
        self._under_way = Newest[str, Adapted[Unit]](_KEPT_RUNS)
        """The last request of each run."""

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The recall tools."""
        tools = [self._recall_tool(tool) for tool in self._adapter.recall_tools]
        return FunctionToolset(tools, id="fanfold") if tools else None

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Make the messages fit, for the model that will serve them."""
        if ctx.root_capability is not None:
            ctx.root_capability.apply(self._notice)
        messages, given = request_context.messages, request_context.model_request_parameters
        if all(tool.name in self._names for tool in given.function_tools):  # an agent without tools gets none
            given = replace(given, function_tools=[])
        if not messages or isinstance(messages[-1], ModelResponse):  # a run that was suspended goes on
            return replace(request_context, model_request_parameters=given)
        adapted = await self._adapter.afit(self._outgoing(ctx, request_context, given))
        self._under_way.keep(str(ctx.run_id), adapted)
        settings = request_context.model_settings
        if adapted.pauses_thinking:
            settings = {**(settings or {}), "anthropic_thinking": {"type": "disabled"}}  # type: ignore[typeddict-unknown-key, unused-ignore]
        sent = list(_join(adapted.messages, messages))
        return replace(
            request_context, messages=sent, model_request_parameters=given, model_settings=settings
        )

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the reply, and learn from its bill."""
        adapted = self._under_way.get(str(ctx.run_id))
        if adapted is not None and response.parts:
            heard = Heard(messages=[Unit(-1, response)], usage=_usage(response), stop=response.finish_reason)
            await self._adapter.areceive(adapted, heard)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Try again with less, where the provider says that it is too long."""
        adapted = self._under_way.get(str(ctx.run_id))
        if adapted is not None and await self._adapter.arefused(adapted, error) is not None:
            raise RetryModelRequest from error  # `prepare_model_request` makes it fit what was learned
        raise error

    async def wrap_tool_validate(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        """Take the arguments of a recall tool as the model wrote them: wrong ones are answered, and end no run."""
        return {"arguments": args} if tool_def.name in self._names else await handler(args)

    def _notice(self, capability: AbstractCapability[Any]) -> None:
        """Tell the user of a capability that shortens the history, too."""
        if type(capability).__name__ in _RIVALS:
            self._adapter.warn(_RIVAL % type(capability).__name__)

    def _outgoing(self, ctx: RunContext[Any], asked: ModelRequestContext, given: Any) -> Outgoing[Unit]:
        units = list(_split(asked.messages))
        settings = asked.model_settings or {}
        thinking = settings.get("anthropic_thinking")
        return Outgoing(
            session=_session(ctx, units),
            messages=units,
            converter=CLAUDE if asked.model.system == "anthropic" else CHAT,
            system=_system(asked.messages, given),
            tools=[
                as_function(Function(tool.name, tool.description, tool.parameters_json_schema))
                for tool in (*given.function_tools, *given.output_tools)
            ],
            params=_schema(given) | ({"thinking": dict(thinking)} if thinking else {}),
            max_tokens=settings.get("max_tokens"),
            options={"model": asked.model.model_name},
        )

    def _recall_tool(self, tool: Function) -> Tool[Any]:
        async def look_up(ctx: RunContext[Any], arguments: Any) -> str:
            name = _session(ctx, list(_split(ctx.messages[:1])))
            return await self._adapter.arecall(name, tool.name, arguments)

        return Tool.from_schema(look_up, tool.name, tool.description, tool.schema, takes_ctx=True)


def _session(ctx: RunContext[Any], units: Sequence[Unit]) -> str:
    """Conversation and agent."""
    agent = (ctx.agent.name if ctx.agent is not None else None) or "agent"
    return session_name(ctx.conversation_id or name_by_content(CHAT, units), agent)


def _system(messages: Sequence[ModelMessage], given: Any) -> str:
    """All that stands before the conversation: system prompts, and instructions."""
    first = messages[0].parts if messages and isinstance(messages[0], ModelRequest) else ()
    prompts = [part.content for part in first if isinstance(part, SystemPromptPart)]
    return "\n\n".join([*prompts, *(part.content for part in given.instruction_parts or ())])


def _schema(given: Any) -> dict[str, Any]:
    """The schema of a structured reply that is no tool; the model reads it too."""
    if given.output_object is None or given.output_mode == "tool":
        return {}
    return reply_schema(given.output_object.json_schema)


def _usage(response: ModelResponse) -> TokenUsage | None:
    bill = response.usage
    if not bill.input_tokens:
        return None
    return bill_of(
        bill.input_tokens,
        bill.output_tokens,
        read=bill.cache_read_tokens,
        written=bill.cache_write_tokens,
        reasoning=bill.details.get("reasoning_tokens", 0),
    )


# A request of Pydantic AI's holds several parts, such as the results of parallel calls. Each part is a unit: one of
# them can be shortened, and the others stay. Control parts are no units: they stay, whatever happens.


@dataclass(frozen=True, eq=False)
class Unit:
    """A reply, or one part of a request."""

    owner: int
    """The message it is of; -1 for something new."""
    body: Any


def _is_said(part: Any) -> bool:
    """Whether a part is something that somebody said; system prompts and deltas are control state."""
    return part.part_kind in ("user-prompt", "tool-return", "retry-prompt", "retry-feedback")


def _split(messages: Sequence[ModelMessage]) -> Iterator[Unit]:
    for owner, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            yield Unit(owner, message)
        else:
            yield from (Unit(owner, part) for part in message.parts if _is_said(part))


def _join(units: Sequence[Unit], messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    """The messages that these units make; one of which nothing changed is the same object."""
    shown = {unit.owner for unit in units}
    hidden = [at for at, message in enumerate(messages) if at not in shown and _control(message)]
    for owner, group in groupby(units, lambda unit: unit.owner):
        while hidden and (hidden[0] < owner or owner < 0):
            at = hidden.pop(0)
            yield replace(messages[at], parts=_control(messages[at]))
        yield from _joined(list(group), messages[owner] if owner >= 0 else None)
    yield from (replace(messages[at], parts=_control(messages[at])) for at in hidden)


def _control(message: ModelMessage) -> list[Any]:
    parts = message.parts if isinstance(message, ModelRequest) else ()
    return [part for part in parts if not _is_said(part)]


def _joined(units: list[Unit], own: ModelMessage | None) -> Iterator[ModelMessage]:
    if own is None or isinstance(own, ModelResponse):
        for unit in units:
            spoken = isinstance(unit.body, ModelResponse)
            yield unit.body if spoken else ModelRequest(parts=[unit.body])
        return
    said = [part for part in own.parts if _is_said(part)]
    if len(said) == len(units) and all(unit.body is part for unit, part in zip(units, said, strict=True)):
        yield own
        return
    yield replace(own, parts=[*_control(own), *(unit.body for unit in units)])


def tell(unit: Unit) -> Message:
    """What a unit says."""
    part = unit.body
    if isinstance(part, ModelResponse):
        thoughts = [_thought(one) for one in part.parts if isinstance(one, ThinkingPart)]
        words = [Text(text)] if (text := _words(part)) else []
        others = [_other(one) for one in part.parts if not isinstance(one, _TOLD)]
        return tell_reply([*thoughts, *words, *others], _calls(part))
    parts = tuple(told for told, _ in _contents(part))
    if getattr(part, "tool_name", None) is None:
        return Message("user", parts)
    failed = not isinstance(part, ToolReturnPart) or part.outcome != "success"
    return tell_result(part.tool_call_id, parts, failed=failed, name=part.tool_name)


def build(shown: Message, was: Unit | None) -> Unit:
    """A unit for what is shown: a copy of the framework's own with other words, or a new one."""
    owner, own = (was.owner, was.body) if was is not None else (-1, None)
    if shown.role == "assistant":
        return Unit(owner, _reply(shown, own))
    if not shown.results:
        return Unit(owner, _prompt(shown, own))
    result = shown.results[0]
    if isinstance(own, ToolReturnPart):
        return Unit(owner, replace(own, content=_show(result.parts, own)))
    outcome = "failed" if result.error else "success"
    return Unit(owner, ToolReturnPart(result.name or "tool", result.text, result.call, outcome=outcome))


CHAT, CLAUDE = forms(tell, build)
_TOLD = (TextPart, ThinkingPart, ToolCallPart)


def _words(response: ModelResponse) -> str:
    return "\n\n".join(part.content for part in response.parts if isinstance(part, TextPart) and part.content)


def _calls(response: ModelResponse) -> list[Call]:
    calls = (part for part in response.parts if isinstance(part, ToolCallPart))
    return [Call(call.tool_call_id, call.tool_name, call.args_as_json_str()) for call in calls]


def _thought(part: ThinkingPart) -> Thinking:
    redacted = part.id == "redacted_thinking"
    return Thinking("" if redacted else part.content, part.signature or None)


def _other(part: Any) -> Part:
    """A part of a reply that fanfold does not know, such as a file or what a tool of the provider's found."""
    return unknown_content(
        {"kind": part.part_kind, "id": digest(repr(part).encode("utf-8", "surrogatepass"))}
    )


def _contents(part: Any) -> list[tuple[Part, Any]]:
    """The contents of a part of a request, with what each says."""
    if isinstance(part, ToolReturnPart):
        contents: Sequence[Any] = part.content_items(mode="str")
    elif isinstance(part, UserPromptPart):
        contents = [part.content] if isinstance(part.content, str) else part.content
    else:
        contents = [part.model_response()]
    return [(_content(one), one) for one in contents]


def _content(one: Any) -> Part:
    if isinstance(one, BinaryContent):
        return medium(one.media_type, one.base64)
    if isinstance(one, FileUrl):
        return medium(_media_type(one), url=one.url)
    words = one if isinstance(one, str) else getattr(one, "content", None)
    if isinstance(words, str):
        return Text(words)
    return unknown_content({"kind": one.kind, "id": getattr(one, "identifier", "")})


def _media_type(file: FileUrl) -> str:
    """The kind of a file; its address does not always tell it."""
    try:
        return str(file.media_type)
    except ValueError:
        kind = str(file.kind)
        return {"image-url": "image/*", "document-url": "application/pdf"}.get(kind, kind)


def _show(parts: Sequence[Part], own: Any) -> Any:
    """What is shown of a part's content: a text, or a list where there is more than words in it."""
    shown = [
        one if not isinstance(one, Part) else text_of(one) for one in show_contents(parts, _contents(own))
    ]
    return "\n".join(shown) if all(isinstance(one, str) for one in shown) else shown


def _prompt(shown: Message, was: Any) -> UserPromptPart:
    """What a person says, in other words; pictures stay beside them."""
    if isinstance(was, UserPromptPart):
        return replace(was, content=_show(shown.parts, was))
    return UserPromptPart(shown.text) if was is None else UserPromptPart(shown.text, timestamp=was.timestamp)


def _reply(shown: Message, was: ModelResponse | None) -> ModelResponse:
    """A reply with other words or arguments; thoughts that are not shown any more are left out."""
    if was is None:
        calls = [ToolCallPart(one.name, one.raw, one.id) for one in shown.parts if isinstance(one, Call)]
        words = [TextPart(one.text) for one in shown.parts if isinstance(one, Text)]
        return ModelResponse(parts=[*words, *calls])
    thinks = shows_thoughts(shown.parts)
    raw = {part.id: part.raw for part in shown.parts if isinstance(part, Call)}
    parts: list[Any] = []
    for part in was.parts:
        if isinstance(part, ToolCallPart) and part.tool_call_id in raw:
            same = part.args_as_json_str() == raw[part.tool_call_id]
            parts.append(part if same else replace(part, args=raw[part.tool_call_id]))
        elif not isinstance(part, ThinkingPart) or thinks:
            parts.append(part)
    if shown.text != _words(was):
        parts = [part for part in parts if not isinstance(part, TextPart)]
        parts.insert(sum(isinstance(part, ThinkingPart) for part in parts), TextPart(shown.text))
    return replace(was, parts=parts)
