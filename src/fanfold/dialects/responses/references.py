"""What a client left to the server's memory, put back from what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.core.message import Message
from fanfold.dialects.dialect import Memory
from fanfold.dialects.responses.read import NAME, kind_of
from fanfold.dialects.responses.write import write

_WAY_OUT = (
    "Send the whole input each time, best with store=False and include=['reasoning.encrypted_content']."
)


def whole(request: Any, memory: Callable[[], Memory]) -> Any:
    """The request, or the bare list of items, with all of its input in it.

    `memory` is asked only where something was left to the server.
    """
    if not isinstance(request, Mapping):
        listed = isinstance(request, list | tuple)
        return whole({"input": request}, memory)["input"] if listed else request
    if request.get("conversation") is not None:
        raise BadInput(f"The request leaves the history to a conversation that the server keeps. {_WAY_OUT}")
    given, previous = request.get("input"), request.get("previous_response_id")
    if not isinstance(given, str | list | tuple | None):
        return request  # which is refused where it is taken apart
    items = [given] if isinstance(given, str) else list(given or ())
    if previous is None and not any(map(_is_reference, items)):
        return request
    recorded, replies = memory()
    if previous is not None and previous not in replies:
        raise BadInput(
            f"The response {previous!r} is not recorded here, so what came before is unknown. {_WAY_OUT}"
        )
    before = recorded[: replies[previous]] if previous is not None else ()
    known = {body["id"]: body for body in _items(recorded) if isinstance(body.get("id"), str)}
    resolved = [*_items(before), *(_resolve(item, known, i) for i, item in enumerate(items))]
    body = {key: value for key, value in request.items() if key != "previous_response_id"}
    return {**body, "input": resolved}


def _resolve(item: Any, known: Mapping[str, Any], number: int) -> Any:
    if not _is_reference(item):
        return {"role": "user", "content": item} if isinstance(item, str) else item
    if item.get("id") not in known:
        raise BadInput(
            f"input[{number}] refers to {item.get('id')!r}, which is not recorded here. {_WAY_OUT}"
        )
    return known[item["id"]]


def _items(messages: Sequence[Message]) -> Iterator[Any]:
    for message in messages:
        if message.wire is None or not message.came_over(NAME):
            yield from write(message)
        else:
            body = message.wire.body
            yield {"role": "user", "content": body} if isinstance(body, str) else body


def _is_reference(item: Any) -> bool:
    return isinstance(item, Mapping) and kind_of(item) == "item_reference"
