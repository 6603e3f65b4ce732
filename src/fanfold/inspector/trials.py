"""Trying a policy: a session replayed as it was, with everything sent, and as it would have been otherwise.

Each trial runs in a process of its own. It can be watched while it runs, and cancelled.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from logging import getLogger
from tempfile import TemporaryFile
from typing import Any, cast

import msgspec

from fanfold.config.naming import ASKING, STRATEGIES
from fanfold.core.errors import BadInput, NotFound
from fanfold.core.record import Opened
from fanfold.dialects.registry import CHAT, DialectName
from fanfold.inspector.desk import Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.recorded_work import recorded_work
from fanfold.inspector.trial_process import TrialQuestion, TriedPolicy
from fanfold.replay.policy import policy
from fanfold.session.stored import count_erasures, opening_of, whole_history
from fanfold.session.summarize import ANY_WINDOW
from fanfold.stores.locks import ThreadLock
from fanfold.text.json_text import write_json
from fanfold.tokens.models import lookup
from fanfold.transcripts import Conversation

_LOG = getLogger("fanfold.inspector")
_LAST = 2_000
"""So many letters of what a trial complained of are logged."""
_AT_ONCE = 2
_KEPT = 24
"""So many trials are remembered."""


class PolicyTrial:
    """A process that replays a session."""

    def __init__(
        self, number: int, owner: tuple[str, str], question: TrialQuestion, erasures: int = 0
    ) -> None:
        self.number, self.owner, self.choices = number, owner, question.choices
        self.erasures = erasures
        """How often something had been erased in the session when it was read."""
        self.done, self.of = 0, 0
        self.results: list[dict[str, Any]] | None = None
        self.error = ""
        self.cancelled = False
        self._complaints = TemporaryFile()  # noqa: SIM115  closed at the end of the trial
        with TemporaryFile() as file:
            file.write(write_json(question))
            file.seek(0)
            command = [sys.executable, "-m", "fanfold.inspector.trial_process"]
            self._process = subprocess.Popen(
                command, stdin=file, stdout=subprocess.PIPE, stderr=self._complaints
            )
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it is not at its end yet."""
        return self.results is None and not self.error and not self.cancelled

    def cancel(self) -> None:
        """End it."""
        self.cancelled = self.cancelled or self.running
        self._process.kill()

    def describe(self) -> dict[str, Any]:
        """How it stands."""
        return {
            "trial": self.number,
            "choices": self.choices,
            "done": self.done,
            "of": self.of,
            "running": self.running,
            "cancelled": self.cancelled,
            "error": self.error,
            "results": self.results,
        }

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, suppress(msgspec.DecodeError):
            for line in lines:
                told = msgspec.json.decode(line)
                self.done, self.of = told.get("done", self.done), told.get("of", self.of)
                self.results, self.error = told.get("results"), told.get("error", "")
        self._process.wait()
        with self._complaints as file:
            file.seek(0)
            said = file.read().decode(errors="replace")[-_LAST:]
        if self.running:
            _LOG.warning("A trial ended before it was done. %s", said)
            self.error = "The trial ended before it was done; the inspector's log says why."


class PolicyTrials:
    """The trials of an inspector, the newest last."""

    def __init__(self) -> None:
        self._all: OrderedDict[int, PolicyTrial] = OrderedDict()
        self._count = 0
        self._lock = ThreadLock()

    def list(self, seat: Seat, asked: Inquiry) -> dict[str, Any]:
        """How the session is reduced now, what else there is, and its trials, the newest first."""
        owner = (asked.tenant, asked.name)
        self._forget_erased(seat, owner)
        own = [trial.describe() for trial in reversed(self._known()) if trial.owner == owner]
        named = [name for name in STRATEGIES if name not in ASKING and name != "auto"]
        return {"now": present(seat), "strategies": ["default", *named], "trials": own}

    def start(self, seat: Seat, asked: Inquiry) -> dict[str, Any]:
        """Begin to try a strategy, a window or a thrift."""
        now = present(seat)
        wanted = {
            key: asked.body[key]
            for key in ("strategy", "window", "thrift")
            if asked.body.get(key) is not None
        }
        try:
            other = msgspec.convert(
                {**msgspec.to_builtins(now), "thrift": None, **wanted, "label": "tried"}, TriedPolicy
            )
        except msgspec.ValidationError as error:
            raise BadInput(f"{error}.") from error
        other.policy()
        everything = TriedPolicy(window=now.window, strategy="none", label="everything")
        erasures = count_erasures(seat.chat)
        choices = (now, other, everything)
        question = TrialQuestion(conversation_of(seat), choices, recorded_work(seat))
        with self._lock:
            if sum(trial.running for trial in self._all.values()) >= _AT_ONCE:
                raise BadInput("Two trials are running already. Cancel one, or wait for it.")
            self._count += 1
            trial = PolicyTrial(self._count, (asked.tenant, asked.name), question, erasures)
            self._all[trial.number] = trial
            while len(self._all) > _KEPT:
                self._all.popitem(last=False)[1].cancel()
        return trial.describe()

    def cancel(self, seat: Seat, asked: Inquiry) -> dict[str, Any]:
        """End a trial."""
        number = asked.body.get("trial")
        if not isinstance(number, int):
            raise BadInput("Say 'trial', the number of one.")
        self._forget_erased(seat, (asked.tenant, asked.name))
        trial = self._all.get(number)
        if trial is None or trial.owner != (asked.tenant, asked.name):
            raise NotFound("There is no such trial of this session.")
        trial.cancel()
        return trial.describe()

    def _forget_erased(self, seat: Seat, owner: tuple[str, str]) -> None:
        """Drop the trials of a session in which something was erased since: what they found may quote it."""
        erasures = count_erasures(seat.chat)
        with self._lock:
            for trial in tuple(self._all.values()):
                if trial.owner == owner and trial.erasures != erasures:
                    self._all.pop(trial.number).cancel()

    def close(self) -> None:
        """End all of them."""
        for trial in self._known():
            trial.cancel()

    def _known(self) -> tuple[PolicyTrial, ...]:
        with self._lock:
            return tuple(self._all.values())


def present(seat: Seat) -> TriedPolicy:
    """How a session is reduced now, as far as that has a name; a function of somebody's own is told as the default."""
    terms = opening_of(seat.chat)
    model = lookup(terms.model) if terms.model else None
    known = terms.window or (model.window if model else None) or 100_000
    name, thrift = _named(terms)
    return TriedPolicy(window=min(known, ANY_WINDOW), strategy=name, thrift=thrift, label="now")


def _named(terms: Opened) -> tuple[str, float | None]:
    parts: list[dict[str, Any]] = [
        {"name": one} if isinstance(one, str) else dict(one) for one in terms.strategy
    ]
    names = "+".join(str(part.get("name")) for part in parts) or "default"
    if names == "auto":
        return "default", parts[0].get("thrift")
    try:
        policy(names)
    except BadInput:
        return "default", None
    return names, None


def conversation_of(seat: Seat) -> Conversation:
    """A session with everything that was said, as a recorded conversation."""
    terms, told = opening_of(seat.chat), whole_history(seat.chat)
    return Conversation(
        id=seat.chat.name,
        source="-",
        format="fanfold",
        dialect=cast("DialectName", terms.dialect or CHAT),
        model=terms.model,
        frame=told.frame,
        messages=told.messages,
        times=told.times,
        usage=(None,) * len(told.messages),
    )
