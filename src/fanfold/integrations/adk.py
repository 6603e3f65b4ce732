"""A plug-in for Google's Agent Development Kit (extra `fanfold[adk]`; systems.md C7).

    app = App(name="app", root_agent=agent, plugins=[FanfoldPlugin(store="sqlite:agent.db")])

Before every request to the model the history that ADK sends is fitted: UI data pruned, outputs clipped, the whole
within the model's window. Every reply and every result is recorded. Sessions are kept across runs where the store is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from fanfold.core.errors import MissingExtra
from fanfold.session.async_session import AsyncSession
from fanfold.session.pool import Lease, Pool
from fanfold.stores.store import Store

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as error:
    raise MissingExtra("The plug-in for ADK needs the package google-adk: install `fanfold[adk]`.") from error

STEPS = 5
"""After so many requests of a session a line of figures is told."""
MADE_UP = "adk-"
"""How the ids begin that ADK gives to calls, and takes off again before it sends them."""


class FanfoldPlugin(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Keeps what ADK sends inside the model's window, and loses nothing.

    `options` are those of `fanfold.open` and of `fanfold.Pool`, which keeps the sessions live. By default the preset is
    Miki's, and the model gets no tools beside ADK's own. `debug` is called with a line of figures every five requests
    of a session.
    """

    def __init__(
        self,
        name: str = "fanfold",
        *,
        debug: Callable[[str], object] | None = None,
        store: Store | str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name)
        self._debug = debug
        self._named = "model" in options or "window" in options
        self._options: dict[str, Any] = {"preset": "miki", "recall": False, **options, "dialect": "gemini"}
        self._pool = Pool(store, **self._options)
        self._models: dict[str, str] = {}
        """The model that each session was first asked for."""
        self._store = store
        self._steps: Counter[str] = Counter()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Fit the history that ADK is about to send."""
        async with self.chat(callback_context, llm_request.model) as chat:
            await chat.merge(_transcript(llm_request))
            request = await chat.request()
            llm_request.contents = [types.Content.model_validate(content) for content in request["contents"]]
            await self._tell(chat)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record a reply; pieces of one that is still streamed are not replies yet."""
        if llm_response.content is None or llm_response.partial:
            return
        reply = {"content": _wire(llm_response.content), "finishReason": _finish(llm_response)}
        bill = llm_response.usage_metadata
        usage = {"usageMetadata": _wire(bill)} if bill is not None else {}
        async with self.chat(callback_context) as chat:
            await chat.receive({"candidates": [reply], **usage})

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Record the results of functions, all that ran at once together, as ADK will send them."""
        if event.get_function_responses() and not event.partial:
            async with self.chat(invocation_context) as chat:
                await chat.add(_without_ids(_wire(event.content)))

    async def close(self) -> None:
        """End all sessions; they go on under their names where the store keeps them."""
        await self._pool.__aexit__()
        self._pool = Pool(self._store, **self._options)
        self._steps.clear()

    def chat(self, context: Any, model: str | None = None) -> Lease:
        """The session in which an agent's conversation is kept: look, pin, undo in it by `async with`."""
        agent = getattr(context, "agent_name", None) or context.agent.name
        name = "/".join((context.session.app_name, context.session.user_id, context.session.id, agent))
        if model and not self._named:
            self._models.setdefault(name, model)
        known = {"model": self._models[name]} if name in self._models else {}
        return self._pool.session(name, **known)

    async def _tell(self, chat: AsyncSession) -> None:
        self._steps[chat.name] += 1
        if self._debug is not None and self._steps[chat.name] % STEPS == 0:
            view = await chat.view()
            self._debug(f"Context stats: {len(view.messages)} messages, ~{view.tokens} tokens")


def _transcript(request: Any) -> dict[str, Any]:
    """The request of ADK as Gemini's own: contents, system instruction and tools."""
    config = _wire(request.config, "system_instruction", "tools")
    system, tools = config.get("systemInstruction"), config.get("tools")
    spoken = {"parts": [{"text": system}]} if isinstance(system, str) else system
    return {
        "contents": [_wire(content) for content in request.contents],
        **({"systemInstruction": spoken} if spoken else {}),
        **({"tools": tools} if tools else {}),
    }


def _wire(value: Any, *fields: str) -> dict[str, Any]:
    """A value of ADK's as it goes over the wire; only some fields of it, where the rest may hold classes."""
    made: dict[str, Any] = value.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=set(fields) or None
    )
    return made


def _finish(response: Any) -> str:
    return str(getattr(response.finish_reason, "value", None) or "STOP")


def _without_ids(content: dict[str, Any]) -> dict[str, Any]:
    """A content without the ids that ADK made up: it takes them off before it sends them."""
    for part in content.get("parts") or ():
        result = part.get("functionResponse") or {}
        if str(result.get("id", "")).startswith(MADE_UP):
            del result["id"]
    return content
