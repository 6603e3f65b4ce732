"""Repairs for OpenAI's Responses: item by item, for the order of calls and outputs is free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fanfold.core.message import Message, Opaque, Result, Text, text_of, user
from fanfold.core.view import Row
from fanfold.dialects.openai import NAMING
from fanfold.dialects.responses.calls import BLANK, as_text, read_output, short, write_answer, write_output
from fanfold.dialects.responses.content import read_block, words_kind, write_block
from fanfold.dialects.responses.rules import (
    CALLS,
    LONGEST_TEXT,
    OUTPUTS,
    by_model,
    fits,
    is_id,
    kind_of,
    pairs,
    texts,
)
from fanfold.dialects.rules import NO_RESULT, NOTHING, Patch, stray
from fanfold.text.cutting import clipped

Item = dict[str, Any]
_AGAIN = "_again"


def repair(rows: Sequence[Row], read: Callable[[Any], Message]) -> list[Patch]:
    """Repairs for Responses: a row whose items have to change shows the changed ones."""
    before = [list(row.weight.wire) for row in rows]
    after = [[_legal(item) for item in _recorded(row)] for row in rows]
    after = _followed(_paired(_named_once(after)))
    repairs: list[Patch] = [
        ((row.id,), tuple(map(read, new)))
        for row, old, new in zip(rows, before, after, strict=True)
        if old != new
    ]
    if rows and not any(after):
        last = (rows[-1].id,)
        repairs = [*(repair for repair in repairs if repair[0] != last), *nothing(rows)]
    return repairs


def nothing(rows: Sequence[Row]) -> list[Patch]:
    """The repair where nothing of the rows can be sent."""
    return [((rows[-1].id,), (user(NOTHING),))] if rows else []


def _recorded(row: Row) -> list[Any]:
    """The items of a row; of a repaired one without made-up outputs, for the real ones may have come."""
    if row.kind != "mend":
        return list(row.weight.wire)
    items = (None, *row.weight.wire, None)
    around = zip(items, items[1:], items[2:], strict=False)
    return [
        item
        for last, item, next in around
        if not (_is_made_up(item) or _is_blank(item, next) or _is_blank(last, item))
    ]


def _is_made_up(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in OUTPUTS and NO_RESULT in _told(item)


def _is_blank(item: Any, after: Any) -> bool:
    """Whether an output that holds no words is made up: a message behind it says so."""
    match item, after:
        case {"type": "computer_call_output", "output": {"image_url": url}}, {
            "role": "user",
            "content": [words],
        }:
            return url == BLANK and NO_RESULT in str(words)
        case {"type": "tool_search_output", "tools": []}, {"role": "user", "content": [words]}:
            return NO_RESULT in str(words)
    return False


def _told(item: Item) -> str:
    read = read_output(item)
    return read.text if isinstance(read, Result) else ""


def _legal(item: Any) -> Any:
    """The item as it is, or with what the server would refuse put right."""
    if not isinstance(item, dict):
        return item
    kind = kind_of(item)
    if item.get("id") is not None and not is_id(item["id"], kind) and kind != "item_reference":
        item = _without_id(item)
    if kind == "message":
        return _short(_legal_message(item))
    if kind == "reasoning" and not isinstance(item.get("summary"), list):
        return {**item, "summary": []}
    return _short(_legal_pair(item)) if pairs(item) else item


def _legal_message(item: Item) -> Item:
    if item.get("type", "") is None:
        item = {key: value for key, value in item.items() if key != "type"}
    content, role = item.get("content"), str(item.get("role"))
    if isinstance(content, list) and not all(fits(block, role) for block in content):
        return {**item, "content": [_legal_block(block, role) for block in content]}
    if not isinstance(content, str | list):
        return {**item, "content": "" if content is None else as_text(content)}
    return item


def _legal_block(block: Any, role: str) -> Any:
    if fits(block, role):
        return block
    part = read_block(block)
    if isinstance(part, Opaque):
        return {"type": words_kind(role), "text": as_text(block)}
    return write_block(part, role)


def _legal_pair(item: Item) -> Item:
    kind = item["type"]
    id = item.get("call_id")
    if not isinstance(id, str):
        return _said(as_text(item), "assistant" if kind in CALLS else "user")
    if short(id) != id:
        item = {**item, "call_id": short(id)}
    if kind == "function_call":
        return _legal_function(item)
    if kind in OUTPUTS and item.get("output") is None and kind != "tool_search_output":
        return {**write_output(OUTPUTS[kind], item["call_id"], (Text(""),)), **_kept(item)}
    return item


def _legal_function(item: Item) -> Item:
    name, raw = item.get("name"), item.get("arguments")
    fixed = {
        "name": NAMING.fit(name if isinstance(name, str) else ""),
        "arguments": as_text({} if raw is None else raw),
    }
    return item if fixed.items() <= item.items() else {**item, **fixed}


def _kept(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != "output"}


def _short(item: Item) -> Item:
    """The item with no text longer than the server takes."""
    if all(len(text) <= LONGEST_TEXT for text in texts(item)):
        return item
    fields = ("content", "output", "arguments", "input")
    return {key: _clipped(value) if key in fields else value for key, value in item.items()}


def _clipped(value: Any) -> Any:
    if isinstance(value, str):
        return clipped(value, LONGEST_TEXT // 2) if len(value) > LONGEST_TEXT else value
    if isinstance(value, list):
        return [
            {**b, "text": _clipped(b["text"])} if isinstance(b, dict) and "text" in b else b for b in value
        ]
    return value


def _named_once(rows: list[list[Any]]) -> list[list[Any]]:
    """Of several items with one id, the first keeps it."""
    seen: set[str] = set()

    def once(item: Any) -> Any:
        id = item.get("id") if isinstance(item, dict) else None
        if not isinstance(id, str) or id not in seen:
            seen.update([id] if isinstance(id, str) else [])
            return item
        return _without_id(item)

    return [[once(item) for item in items] for items in rows]


def _without_id(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != "id"}


class Pairs:
    """Calls on their way to their outputs."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._shared: set[str] = set()
        """Ids that several calls came with."""
        self._open: dict[str, list[tuple[int, Item]]] = {}
        """The calls that wait, with the number of the step they were made in."""
        self._step = 0

    def passed(self, item: Any) -> None:
        """Somebody else than the model speaks: a step is over."""
        self._step += not (isinstance(item, dict) and by_model(item))

    def called(self, item: Item) -> Item:
        """The call, under an id that no call before it has."""
        id = item["call_id"]
        while id in self._used:
            self._shared.add(id)
            id = short(id + _AGAIN)
        self._used.add(id)
        item = item if id == item["call_id"] else {**item, "call_id": id}
        self._open.setdefault(_stem(id), []).append((self._step, item))
        return item

    def answered(self, item: Item) -> list[Item]:
        """The output as its call wants it, or as a person's words if there is none."""
        waiting = self._open.get(_stem(item["call_id"]))
        if not waiting:
            return [_said(stray(item["call_id"], _told(item)), "user")]
        asked = self._asked(waiting, item["call_id"])
        waiting.remove(asked)
        _, call = asked
        if CALLS[call["type"]] != item["type"]:
            return _answer(call, read_output(item))
        return [item if item["call_id"] == call["call_id"] else {**item, "call_id": call["call_id"]}]

    def _asked(self, waiting: list[tuple[int, Item]], id: str) -> tuple[int, Item]:
        """The call an output answers: the one with its id; of several that came with it, the first of the last step."""
        exact = next((each for each in waiting if each[1]["call_id"] == id), None)
        if exact is not None and id not in self._shared:
            return exact
        last = max(step for step, _ in waiting)
        return next(each for each in waiting if each[0] == last)

    def missing(self, item: Any) -> Iterator[Item]:
        """What stands for the answer, behind a call that has none."""
        waiting = self._open.get(_stem(item["call_id"]), ()) if _is_call(item) else ()
        if any(call["call_id"] == item["call_id"] for _, call in waiting):
            yield from write_answer(item["type"], item["call_id"], (Text(NO_RESULT),), error=True)


def _paired(rows: list[list[Any]]) -> list[list[Any]]:
    """Every call with one output behind it, every output with a call before it."""
    pairing = Pairs()

    def placed(item: Any) -> list[Any]:
        pairing.passed(item)
        if not isinstance(item, dict) or not pairs(item):
            return [item]
        return [pairing.called(item)] if item["type"] in CALLS else pairing.answered(item)

    rows = [[each for item in items for each in placed(item)] for items in rows]
    return [[each for item in items for each in (item, *pairing.missing(item))] for items in rows]


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in CALLS and pairs(item)


def _stem(id: str) -> str:
    while id.endswith(_AGAIN):
        id = id.removesuffix(_AGAIN)
    return id


def _answer(call: Item, result: Result | Opaque) -> list[Item]:
    parts = result.parts if isinstance(result, Result) else (Text(text_of(result)),)
    error = isinstance(result, Result) and result.error
    return write_answer(call["type"], call["call_id"], parts, error)


def _followed(rows: list[list[Any]]) -> list[list[Any]]:
    """No reasoning without what it led to."""
    legal: list[list[Any]] = []
    led = False
    for items in reversed(rows):
        kept: list[Any] = []
        for item in reversed(items):
            if isinstance(item, dict) and item.get("type") == "reasoning" and not led:
                continue
            led = isinstance(item, dict) and by_model(item)
            kept.append(item)
        legal.append(kept[::-1])
    return legal[::-1]


def _said(text: str, role: str) -> Item:
    return {"type": "message", "role": role, "content": [{"type": words_kind(role), "text": text}]}
