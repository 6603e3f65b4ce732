"""Extract: a declared state is kept up to date beside the talk, and carried instead of it (systems.md B5, C5)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from fanfold.budget import Budget
from fanfold.edit import Edit, Note
from fanfold.errors import AskFailed, BadSetting
from fanfold.message import Message
from fanfold.plan import Ask, Plan, ask
from fanfold.strategies.first import first_request, without
from fanfold.strategies.prompting import prompt, tagged
from fanfold.view import View

Schema = type | dict[str, Any]
_BYTES = 2.5
"""About so many bytes a token of JSON has."""
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


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

    The schema is a msgspec struct, a pydantic model or a JSON schema. What an answer leaves out stays as it is.
    """
    if not isinstance(schema, dict) and not _structured(schema):
        raise BadSetting("extract takes a msgspec struct, a pydantic model or a JSON schema.")
    return Extract(schema, name, model, custom)


class Extract(msgspec.Struct, frozen=True):
    """The strategy that `extract` makes."""

    schema: Any
    note: str
    model: str | None = None
    custom: str | None = None
    drops: bool = True
    """Whether the talk gives way, or the state is only brought up to date."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "extract"

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Bring the state up to date; then, where the view is to shrink, drop the oldest blocks."""
        if self.settles(view, budget):
            view = yield from self._updated(view, budget)
        if not self.drops:
            return
        first = first_request(view, budget.room // 10)
        old = view.oldest(leaving=budget.goal, but=[first] if first else [])
        if old.rows:
            yield without(old, view, budget.room // 10)

    def settles(self, view: View, budget: Budget) -> bool:
        """Whether the user said something since the state was last brought up to date."""
        return any(message.is_request for message in self._news(view))

    @property
    def settling(self) -> Extract:
        """The same, without dropping anything."""
        return msgspec.structs.replace(self, drops=False)

    def _updated(self, view: View, budget: Budget) -> Generator[Edit | Ask, Any, View]:
        before = noted(view, self.note)
        asked = self.custom or prompt("state")
        asked = asked.replace("{schema}", written(schema_of(self.schema))).replace("{state}", written(before))
        answer = yield from ask(self._news(view), asked, model=self.model)
        text = written(checked(self.schema, {**before, **_read(answer)}))
        if len(text.encode("utf-8", "replace")) / _BYTES > budget.room / 10:
            raise AskFailed("the state takes more than a tenth of the room")
        if text != written(before):
            view = yield Note(self.note, text)
        return view

    def _news(self, view: View) -> tuple[Message, ...]:
        """What was said since the last note; a fold among it too."""
        last = max(
            (i for i, row in enumerate(view.rows) if row.name == self.note and row.kind == "note"), default=-1
        )
        return tuple(
            message for row in view.rows[last + 1 :] if row.kind != "note" for message in row.messages
        )


def noted(view: View, name: str = "snapshot") -> dict[str, Any]:
    """The state in the newest note of this name, read back."""
    for row in reversed(view.rows):
        if row.kind == "note" and row.name == name:
            return _object(row.messages[0].text.partition("\n")[2]) or {}
    return {}


def updated(view: View, name: str = "snapshot", **changes: Any) -> str:
    """The state in the newest note with some fields changed, as a text for `chat.note(name, …)`."""
    return written({**noted(view, name), **changes})


def schema_of(schema: Schema) -> dict[str, Any]:
    """The JSON schema of a struct, a pydantic model, or of itself."""
    if isinstance(schema, dict):
        return schema
    if issubclass(schema, msgspec.Struct):
        return msgspec.json.schema(schema)
    made: dict[str, Any] = schema.model_json_schema()  # type: ignore[attr-defined]
    return made


def checked(schema: Schema, state: dict[str, Any]) -> dict[str, Any]:
    """The state as its schema has it; `AskFailed` where it does not fit."""
    try:
        if isinstance(schema, dict):
            return _fitting(schema, state)
        if issubclass(schema, msgspec.Struct):
            plain = msgspec.to_builtins(msgspec.convert(state, schema, strict=False))
        else:
            plain = schema.model_validate(state).model_dump(mode="json", exclude_unset=True)  # type: ignore[attr-defined]
    except AskFailed:
        raise
    except Exception as error:  # pydantic's own, which is not imported here
        raise AskFailed(f"the state does not fit its schema: {error}") from error
    return dict(plain)


def written(state: Any) -> str:
    """A state as compact JSON."""
    return msgspec.json.encode(state).decode()


def _fitting(schema: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The declared fields of a state; each must be of its declared kind."""
    declared = schema.get("properties", schema if "type" not in schema else {})
    kept = {key: value for key, value in state.items() if key in declared and value is not None}
    for key, value in kept.items():
        wanted = declared[key] if isinstance(declared[key], str) else declared[key].get("type")
        if wanted in _KINDS and not isinstance(value, _KINDS[wanted]):
            raise AskFailed(f"the state does not fit its schema: {key} is no {wanted}")
    return kept


def _read(answer: str) -> dict[str, Any]:
    """The JSON object in an answer, fenced or not."""
    text = tagged(answer, "json") or answer
    start, end = text.find("{"), text.rfind("}")
    found = _object(text[start : end + 1])
    if found is None:
        raise AskFailed("the answer is no JSON object")
    return {key: value for key, value in found.items() if value is not None}


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _structured(schema: object) -> bool:
    kind = isinstance(schema, type) and (
        issubclass(schema, msgspec.Struct) or hasattr(schema, "model_validate")
    )
    return bool(kind)
