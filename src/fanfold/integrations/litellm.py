"""A callback for LiteLLM, in the SDK and in its proxy (extra `fanfold[litellm]`).

    litellm.callbacks = [FanfoldLogger(store="sqlite:agent.db")]
    await litellm.acompletion(model="openai/gpt-5", messages=messages, tools=tools, litellm_session_id="run-42")

It works in `acompletion`, `anthropic_messages`, a `Router` and the proxy. LiteLLM does not call it in `completion()`,
which is not awaited: there nothing is shortened, and a warning in the log says so.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import count
from typing import Any

import msgspec

from fanfold.core.edit import RECALL
from fanfold.core.ids import digest
from fanfold.core.message import Call, Message
from fanfold.core.record import TokenUsage
from fanfold.dialects.chat.rules import is_part
from fanfold.dialects.dialect import Reply
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import write as write_tools
from fanfold.integrations.adapter import (
    Adapted,
    Adapter,
    FrameworkHook,
    Heard,
    Newest,
    Outgoing,
    name_by_content,
    names_of,
    session_name,
    split_leading,
)
from fanfold.integrations.requirement import require
from fanfold.integrations.telling import as_foreign, from_foreign
from fanfold.stores.store import Store
from fanfold.tokens.usage import billed_usage

require("litellm", "1.91", "litellm")

from litellm import get_llm_provider  # noqa: E402 the right version is there
from litellm.exceptions import ContextWindowExceededError  # noqa: E402
from litellm.integrations.custom_logger import CustomLogger  # noqa: E402
from litellm.types.integrations.custom_logger import (  # noqa: E402
    AgenticLoopPlan,
    AgenticLoopRequestPatch,
)

Body = dict[str, Any]
_DIALECTS = {"acompletion": "openai.chat", "completion": "openai.chat", "anthropic_messages": "anthropic"}
_METADATA = ("metadata", "litellm_metadata")
_KEPT_CALLS = 10_000
_NUMBERS = count()
_NOT_REACHED = (
    "litellm.completion() is not reached by fanfold: LiteLLM calls no hook there that could change the messages. "
    "Nothing is shortened. Use litellm.acompletion(), a Router's acompletion() or the proxy."
)
_FOLLOW_UP: ContextVar[Adapted[Body] | None] = ContextVar("fanfold_litellm_follow_up", default=None)
"""The request that a loop of LiteLLM's is about to make, because the model looked something up."""


class FanfoldLogger(FrameworkHook, CustomLogger):  # type: ignore[misc, unused-ignore]
    """Keeps what LiteLLM sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and `fanfold.Pool`: `window=`, `strategy=`, `summarizer=`, … `recall=False`
    offers the model no tools to look things up again.
    """

    def __init__(self, *, store: Store | str | None = None, recall: bool = True, **options: Any) -> None:
        super().__init__()
        # LiteLLM takes callbacks of one class for the same one, unless a public number or text tells them apart.
        self.number = next(_NUMBERS)
        errors = (ContextWindowExceededError,)
        self._adapter = Adapter(store, recall=recall, too_long=errors, **options)
        self._under_way = Newest[str, Adapted[Body]](_KEPT_CALLS)
        """The requests that are not answered yet, by LiteLLM's id of the call."""

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Make the messages fit, for the deployment that will serve them; a retry gets the same ones."""
        dialect = _DIALECTS.get(getattr(call_type, "value", str(call_type)))
        if dialect is None or not isinstance(kwargs.get("messages"), list):
            return None
        # LiteLLM marks the requests of its own loops by this private key, and by nothing public.
        follow_up = _FOLLOW_UP.get()
        if follow_up is not None and kwargs.get("_agentic_loop_depth"):
            self._keep(kwargs, follow_up)
            return None  # it fits already
        leading, outgoing = self._outgoing(kwargs, dialect)
        adapted = await self._adapter.afit(outgoing)
        self._keep(kwargs, adapted)
        sent = [*leading, *adapted.messages]
        changed: dict[str, Any] = {"messages": sent}
        if outgoing.tools:
            changed["tools"] = list(outgoing.tools)
        if adapted.pauses_thinking:
            changed["thinking"] = {"type": "disabled"}
        # Of its own accord LiteLLM tries again only where a model is named for what is too long: here, the same one.
        again = {"context_window_fallback_dict": {kwargs.get("model"): kwargs.get("model")}}
        return {**again, **kwargs, **changed}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Record the reply. What the model looks up beside calling the caller's tools is left out: the caller could not
        answer that, and the model can ask for it again."""
        if _id(request_data) in self._under_way and self._adapter.recall_tools:
            _leave_out_recall(response)
        await self._hear(request_data, response)
        return response

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Record a reply that was streamed."""
        await self._hear(kwargs, response_obj)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: Any,
        fallback_depth: int | None = None,
    ) -> None:
        """Learn from a provider that says "too long", so that LiteLLM's next try sends less."""
        adapted = self._under_way.get(_id(request_data))
        smaller = await self._adapter.arefused(adapted, exception) if adapted is not None else None
        if smaller is None:
            self._under_way.pop(_id(request_data), None)
            return
        self._keep(request_data, smaller)
        messages = request_data["messages"]  # made by the hook above, and none of the caller's
        messages[:] = [*_leading(messages, smaller.outgoing.converter.dialect), *smaller.messages]

    async def async_should_run_agentic_loop(
        self,
        response: Any,
        model: str,
        messages: list[Body],
        tools: list[Body] | None,
        stream: bool,
        custom_llm_provider: str,
        kwargs: dict[str, Any],
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the model only looks something up: then that is answered here."""
        adapted = self._under_way.get(_id(kwargs))
        calls = _read(adapted, response).calls if adapted is not None and not stream else ()
        looks_up = bool(calls) and all(call.name in RECALL for call in calls)
        return looks_up, {
            "tool_calls": [[call.id, call.name, call.raw] for call in calls]
        } if looks_up else {}

    async def async_build_agentic_loop_plan(self, tools: dict[str, Any], **given: Any) -> AgenticLoopPlan:
        """Answer what the model looks up, and ask it again."""
        kwargs, response = given["kwargs"], given["response"]
        adapted = self._under_way.pop(_id(kwargs))
        reply = _read(adapted, response)
        outgoing, converter = adapted.outgoing, adapted.outgoing.converter
        dialect = dialect_named(converter.dialect)
        said = [body for message in reply.messages for body in dialect.wire(message)]
        await self._adapter.areceive(adapted, Heard(messages=said, usage=reply.usage, stop=reply.stop))
        answers = [await self._answer(outgoing.session, call, converter.dialect) for call in reply.calls]
        history = [*outgoing.messages, *said, *answers]
        follow_up = await self._adapter.afit(msgspec.structs.replace(outgoing, messages=history))
        _FOLLOW_UP.set(follow_up)
        leading = _leading(kwargs.get("messages") or given["messages"], converter.dialect)
        params = dict(given["anthropic_messages_optional_request_params"])
        most = params.pop("max_tokens", None) if converter.dialect == "anthropic" else None
        patch = AgenticLoopRequestPatch(
            model=_full_model(given),
            messages=[*leading, *follow_up.messages],
            max_tokens=most,
            optional_params=params,
            kwargs={key: value for key, value in kwargs.items() if key not in _OWN},
        )
        return AgenticLoopPlan(run_agentic_loop=True, request_patch=patch, metadata={"tool_type": "fanfold"})

    def log_pre_api_call(self, model: str, messages: Any, kwargs: dict[str, Any]) -> None:
        """Say that a call which is not awaited is not reached."""
        params = kwargs.get("litellm_params") or {}
        if kwargs.get("call_type") == "completion" and not params.get("acompletion"):
            self._adapter.warn(_NOT_REACHED)

    def _outgoing(self, kwargs: dict[str, Any], dialect: str) -> tuple[list[Body], Outgoing[Body]]:
        leading = _leading(kwargs["messages"], dialect)
        messages = kwargs["messages"][len(leading) :]
        system = kwargs.get("system") if dialect == "anthropic" else _system(leading)
        tools = list(kwargs.get("tools") or ())
        if tools and not kwargs.get("stream") and RECALL.isdisjoint(names_of(tools, dialect)):
            tools += write_tools(self._adapter.recall_tools, dialect)[0]
        return leading, Outgoing(
            session=_session(kwargs, messages),
            messages=messages,
            converter=_converter(kwargs, dialect),
            system=system,
            tools=tools,
            params=_settings(kwargs, dialect),
            max_tokens=kwargs.get("max_tokens") or kwargs.get("max_completion_tokens"),
            options={"model": str(kwargs.get("model", "")).rpartition("/")[2] or None},
        )

    async def _answer(self, session: str, call: Call, dialect: str) -> Body:
        text = await self._adapter.arecall(session, call.name, call.args)
        if dialect == "anthropic":
            return {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}],
            }
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    async def _hear(self, kwargs: Mapping[str, Any], response: Any) -> None:
        adapted = self._under_way.pop(_id(kwargs), None)
        if adapted is None:
            return
        if not _is_reply(response):
            self._under_way[_id(kwargs)] = adapted  # a stream that begins: its end is logged
            return
        reply = _read(adapted, response)
        dialect = dialect_named(adapted.outgoing.converter.dialect)
        said = [body for message in reply.messages for body in dialect.wire(message)]
        await self._adapter.areceive(adapted, Heard(messages=said, usage=reply.usage, stop=reply.stop))

    def _keep(self, kwargs: Mapping[str, Any], adapted: Adapted[Body]) -> None:
        self._under_way.keep(_id(kwargs), adapted)


_OWN = frozenset({"litellm_logging_obj", "messages", "tools", "model", "max_tokens", "stream"})
"""What a follow-up request does not take over from the first one: it has its own."""


class WireMessages:
    """Messages that are in a dialect's form already."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def body(self, message: Body) -> dict[str, Any]:
        """A message as it is."""
        return message if isinstance(message, dict) else _plain(message)

    def build(self, shown: Message, wire: Any, was: Body | None) -> Body:
        """A message as the dialect writes it."""
        made: Body = copy.deepcopy(wire) if wire is not None else dialect_named(self.dialect).wire(shown)[0]
        return made


class TranslatedMessages(WireMessages):
    """Chat messages for a provider with an API of its own, for which LiteLLM translates them.

    What OpenAI's rules say about contents does not bind them: a picture in a result is a picture.
    """

    def body(self, message: Body) -> dict[str, Any]:
        """A message in which no content is against a rule."""
        body = super().body(message)
        content, role = body.get("content"), str(body.get("role"))
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            return body
        return {**body, "content": [one if is_part(one, role) else as_foreign(one) for one in content]}

    def build(self, shown: Message, wire: Any, was: Body | None) -> Body:
        """A message with the contents as LiteLLM knows them."""
        made = super().build(shown, wire, was)
        if isinstance(made.get("content"), list):
            made["content"] = list(map(from_foreign, made["content"]))
        return made


CONVERTERS = {name: WireMessages(name) for name in ("openai.chat", "anthropic")}
TRANSLATED = TranslatedMessages("openai.chat")


def _converter(kwargs: Mapping[str, Any], dialect: str) -> WireMessages:
    """How messages are told, by who gets them."""
    if dialect == "openai.chat" and _provider(kwargs) not in ("openai", "azure"):
        return TRANSLATED
    return CONVERTERS[dialect]


def _provider(kwargs: Mapping[str, Any]) -> str:
    named = kwargs.get("custom_llm_provider")
    try:
        return str(named or get_llm_provider(str(kwargs.get("model") or ""))[1])
    except Exception:  # LiteLLM does not know the model, and says so itself
        return "openai"


def _settings(kwargs: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """What counts or decides beside the messages: the schema of a reply, and for Claude whether it thinks."""
    names = ("response_format", "thinking") if dialect == "anthropic" else ("response_format",)
    return {name: kwargs[name] for name in names if isinstance(kwargs.get(name), dict)}


def _id(kwargs: Mapping[str, Any]) -> str:
    """LiteLLM's id of a call; the same in all hooks."""
    logging = kwargs.get("litellm_logging_obj")
    return str(kwargs.get("litellm_call_id") or getattr(logging, "litellm_call_id", ""))


def _session(kwargs: Mapping[str, Any], messages: Sequence[Body]) -> str:
    """The session that the caller named; else the first message tells the conversation.

    In the proxy the caller's key comes first, so that nobody reaches a conversation of somebody else by its name; and
    a sub-agent of Claude Code has a session of its own, though it names the same one.
    """
    places = [kwargs, *(place for key in _METADATA if isinstance(place := kwargs.get(key), Mapping))]
    names = (place.get(key) for place in places for key in ("litellm_session_id", "session_id"))
    named = next(filter(None, names), None)
    if named is None:
        named = session_name("litellm", name_by_content(CONVERTERS["openai.chat"], messages))
    proxy = next((place for place in places if place.get("user_api_key_hash")), {})
    agent = (proxy.get("headers") or {}).get("x-claude-code-agent-id")
    key = proxy.get("user_api_key_hash")
    # LiteLLM hashes only keys that begin with sk-, and a key must not stand in a name.
    return session_name(digest(str(key).encode()) if key else None, named, agent)


def _leading(messages: Sequence[Body], dialect: str) -> list[Body]:
    """The system prompt in front of chat messages."""
    if dialect != "openai.chat":
        return []
    return split_leading(messages, lambda message: _plain(message).get("role") in ("system", "developer"))[0]


def _system(leading: Sequence[Body]) -> Any:
    contents = [_plain(message).get("content") for message in leading]
    return contents[0] if len(contents) == 1 else "\n\n".join(map(str, contents)) or None


def _plain(message: Any) -> Body:
    """A message as a dict; LiteLLM takes objects of SDKs, too."""
    plain: Body = message.model_dump(exclude_none=True) if hasattr(message, "model_dump") else message
    return plain if isinstance(plain, dict) else {}


def _leave_out_recall(response: Any) -> None:
    """Take calls of recall tools out of a reply."""
    if isinstance(response, dict) and isinstance(response.get("content"), list):
        response["content"] = [block for block in response["content"] if block.get("name") not in RECALL]
    for choice in getattr(response, "choices", None) or ():
        message = getattr(choice, "message", None)
        calls = getattr(message, "tool_calls", None)
        if message is not None and calls:
            message.tool_calls = [call for call in calls if call.function.name not in RECALL] or None


def _is_reply(response: Any) -> bool:
    body = response if isinstance(response, dict) else getattr(response, "__dict__", {})
    return bool(body.get("choices")) or isinstance(body.get("content"), list)


def _read(adapted: Adapted[Body], response: Any) -> Reply:
    """A response of LiteLLM's as the session's dialect reads it."""
    body = response if isinstance(response, dict) else response.model_dump(exclude_none=True)
    reply = dialect_named(adapted.outgoing.converter.dialect).reply(body)
    usage = billed_usage(body.get("usage"))
    # LiteLLM writes zeros into the bill of a stream whose provider sent none.
    return msgspec.structs.replace(reply, usage=usage if usage != TokenUsage() else None)


def _full_model(given: Mapping[str, Any]) -> str:
    """The model with its provider, as the follow-up request has to name it."""
    details = getattr(given.get("logging_obj"), "model_call_details", {})
    return str((details.get("agentic_loop_params") or {}).get("model") or given["model"])
