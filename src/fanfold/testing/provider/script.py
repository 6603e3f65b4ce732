"""What the scripted model says, in no provider's dialect, and how a provider can let its caller down."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Stop = Literal["end", "calls", "length", "refusal", "pause"]


@dataclass(frozen=True)
class Turn:
    """One reply of the model; each API renders it whole or streamed."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    thinking: str = ""
    hidden: str = ""
    """Thinking that Anthropic would show redacted; elsewhere it is billed and not shown."""
    stop: Stop | None = None

    @property
    def why(self) -> Stop:
        """Why the reply ends: as told, else for its calls, else because it is done."""
        return self.stop or ("calls" if self.calls else "end")


@dataclass(frozen=True)
class Refuse:
    """An error answer with a status, in the provider's own shape."""

    status: int
    retry_after: float | None = None


@dataclass(frozen=True)
class Cut:
    """A stream that stops after some events, the connection closed under it."""

    turn: Turn
    after: int
    said: bool = False
    """Whether the provider says so with an error event before it hangs up."""


@dataclass(frozen=True)
class Slow:
    """A reply that takes its time before every event."""

    turn: Turn
    delay: float


@dataclass(frozen=True)
class Gibberish:
    """Status 200 and a body that is not JSON, or a stream whose data is not."""


@dataclass(frozen=True)
class Close:
    """The connection is closed without an answer."""


Failure = Refuse | Cut | Slow | Gibberish | Close

_FIELDS = ("text", "calls", "thinking", "hidden", "stop")
_FAILURES = {"rate_limit": 429, "server_error": 500, "overloaded": 529}


def read_script(text: str) -> list[Turn | Failure]:
    """A script as a file has it: a JSON list, an item for each request; ValueError says which is wrong.

    An item is the text of a reply; or an object with the fields of a `Turn`, its calls as objects with `name` and
    `args`; or `{"fail": …}` with `rate_limit`, `server_error`, `overloaded`, `garbage` or `close`.
    """
    steps = json.loads(text)
    if not isinstance(steps, list):
        raise ValueError('a script is a list of replies, such as ["Hello.", {"fail": "rate_limit"}]')
    return [_step(step, number) for number, step in enumerate(steps, 1)]


def _step(step: Any, number: int) -> Turn | Failure:
    match step:
        case str(text):
            return Turn(text)
        case {"fail": str(kind), **rest} if not rest and kind in (*_FAILURES, "garbage", "close"):
            return (
                Refuse(_FAILURES[kind]) if kind in _FAILURES else Close() if kind == "close" else Gibberish()
            )
        case {"fail": kind}:
            known = ", ".join((*_FAILURES, "garbage", "close"))
            raise ValueError(f"step {number} fails as {kind!r}, alone; it can be one of {known}")
        case dict(fields) if fields.keys() <= set(_FIELDS):
            return _turn(fields, number)
    raise ValueError(f"step {number} is a text, or an object with some of {', '.join(_FIELDS)}, or with fail")


def _turn(fields: dict[str, Any], number: int) -> Turn:
    calls = fields.get("calls", [])
    right = isinstance(calls, list) and all(map(_is_call, calls))
    if not right:
        raise ValueError(f'step {number} has calls that are no list of {{"name": …, "args": {{…}}}}')
    texts = {name: fields[name] for name in ("text", "thinking", "hidden", "stop") if name in fields}
    wrong = next((name for name, value in texts.items() if not isinstance(value, str)), None)
    wrong = wrong or ("stop" if fields.get("stop", "end") not in get_args(Stop) else None)
    if wrong is not None:
        kind = f"one of {', '.join(get_args(Stop))}" if wrong == "stop" else "a text"
        raise ValueError(f"step {number}: {wrong} is {kind}, not {fields[wrong]!r}")
    return Turn(calls=[(call["name"], call.get("args", {})) for call in calls], **texts)


def _is_call(call: Any) -> bool:
    known = isinstance(call, dict) and call.keys() <= {"name", "args"}
    return known and isinstance(call.get("name"), str) and isinstance(call.get("args", {}), dict)


class Fail:
    """The ways to fail, as items of a script."""

    @staticmethod
    def rate_limit(retry_after: float = 0) -> Refuse:
        """429, with a `retry-after` header."""
        return Refuse(429, retry_after)

    @staticmethod
    def server_error(status: int = 500) -> Refuse:
        """500, or another status of the server's own fault."""
        return Refuse(status)

    @staticmethod
    def overloaded() -> Refuse:
        """529 from Anthropic, 503 from the others."""
        return Refuse(529)

    @staticmethod
    def cut(turn: Turn, after: int) -> Cut:
        """The stream breaks off after `after` events; a whole reply breaks off halfway."""
        return Cut(turn, after)

    @staticmethod
    def error_event(turn: Turn, after: int) -> Cut:
        """After `after` events the stream brings an error in the provider's shape and ends."""
        return Cut(turn, after, said=True)

    @staticmethod
    def slow(turn: Turn, delay: float) -> Slow:
        """Every event, or the whole reply, comes `delay` seconds late."""
        return Slow(turn, delay)

    @staticmethod
    def garbage() -> Gibberish:
        """Something that is not JSON, with status 200."""
        return Gibberish()

    @staticmethod
    def close() -> Close:
        """The connection closes without a word."""
        return Close()
