"""A plug-in for Google's Agent Development Kit (extra `fanfold[adk]`).

    app = App(name="app", root_agent=agent, plugins=[FanfoldPlugin(store="sqlite:agent.db")])

Before every request to the model the history that ADK sends is fitted: outputs clipped, the whole within the
model's window; with `preset="miki"`, UI data pruned too. ADK's own session stays whole. Sessions are kept across runs
where the store is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from fanfold.core.message import Message
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import Adapted, Adapter, Heard, Newest, Outgoing, session_name
from fanfold.integrations.requirement import require
from fanfold.session.pool import Lease
from fanfold.stores.store import Store

require("google-adk", "2.10", "adk")

from google.adk.plugins.base_plugin import BasePlugin  # noqa: E402 the right version is there
from google.adk.tools.base_tool import BaseTool  # noqa: E402
from google.genai import types  # noqa: E402

STEPS = 5
"""After so many requests of a session a line of figures is told."""
_KEPT = 10_000
"""For this many sessions, what was last sent is remembered."""
_MADE_UP = "adk-"
"""How the ids begin that ADK gives to calls, and takes off again before it sends them."""
_RIVALS = (
    "EventsCompactionConfig is set beside fanfold, and both shorten the history. Take events_compaction_config out of "
    "the App: what ADK compacts away, fanfold takes for another conversation."
)
_CHAINED = (
    "The Interactions API keeps the conversation at Google, and ADK sends only its last turn. fanfold leaves these "
    "requests alone: say Gemini(use_interactions_api=False) to have them fitted."
)


class _LastSent(NamedTuple):
    """The last request of a session, and how many there were."""

    adapted: Adapted[types.Content]
    number: int


class FanfoldPlugin(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Keeps what ADK sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and of `fanfold.Pool`, which keeps the sessions live; `preset="miki"` does
    what Miki does. `recall=False` offers the model no tools to look things up again. `debug` is called with a line of
    figures every five requests of a session.
    """

    def __init__(
        self,
        name: str = "fanfold",
        *,
        debug: Callable[[str], object] | None = None,
        store: Store | str | None = None,
        recall: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(name=name)
        self._debug = debug
        self._make: Callable[[], Adapter] = partial(Adapter, store, recall=recall, **options)
        self._adapter = self._make()
        self._sent = Newest[str, _LastSent](_KEPT)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Fit the history that ADK is about to send."""
        if callback_context.get_invocation_context().events_compaction_config is not None:
            self._adapter.warn(_RIVALS)
        if llm_request.previous_interaction_id:
            self._adapter.warn(_CHAINED)
            return
        if llm_request.tools_dict:
            llm_request.append_tools([RecallTool(self, tool) for tool in self._adapter.recall_tools])
        name = _name(callback_context)
        before = self._sent.get(name)
        adapted = await self._adapter.afit(_outgoing(name, llm_request))
        self._send(llm_request, adapted, 1 + (before.number if before else 0))

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record a reply. Pieces of a reply that is still streaming are not recorded."""
        last = self._sent.get(_name(callback_context))
        if last is None or llm_response.content is None or llm_response.partial:
            return
        stop = str(getattr(llm_response.finish_reason, "value", None) or "STOP")
        reply: dict[str, Any] = {"content": CONTENTS.body(llm_response.content), "finishReason": stop}
        bill = llm_response.usage_metadata
        usage = {"usageMetadata": _wire(bill)} if bill is not None else {}
        read = dialect_named("gemini").reply({"candidates": [reply], **usage})
        heard = Heard(messages=[llm_response.content], usage=read.usage, stop=read.stop)
        await self._adapter.areceive(last.adapted, heard)

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Record the results of functions as ADK will send them: those that ran at the same time, together."""
        if _name(invocation_context) in self._sent and event.get_function_responses() and not event.partial:
            async with self.chat(invocation_context) as chat:
                await chat.add(CONTENTS.body(event.content))

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> Any:
        """If the model says that the request is too long, ask again with less. Other errors are left to ADK."""
        last = self._sent.get(_name(callback_context))
        smaller = await self._adapter.arefused(last.adapted, error) if last is not None else None
        if last is None or smaller is None:
            return None
        model, number = callback_context.get_invocation_context().agent.canonical_model, last.number

        async def send(adapted: Adapted[types.Content]) -> Any:
            self._send(llm_request, adapted, number)
            return await anext(model.generate_content_async(llm_request, stream=False), None)

        try:
            return (await self._adapter.aask(smaller, send))[1]
        except Exception:
            return None  # then ADK raises the error that it knows

    async def close(self) -> None:
        """Close all sessions. Where the store keeps them, they can be opened again by their names."""
        await self._adapter.aclose()
        self._adapter = self._make()  # a runner closes its plug-ins, and users give them to the next runner
        self._sent.clear()

    def chat(self, context: Any) -> Lease:
        """The session in which an agent's conversation is kept: look, pin, undo in it by `async with`."""
        return self._adapter.session(_name(context))

    async def look_up(self, context: Any, tool: str, arguments: object) -> str:
        """What a recall tool answers."""
        return await self._adapter.arecall(_name(context), tool, arguments)

    def _send(self, llm_request: Any, adapted: Adapted[types.Content], number: int) -> _LastSent:
        """Put what fits into ADK's request, and remember it until the reply is there."""
        llm_request.contents = adapted.messages
        last = _LastSent(adapted, number)
        self._sent.keep(adapted.outgoing.session, last)
        if self._debug is not None and adapted.request is not None and number % STEPS == 0:
            view = adapted.request.view
            self._debug(f"Context stats: {len(view.messages)} messages, ~{view.tokens} tokens")
        return last


class RecallTool(BaseTool):  # type: ignore[misc, unused-ignore]
    """A tool with which the model looks up what it no longer sees."""

    def __init__(self, plugin: FanfoldPlugin, tool: Function) -> None:
        super().__init__(name=tool.name, description=tool.description or "")
        self._plugin, self._schema = plugin, tool.schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> str:
        """What the model asked for, or a text that it can act on."""
        return await self._plugin.look_up(tool_context, self.name, args)


class Contents:
    """Contents of ADK in the form of Gemini's, which they are already."""

    dialect = "gemini"

    def body(self, message: types.Content) -> dict[str, Any]:
        """A content as it goes over the wire."""
        return _without_ids(_wire(message))

    def build(self, shown: Message, wire: Any, was: types.Content | None) -> types.Content:
        """A content for what is shown."""
        made: types.Content = types.Content.model_validate(wire or dialect_named("gemini").wire(shown)[0])
        return made


CONTENTS = Contents()


def _name(context: Any) -> str:
    """App, user, session and agent."""
    agent = getattr(context, "agent_name", None) or context.agent.name
    return session_name(context.session.app_name, context.session.user_id, context.session.id, agent)


def _outgoing(name: str, request: Any) -> Outgoing[types.Content]:
    config = _wire(request.config, "system_instruction", "tools", "thinking_config")
    thinking = {"thinkingConfig": config["thinkingConfig"]} if "thinkingConfig" in config else {}
    settings = {**_schema(request.config), **thinking}
    return Outgoing(
        session=name,
        messages=request.contents,
        converter=CONTENTS,
        system=config.get("systemInstruction"),
        tools=config.get("tools") or (),
        params={"config": settings} if settings else {},
        max_tokens=request.config.max_output_tokens,
        options={"model": request.model},
    )


def _schema(config: Any) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    schema = config.response_json_schema or config.response_schema
    if schema is None:
        return {}
    if isinstance(schema, types.Schema):
        return {"responseSchema": _wire(schema)}
    if not isinstance(schema, dict):
        from pydantic import TypeAdapter

        schema = TypeAdapter(schema).json_schema()
    return {"responseJsonSchema": schema}


def _wire(value: Any, *fields: str) -> dict[str, Any]:
    """A value of ADK's as it goes over the wire; only some fields of it, where the rest may hold classes."""
    made: dict[str, Any] = value.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=set(fields) or None
    )
    return made


def _without_ids(content: dict[str, Any]) -> dict[str, Any]:
    """A content without the ids that ADK made up: it takes them off before it sends them."""
    for part in content.get("parts") or ():
        for kind in ("functionCall", "functionResponse"):
            if str(part.get(kind, {}).get("id", "")).startswith(_MADE_UP):
                del part[kind]["id"]
    return content
