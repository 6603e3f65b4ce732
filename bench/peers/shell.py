"""The peer's side of the talk: a process in an environment of its own that is asked what it would send.

One JSON object a line. The driver begins a conversation, then tells before each call of the model what was said since:

    > {"open": "trim_messages", "window": 32000, "trigger": 27200, "target": 12800}
    < {}
    > {"add": [{"role": "user", "content": "…"}]}
    < {"shows": [0], "seconds": 0.001}
    > {"add": [{"role": "assistant", …}, {"role": "tool", …}]}
    < {"shows": [0, {"role": "user", "content": "a summary"}, 2], "seconds": 0.002, "asked": 1, "asking": 900}

`shows` is what the peer would send: a number stands for a message as it was given (counted from 0), anything else is a
message in the Chat dialect. `asked` and `asking` are the questions to a model that it made for that, and their tokens.
Beside it may stand `failed`, why the peer gave up (its request counts as one that does not
fit), and `holds`, by what word in a request the model can ask for a message that was given: `{"stash_12": 2}`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

Wire = dict[str, Any]
SUMMARY = "The work so far has been summarized here: the task is under way, and the next steps are below."
"""What every stub of a model answers: short, and without a fact."""


class Limits(NamedTuple):
    """How much fits, when to reduce, and how far."""

    window: int
    trigger: int
    target: int


class Peer(Protocol):
    """A way to choose what a model sees, at work on one conversation."""

    def take(self, body: Wire) -> Any:
        """One message of the Chat dialect in the peer's own form."""

    def show(self, fresh: list[Any]) -> Iterable[Any]:
        """What would be sent, in the peer's own form, after these messages were said too. Only this is timed."""

    def give(self, message: Any) -> Iterable[Wire]:
        """A message of the peer's as messages of the Chat dialect."""

    # mention(self, body: Wire) -> str | None, if there is one: by what word the model can ask for a message again


class Stub:
    """A stub of a model that writes summaries, and knows how often and with how many tokens it was asked."""

    def __init__(self) -> None:
        self.times = self.tokens = 0

    def ask(self, tokens: int) -> str:
        """The same every time."""
        self.times += 1
        self.tokens += tokens
        return SUMMARY


stub = Stub()


class Conversation:
    """What was given to a peer so far, and what it shows of it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.numbers: dict[str, int] = {}
        self.count = 0

    def add(self, bodies: list[Wire]) -> Wire:
        """Tell what was said, and ask what would be sent."""
        holds = self._held(bodies)
        fresh = [self._taken(body) for body in bodies]
        before = Counter(asked=stub.times, asking=stub.tokens)
        started = time.perf_counter()
        try:
            shown, failed = list(self.peer.show(fresh)), {}
        except Exception as error:
            shown, failed = None, {"failed": f"{type(error).__name__}: {error}"[:300]}
        seconds = time.perf_counter() - started
        shows = list(range(self.count)) if shown is None else self._given(shown)
        spent = Counter(asked=stub.times, asking=stub.tokens) - before
        return {"shows": shows, "seconds": seconds, "holds": holds, **spent, **failed}

    def _held(self, bodies: list[Wire]) -> dict[str, int]:
        mention = getattr(self.peer, "mention", lambda body: None)
        words = enumerate(map(mention, bodies), self.count)
        return {word: number for number, word in words if word}

    def _taken(self, body: Wire) -> Any:
        """A message in the peer's form; what the peer makes of it unchanged is known by its number."""
        message = self.peer.take(body)
        forms = list(self.peer.give(message))
        if len(forms) == 1:
            self.numbers[_written(forms[0])] = self.count
        self.count += 1
        return message

    def _given(self, shown: Iterable[Any]) -> list[Any]:
        forms = (form for message in shown for form in self.peer.give(message))
        return [self.numbers.get(_written(form), form) for form in forms]


def _written(form: Wire) -> str:
    return json.dumps(form, sort_keys=True, ensure_ascii=False)


def serve(policies: Mapping[str, Callable[[Limits], Peer]]) -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a package prints must not get among the answers
    conversation: Conversation | None = None
    for line in sys.stdin:
        told = json.loads(line)
        if "open" in told:
            limits = Limits(told["window"], told["trigger"], told["target"])
            conversation = Conversation(policies[told["open"]](limits))
            answer: Wire = {}
        else:
            assert conversation is not None, "nothing was opened yet"
            answer = conversation.add(told["add"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
