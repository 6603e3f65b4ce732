"""Hidden rounds: the model looks something up again, and the client does not hear of it.

The recall tools enter with a session's first edit. A call to them is answered here, and the model is asked again. The
client is told one reply, made of what all rounds say and without these calls. The log has the rounds: `find_rounds`
reads them from there, in whichever process the client asks next, and `put_back` puts them into the history that the
client sends, in the place of what it was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Part, Result, Text, Thinking, Wire
from fanfold.deferral.catalog import FINDING
from fanfold.dialects.chat.splice import APART
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import CHAT, DialectName, dialect_named
from fanfold.dialects.tools import function_names
from fanfold.outputs.recall import definitions
from fanfold.stores.echo import is_told
from fanfold.stores.prefix import prefixes

MOST = 8
"""So often the model may look things up before the client hears from it."""


class HiddenRound(msgspec.Struct, frozen=True):
    """A reply as the client was told it, and as it was: with the rounds before it, and calls of our own."""

    told: str
    """What the client repeats: a hash of what it was told."""
    wires: tuple[Any, ...]
    """The wire messages that stand in its place: replies, answers to calls of our own, the last reply."""


Rounds = dict[str, HiddenRound]
"""By what the client repeats of the reply that it was told."""


def find_rounds(
    messages: Iterable[Message], dialect: DialectName, *, finds: bool, said: Message | None = None
) -> Rounds:
    """The hidden rounds in a conversation as it was recorded, after the client said `said`.

    `finds`: the search for tools that wait is the gateway's, not the client's.
    """
    found: Rounds = {}
    hidden = Unheard(dialect, FINDING if finds else frozenset(), said)
    for speaks, group in groupby(messages, key=lambda message: message.role == "assistant"):
        run = tuple(group)
        told = hidden.hear(run) if speaks else hidden.answer(run)
        if told is not None:
            found[told.told] = told
    return found


class Unheard:
    """What happened since the client last said something, and how much of it the client was told."""

    def __init__(self, dialect: DialectName, finding: frozenset[str], said: Message | None) -> None:
        self._dialect = dialect
        self._finding = finding
        self._said = said
        """What the client said last."""
        self._told: list[tuple[Message, ...]] = []
        self._wires: list[Any] = []
        self._hides = False
        self._reply: Reply | None = None
        """A reply with calls of our own, which wait for their answers."""

    def hear(self, messages: tuple[Message, ...]) -> HiddenRound | None:
        """The model spoke: a round in which it looks something up, or the end of what the client is told."""
        calls = [call for message in messages for call in message.calls]
        reply = Reply(messages, recalled=tuple(call.id for call in calls if call.name in self._finding))
        own = own_ids(reply)
        self._told.append(without_own_calls(reply).messages)
        self._wires += wires(self._dialect, messages)
        if own:
            self._reply, self._hides = reply, True
            return None
        return self._end()

    def answer(self, messages: tuple[Message, ...]) -> HiddenRound | None:
        """Answers came: those to our own calls first, then what the client said."""
        reply, self._reply = self._reply, None
        own = own_ids(reply) if reply is not None else set()
        answers = tuple(takewhile(lambda message: _answers_only(message, own), messages))
        self._wires += wires(self._dialect, answers)
        goes_on = reply is not None and not is_mixed(reply) and len(answers) == len(messages)
        told = None if goes_on else self._end()
        self._said = messages[-1] if len(answers) < len(messages) else self._said
        return told

    def _end(self) -> HiddenRound | None:
        told, hides, whole = self._told, self._hides, tuple(self._wires)
        self._told, self._wires, self._hides, self._reply = [], [], False, None
        mark = fingerprint(self._said, join(told, self._dialect)) if hides else None
        return HiddenRound(mark, whole) if mark is not None else None


def _answers_only(message: Message, calls: set[str]) -> bool:
    ids = {part.call for part in message.parts if isinstance(part, Result)}
    return bool(ids) and ids <= calls


def wires(dialect: DialectName, messages: Iterable[Message]) -> list[Any]:
    """Messages as a dialect writes them."""
    return [body for message in messages for body in dialect_named(dialect).wire(message)]


def join(rounds: Iterable[Sequence[Message]], dialect: DialectName) -> Message:
    """Replies as one message, as clients are told them: where a message has one text, the rounds stand apart in it."""
    parts: list[Part] = []
    for messages in rounds:
        said = [part for message in messages for part in message.parts if not isinstance(part, Thinking)]
        apart = dialect == CHAT and any(isinstance(part, Text) for part in parts)
        if apart and any(isinstance(part, Text) for part in said):
            parts.append(Text(APART))
        parts += said
    return Message("assistant", tuple(parts))


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


def hidden_tools(request: HttpRequest, sent: Mapping[str, Any], *, recalls: bool) -> frozenset[str]:
    """The tools of a written request that the client knows nothing of: to look things up, to find tools that wait."""
    dialect = dialect_named(request.dialect)
    names = function_names(dialect.frame((), dialect.split(sent).tools), request.dialect)
    finding = frozenset() if FINDING.isdisjoint(names) or defers_itself(request) else FINDING
    return finding | (RECALL if recalls else frozenset())


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


def fingerprint(said: Message | None, told: Message) -> str | None:
    """What a client repeats of a reply, however it writes it; None where it was told nothing.

    The ids of calls are a reply's own. Words alone may come twice, so they count with what was said before them.
    """
    if not any(is_told(part) for part in told.parts):
        return None
    before = [] if told.calls or said is None else [said]
    *_, mark = prefixes([*before, told])
    return mark


def put_back(request: HttpRequest, rounds: Rounds) -> dict[str, Any]:
    """The client's request with its hidden rounds in their places."""
    dialect = dialect_named(request.dialect)
    given = request.body.get(dialect.field)
    if not rounds or not isinstance(given, list):
        return request.body
    messages = dialect.split(request.body).messages
    known, said = dict(rounds), None
    bodies = list(given[: len(given) - len(messages)])  # a system prompt that leads the messages
    read = [(body, dialect.message(body)) for body in messages]
    for speaks, group in groupby(read, key=lambda one: one[1].role == "assistant"):
        run = list(group)
        if not speaks:
            said = run[-1][1]
        told = join([[message for _, message in run]], request.dialect) if speaks else None
        mark = fingerprint(said, told) if told is not None else None
        found = known.pop(mark, None) if mark is not None else None
        bodies += [body for body, _ in run] if found is None else found.wires
    return {**request.body, dialect.field: bodies}
