"""What OpenAI Chat Completions demands: each rule with its check and its repair.

The rules are those of the API reference (Chat Completions, "Create chat completion") and of the 400s that the API
answers. A message that breaks a rule by itself is written anew from its parts, which repairs most of them; the repairs
of the others stand beside their rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanfold.core.message import Call, Message, Part, Result, Text, replace_part, text_of, user
from fanfold.core.view import Row, Violation, call_ids
from fanfold.dialects import rules as shared
from fanfold.dialects.chat.read import FOREIGN, THOUGHTS
from fanfold.dialects.dialect import Allowed, is_sent
from fanfold.dialects.openai import LONGEST_TEXT, NAMING
from fanfold.dialects.registry import CHAT
from fanfold.dialects.rules import Body, Breaches, MessageRule, Params, Patch, Rows, distinct
from fanfold.text.cutting import clip_text

Faults = Callable[[Message], tuple[Violation, ...]]
LONGEST_ID = 40
PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}
"""The kinds of parts that a message of a role may have; of any other role, text only."""


# One message by itself


def content_given(body: Body) -> str | None:
    """Only an assistant message with calls, a refusal or audio goes without content."""
    if body.get("content") is not None:
        return None
    otherwise = any(body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    return None if body.get("role") == "assistant" and otherwise else "no content"


def parts_known(body: Body) -> str | None:
    """A list of parts is not empty, and each part is of a kind that its role may use, with what that kind carries."""
    content, role = body.get("content"), str(body.get("role"))
    if content == []:
        return "an empty list of parts"
    known = not isinstance(content, list) or all(is_part(part, role) for part in content)
    return None if known else f"a part that a {role} message cannot have"


def is_part(part: Body, role: str) -> bool:
    """Whether a message of this role may have this part: one of its kinds, with its content under the kind's name."""
    kind = part.get("type")
    if kind == FOREIGN:
        return True
    if kind not in PARTS.get(role, ("text",)):
        return False
    return isinstance(part.get("text"), str) if kind == "text" else part.get(kind) is not None


def texts_whole(body: Body) -> str | None:
    """No text is longer than ten million characters."""
    content = body.get("content")
    texts = [part.get("text") for part in content] if isinstance(content, list) else [content]
    long = any(isinstance(text, str) and len(text) > LONGEST_TEXT for text in texts)
    return "a text too long to be sent" if long else None


def calls_wellformed(body: Body) -> str | None:
    """A list of calls is not empty, and every call has a short id, a proper name and its arguments as text."""
    calls = body.get("tool_calls")
    return None if calls is None or (calls and all(map(_is_call, calls))) else "calls that are no calls"


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str) or len(call["id"]) > LONGEST_ID:
        return False
    match call:
        case {"type": "custom", "custom": {"name": str(), "input": str()}}:
            return True
        case {"function": {"name": name, "arguments": str()}}:
            return NAMING.allows(name)
    return False


def answers_by_id(body: Body) -> str | None:
    """A tool message names the call it answers."""
    id = body.get("tool_call_id")
    named = body.get("role") != "tool" or (isinstance(id, str) and len(id) <= LONGEST_ID)
    return None if named else "a result whose call has no name, or too long a one"


MESSAGE: tuple[MessageRule, ...] = (distinct, shared.calls_by_assistant, shared.results_by_tools)
BODY = (content_given, parts_known, texts_whole, calls_wellformed, answers_by_id)


def faults_of(message: Message, bodies: Sequence[Body]) -> tuple[Violation, ...]:
    """The rules that a message, and what is sent of it, break by themselves."""
    if is_plain(message, bodies):
        return ()
    found = shared.faults(message, MESSAGE)
    for body in bodies:
        found += shared.faults(body, BODY)
    return found


def is_plain(message: Message, bodies: Sequence[Body]) -> bool:
    """Whether a glance shows words, calls of the assistant or a result: no rule can be broken then.

    Nearly all messages are so, and none of the rules needs to look at them.
    """
    if len(bodies) != 1 or "function_call" in bodies[0]:
        return False
    body = bodies[0]
    content, calls, role = body.get("content"), body.get("tool_calls"), body.get("role")
    if type(content) is not str and (content is not None or not calls):
        return False
    if content is not None and len(content) > LONGEST_TEXT:
        return False
    if calls is not None:
        wellformed = type(calls) is list and bool(calls) and all(map(_is_call, calls))
        return wellformed and message.role == "assistant" and (len(calls) == 1 or not distinct(message))
    if role == "tool":
        id = body.get("tool_call_id")
        return message.role != "assistant" and type(id) is str and len(id) <= LONGEST_ID
    return role != "function"


def _legal(message: Message, faults: Faults) -> Message:
    """The message as it is, or written anew from its parts where its wire form breaks a rule."""
    if not faults(message):
        return message
    parts: list[Part] = []
    for part in _distinct(message.parts, set()):
        misplaced = Call if message.role != "assistant" else Result
        if isinstance(part, misplaced):
            part = Text(text_of(part))
        elif len(text_of(part)) > LONGEST_TEXT:
            part = replace_part(part, clip_text(text_of(part), LONGEST_TEXT // 2))
        parts.append(part)
    return Message(message.role, tuple(parts))


def _distinct(parts: Sequence[Part], taken: set[str]) -> Iterator[Part]:
    """The parts, no two calls with one id; their ids are taken then."""
    for part in parts:
        id = shared.unused(part.id, taken) if isinstance(part, Call) else ""
        yield Call(id, part.name, part.raw) if isinstance(part, Call) and id != part.id else part


# How messages follow each other. What the assistant said piece by piece in another dialect is sent as one message.

Exchange = tuple[tuple[str, ...], tuple[str, ...]]
"""The ids that one message calls and answers."""
_WORDS: Exchange = ((), ())


def answered(steps: Sequence[Exchange]) -> Breaches:
    """Every call is answered, once, right after the message that made it, before anything else is said."""
    open: set[str] = set()
    for i, (calls, results) in enumerate(steps):
        if results:
            for id in results:
                if id not in open:
                    yield f"messages[{i}]", f"a result for {id!r}, which no call before it asked for"
                open.discard(id)
        elif open:
            yield f"messages[{i}]", f"calls without a result before it: {', '.join(sorted(open))}"
            open.clear()
        if calls:
            open.update(calls)
    if open:
        yield "the end", f"calls without a result: {', '.join(sorted(open))}"


def told_apart(steps: Sequence[Exchange]) -> Breaches:
    """Calls that are sent in one message have different ids, whichever messages they were recorded in."""
    for i, (calls, _) in enumerate(steps):
        if len(calls) > 1 and len(set(calls)) < len(calls):
            yield f"messages[{i}]", "two calls with the same id"


def check(rows: Rows, params: Params, settled: int = 0) -> list[Violation]:
    """The rules that these rows break.

    A legal beginning leaves no call open, so what came later is judged alone, unless it joins the beginning.
    """
    new = rows[settled:] if settled and not is_loose(rows[settled - 1 :]) else ()
    return _violations(rows, params) if not new or _violations(new, params) else []


def _violations(rows: Rows, params: Params) -> list[Violation]:
    found = shared.row_faults(rows)
    loose = is_loose(rows)
    steps = [] if loose else [step for row in rows if row.weight.wire for step in _exchanges(row)]
    if not steps:
        found += shared.breaches([shared.some_message], rows, params)
    if loose:
        return found + shared.breaches([answered, told_apart], _joined_steps(rows))
    return found + shared.breaches([answered], steps)


def is_loose(rows: Rows) -> bool:
    """Whether a row is sent as more than one message, or as less: joined with its neighbour."""
    for row in rows:  # every row of every request is looked at, and nearly all are sent as they came
        if row.kind == "entry" and row.weight.own:
            continue
        if len(row.messages) != 1 or (not row.weight.own and row.role == "assistant"):
            return True
    return False


def joins(message: Message) -> bool:
    """Whether a message is joined with its like: the assistant's, recorded piece by piece in another dialect."""
    return message.role == "assistant" and not message.came_over(CHAT)


def _exchanges(row: Row) -> tuple[Exchange, ...]:
    """The ids that a message calls and answers; words beside results are sent as a message behind them."""
    beside = row.results and row.weight.wire[-1].get("role") not in ("tool", "function")
    return ((row.calls, row.results), _WORDS) if beside else ((row.calls, row.results),)


def _joined_steps(rows: Rows) -> list[Exchange]:
    """The ids called and answered, message by message as they are sent: what is joined counts as one."""
    done: list[Exchange] = []
    open = False
    for row in rows:
        if not row.weight.wire:
            continue
        if len(row.messages) == 1 and not joins(row.was or row.messages[0]):
            done += _exchanges(row)
            open = False
            continue
        for message in row.messages:
            joining, exchange = joins(row.was or message), call_ids((message,))
            if joining and not any(map(is_sent, message.parts)):
                continue
            if joining and open:
                calls, results = done.pop()
                exchange = (calls + exchange[0], results + exchange[1])
            done.append(exchange)
            open = joining
            words = (part for part in message.parts if is_sent(part) and not isinstance(part, Result))
            if message.results and any(words):
                done.append(_WORDS)
                open = False
    return done


def repair(rows: Rows, faults: Faults) -> list[Patch]:
    """The smallest repairs: a call with its results is one group, everything else stands alone."""
    if rows and not any(row.weight.wire for row in rows):
        return [((rows[-1].id,), (user(shared.NOTHING),))]
    repairs = []
    for group in shared.runs(rows, lambda group, row: not _belongs(row, group)):
        shown = tuple(message for row in group for message in row.messages)
        legal = [_legal(message, faults) for row in group for message in _recorded_messages(row)]
        steps = shared.runs(legal, _speaks_again)
        repaired = tuple(message for step in steps for message in _repair_step(step))
        if repaired != shown:
            repairs.append((tuple(row.id for row in group), repaired))
    return repairs


def _recorded_messages(row: Row) -> Iterator[Message]:
    """The messages of a row; of a repaired one without made-up results, for the real ones may have come."""
    for message in row.messages:
        parts = tuple(part for part in message.parts if row.kind != "mend" or not shared.is_made_up(part))
        if len(parts) == len(message.parts):
            yield message
        elif parts:
            yield Message(message.role, parts)


def _belongs(row: Row, group: Rows) -> bool:
    """Whether a row goes with the rows before it: a result of theirs, or more of what the assistant said."""
    if not any(one.calls for one in group):
        return False
    if row.results and not row.calls:
        return True
    said = all(joins(one.was or message) for one in (*group, row) for message in one.messages)
    return said and not any(one.results for one in group)


def _speaks_again(step: Sequence[Message], message: Message) -> bool:
    """Whether the assistant begins anew; what it said piece by piece is said at once."""
    return message.role == "assistant" and not all(map(joins, (*step, message)))


def _repair_step(step: Sequence[Message]) -> tuple[Message, ...]:
    """A step made legal: its calls, all their results, then whatever else was said."""
    done: list[Message] = []
    after: list[Message] = []
    open: dict[str, str] = {}
    taken: set[str] = set()
    for message in step:
        if message.calls and joins(message):
            parts = tuple(_distinct(message.parts, taken))
            message = message if parts == message.parts else Message(message.role, parts)
        parts, strays = _match(message, open)
        if parts or not strays:
            kept = message if parts == message.parts else Message(message.role, parts)
            (done if kept.role == "assistant" or kept.results else after).append(kept)
        after += strays
        if message.role == "assistant":
            open.update((call.id, call.name) for call in message.calls)
    no_result = (Text(shared.NO_RESULT),)
    missing = [Message("tool", (Result(id, no_result, True, name),)) for id, name in open.items()]
    answers, words = _apart(done, len(done) if open else len(done) - 1)
    return (*answers, *missing, *words, *after)


def _match(message: Message, open: dict[str, str]) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts without results that answer no open call, and those as plain words."""
    kept: list[Part] = []
    strays: list[Message] = []
    for part in message.parts:
        if not isinstance(part, Result):
            kept.append(part)
            continue
        # Of two calls with one id the second was renamed, so a second result answers that one.
        stem = part.call.strip("~")
        renamed = (id for id in open if id.startswith(part.call) and id.strip("~") == stem)
        id = part.call if part.call in open else next(renamed, None)
        if id is None:
            strays.append(user(shared.stray(part.call, part.text)))
        else:
            del open[id]
            kept.append(part if id == part.call else Result(id, part.parts, part.error, part.name))
    return tuple(kept), strays


def _apart(messages: Sequence[Message], count: int) -> tuple[list[Message], list[Message]]:
    """The messages, and the words beside the results of the first so many: more results come before them."""
    answers, words = list[Message](), list[Message]()
    for at, message in enumerate(messages):
        beside = tuple(part for part in message.parts if not isinstance(part, Result))
        if at < count and message.results and beside:
            answers.append(Message(message.role, message.results))
            words.append(Message("user", beside))
        else:
            answers.append(message)
    return answers, words


# Reasoning: while they think, DeepSeek and Kimi refuse a message of theirs that comes back without it.

PLACEHOLDER = " "
"""What goes in the place of reasoning that there is none of; an empty text is refused."""


def with_reasoning(rows: Rows, params: Params) -> Allowed:
    """The rows, every message of the assistant's with reasoning; as they are where thinking is switched off."""
    extra = params.get("extra_body")  # where the SDK takes what it does not know
    places = (params, extra if isinstance(extra, Mapping) else {})
    is_off = any(place.get("thinking") == {"type": "disabled"} for place in places)
    lacking = 0 if is_off else sum(_lacks(body) for row in rows for body in row.weight.wire)
    if not lacking:
        return Allowed(rows, params)
    given = [_with_reasoning(row) if any(map(_lacks, row.weight.wire)) else row for row in rows]
    said = f"reasoning: a blank one is sent where there is none ({lacking})"
    return Allowed(given, params, (said,), {PLACEHOLDER: lacking})


def _lacks(body: Body) -> bool:
    return body.get("role") == "assistant" and not any(body.get(key) for key in THOUGHTS)


def _with_reasoning(row: Row) -> Row:
    """The row with blank reasoning, also in its messages under the wire form that is sent of them."""
    new = {id(body): {**body, THOUGHTS[0]: PLACEHOLDER} for body in row.weight.wire if _lacks(body)}
    wire = tuple(new.get(id(body), body) for body in row.weight.wire)
    messages = tuple(
        replace(message, wire=replace(message.wire, body=new[id(message.wire.body)]))
        if message.wire is not None and id(message.wire.body) in new
        else message
        for message in row.messages
    )
    weight = replace(row.weight, wire=wire, digest=row.weight.digest + b"+")
    return replace(row, messages=messages, weight=weight)
