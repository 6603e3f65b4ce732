"""What OpenAI's Responses demands: each rule with its check and its repair. An item of the input is one message here.

The rules are those of the API reference (Responses, "Create a model response") and of the 400s that the API answers.
Items are repaired one by one, for the order of calls and outputs is free.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from fanfold.core.ids import canonical, digest
from fanfold.core.message import Opaque, Result, Text, text_of, user
from fanfold.core.view import Row, Violation
from fanfold.dialects import rules as shared
from fanfold.dialects.dialect import Allowed
from fanfold.dialects.openai import LONGEST_TEXT, NAMING
from fanfold.dialects.responses import read as reading
from fanfold.dialects.responses import write as writing
from fanfold.dialects.responses.read import (
    CALLS,
    OUTPUTS,
    Item,
    as_text,
    by_model,
    kind_of,
    pairs,
    read_output,
)
from fanfold.dialects.responses.write import short, words_item, write_answer
from fanfold.dialects.rules import NO_RESULT, Breaches, OrderRule, Params, Patch, Rows
from fanfold.text.cutting import clip_text

PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_ID = re.compile(r"[a-zA-Z0-9_-]+")


# One item by itself


def item_faults(items: Iterable[Any]) -> tuple[Violation, ...]:
    """The rules that items break by themselves."""
    told = [item for item in items if isinstance(item, dict)]
    return tuple([fault for item in told for fault in shared.faults(item, BODY, "an item")])


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


def id_given_by_server(item: Item) -> str | None:
    """An item's id is of the server's form, with the prefix of its kind."""
    id = item.get("id")
    return None if id is None or is_id(id, kind_of(item)) else f"the id {str(id)[:80]!r}"


def is_id(id: object, kind: str) -> bool:
    """Whether the server could have given this id to an item of this kind."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None and id.startswith(PREFIXES.get(kind, ""))


def _without_id(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != "id"}


def type_given(item: Item) -> str | None:
    """A message may go without a type; none is null."""
    return "its type is null" if kind_of(item) == "message" and item.get("type", "") is None else None


def content_given(item: Item) -> str | None:
    """A message has content: a text or a list of blocks."""
    given = kind_of(item) != "message" or isinstance(item.get("content"), str | list)
    return None if given else "no content"


def blocks_fit(item: Item) -> str | None:
    """The assistant's blocks are output, everyone else's are input."""
    content, role = item.get("content"), str(item.get("role"))
    if kind_of(item) != "message" or not isinstance(content, list):
        return None
    odd = any(not fits(block, role) for block in content)
    return f"a block that a {role} message cannot have" if odd else None


def fits(block: object, role: str) -> bool:
    """Whether a block of content may stand in a message of this role."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return False
    if role == "assistant":
        return kind == "refusal" or kind.startswith("output_")
    return kind.startswith("input_")


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
    part = reading.read_block(block)
    if isinstance(part, Opaque):
        return {"type": writing.words_kind(role), "text": as_text(block)}
    return writing.write_block(part, role)


def texts_whole(item: Item) -> str | None:
    """No text is longer than ten mebibytes of characters."""
    long = any(len(text) > LONGEST_TEXT for text in texts(item))
    return "a text too long to be sent" if long else None


_TEXTS = ("content", "output", "arguments", "input")
"""The fields that may hold long texts."""


def texts(item: Item) -> Iterator[str]:
    """The long texts that an item may hold."""
    for field in map(item.get, _TEXTS):
        blocks = [block for block in field if isinstance(block, dict)] if isinstance(field, list) else []
        held = (field, *(block.get("text") for block in blocks))
        yield from (text for text in held if isinstance(text, str))


def _short(item: Item) -> Item:
    """The item with no text longer than the server takes."""
    if texts_whole(item) is None:
        return item
    return {key: _clip(value) if key in _TEXTS else value for key, value in item.items()}


def _clip(value: Any) -> Any:
    if isinstance(value, str):
        return clip_text(value, LONGEST_TEXT // 2) if len(value) > LONGEST_TEXT else value
    if isinstance(value, list):
        return [{**b, "text": _clip(b["text"])} if isinstance(b, dict) and "text" in b else b for b in value]
    return value


def call_identified(item: Item) -> str | None:
    """A call and its output have a call id of at most 64 characters."""
    id = item.get("call_id")
    named = not pairs(item) or (isinstance(id, str) and 0 < len(id) <= writing.LONGEST_ID)
    return None if named else "a call or an output without a call id, or with too long a one"


def output_given(item: Item) -> str | None:
    """An output has something in it, be it an empty text."""
    kind = item.get("type")
    needed = kind in OUTPUTS and kind not in ("apply_patch_call_output", "tool_search_output")
    return "an output without output" if needed and item.get("output") is None else None


def _legal_pair(item: Item) -> Item:
    kind = item["type"]
    id = item.get("call_id")
    if not isinstance(id, str):
        return words_item(as_text(item), "assistant" if kind in CALLS else "user")
    if short(id) != id:
        item = {**item, "call_id": short(id)}
    if kind == "function_call" and function_called(item):
        name, raw = item.get("name"), item.get("arguments")
        fitting = NAMING.fit(name if isinstance(name, str) else "")
        return {**item, "name": fitting, "arguments": as_text({} if raw is None else raw)}
    if kind in OUTPUTS and item.get("output") is None and kind != "tool_search_output":
        kept = {key: value for key, value in item.items() if key != "output"}
        return {**writing.write_output(OUTPUTS[kind], item["call_id"], (Text(""),)), **kept}
    return item


def function_called(item: Item) -> str | None:
    """A function call has a proper name, and its arguments as text."""
    proper = NAMING.allows(item.get("name")) and isinstance(item.get("arguments"), str)
    bad = item.get("type") == "function_call" and not proper
    return "a call without a proper name, or without arguments as text" if bad else None


def summary_given(item: Item) -> str | None:
    """A reasoning item has a summary, be it an empty list."""
    lacking = item.get("type") == "reasoning" and not isinstance(item.get("summary"), list)
    return "reasoning without a summary" if lacking else None


def no_reference(item: Item) -> str | None:
    """Nothing is left to the server's memory: a session sends every item whole."""
    if kind_of(item) != "item_reference":
        return None
    return (
        f"a reference to the item {item.get('id')!r}, which is not recorded here: send the item itself, "
        "with store=False if the client can be told so"
    )


BODY = (
    type_given, content_given, blocks_fit, texts_whole, id_given_by_server, call_identified, function_called,
    output_given, summary_given, no_reference,
)  # fmt: skip


# How items follow each other


def check(rows: Rows, params: Params, settled: int = 0) -> list[Violation]:
    """The rules that these rows break."""
    return shared.row_faults(rows) + shared.breaches(ORDER, rows, params)


def repair(rows: Rows, params: Params) -> list[Patch]:
    """The smallest repairs: a row whose items have to change shows the changed ones."""
    sent = _sendable_rows(rows, params)
    if not sent:
        return [((rows[-1].id,), (user(shared.NOTHING),))] if rows else []
    after = [[_legal(item) for item in _recorded_items(row)] for row in sent]
    after = _drop_idle_reasoning(_pair(_named_once(after)))
    changed = [(row, new) for row, new in zip(sent, after, strict=True) if list(row.weight.wire) != new]
    if any(after):
        return [((row.id,), tuple(map(reading.read, new))) for row, new in changed]
    silent: list[Patch] = [((row.id,), ()) for row, _ in changed if row is not sent[-1]]
    return [*silent, ((sent[-1].id,), (user(shared.NOTHING),))]


def _recorded_items(row: Row) -> list[Any]:
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
    return isinstance(item, dict) and item.get("type") in OUTPUTS and NO_RESULT in _output_text(item)


def _is_blank(item: Any, after: Any) -> bool:
    """Whether an output that holds no words is made up: a message behind it says so."""
    match after:
        case {"role": "user", "content": [words]} if NO_RESULT in str(words):
            match item:
                case {"type": "computer_call_output", "output": {"image_url": url}}:
                    return bool(url == writing.BLANK)
                case {"type": "tool_search_output", "tools": []}:
                    return True
    return False


def _output_text(item: Item) -> str:
    read = read_output(item)
    return read.text if isinstance(read, Result) else ""


def ids_distinct(rows: Rows, params: Params) -> Breaches:
    """No two items have the same id."""
    for row, id in _seen_twice(rows, "id", None):
        yield row, f"a second item with the id {id!r}"


def calls_distinct(rows: Rows, params: Params) -> Breaches:
    """No two calls have the same call id."""
    for row, id in _seen_twice(rows, "call_id", CALLS):
        yield row, f"a second call with the id {id!r}"


def _seen_twice(rows: Rows, field: str, kinds: Container[str] | None) -> Iterator[tuple[str, str]]:
    """The rows with an id that stood in an item of these kinds before."""
    seen: set[str] = set()
    for row in rows:
        for item in row.weight.wire:
            id = item.get(field) if isinstance(item, dict) else None
            if isinstance(id, str) and (kinds is None or item.get("type") in kinds):
                if id in seen:
                    yield row.id, id
                seen.add(id)


def _named_once(rows: list[list[Any]]) -> list[list[Any]]:
    """Of several items with one id, the first keeps it."""
    seen: set[str] = set()
    named: list[list[Any]] = []
    for items in rows:
        named.append([])
        for item in items:
            id = item.get("id") if isinstance(item, dict) else None
            named[-1].append(_without_id(item) if isinstance(id, str) and id in seen else item)
            seen.update({id} if isinstance(id, str) else ())
    return named


def answered(rows: Rows, params: Params) -> Breaches:
    """Every call has exactly one output, of its kind, somewhere behind it, and every output such a call."""
    open: set[tuple[str, str]] = set()
    for row in rows:
        for item in row.weight.wire:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in CALLS and pairs(item):
                open.add((CALLS[kind], str(item.get("call_id"))))
            elif kind in OUTPUTS and pairs(item):
                asked = (kind, str(item.get("call_id")))
                if asked not in open:
                    yield row.id, f"a {kind} for {asked[1]!r}, which no call asked for"
                open.discard(asked)
    for kind, id in sorted(open, key=str):
        yield "the end", f"the call {id!r} has no {kind}"


_AGAIN = "_again"


class Pairs:
    """Calls on their way to their outputs."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._shared: set[str] = set()
        """Ids that several calls came with."""
        self._open: dict[str, list[tuple[int, Item]]] = {}
        """The calls that wait, with the number of the step they were made in."""
        self._step = 0

    def add(self, item: Any) -> list[Any]:
        """An item as it may be sent; a step is over where somebody else than the model speaks."""
        self._step += not by_model(item)
        if not pairs(item):
            return [item]
        return [self._add_call(item)] if item["type"] in CALLS else self._add_output(item)

    def _add_call(self, item: Item) -> Item:
        """The call, under an id that no call before it has."""
        id = item["call_id"]
        while id in self._used:
            self._shared.add(id)
            id = short(id + _AGAIN)
        self._used.add(id)
        item = item if id == item["call_id"] else {**item, "call_id": id}
        self._open.setdefault(_stem(id), []).append((self._step, item))
        return item

    def _add_output(self, item: Item) -> list[Item]:
        """The output as its call wants it, or as a person's words if there is none."""
        waiting = self._open.get(_stem(item["call_id"]))
        if not waiting:
            return [words_item(shared.stray(item["call_id"], _output_text(item)), "user")]
        # The call with the output's id; of several that came with this id, the first of the last step.
        last = max(step for step, _ in waiting)
        exact = (each for each in waiting if each[1]["call_id"] == item["call_id"])
        asked = None if item["call_id"] in self._shared else next(exact, None)
        asked = asked or next(each for each in waiting if each[0] == last)
        waiting.remove(asked)
        _, call = asked
        if CALLS[call["type"]] != item["type"]:
            result = read_output(item)
            parts = result.parts if isinstance(result, Result) else (Text(text_of(result)),)
            failed = isinstance(result, Result) and result.error
            return write_answer(call["type"], call["call_id"], parts, failed)
        return [item if item["call_id"] == call["call_id"] else {**item, "call_id": call["call_id"]}]

    def missing(self, item: Any) -> Iterator[Item]:
        """What stands for the answer, behind a call that has none."""
        is_call = pairs(item) and item["type"] in CALLS
        waiting = self._open.get(_stem(item["call_id"]), ()) if is_call else ()
        if any(call["call_id"] == item["call_id"] for _, call in waiting):
            yield from write_answer(item["type"], item["call_id"], (Text(NO_RESULT),), error=True)


def _pair(rows: list[list[Any]]) -> list[list[Any]]:
    """Every call with one output behind it, every output with a call before it."""
    pairing = Pairs()
    rows = [[each for item in items for each in pairing.add(item)] for items in rows]
    return [[each for item in items for each in (item, *pairing.missing(item))] for items in rows]


def _stem(id: str) -> str:
    while id.endswith(_AGAIN):
        id = id.removesuffix(_AGAIN)
    return id


def reasoning_followed(rows: Rows, params: Params) -> Breaches:
    """Reasoning is followed at once by what the model made of it."""
    thought: str | None = None
    items = [(row.id, item) for row in rows for item in row.weight.wire]
    for row, item in (*items, ("", None)):
        if thought is not None and not by_model(item):
            yield thought, "reasoning without the item that it led to"
        thought = row if _is_thought(item) else None


def _drop_idle_reasoning(rows: list[list[Any]]) -> list[list[Any]]:
    """No reasoning without what it led to."""
    legal: list[list[Any]] = []
    led = False
    for items in reversed(rows):
        kept: list[Any] = []
        for item in reversed(items):
            if led or not _is_thought(item):
                led = by_model(item)
                kept.append(item)
        legal.append(kept[::-1])
    return legal[::-1]


ORDER: tuple[OrderRule, ...] = (
    shared.some_message, answered, calls_distinct, ids_distinct, reasoning_followed,
)  # fmt: skip


# What one request may carry: no reasoning that the server cannot read, answers of the right kind


_REMEMBERED = ("previous_response_id", "conversation")
_LOOKED_AT = (frozenset(reading.ASKING) | {"reasoning"}) - {"function_call"}


def allow(rows: Rows, params: Params) -> Allowed:
    """Rows and parameters as this request may carry them."""
    named = [key for key in _REMEMBERED if params.get(key) is not None]
    left = [f"{key}: the whole input is sent instead" for key in named]
    if named:
        params = {key: value for key, value in params.items() if key not in named}
    kinds, unread = _look(rows, stored=params.get("store") is not False)
    if kinds:
        rows = [_with_answers(row, kinds) if row.results else row for row in rows]
    if unread:
        rows = _readable(rows, unread)
        left += [f"{id}#0" for id in unread]
    return Allowed(rows, params, tuple(left))


def _sendable_rows(rows: Rows, params: Params) -> list[Row]:
    """The rows that a request with these parameters carries, every item still under its id."""
    kinds, unread = _look(rows, stored=params.get("store") is not False)
    rows = [_with_answers(row, kinds) if row.results and kinds else row for row in rows]
    return [kept for row in rows for kept in (_thoughtless(row) if row.id in unread else (row,))]


def _look(rows: Rows, *, stored: bool) -> tuple[dict[str, str], dict[str, None]]:
    """The calls that are no plain function calls, by id, and the rows with reasoning the server cannot read."""
    kinds: dict[str, str] = {}
    unread: dict[str, None] = {}
    for row in rows:
        for item in row.weight.wire:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in _LOOKED_AT:
                if kind != "reasoning":
                    kinds[str(item.get("id" if kind == "mcp_approval_request" else "call_id"))] = kind
                elif not item.get("encrypted_content") and not (
                    stored and (item.get("id") or item.get("content"))
                ):
                    unread[row.id] = None
    return kinds, unread


def _with_answers(row: Row, kinds: Mapping[str, str]) -> Row:
    """The row with answers written here (by `answer`) in the form that their call's kind wants."""
    if all(message.came_over(reading.NAME) for message in (row.was or row.messages[0], *row.messages[1:])):
        return row
    failed = {short(part.call) for message in row.messages for part in message.results if part.error}
    wire: list[Any] = []
    for item in row.weight.wire:
        kind = kinds.get(str(item.get("call_id"))) if isinstance(item, dict) else None
        if kind is None or item.get("type") != "function_call_output":
            wire.append(item)
        else:
            result, id = read_output(item), item["call_id"]
            parts = result.parts if isinstance(result, Result) else ()
            wire += write_answer(kind, id, parts, error=id in failed)
    return _rewire(row, wire)


def _readable(rows: Rows, unread: Container[str]) -> list[Row]:
    """The rows without reasoning that the server can neither decrypt nor look up."""
    kept: list[Row] = []
    freed = False
    for row in rows:
        if row.id in unread:
            kept.extend(_thoughtless(row))
            freed = True
            continue
        # What followed reasoning that is left out goes without its id: the id demands the reasoning.
        freed = freed and all(by_model(item) and not _is_thought(item) for item in row.weight.wire)
        kept.append(_rewire(row, [_unbound(item) for item in row.weight.wire]) if freed else row)
    return kept


def _thoughtless(row: Row) -> Iterator[Row]:
    wire = [item for item in row.weight.wire if not _is_thought(item)]
    if wire:
        yield _rewire(row, wire)


def _is_thought(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning"


def _unbound(item: Item) -> Item:
    return item if item.get("id") is None or item.get("type") not in PREFIXES else _without_id(item)


def _rewire(row: Row, wire: list[Any]) -> Row:
    before = row.weight.wire
    if len(wire) == len(before) and all(new is old for new, old in zip(wire, before, strict=True)):
        return row
    seal = digest(canonical(wire)).encode()
    weight = replace(row.weight, wire=tuple(wire), digest=seal, faults=item_faults(wire))
    return replace(row, weight=weight)
