"""Asks peers what they would send, and scores it as a replay scores fanfold's own policies."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fanfold.config.defaults import meter_for
from fanfold.core.ids import canonical, digest
from fanfold.core.message import text_of
from fanfold.core.record import Frame
from fanfold.core.view import Row
from fanfold.dialects.dialect import bare_row, decode, encode
from fanfold.dialects.registry import dialect_named
from fanfold.replay import Shown, Trace
from fanfold.replay.player import TARGET, TRIGGER
from fanfold.replay.trace import trace as cut
from fanfold.transcripts import Conversation

Wire = dict[str, Any]
CHAT = dialect_named("openai.chat")
MODEL = "gpt-5.2"
"""Every trace is replayed as if it were this model's: it is counted in o200k, as peers are told to count."""


class Answer(msgspec.Struct, frozen=True):
    """What a peer would send at one call."""

    shows: tuple[int | Wire, ...]
    """Messages by their number in the conversation, or as the peer changed them."""
    seconds: float
    asked: int = 0
    """Questions to a model that it made for that."""
    asking: int = 0
    """Tokens of these questions."""
    failed: str = ""
    """Why the peer gave up."""
    holds: dict[str, int] = {}
    """By what word a model can ask for a message again, from this call on."""


class Line:
    """A peer's process, and the talk with it (see `shell`)."""

    def __init__(
        self, command: Sequence[str], folder: Path | None = None, surroundings: dict[str, str] | None = None
    ) -> None:
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=quiet, cwd=folder, env=surroundings
        )

    def answers(self, policy: str, trace: Trace, window: int) -> Iterator[Answer]:
        """What it would send at every call of a conversation."""
        limits = {"window": window, "trigger": int(TRIGGER * window), "target": int(TARGET * window)}
        self._ask({"open": policy, **limits})
        at, system = 0, len(trace.bodies) - len(trace.messages)
        for call in trace.calls:
            until = system + call.before
            yield msgspec.convert(json.loads(self._ask({"add": trace.bodies[at:until]})), Answer)
            at = until

    def _ask(self, told: Any) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._process.args} ended with code {self._process.wait()}")
        return answer

    def close(self) -> None:
        """No more questions."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


class Block(msgspec.Struct, frozen=True):
    """A message as it is scored."""

    key: bytes
    tokens: int
    text: str
    row: Row


class PeerPlayer:
    """A peer's answers, played by the rules of a replay."""

    def __init__(self, trace: Trace, window: int, answers: Iterable[Answer]) -> None:
        self.trace, self.window = trace, window
        self.answers = iter(answers)
        self.system = len(trace.bodies) - len(trace.messages)
        self.meter = meter_for(None, trace.model)
        self.given = [self._block(body) for body in trace.bodies]
        self.holds: dict[str, int] = {}

    def show(self, count: int) -> Shown:
        """The request that the peer would have sent after so many messages."""
        answer = next(self.answers)
        self.holds.update(answer.holds)
        blocks = [self.given[one] if isinstance(one, int) else self._block(one) for one in answer.shows]
        tokens = tuple(block.tokens for block in blocks)
        own = _faults(blocks) - _faults(self.given[: self.system + count])
        return Shown(
            tuple(block.key for block in blocks),
            tokens,
            tuple(block.text for block in blocks),
            answer.seconds,
            asked=answer.asked,
            asking=answer.asking,
            over=bool(answer.failed) or sum(tokens) > self.window,
            faults=max(0, own),
        )

    def near(self, text: str, shown: Shown) -> bool:
        """Whether the request has the word by which a message that holds it can be asked for."""
        held = (word for word, number in self.holds.items() if text in self.given[number].text)
        return any(_says(shown.text, word) for word in held)

    def close(self) -> None:
        """The conversation is over."""

    def _block(self, body: Wire) -> Block:
        message = CHAT.message(body)
        key = digest(canonical(body)).encode()
        return Block(
            key, self.meter.message(message), text_of(message, unescaped=True), bare_row(CHAT, message)
        )


def _says(text: str, word: str) -> bool:
    """Whether a text has a word, and not only one in which it stands."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _faults(blocks: Sequence[Block]) -> int:
    """Rules of the provider that a request breaks: calls without results, results without calls."""
    return len(CHAT.check([block.row for block in blocks], {}))


def in_chat(trace: Trace) -> Trace:
    """A trace as every peer can read it: in the Chat dialect, without tools' schemas, counted in o200k."""
    if trace.dialect == CHAT.name and "tools" not in trace.frame:
        return msgspec.structs.replace(trace, model=MODEL)
    frame, messages, _ = decode(dialect_named(trace.dialect), trace.request(len(trace.messages)))
    bodies = encode(CHAT, Frame(frame.system), messages, {})["messages"]
    return cut(Conversation(trace.name, "-", CHAT.name, CHAT.name, MODEL, {}, tuple(bodies), (), ()))
