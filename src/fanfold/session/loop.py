"""A small complete tool loop: ask the model, run the tools it calls, until it is done (systems.md A18).

    with fanfold.open("run", model="gpt-5.2", tools=TOOLS) as chat:
        chat.say("Fix the failing test.")
        reply = loop.run(chat, lambda request: client.chat.completions.create(**request), {"read": read})

Background work of the session is done at three points: after each reply, after the tools ran, and before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal

from fanfold.config.telemetry import model_call
from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call
from fanfold.dialects.dialect import Reply
from fanfold.session.async_session import AsyncSession
from fanfold.session.session import Session
from fanfold.session.steps import Steps, aplay, play

Point = Literal["reply", "tools", "end"]
POINTS: tuple[Point, ...] = ("reply", "tools", "end")
"""Where the session may reduce beside its requests."""
Tools = Mapping[str, Callable[..., Any]]
Send = Callable[[dict[str, Any]], Any]
Flow = Steps[Reply]


def run(
    chat: Session,
    send: Send,
    tools: Tools,
    *,
    most: int = 200,
    points: Collection[Point] = POINTS,
    **params: Any,
) -> Reply:
    """Run the loop to its end and return the last reply; after `most` replies, that reply is not `done`.

    `send` hands a request to the provider. `tools` are functions by name: what one raises is told to the model.
    `params` go into every request.
    """
    return play(_flow(chat, send, tools, most, points, params))


async def arun(
    chat: AsyncSession,
    send: Send,
    tools: Tools,
    *,
    most: int = 200,
    points: Collection[Point] = POINTS,
    **params: Any,
) -> Reply:
    """The same for asyncio; `send` and the tools may be coroutines."""
    return await aplay(_flow(chat, send, tools, most, points, params))


def _flow(
    chat: Any, send: Send, tools: Tools, most: int, points: Collection[Point], params: dict[str, Any]
) -> Flow:
    """The loop itself: the same for both kinds of session."""
    if most < 1 or not set(points) <= set(POINTS):
        raise BadSetting(f"A loop takes at least one step; its points are {', '.join(POINTS)}.")
    for _ in range(most):
        reply: Reply = yield from _reply(chat, send, params)
        if "reply" in points:
            yield chat.settle
        if reply.done:
            break
        for call in reply.calls:
            output, failed = yield from _output(call, tools)
            yield partial(chat.answer, call, output, error=failed)
        if "tools" in points and reply.calls:
            yield chat.settle
    if "end" in points:
        yield chat.settle
    return reply


def _reply(chat: Any, send: Send, params: dict[str, Any]) -> Flow:
    """One reply; a request that the provider finds too long is made shorter and sent again."""
    with model_call():
        while True:
            request = yield partial(chat.request, **params)
            try:
                response = yield partial(send, request)
            except Exception as error:
                if not (yield partial(chat.refused, error)):
                    raise
                continue
            reply: Reply = yield partial(chat.receive, response)
            return reply


def _output(call: Call, tools: Tools) -> Steps[tuple[Any, bool]]:
    """What a tool gave back, or what went wrong in words."""
    tool = tools.get(call.name)
    if tool is None:
        return f"There is no tool {call.name!r}. Known are: {', '.join(tools) or 'none'}.", True
    try:
        return (yield partial(tool, **call.args)), False
    except BadArguments as error:
        return str(error), True
    except Exception as error:
        return f"{type(error).__name__}: {error}", True
