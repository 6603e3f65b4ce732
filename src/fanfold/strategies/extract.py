"""Extract: a declared state is kept up to date beside the conversation, and sent instead of it (systems.md B5, C5)."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Edit, Note
from fanfold.core.errors import AskFailed, BadSetting
from fanfold.core.message import Message
from fanfold.core.plan import Ask, Plan, ask
from fanfold.core.view import Row, View
from fanfold.strategies.handover.first import dropping, first_request
from fanfold.strategies.prompting import prompt, spoken
from fanfold.strategies.schema import Schema, checked, is_schema, schema_of
from fanfold.text.cutting import bytes_of
from fanfold.text.json_text import to_json

_BYTES = 2.5
"""About so many bytes a token of JSON has."""
_TRIES = 100
"""So many braces of an answer may begin an object."""


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task has come to (C5)."""

    goal: str = ""
    completed_actions: tuple[str, ...] = ()
    current_phase: str = ""
    key_observations: tuple[str, ...] = ()


def extract(
    schema: Schema = Snapshot, *, name: str = "snapshot", model: str | None = None, custom: str | None = None
) -> Extract:
    """Keep an object of this schema up to date after each request of the user, as a note; reduce by dropping the rest.

    The schema is a msgspec struct, a pydantic model or a JSON schema. What an answer leaves out stays as it is; so no
    field is required.
    """
    if not is_schema(schema):
        raise BadSetting("extract takes a msgspec struct, a pydantic model or a JSON schema.")
    return Extract(schema, name, model, custom)


class Extract(msgspec.Struct, frozen=True):
    """The strategy that `extract` makes."""

    schema: Any
    note: str
    model: str | None = None
    custom: str | None = None
    drops: bool = True
    """Whether the conversation is dropped, or the state is only brought up to date."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "extract"

    @property
    def asks(self) -> bool:
        """Without a model to ask it does nothing."""
        return True

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Bring the state up to date; then, where the view is to shrink, drop the oldest blocks."""
        if self.settles(view, budget):
            view = yield from self._updated(view, budget)
        if not self.drops:
            return
        first = first_request(view, budget)
        yield from dropping(view, budget, but=[first] if first else [])

    def settles(self, view: View, budget: Budget) -> bool:
        """Whether the user said something since the state was last looked at."""
        return any(message.is_request for message in self._news(view))

    @property
    def settling(self) -> Extract:
        """The same, without dropping anything."""
        return msgspec.structs.replace(self, drops=False)

    def _updated(self, view: View, budget: Budget) -> Generator[Edit | Ask, Any, View]:
        before = noted(view, self.note)
        asked = self.custom or prompt("state")
        asked = asked.replace("{schema}", written(schema_of(self.schema))).replace("{state}", written(before))
        answer = yield from ask(self._news(view), asked, model=self.model, about=self.note)
        text = written(checked(self.schema, {**before, **_read(answer)}))
        if bytes_of(text) / _BYTES > budget.room / 10:
            raise AskFailed("the state takes more than a tenth of the room")
        if text != written(before):
            view = yield Note(self.note, text)
        return view

    def _news(self, view: View) -> tuple[Message, ...]:
        """What was said since the state was last looked at; a fold among it too."""
        request = view.looked(self.note)
        last = max((i for i, row in enumerate(view.rows) if self._is_seen(row, request)), default=-1)
        return tuple(
            message for row in view.rows[last + 1 :] if row.kind != "note" for message in row.messages
        )

    def _is_seen(self, row: Row, request: str | None) -> bool:
        """Whether the state was looked at in this row: it stands there, or the request that was the last one then."""
        if row.kind == "note":
            return row.name == self.note
        return request in row.asked


def noted(view: View, name: str = "snapshot") -> dict[str, Any]:
    """The state in the newest note of this name, read back."""
    for row in reversed(view.rows):
        if row.kind == "note" and row.name == name:
            return _object_at(row.messages[0].text.partition("\n")[2], 0)[0] or {}
    return {}


def updated(view: View, name: str = "snapshot", **changes: Any) -> str:
    """The state in the newest note with some fields changed, as a text for `chat.note(name, …)`."""
    return written({**noted(view, name), **changes})


def written(state: Any) -> str:
    """A state as compact JSON."""
    return to_json(msgspec.to_builtins(state))


def _read(answer: str) -> dict[str, Any]:
    """The last JSON object in an answer, whatever stands around it."""
    text, at, found = spoken(answer), 0, None
    for _ in range(_TRIES):
        at = text.find("{", at)
        if at < 0:
            break
        found, at = _object_at(text, at, found)
    if found is None:
        raise AskFailed("the answer is no JSON object")
    return {key: value for key, value in found.items() if value is not None}


Object = dict[str, Any] | None


def _object_at(text: str, at: int, otherwise: Object = None) -> tuple[Object, int]:
    """The object that begins here, and where to look on; of one that is cut off, nothing is looked at."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)  # keeps lone surrogates and NaN
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        return (None, len(text)) if cut else (otherwise, max(at + 1, error.pos))
    except RecursionError:
        return None, len(text)
    return value if isinstance(value, dict) else otherwise, end
