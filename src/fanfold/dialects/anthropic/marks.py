"""Cache marks: where Anthropic is asked to remember the prompt.

At most four: the caller's own win; else the end of tools and system prompt, the end of the stable body, and the
end of the last request, where the cache is sure to hit. A mark finds what an earlier one left within 20 blocks.
If one is left, it goes to the end of what stands before the model's first words: instructions, the first request and
hand-overs stay when a reduction rewrites all that follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from fanfold.dialects.anthropic.join import BlockPlace
from fanfold.dialects.anthropic.read import blocks, kind
from fanfold.dialects.rules import Body

MOST = 4
LOOK_BACK = 20
_MARKABLE = frozenset({"text", "image", "document", "tool_use", "tool_result", "search_result"})


class Spot(NamedTuple):
    """A place that carries a mark, or may."""

    part: str
    """`tools`, `system` or `messages`."""
    at: int
    block: int = -1
    inner: int = -1
    """The number of the block within a result."""


Found = tuple[Spot, Any]


def mark(request: Body, end: BlockPlace, previous: BlockPlace | None) -> None:
    """Set the marks of a request; nothing but marks is changed.

    A text that has to carry one is sent as the one block it stands for.
    """
    frame, body = list(_frame_marks(request)), list(_body_marks(request["messages"]))
    whole = request.get("cache_control")
    kept = _keep(frame, body, MOST - bool(whole))
    for spot in {spot for spot, _ in (*frame, *body)} - {spot for spot, _ in kept}:
        _put(request, spot, None)
    new = [] if frame else list(_frame_end(request))
    if not body and not whole:
        new += _body_ends(request["messages"], end, previous)
    new += [
        spot for spot in _opening_end(request["messages"]) if spot not in (*new, *(one for one, _ in kept))
    ]
    long = any(_ttl(control) == "1h" for control in (whole, *(control for _, control in kept)))
    for spot in new[: MOST - bool(whole) - len(kept)]:
        _put(
            request, spot, {"type": "ephemeral", "ttl": "1h"} if long and not frame else {"type": "ephemeral"}
        )


def _keep(frame: list[Found], body: list[Found], room: int) -> list[Found]:
    """The caller's marks that stay: those of the frame, then the last of the body, none for long behind short."""
    first = frame[-room:] if room else []
    left = room - len(first)
    kept: list[Found] = []
    for spot, control in reversed([*first, *(body[-left:] if left else [])]):
        if not kept or _ttl(kept[0][1]) != "1h" or _ttl(control) == "1h":
            kept.insert(0, (spot, control))
    return kept


def _ttl(control: Any) -> str:
    return str(control.get("ttl") or "5m") if isinstance(control, dict) else "5m"


def _frame_marks(request: Body) -> Iterator[Found]:
    for part in ("tools", "system"):
        items = request.get(part)
        for at, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict) and item.get("cache_control"):
                yield Spot(part, at), item["cache_control"]


def _body_marks(messages: Sequence[Body]) -> Iterator[Found]:
    for at, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(content, list):
            continue
        for nth, block in enumerate(content):
            if isinstance(block, dict):
                yield from _block_marks(at, nth, block)


def _block_marks(at: int, nth: int, block: Body) -> Iterator[Found]:
    inner = block.get("content")
    if isinstance(inner, list):
        for number, one in enumerate(inner):
            if isinstance(one, dict) and one.get("cache_control"):
                yield Spot("messages", at, nth, number), one["cache_control"]
    if block.get("cache_control"):
        yield Spot("messages", at, nth), block["cache_control"]


def _frame_end(request: Body) -> Iterator[Spot]:
    """The end of tools and system prompt."""
    system, tools = request.get("system"), request.get("tools")
    if isinstance(system, str) and system.strip():
        yield Spot("system", 0)
    elif isinstance(system, list) and system and _may_carry(system[-1]):
        yield Spot("system", len(system) - 1)
    elif isinstance(tools, list):
        # A tool that waits is no part of the prompt yet, and the provider refuses a mark on it.
        there = [at for at, tool in enumerate(tools) if not _waits(tool)]
        yield from (Spot("tools", at) for at in there[-1:])


def _waits(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("defer_loading") is True


def _body_ends(messages: Sequence[Body], end: BlockPlace, previous: BlockPlace | None) -> list[Spot]:
    """The end, the last request's end, and one on the way where the new part is longer than the look-back."""
    places = [_carrier(messages, end)]
    if previous is not None and previous < end:
        places.append(_carrier(messages, previous))
        before = (found for found, _ in _backwards(messages, end))
        halfway = next(islice(before, LOOK_BACK, None), BlockPlace(-1, -1))
        if halfway > previous:
            places.append(_carrier(messages, halfway))
    found = [Spot("messages", *place) for place in places if place is not None]
    return list(dict.fromkeys(found))


def _opening_end(messages: Sequence[Body]) -> Iterator[Spot]:
    """The end of what stands before the model's first words, if that is more than a request."""
    first = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), 0)
    sizes = [len(blocks(message)) for message in messages[:first]]
    place = _carrier(messages, BlockPlace(first - 1, sizes[-1] - 1)) if sum(sizes) > 1 else None
    if place is not None:
        yield Spot("messages", *place)


def _carrier(messages: Sequence[Body], place: BlockPlace) -> BlockPlace | None:
    """The nearest block, here or before, that may carry a mark."""
    return next((found for found, block in _backwards(messages, place) if _may_carry(block)), None)


def _backwards(messages: Sequence[Body], place: BlockPlace) -> Iterator[tuple[BlockPlace, Any]]:
    for at in range(place.message, -1, -1):
        content = blocks(messages[at])
        last = place.block if at == place.message else len(content) - 1
        for nth in range(min(last, len(content) - 1), -1, -1):
            yield BlockPlace(at, nth), content[nth]


def _may_carry(block: Any) -> bool:
    if kind(block) not in _MARKABLE:
        return False
    return kind(block) != "text" or bool(str(block.get("text") or "").strip())


def _put(request: Body, spot: Spot, control: Any) -> None:
    """Set or remove one mark; what is shared with other requests is copied first."""
    items = request[spot.part]
    if isinstance(items, str):
        items = [{"type": "text", "text": items}]
    items = request[spot.part] = list(items)
    if spot.part != "messages":
        items[spot.at] = _with(items[spot.at], control)
        return
    content = list(blocks(items[spot.at]))
    items[spot.at] = {**items[spot.at], "content": content}
    if spot.inner < 0:
        content[spot.block] = _with(content[spot.block], control)
        return
    inner = list(content[spot.block]["content"])
    inner[spot.inner] = _with(inner[spot.inner], control)
    content[spot.block] = {**content[spot.block], "content": inner}


def _with(block: Body, control: Any) -> Body:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return bare if control is None else {**bare, "cache_control": control}
