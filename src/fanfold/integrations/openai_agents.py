"""The OpenAI Agents SDK: one object that is session, input filter and hooks (extra `fanfold[openai-agents]`).

    fold = FanfoldSession("run-42", store="sqlite:agent.db")
    await Runner.run(fold.agent(agent), "…", session=fold, run_config=fold.run_config(), hooks=fold.hooks())

Before every request to the model the items are made to fit. What the session keeps is whole.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from fanfold.core.errors import BadInput
from fanfold.core.message import Message
from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import Function
from fanfold.integrations.adapter import Adapted, Adapter, Heard, Outgoing, begun, bill_of, session_name
from fanfold.integrations.requirement import require
from fanfold.session.pool import Lease
from fanfold.stores.store import Store

require("openai-agents", "0.21", "openai-agents")

from agents import (  # noqa: E402 the right version is there
    Agent,
    AgentOutputSchema,
    AgentOutputSchemaBase,
    FunctionTool,
    Handoff,
    Model,
    ModelProvider,
    ModelResponse,
    MultiProvider,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    handoff,
)
from agents.models import get_default_model  # noqa: E402

# The id that the SDK gives to items of models without ids; it is exported nowhere else.
from agents.models.fake_id import FAKE_RESPONSES_ID  # noqa: E402
from agents.run import CallModelData, ModelInputData  # noqa: E402

R = TypeVar("R")
Item = dict[str, Any]
_DIALECT = "openai.responses"
_KEEPING: dict[str, Any] = {"dialect": _DIALECT, "window": 1_000_000, "filters": ()}
"""What the session of the items is opened with. Nothing is ever sent from it: the window only has to be one."""
_UNWRAPPED = (
    "The model of agent %r is not reached by fanfold where the provider says that a request is too long. "
    "Run fold.agent(agent) instead of the agent."
)


class _Under:
    """The request that is under way in a task; what it becomes is seen by whoever started it."""

    def __init__(self, adapted: Adapted[Item]) -> None:
        self.adapted = adapted


_UNDER_WAY: ContextVar[_Under | None] = ContextVar("fanfold_agents_request", default=None)


class FanfoldSession:
    """A session of the Agents SDK whose agents stay inside their model's window, and that loses nothing.

    `options` are those of `fanfold.open` and `fanfold.Pool`. `another` makes a session on the same pool.
    """

    session_settings = None

    def __init__(self, session_id: str, *, store: Store | str | None = None, **options: Any) -> None:
        self.session_id = session_id
        self._adapter = options.pop("_adapter", None) or Adapter(store, **options)

    def another(self, session_id: str) -> FanfoldSession:
        """A session for another conversation, with the same store and options."""
        return FanfoldSession(session_id, _adapter=self._adapter)

    # The session: what the SDK keeps

    def _kept(self) -> Lease:
        return self._adapter.pool.session(self.session_id, **_KEEPING)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The items of the conversation, as they came; the newest ones where there is a limit."""
        async with self._kept() as chat:
            view = await chat.view()
        items = [copy.deepcopy(body) for row in view.rows for body in row.weight.wire]
        return items if limit is None else items[len(items) - limit :] if limit > 0 else []

    async def add_items(self, items: list[Item]) -> None:
        """Record items at the end."""
        async with self._kept() as chat:
            known = [body for row in (await chat.view()).rows for body in row.weight.wire]
            await chat.merge({"input": [*known, *map(_plain, items)]})

    async def pop_item(self) -> Item | None:
        """Take the last item back; the log keeps it."""
        async with self._kept() as chat:
            rows = (await chat.view()).rows
            if not rows:
                return None
            item: Item = copy.deepcopy(rows[-1].weight.wire[-1])
            await (chat.rewind(rows[-2].id) if len(rows) > 1 else chat.reset())
            return item

    async def clear_session(self) -> None:
        """Begin anew; the log keeps what was said."""
        async with self._kept() as chat:
            await chat.reset()

    # What goes into a run

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """A copy of an agent that has the recall tools, if it has tools, and whose model is asked again if need be."""
        tools = (
            [self._recall_tool(agent.name, tool) for tool in self._adapter.recall_tools]
            if agent.tools
            else []
        )
        changed: dict[str, Any] = {"tools": [*agent.tools, *tools]}
        if isinstance(agent.model, Model):
            changed["model"] = FoldedModel(agent.model, self._adapter)
        return agent.clone(**changed)

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """A configuration with the input filter in it; your own one is kept."""
        given = config or RunConfig()
        if given.call_model_input_filter is not None:
            raise BadInput(
                "This configuration has an input filter already: only one of them can shorten the input."
            )
        model = FoldedModel(given.model, self._adapter) if isinstance(given.model, Model) else given.model
        provider = FoldedProvider(given.model_provider, self._adapter)
        return replace(given, model=model, model_provider=provider, call_model_input_filter=self.filter)

    def hooks(self) -> RunHooks[Any]:
        """Hooks that record replies and learn from their bills."""
        return FoldHooks(self._adapter)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """The input of a request, made to fit: `RunConfig(call_model_input_filter=fold.filter)`."""
        agent = data.agent
        if isinstance(agent.model, Model) and not isinstance(agent.model, FoldedModel):
            self._adapter.warn(_UNWRAPPED % agent.name)
        outgoing = Outgoing(
            session=session_name(self.session_id, agent.name),
            messages=data.model_data.input,
            converter=ITEMS,
            system=data.model_data.instructions,
            tools=await _tools(agent, data.context),
            params=_schema(agent),
            max_tokens=agent.model_settings.max_tokens,
            options={"model": _model_name(agent)},
        )
        adapted = await self._adapter.afit(outgoing)
        _UNDER_WAY.set(_Under(adapted))
        return ModelInputData(input=adapted.messages, instructions=data.model_data.instructions)

    def _recall_tool(self, agent: str, tool: Function) -> FunctionTool:
        async def look_up(context: Any, arguments: str) -> str:
            return await self._adapter.arecall(session_name(self.session_id, agent), tool.name, arguments)

        return FunctionTool(
            name=tool.name,
            description=tool.description or "",
            params_json_schema=tool.schema,
            on_invoke_tool=look_up,
            strict_json_schema=False,
        )

    def session(self, agent: str) -> Lease:
        """What an agent of this session is sent, to look, pin or undo in it by `with` or `async with`."""
        return self._adapter.session(session_name(self.session_id, agent))

    def close(self) -> None:
        """Close all sessions. Where the store keeps them, they can be opened again by their names."""
        self._adapter.close()


class FoldHooks(RunHooks[Any]):  # type: ignore[misc, unused-ignore]
    """Record what models answer."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        """A model answered."""
        under = _UNDER_WAY.get()
        if under is not None:
            heard = Heard(messages=response.to_input_items(), usage=_usage(response), id=response.response_id)
            await self._adapter.areceive(under.adapted, heard)


class FoldedModel(Model):  # type: ignore[misc, unused-ignore]
    """A model that is asked again with less, where its provider says that a request is too long."""

    def __init__(self, model: Model, adapter: Adapter) -> None:
        self._model, self._adapter = model, adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        """Ask the model."""

        async def send(input: Any) -> ModelResponse:
            return await self._model.get_response(system_instructions, input, *args, **kwargs)

        return await self._ask(input, send)

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Ask the model, and pass on what it says as it comes; what has begun is not asked again."""

        async def send(input: Any) -> AsyncIterator[Any]:
            return await begun(self._model.stream_response(system_instructions, input, *args, **kwargs))

        async for event in await self._ask(input, send):
            yield event

    async def _ask(self, input: Any, send: Callable[[Any], Awaitable[R]]) -> R:
        """Send the input, or less of it; the SDK may have changed what the filter returned."""
        under = _UNDER_WAY.get()
        if under is None:
            return await send(input)
        first = under.adapted
        under.adapted, response = await self._adapter.aask(
            first, lambda adapted: send(input if adapted is first else adapted.messages)
        )
        return response


class FoldedProvider(ModelProvider):  # type: ignore[misc, unused-ignore]
    """A provider of such models."""

    def __init__(self, provider: ModelProvider | None, adapter: Adapter) -> None:
        self._provider, self._adapter = provider or MultiProvider(), adapter

    def get_model(self, model_name: str | None) -> Model:
        """A model by its name."""
        return FoldedModel(self._provider.get_model(model_name), self._adapter)

    async def aclose(self) -> None:
        """Close the provider."""
        await self._provider.aclose()


class ResponseItems:
    """Items of the SDK, which are those of the Responses API."""

    dialect = _DIALECT

    def body(self, message: Item) -> dict[str, Any]:
        """An item as it is, but for the id that the SDK makes up for models which have none, and does not send."""
        item = _plain(message)
        return {key: value for key, value in item.items() if (key, value) != ("id", FAKE_RESPONSES_ID)}

    def build(self, shown: Message, wire: Any, was: Item | None) -> Item:
        """An item as the dialect writes it."""
        made: Item = copy.deepcopy(wire) if wire is not None else dialect_named(_DIALECT).wire(shown)[0]
        return made


ITEMS = ResponseItems()


def _plain(item: Any) -> dict[str, Any]:
    """An item as a dict; the SDK takes objects, too."""
    return dict(item) if isinstance(item, dict) else item.model_dump(mode="json", exclude_unset=True)


def _usage(response: ModelResponse) -> TokenUsage | None:
    bill = response.usage
    if not bill.input_tokens:
        return None
    into, out = bill.input_tokens_details, bill.output_tokens_details
    read, written = into.cached_tokens or 0, getattr(into, "cache_write_tokens", 0) or 0
    reasoning = out.reasoning_tokens or 0
    return bill_of(bill.input_tokens, bill.output_tokens, read=read, written=written, reasoning=reasoning)


def _model_name(agent: Agent[Any]) -> str:
    name = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)
    return str(name or get_default_model()).rpartition("/")[2]


def _schema(agent: Agent[Any]) -> dict[str, Any]:
    """The schema of a structured reply, which the model reads too."""
    kind = agent.output_type
    if kind is None or kind is str:
        return {}
    schema = (
        kind if isinstance(kind, AgentOutputSchemaBase) else AgentOutputSchema(kind, strict_json_schema=False)
    )
    return {"text": {"format": {"type": "json_schema", "name": "reply", "schema": schema.json_schema()}}}


async def _tools(agent: Agent[Any], context: Any) -> list[dict[str, Any]]:
    """The tools that a model is told of; handing over to another agent is one."""
    all_tools = await agent.get_all_tools(RunContextWrapper(context))
    tools = [
        _function(tool.name, tool.description, tool.params_json_schema)
        for tool in all_tools
        if isinstance(tool, FunctionTool)
    ]
    others = [one if isinstance(one, Handoff) else handoff(one) for one in agent.handoffs]
    return [
        *tools,
        *(_function(one.tool_name, one.tool_description, one.input_json_schema) for one in others),
    ]


def _function(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": schema}
