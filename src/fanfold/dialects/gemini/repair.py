"""Repairs for Gemini: done on contents, so that signatures and everything else untouched stay as received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.core.message import Call, Result
from fanfold.core.view import Row
from fanfold.dialects.gemini.clean import Content, cleaned, distinct, said
from fanfold.dialects.gemini.names import made_up, spelling, without
from fanfold.dialects.gemini.read import listed, message, output_of, read
from fanfold.dialects.gemini.sign import whole
from fanfold.dialects.gemini.turns import contents
from fanfold.dialects.rules import BEGINNING, GO_ON, NO_RESULT, NOTHING, Patch, is_made_up, stray


def repair(rows: Sequence[Row]) -> list[Patch]:
    """Repairs for generateContent: calls with their responses are one group, everything else stands alone."""
    shown = [row for row in rows if row.weight.wire]
    if not shown:
        return [((rows[-1].id,), (message(said(NOTHING)),))] if rows else []
    repairs = []
    groups = list(_groups(shown))
    for i, group in enumerate(groups):
        given = [whole(body) for body in contents(group)]
        repaired = _Repaired(given).contents
        if i == 0 and repaired[0].get("role") == "model":
            repaired.insert(0, said(BEGINNING))
        if i == len(groups) - 1 and repaired[-1].get("role") == "model":
            repaired.append(said(GO_ON))
        if repaired != given:
            repairs.append((tuple(row.id for row in group), tuple(message(body) for body in repaired)))
    return repairs


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows that cannot be judged one without the other: what the model says in a row, and the responses to it."""
    group: list[Row] = []
    for row in rows:
        if group and not _follows(_kind(row.weight.wire[0]), _kind(group[-1].weight.wire[-1])):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _kind(body: Any) -> str:
    """Who speaks in a content: the model, a person, or functions with their responses."""
    body = whole(body)
    if body.get("role") == "model":
        return "model"
    return "responses" if any(isinstance(part, Result) for part in read(listed(body))) else "person"


def _follows(kind: str, last: str) -> bool:
    return kind != "person" and last != "person" and (kind, last) != ("model", "responses")


class _Repaired:
    """Contents in the making: each legal by itself, every call answered at once, nothing answered unasked."""

    def __init__(self, given: Sequence[Content]) -> None:
        self.contents: list[Content] = []
        self._open: dict[str, Call] = {}
        self._responses: Content | None = None
        self._strays: list[Content] = []
        for body in given:
            for content in cleaned(body):
                self._take(content)
        self._close()

    def _take(self, content: Content) -> None:
        parts = read(content["parts"])
        if content.get("role") == "model":
            self._hear(content, any(isinstance(part, Call) for part in parts))
        elif any(isinstance(part, Result) for part in parts):
            self._gather(content, parts)
        else:
            self._close()
            self.contents.append(content)

    def _hear(self, content: Content, calling: bool) -> None:
        """The model speaks; a call right after its other words is one content with them."""
        if self._responses is not None or self._strays:
            self._close()
        while (calling or self._open) and self.contents and self.contents[-1].get("role") == "model":
            last = self.contents.pop()
            content = {**last, "parts": [*last["parts"], *content["parts"]]}
        content = distinct(content)
        self.contents.append(content)
        self._open = {part.id: part for part in read(content["parts"]) if isinstance(part, Call)}

    def _gather(self, content: Content, parts: Sequence[Any]) -> None:
        """Responses: those to an open call in one content, the others as plain words after it.

        Made-up ones are left out, for the real ones may have come; where they have not, `_close` makes them anew.
        """
        kept = []
        for body, result in zip(content["parts"], parts, strict=True):
            if is_made_up(result):
                continue
            call = self._asked(result)
            if call is None:
                self._strays.append(said(_stray(body, result)))
            else:
                del self._open[call.id]
                kept.append(_linked(body, result, call))
        if kept and self._responses is None:
            self._responses = {**content, "parts": kept}
        elif kept and self._responses is not None:
            self._responses = {**self._responses, "parts": [*self._responses["parts"], *kept]}

    def _asked(self, result: Result) -> Call | None:
        """The open call that a result answers: by its id, else the first of its name."""
        if result.call in self._open:
            return self._open[result.call]
        return next((call for call in self._open.values() if call.name == result.name), None)

    def _close(self) -> None:
        """Answer what is still open, and put everything in its place."""
        missing = [_missing(call) for call in self._open.values()]
        if missing and self._responses is None:
            self._responses = {"role": "user", "parts": missing}
        elif missing and self._responses is not None:
            self._responses = {**self._responses, "parts": [*self._responses["parts"], *missing]}
        if self._responses is not None:
            self.contents.append(self._responses)
        self.contents.extend(self._strays)
        self._open, self._responses, self._strays = {}, None, []


def _linked(body: Content, result: Result, call: Call) -> Content:
    """A response with the id and the name that its call has on the wire."""
    key = spelling(body, "functionResponse")
    response = body[key]
    named = {} if response.get("name") else {"name": call.name}
    if result.call == call.id:
        return {**body, key: {**response, **named}} if named else body
    id = {} if made_up(call.id, call.name) else {"id": call.id}
    return {**body, key: {**without(response, "id"), **id, **named}}


def _missing(call: Call) -> Content:
    id = {} if made_up(call.id, call.name) else {"id": call.id}
    return {"functionResponse": {**id, "name": call.name, "response": {"error": NO_RESULT}}}


def _stray(body: Content, result: Result) -> str:
    text, _ = output_of(body[spelling(body, "functionResponse")].get("response"))
    return stray(result.name or result.call, text)
