"""A client of one dialect, a provider of another: requests, replies and streams converted.

    sent = convert_request("anthropic", "openai.chat", body, model="qwen3-coder")
    bridge = StreamBridge("openai.chat", "anthropic", Opening(id="msg_1", model="claude"), names=sent.names)
    told = bridge.feed(event)

What cannot carry over is named in `sent.lost`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.core.message import Call, Message
from fanfold.core.record import Frame, TokenUsage
from fanfold.core.view import Row
from fanfold.dialects.dialect import Dialect, bare_row, decode
from fanfold.dialects.http.deltas import CallStart, Closing, Delta, Opening, tell
from fanfold.dialects.http.events import StreamEvent
from fanfold.dialects.http.parameters import ReplySettings, effort_of
from fanfold.dialects.http.replies import stream_reader, stream_writer, write_reply
from fanfold.dialects.registry import DialectName, dialect_named, form, module_of
from fanfold.dialects.tools import function_names, translate
from fanfold.tokens import models

_ROUNDS = 4
"""One repair may call for another."""
_REPLY = 8_192
"""The limit of a reply where a provider demands one, nobody gave one, and the model is not known."""


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """A request in another dialect."""

    body: dict[str, Any]
    """To be sent with `write_request`."""
    lost: tuple[str, ...] = ()
    """Names of what does not carry over: parameters, settings, tools, and `thinking` of earlier replies."""
    names: dict[str, str] = {}
    """Tools that are called otherwise there: the provider's name, and the client's."""


def convert_request(
    source: DialectName, target: DialectName, body: Mapping[str, Any], model: str | None = None
) -> Converted:
    """A request as a provider of another dialect takes it, its model included."""
    spoken, wanted = dialect_named(source), dialect_named(target, model)
    frame, messages, params = decode(spoken, body)
    tools, left_out = translate(frame, target)
    settings, unknown = module_of(source, "settings").read_settings(params)
    names = _names(frame, source, target)
    settings, unsent = _fitting(_renamed(settings, names), model, tools, target)
    written, unplaced = module_of(target, "settings").write_settings(settings)
    rest = {**({"model": model} if model else {}), **written, **wanted.limit(settings.limit, _most(model))}
    rows = _repaired(wanted, messages, rest)
    allowed = wanted.allow(rows, rest)
    thoughts = ["thinking"] if any(wanted.lost(message) for message in messages) else []
    lost = (*unknown, *unsent, *unplaced, *left_out, *thoughts)
    sent = wanted.encode(tools, allowed.rows, allowed.params)
    return Converted(body=sent, lost=tuple(dict.fromkeys(lost)), names=names)


def _names(frame: Frame, source: DialectName, target: DialectName) -> dict[str, str]:
    """The tools whose names the provider does not take as they are."""
    fit = form(target).naming.fit
    return {fit(name): name for name in function_names(frame, source) if fit(name) != name}


def _renamed(settings: ReplySettings, names: Mapping[str, str]) -> ReplySettings:
    if settings.choice is None or not names:
        return settings
    there = {own: name for name, own in names.items()}
    chosen = tuple(there.get(name, name) for name in settings.choice.names)
    return replace(settings, choice=replace(settings.choice, names=chosen))


def _fitting(
    settings: ReplySettings, model: str | None, frame: Frame, target: DialectName
) -> tuple[ReplySettings, list[str]]:
    """The settings without what this provider would refuse: a choice among no tools, effort of who cannot think."""
    lost: list[str] = []
    if settings.choice is not None and not frame.tools:
        lost += ["choice"] if settings.choice.mode == "any" else []
        settings = replace(settings, choice=None, parallel=None)
    thinks = not target.startswith("openai") or models.has(model, "max_completion_tokens")
    if effort_of(settings) is not None and not thinks:
        lost += ["effort"] if effort_of(settings) != "none" else []
        settings = replace(settings, effort=None, budget=None, thoughts=None)
    return settings, lost


def _most(model: str | None) -> int:
    known = models.kin(model)
    return min(known.max_output, 32_000) if known is not None and known.max_output else _REPLY


def _repaired(dialect: Dialect, messages: tuple[Message, ...], params: Mapping[str, Any]) -> list[Row]:
    """The messages as rows that obey the provider's rules, as far as they can be repaired."""
    rows = [bare_row(dialect, message, at) for at, message in enumerate(messages)]
    for _ in range(_ROUNDS):
        patches = dialect.repair(rows, params)
        if not patches:
            break
        shown: dict[str, tuple[Message, ...]] = {row.id: row.messages for row in rows}
        for covers, shows in patches:
            shown.update(dict.fromkeys(covers, ()) | {covers[0]: shows})
        flat = [message for part in shown.values() for message in part]
        rows = [bare_row(dialect, message, at) for at, message in enumerate(flat)]
    return rows


def convert_reply(
    source: DialectName,
    target: DialectName,
    body: Any,
    opening: Opening,
    *,
    asked: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A whole reply as the client's dialect has it, under the id and model that the client is to see."""
    reply = dialect_named(source).reply(body)
    messages = tuple(_called_back(message, names or {}) for message in reply.messages)
    return write_reply(target, tell(replace(reply, messages=messages), opening), asked)


def _called_back(message: Message, names: Mapping[str, str]) -> Message:
    if not names:
        return message
    parts = tuple(
        replace(part, name=names.get(part.name, part.name)) if isinstance(part, Call) else part
        for part in message.parts
    )
    return replace(message, parts=parts)


class StreamBridge:
    """A stream of one dialect, rewritten as the stream of another, event by event."""

    def __init__(
        self,
        source: DialectName,
        target: DialectName,
        opening: Opening,
        *,
        asked: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        events: bool = True,
    ) -> None:
        self._reader = stream_reader(source)
        self._writer = stream_writer(target, asked, events=events)
        self._opening = opening
        self._names = names or {}
        self.complete = False
        """Whether the provider said that this was the end."""
        self.usage: TokenUsage | None = None
        """What the provider billed, once it said so."""

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one event of the provider; the events that the client gets for it."""
        return self._tell(self._reader.read(event.json())) if event.data is not None else b""

    def close(self) -> bytes:
        """The provider's stream is over; what was held back. A reply that broke off stays open: `complete` is false."""
        return self._tell(self._reader.close())

    def _tell(self, deltas: list[Delta]) -> bytes:
        return b"".join(self._writer.write(self._adapt(delta)) for delta in deltas)

    def _adapt(self, delta: Delta) -> Delta:
        match delta:
            case Opening(usage=usage, created=created):
                return replace(self._opening, usage=usage, created=self._opening.created or created)
            case CallStart(name=name):
                return replace(delta, name=self._names.get(name, name))
            case Closing(usage=usage):
                self.complete, self.usage = True, usage
        return delta
