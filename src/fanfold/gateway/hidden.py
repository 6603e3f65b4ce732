"""Hidden rounds: the model looks something up again, and the client does not hear of it.

The recall tools enter with a session's first edit. A call to them is answered here, and the model is asked again. The
client is told the last reply only, so its history lacks what came in between. The log has it: `find_rounds` reads it
from there, in whichever process the client asks next, and `put_back` puts it into the history that the client sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Result, Wire
from fanfold.deferral.catalog import FINDING
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import DialectName, dialect_named
from fanfold.dialects.tools import function_names
from fanfold.outputs.recall import definitions
from fanfold.stores.prefix import prefixes

MOST = 8
"""So often the model may look things up before the client hears from it."""


class HiddenRound(msgspec.Struct, frozen=True):
    """What stands between a client's message and the reply that it was told."""

    told: str
    """What the client repeats: a hash of the reply's first message."""
    before: tuple[Any, ...]
    """Wire messages that come before the told reply."""
    beside: tuple[Any, ...] = ()
    """Items of the same reply that the client was not told."""
    whole: Any = None
    """The reply as it was, where calls that are none of the client's were left out of it."""
    after: tuple[Any, ...] = ()
    """The answers to those calls, which come after it."""

    def around(self, thoughts: Sequence[Any], body: Any) -> list[Any]:
        """The told message, after its thoughts, with what stands around it."""
        return [
            *self.before,
            *thoughts,
            *self.beside,
            body if self.whole is None else self.whole,
            *self.after,
        ]


Rounds = dict[str, HiddenRound]
"""By what the client repeats of the reply that it was told."""


def find_rounds(messages: Iterable[Message], dialect: DialectName, *, finds: bool) -> Rounds:
    """The hidden rounds in a conversation as it was recorded, from the first message on.

    `finds`: the search for tools that wait is the gateway's, not the client's.
    """
    found: Rounds = {}
    hidden = Unheard(dialect, FINDING if finds else frozenset())
    for speaks, group in groupby(messages, key=lambda message: message.role == "assistant"):
        said = tuple(group)
        told = hidden.hear(said) if speaks else hidden.answer(said)
        if told is not None:
            found[told.told] = told
    return found


class Unheard:
    """What the client has not heard since it was last told something."""

    def __init__(self, dialect: DialectName, finding: frozenset[str]) -> None:
        self._dialect = dialect
        self._finding = finding
        self._before: list[Any] = []
        self._rounds = 0
        self._reply: Reply | None = None
        """A reply with calls of our own, which wait for their answers."""

    def hear(self, messages: tuple[Message, ...]) -> HiddenRound | None:
        """The model spoke: a round in which it looks something up, or what the client is told at last."""
        calls = [call for message in messages for call in message.calls]
        reply = Reply(messages, recalled=tuple(call.id for call in calls if call.name in self._finding))
        if own_ids(reply) and self._rounds < MOST:
            self._reply = reply
            return None
        anchor, before = first_told(messages), tuple(self._before)
        self._start_over()
        return HiddenRound(told=fingerprint(anchor), before=before) if before and anchor else None

    def answer(self, messages: tuple[Message, ...]) -> HiddenRound | None:
        """Answers came: those to our own calls first, then what the client said."""
        reply, self._reply = self._reply, None
        if reply is None:
            return None
        own = own_ids(reply)
        answers = tuple(takewhile(lambda message: _answers_only(message, own), messages))
        if is_mixed(reply):
            told = mixed_round(reply, self._before, answers, self._dialect)
            self._start_over()
            return told
        self._before += wires(self._dialect, (*reply.messages, *answers))
        self._rounds += 1
        if len(answers) < len(messages):  # it broke off before the client heard anything
            self._start_over()
        return None

    def _start_over(self) -> None:
        self._before, self._rounds = [], 0


def _answers_only(message: Message, calls: set[str]) -> bool:
    ids = {part.call for part in message.parts if isinstance(part, Result)}
    return bool(ids) and ids <= calls


def wires(dialect: DialectName, messages: Iterable[Message]) -> list[Any]:
    """Messages as a dialect writes them."""
    return [body for message in messages for body in dialect_named(dialect).wire(message)]


def mixed_round(
    reply: Reply, before: Sequence[Any], answers: Sequence[Message], dialect: DialectName
) -> HiddenRound:
    """What the client does not hear of a reply in which some calls are its own."""
    told = without_own_calls(reply)
    said, heard, after = (wires(dialect, part) for part in (reply.messages, told.messages, answers))
    anchor = first_told(told.messages)
    assert anchor is not None  # the client's calls are in it
    round = HiddenRound(told=fingerprint(anchor), before=tuple(before), after=tuple(after))
    if dialect == "openai.responses":  # every call is an item of its own
        return replace(round, beside=tuple(item for item in said if item not in heard))
    return replace(round, whole=said[0])


def may_recall(request: HttpRequest) -> bool:
    """Whether the model may get tools beside the client's: where it has some, and may choose among them freely."""
    body = request.body
    dialect = dialect_named(request.dialect)
    tools = [*dialect.split(body).tools, *added_tools(body)]
    names = function_names(dialect.frame((), tools), request.dialect)
    free = _is_free(body.get("tool_choice")) and body.get("n") in (None, 1) and _is_free(_gemini_mode(body))
    return bool(names) and RECALL.isdisjoint(names) and free


def _is_free(choice: Any) -> bool:
    kind = choice.get("type") if isinstance(choice, Mapping) else choice
    return kind is None or str(kind).lower() == "auto"


def _gemini_mode(body: Mapping[str, Any]) -> Any:
    config = body.get("toolConfig") or body.get("tool_config")
    calling = config.get("functionCallingConfig") if isinstance(config, Mapping) else None
    return calling.get("mode") if isinstance(calling, Mapping) else None


def with_recall_tools(request: HttpRequest) -> dict[str, Any]:
    """The client's request with the recall tools behind its own."""
    tools = request.body.get("tools")
    listed = list(tools) if isinstance(tools, list | tuple) else []
    return {**request.body, "tools": [*listed, *definitions(request.dialect)]}


def added_tools(body: Mapping[str, Any]) -> list[Any]:
    """Tools that come as an item of the input, where newer codex has all of its own."""
    items = body.get("input")
    added = [item for item in items if _adds(item)] if isinstance(items, list) else []
    return [tool for item in added for tool in item["tools"]]


def _adds(item: Any) -> bool:
    known = isinstance(item, Mapping) and item.get("type") == "additional_tools"
    return known and isinstance(item.get("tools"), list)


def beside_added(body: dict[str, Any]) -> dict[str, Any]:
    """A written request whose own tools stand beside those that an item adds: a client that uses one uses no other."""
    items, tools = body.get("input"), body.get("tools")
    at = next((at for at, item in enumerate(items) if _adds(item)), None) if isinstance(items, list) else None
    if not tools or at is None or not isinstance(items, list):
        return body
    item = {**items[at], "tools": [*items[at]["tools"], *tools]}
    kept = {key: value for key, value in body.items() if key != "tools"}
    return {**kept, "input": [*items[:at], item, *items[at + 1 :]]}


def defers_itself(request: HttpRequest) -> bool:
    """Whether a client lets its own tools wait: it has marked some, or has a search for them."""
    tools = [*dialect_named(request.dialect).split(request.body).tools, *added_tools(request.body)]
    marked = any(
        isinstance(tool, Mapping) and (tool.get("defer_loading") or _searches(tool)) for tool in tools
    )
    return marked or bool(added_tools(request.body))


def _searches(tool: Mapping[str, Any]) -> bool:
    told = f"{tool.get('type', '')} {tool.get('name', '')}".lower().replace("_", "")
    return "toolsearch" in told


def finds_tools(request: HttpRequest, sent: Mapping[str, Any]) -> bool:
    """Whether a written request has the search for tools that wait, and the client has not."""
    dialect = dialect_named(request.dialect)
    names = function_names(dialect.frame((), dialect.split(sent).tools), request.dialect)
    return not FINDING.isdisjoint(names) and not defers_itself(request)


def own_calls(reply: Reply) -> list[Any]:
    """The calls of a reply that are to be answered here; the session has answered those in `recalled` already."""
    return [call for call in reply.calls if call.name in RECALL]


def own_ids(reply: Reply) -> set[str]:
    """The calls of a reply that the client does not hear of."""
    return {*reply.recalled, *(call.id for call in own_calls(reply))}


def is_mixed(reply: Reply) -> bool:
    """Whether some calls of a reply are the client's."""
    return len(own_calls(reply)) < len(reply.calls)


def without_own_calls(reply: Reply) -> Reply:
    """A reply with the client's calls only."""
    own = own_ids(reply)
    kept = [told for message in reply.messages if (told := _without(message, own)) is not None]
    return replace(reply, messages=tuple(kept))


def _without(message: Message, own: set[str]) -> Message | None:
    if not any(call.id in own for call in message.calls):
        return message
    parts = tuple(part for part in message.parts if not (isinstance(part, Call) and part.id in own))
    names = {call.name for call in message.calls if call.id in own}
    wire = Wire(message.wire.dialect, _strip(message.wire.body, own, names)) if message.wire else None
    return replace(message, parts=parts, wire=wire) if parts else None


def _strip(body: Any, own: set[str], names: set[str]) -> Any:
    """A wire message without these calls; Gemini's may have no id, and are known by their names."""
    match body:
        case {"tool_calls": list(calls)}:
            kept = [call for call in calls if call.get("id") not in own]
            return (
                {**body, "tool_calls": kept} if kept else {k: v for k, v in body.items() if k != "tool_calls"}
            )
        case {"content": list(blocks)}:
            return {**body, "content": [one for one in blocks if one.get("id") not in own]}
        case {"parts": list(parts)}:
            return {**body, "parts": [one for one in parts if _function(one) not in names]}
    return body


def _function(part: Any) -> Any:
    call = (part.get("functionCall") or part.get("function_call")) if isinstance(part, dict) else None
    return call.get("name") if isinstance(call, dict) else None


def fingerprint(message: Message) -> str:
    """What a client repeats of a message, however it writes it."""
    return next(prefixes([message]))


def first_told(messages: Sequence[Message]) -> Message | None:
    """The first message of a reply that says or calls something; clients may leave thinking out."""
    return next((message for message in messages if message.text or message.calls), None)


def put_back(request: HttpRequest, rounds: Rounds) -> dict[str, Any]:
    """The client's request with its hidden rounds in their places."""
    dialect = dialect_named(request.dialect)
    given = request.body.get(dialect.field)
    if not rounds or not isinstance(given, list):
        return request.body
    messages = dialect.split(request.body).messages
    known = dict(rounds)
    bodies = list(given[: len(given) - len(messages)])  # a system prompt that leads the messages
    thoughts = 0  # how many items of thinking stand last: they belong to what follows
    for body in messages:
        message = dialect.message(body)
        speaks = message.role == "assistant" and bool(message.text or message.calls)
        found = known.pop(fingerprint(message), None) if speaks else None
        if found is None:
            bodies.append(body)
        else:
            bodies[len(bodies) - thoughts :] = found.around(bodies[len(bodies) - thoughts :], body)
        thoughts = thoughts + 1 if message.role == "assistant" and not speaks else 0
    return {**request.body, dialect.field: bodies}
