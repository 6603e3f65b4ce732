"""What the dialects have in common: frames read, tools offered, and what came over a wire sent as it came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message
from fanfold.core.record import Frame
from fanfold.dialects.definitions import translated
from fanfold.dialects.dialect import plain
from fanfold.text.plain import plain_text


def read_frame(
    dialect: str, system: Iterable[Any], tools: Iterable[Any], read: Callable[[Any, str], Message], like: str
) -> Frame:
    """System prompt, read piece by piece, and tools, each a dict with what is said in `like`."""
    spoken = tuple(read(plain_text(body), f"system[{i}]") for i, body in enumerate(system))
    return Frame(spoken, tuple(_tool(tool, f"tools[{i}]", like) for i, tool in enumerate(tools)), dialect)


def _tool(tool: Any, where: str, like: str) -> Any:
    body = plain(tool, where)
    if not isinstance(body, dict):
        raise BadMessage(f"{where} is no tool definition: give a dict with {like}.")
    return body


def offered(frame: Frame, dialect: str) -> dict[str, Any]:
    """The frame's tools as the parameter of a request; nothing where there are none."""
    tools = translated(frame, dialect)[0].tools
    return {"tools": list(tools)} if tools else {}


def messages_of(body: Mapping[str, Any]) -> Sequence[Any]:
    """The messages of a request that has them under this name."""
    messages = body.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise BadMessage("A transcript is a list of messages, or a request with `messages` in it.")
    return messages


def received(
    dialect: str, message: Message, was: Message | None, patched: Callable[[Message, Message], Any]
) -> tuple[Any, ...]:
    """The wire form that a message came in, patched where parts were elided; nothing if it came over another wire."""
    if was is not None and was.came_over(dialect):
        return (patched(was, message),)
    return (message.wire.body,) if message.wire is not None and message.came_over(dialect) else ()
