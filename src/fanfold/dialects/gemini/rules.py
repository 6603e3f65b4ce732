"""What Gemini's generateContent demands: each rule with its check and its repair.

The rules are those of the API reference, of the pages on function calling and thought signatures, and of the 400s that
the API answers. Repairs are made on contents, so that signatures and everything else untouched stay as received.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from fanfold.core.message import Call, Message, Result
from fanfold.core.view import Row, Violation
from fanfold.dialects import rules as shared
from fanfold.dialects.dialect import Allowed
from fanfold.dialects.gemini import read as reading
from fanfold.dialects.gemini.names import DIALECT, get_field, get_object, made_up, spelling, without
from fanfold.dialects.gemini.read import has_data, is_call, is_response, kind_of, message, parts_of, read
from fanfold.dialects.gemini.tools import NAMING
from fanfold.dialects.gemini.write import ContentTurn, contents, turns
from fanfold.dialects.rules import Breaches, MessageRule, Params, Patch, Rows, distinct
from fanfold.text.json_text import to_json

Content = dict[str, Any]
EMPTY = "[empty]"


# One content by itself


def _body(message: Message) -> Any:
    return message.wire.body if message.wire is not None and message.came_over(DIALECT) else None


def _parts(message: Message) -> list[Any]:
    body = _body(message)
    return parts_of(body) if isinstance(body, dict) else [{"text": body}] if isinstance(body, str) else []


def _fields(message: Message, name: str) -> list[Any]:
    found = [get_field(part, name) for part in _parts(message)]
    return [value for value in found if value is not None]


def some_parts(message: Message) -> str | None:
    """A content has at least one part."""
    body = _body(message)
    return "there are no parts" if isinstance(body, dict) and not parts_of(body) else None


def parts_have_data(message: Message) -> str | None:
    """A part carries exactly one thing; a text is empty only beside a thought signature."""
    bad = next((i for i, part in enumerate(_parts(message)) if not has_data(part)), None)
    return None if bad is None else f"parts[{bad}] carries nothing, or more than one thing"


def clean(body: Content) -> Iterator[Content]:
    """A content whose parts are legal; responses and anything beside them are two."""
    model = body.get("role") == "model"
    parts = [part for given in body["parts"] for part in _clean_part(given, model)]
    responses = [part for part in parts if get_object(part, "functionResponse") is not None]
    others = [part for part in parts if get_object(part, "functionResponse") is None]
    if responses and others:
        yield {**body, "parts": responses}
        yield {"role": "user", "parts": others}
    elif not parts:
        yield {**body, "parts": [{"text": EMPTY}]}
    else:
        yield body if parts == body["parts"] else {**body, "parts": parts}


def _clean_part(part: Any, model: bool) -> Iterator[Any]:
    """A part as it may stand here: itself, repaired, as words, or nothing where it carries nothing."""
    kind = kind_of(part)
    if kind in ("functionCall", "function_call"):
        yield _call(part, kind) if model else _words(part)
    elif kind in ("functionResponse", "function_response"):
        yield _words(part) if model else _response(part, kind)
    elif has_data(part):
        yield part
    elif isinstance(part, str) and part:
        yield {"text": part}
    elif not isinstance(part, dict) or kind_of(part) != "text":
        # Nothing is lost with a part of empty fields.
        carries = any(without(part, "thought", "text").values()) if isinstance(part, dict) else bool(part)
        if carries:
            yield _words(part)


def _words(part: Any) -> Content:
    return {"text": to_json(without(part, "thoughtSignature") if isinstance(part, dict) else part)}


def calls_well_formed(message: Message) -> str | None:
    """A call names its function and has an object of arguments."""
    bad = next((call for call in _fields(message, "functionCall") if not is_call(call)), None)
    return None if bad is None else f"a call without a good name or an object of arguments: {str(bad)[:80]}"


def _call(part: Content, kind: str) -> Content:
    call = part[kind]
    if is_call(call):
        return part
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return _words(part)
    args = call.get("args")
    given = args if isinstance(args, dict | None) else {"arguments": args}
    return {kind: {**call, "name": NAMING.fit(call["name"]), "args": given or {}}}


def responses_well_formed(message: Message) -> str | None:
    """A response names its function and is an object."""
    bad = next((given for given in _fields(message, "functionResponse") if not is_response(given)), None)
    return None if bad is None else f"a response without a good name or an object: {str(bad)[:80]}"


def _response(part: Content, kind: str) -> Content:
    """A response that is an object and names its function; without a name it waits for its call."""
    given = part[kind]
    if is_response(given):
        return part
    if not isinstance(given, dict) or not (given.get("id") or isinstance(given.get("name"), str)):
        return _words(part)
    name = {"name": NAMING.fit(given["name"])} if isinstance(given.get("name"), str) else {}
    output = given.get("response")
    if not isinstance(output, dict):
        output = {"output": output if isinstance(output, str) else "" if output is None else to_json(output)}
    return {**part, kind: {**without(given, "name"), **name, "response": output}}


def responses_alone(message: Message) -> str | None:
    """A content with responses holds nothing else."""
    results = sum(isinstance(part, Result) for part in message.parts)
    mixed = _body(message) is not None and 0 < results < len(message.parts)
    return "responses mixed with something else" if mixed else None


def _with_distinct_ids(content: Content) -> Content:
    """A content whose calls have different ids."""
    seen: set[str] = set()
    parts = list(content["parts"])
    for at, part in enumerate(parts):
        call = get_object(part, "functionCall")
        if call is not None and call.get("id"):
            id = shared.unused(call["id"], seen)
            renamed = {**part, spelling(part, "functionCall"): {**call, "id": id}}
            parts[at] = part if id == call["id"] else renamed
    return content if parts == content["parts"] else {**content, "parts": parts}


# `signed` and `whole` are kept by sending a row a little otherwise than it is recorded.

PLACEHOLDER = "skip_thought_signature_validator"
"""The documented signature for calls that this model did not make, or that were edited (thought signatures, FAQ)."""


def allow(rows: Rows, params: Params) -> Allowed:
    """The rows with a signature on the first call of each step, and a whole content for every bare one.

    A placeholder stays when the turn is over, so that the prompt's beginning does not change.
    """
    if not any(row.weight.faults for row in rows):
        return Allowed(rows, params)
    given = [_as_sent(row) if row.weight.faults else row for row in rows]
    changed = [row for new, row in zip(given, rows, strict=True) if new is not row]
    missing = sum(any(first_unsigned(body) is not None for body in row.weight.wire) for row in changed)
    said = (f"thought signature: {missing} steps have none, a placeholder is sent",) if missing else ()
    return Allowed(given, params, said)


def _as_sent(row: Row) -> Row:
    named = {fault.rule for fault in row.weight.faults}
    if not named & {"signed", "whole"}:
        return row
    kept = tuple(fault for fault in row.weight.faults if fault.rule not in ("signed", "whole"))
    wire = tuple(made_whole(body) for body in row.weight.wire)
    if "signed" in named:
        wire = tuple(with_signature(body) for body in wire)
    return replace(row, weight=replace(row.weight, wire=wire, faults=kept, digest=row.weight.digest + b"+"))


def whole(message: Message) -> str | None:
    """A content has a list of parts; the SDK puts bare texts and parts among whole contents in another order."""
    body = _body(message)
    if isinstance(body, str):
        return "a bare text"
    return "parts is no list" if isinstance(body, dict) and not isinstance(body.get("parts"), list) else None


def made_whole(body: Any) -> Any:
    """A content with a role and a list of parts; one that is so is the same object."""
    if isinstance(body, str):
        return {"role": "user", "parts": [{"text": body}]}
    if isinstance(body.get("parts"), list):
        return body
    parts = parts_of(body)
    calling = any(get_field(part, "functionCall") for part in parts)
    return {"role": body.get("role") or ("model" if calling else "user"), "parts": parts}


def signed(message: Message) -> str | None:
    """From Gemini 3 on, the first call of each step of the current turn carries its thought signature."""
    if message.role != "assistant" or not any(isinstance(part, Call) for part in message.parts):
        return None
    body = _body(message)
    return "an unsigned call" if body is None or first_unsigned(body) is not None else None


def with_signature(body: Any) -> Any:
    """A content whose first call has a signature, be it the placeholder."""
    at = first_unsigned(body)
    if at is None:
        return body
    parts = list(parts_of(body))
    parts[at] = {**without(parts[at], "thoughtSignature"), "thoughtSignature": PLACEHOLDER}
    return {**body, "parts": parts}


def first_unsigned(body: Any) -> int | None:
    """Where the first call of a content stands, if it has no signature."""
    if not isinstance(body, dict):
        return None
    for i, part in enumerate(parts_of(body)):
        if get_object(part, "functionCall") is not None:
            return None if get_field(part, "thoughtSignature") else i
    return None


MESSAGE: tuple[MessageRule, ...] = (
    some_parts, parts_have_data, calls_well_formed, responses_well_formed, responses_alone, distinct,
    shared.calls_by_assistant, shared.results_by_tools, whole,
)  # fmt: skip


def faults_of(message: Message, *, newer: bool) -> tuple[Violation, ...]:
    """The rules that a content breaks by itself; `newer`: the model wants its calls signed."""
    rules = () if is_plain(message) else MESSAGE
    return shared.faults(message, (*rules, signed) if newer else rules)


def is_plain(message: Message) -> bool:
    """Whether a glance shows words, calls of the model or responses: no rule but `signed` can be broken then.

    Nearly all contents are so, and none of the rules needs to look at them.
    """
    body = _body(message)
    parts = body.get("parts") if isinstance(body, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        return False
    if message.role == "tool":
        return all(len(part) == 1 and is_response(part.get("functionResponse")) for part in parts)
    model = message.role == "assistant"
    return all(_is_words(part) or (model and _is_call(part)) for part in parts) and distinct(message) is None


def _is_words(part: Content) -> bool:
    text = part.get("text")
    return part.keys() <= {"text", "thought", "thoughtSignature"} and isinstance(text, str) and text != ""


def _is_call(part: Content) -> bool:
    return part.keys() <= {"functionCall", "thoughtSignature"} and is_call(part.get("functionCall"))


# How contents follow each other


def some_content(turns: Sequence[ContentTurn]) -> Breaches:
    """There is at least one content."""
    if not turns:
        yield "contents", "there is no content at all"


def user_first(turns: Sequence[ContentTurn]) -> Breaches:
    """The first content is the user's."""
    if turns and turns[0].speaker == "model":
        yield "contents[0]", "the model speaks first"


def user_last(turns: Sequence[ContentTurn]) -> Breaches:
    """The last content is the user's, or responses."""
    if turns and turns[-1].speaker == "model":
        yield f"contents[{len(turns) - 1}]", "the model speaks last"


def calls_after_user(turns: Sequence[ContentTurn]) -> Breaches:
    """A content with calls comes right after a user's content or after responses."""
    for i, (before, turn) in enumerate(pairwise(turns), 1):
        if turn.calls and before.speaker == "model":
            yield f"contents[{i}]", "a call right after the model spoke"


def answered(turns: Sequence[ContentTurn]) -> Breaches:
    """A content with calls is followed at once by one content with the responses to exactly these calls."""
    open: tuple[str, ...] = ()
    for i, turn in enumerate(turns):
        if open != turn.results and sorted(open) != sorted(turn.results):
            calls, results = ", ".join(open) or "none", ", ".join(turn.results) or "none"
            yield f"contents[{i}]", f"calls before it: {calls}; responses in it: {results}"
        open = turn.calls
    if open:
        yield "the end", f"calls without a response: {', '.join(open)}"


ORDER = (some_content, user_first, user_last, calls_after_user, answered)


def check(rows: Rows, params: Params, settled: int = 0) -> list[Violation]:
    """The rules that these rows break."""
    return shared.row_faults(rows) + shared.breaches(ORDER, turns(rows))


def repair(rows: Rows, params: Params) -> list[Patch]:
    """The smallest repairs: calls with their responses are one group, everything else stands alone."""
    shown = [row for row in rows if row.weight.wire]
    if not shown:
        return [((rows[-1].id,), (message(user_content(shared.NOTHING)),))] if rows else []
    repairs = []
    groups = list(shared.runs(shown, _begins_group))
    for i, group in enumerate(groups):
        given = [made_whole(body) for body in contents(group)]
        repaired = _Repair(given).contents
        if i == 0 and repaired[0].get("role") == "model":
            repaired.insert(0, user_content(shared.BEGINNING))
        if i == len(groups) - 1 and repaired[-1].get("role") == "model":
            repaired.append(user_content(shared.GO_ON))
        if repaired != given:
            repairs.append((tuple(row.id for row in group), tuple(message(body) for body in repaired)))
    return repairs


def _begins_group(group: list[Row], row: Row) -> bool:
    """Whether a row can be judged without those before it; not so what the model says in a row, and responses to it."""
    kind, last = _kind(row.weight.wire[0]), _kind(group[-1].weight.wire[-1])
    return "person" in (kind, last) or (kind, last) == ("model", "responses")


def _kind(body: Any) -> str:
    """Who speaks in a content: the model, a person, or functions with their responses."""
    body = made_whole(body)
    if body.get("role") == "model":
        return "model"
    return "responses" if any(isinstance(part, Result) for part in read(parts_of(body))) else "person"


class _Repair:
    """Contents in the making: each legal by itself, every call answered at once, nothing answered unasked."""

    def __init__(self, given: Sequence[Content]) -> None:
        self.contents: list[Content] = []
        self._open: dict[str, Call] = {}
        self._responses: Content | None = None
        self._strays: list[Content] = []
        for content in (content for body in given for content in clean(body)):
            parts = read(content["parts"])
            if content.get("role") == "model":
                self._hear(content, any(isinstance(part, Call) for part in parts))
            elif any(isinstance(part, Result) for part in parts):
                self._gather(content, parts)
            else:
                self._close()
                self.contents.append(content)
        self._close()

    def _hear(self, content: Content, calling: bool) -> None:
        """The model speaks; a call right after its other words is one content with them."""
        if self._responses is not None or self._strays:
            self._close()
        while (calling or self._open) and self.contents and self.contents[-1].get("role") == "model":
            last = self.contents.pop()
            content = {**last, "parts": [*last["parts"], *content["parts"]]}
        content = _with_distinct_ids(content)
        self.contents.append(content)
        self._open = {part.id: part for part in read(content["parts"]) if isinstance(part, Call)}

    def _gather(self, content: Content, parts: Sequence[Any]) -> None:
        """Responses: those to an open call in one content, the others as plain words after it.

        Made-up ones are left out, for the real ones may have come; where they have not, `_close` makes them anew.
        """
        kept = []
        for body, result in zip(content["parts"], parts, strict=True):
            if shared.is_made_up(result):
                continue
            named = (call for call in self._open.values() if call.name == result.name)
            call = self._open.get(result.call) or next(named, None)
            if call is None:
                text, _ = reading.output_of(body[spelling(body, "functionResponse")].get("response"))
                self._strays.append(user_content(shared.stray(result.name or result.call, text)))
            else:
                del self._open[call.id]
                kept.append(_link(body, result, call))
        self._add({**content, "parts": kept})

    def _add(self, content: Content) -> None:
        """More responses to the calls that are open."""
        if self._responses is not None:
            content = {**self._responses, "parts": [*self._responses["parts"], *content["parts"]]}
        self._responses = content if content["parts"] else None

    def _close(self) -> None:
        """Answer what is still open, and put everything in its place."""
        missing = [
            {"functionResponse": {**_id_of(call), "name": call.name, "response": {"error": shared.NO_RESULT}}}
            for call in self._open.values()
        ]
        self._add({"role": "user", "parts": missing})
        if self._responses is not None:
            self.contents.append(self._responses)
        self.contents.extend(self._strays)
        self._open, self._responses, self._strays = {}, None, []


def _link(body: Content, result: Result, call: Call) -> Content:
    """A response with the id and the name that its call has on the wire."""
    key = spelling(body, "functionResponse")
    response = body[key]
    named = {} if response.get("name") else {"name": call.name}
    if result.call == call.id:
        return {**body, key: {**response, **named}} if named else body
    return {**body, key: {**without(response, "id"), **_id_of(call), **named}}


def _id_of(call: Call) -> Content:
    """The id of a call as it is on the wire."""
    return {} if made_up(call.id, call.name) else {"id": call.id}


def user_content(text: str) -> Content:
    """A user's content of plain words."""
    return {"role": "user", "parts": [{"text": text}]}
