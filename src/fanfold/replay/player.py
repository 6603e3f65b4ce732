"""Players: fanfold's own policies at work on one conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

import fanfold
from fanfold.asking.drive import Asker
from fanfold.config.defaults import meter_for
from fanfold.core.budget import Budget
from fanfold.core.errors import BrokenGrammar, DoesNotFit
from fanfold.core.message import text_of
from fanfold.core.plan import Answer, Ask, Outcome, Strategy
from fanfold.core.view import View
from fanfold.replay.reach import refs
from fanfold.replay.shown import Shown
from fanfold.replay.trace import Trace, with_tools
from fanfold.testing.provider import rules
from fanfold.testing.provider.rejection import JudgeTerms

TRIGGER, TARGET = 0.85, 0.4
_APIS = {"openai.chat": "chat", "openai.responses": "responses"}
"""Dialects that the rules call otherwise."""


class SessionPlayer:
    """A session that is fed the trace as its agent was; `options` are those of `open`.

    But for the limits of its window it is told nothing, and it has the tools that the agent had: what is measured is
    what everybody gets.
    """

    def __init__(
        self,
        trace: Trace,
        window: int,
        chosen: Sequence[Strategy] | None,
        *,
        summarizer: Asker | None = None,
        **options: Any,
    ) -> None:
        self.trace, tools = (trace, ()) if "recall" in options else with_tools(trace)
        self.tally = _Tally(trace, summarizer)
        self._now, self._times = 0.0, {call.before: call.time for call in trace.calls}
        settings: dict[str, Any] = {
            "model": trace.model if trace.model and fanfold.models.lookup(trace.model) else None,
            "budget": Budget(window=window, reserve=0, trigger=TRIGGER, target=TARGET),
            "dialect": trace.dialect,
            "strategy": chosen,
            "tools": tools,
            "clock": lambda: self._now,
            "on_edit": self.tally.count_edits,
            "summarizer": self.tally.answer if summarizer else None,
            "store": fanfold.Memory(),  # never the user's own, where a session of this name may be
        }
        self.chat = fanfold.open(trace.name or "trace", **settings | options)
        self._whole: dict[str, str] = {}

    def show(self, count: int) -> Shown:
        """The request after so many messages; time is counted from when they are given to the session."""
        told = self.trace.request(count)
        self._now = self._times.get(count) or self._now
        started = time.perf_counter()
        self.chat.merge(told)
        request, over, faults = self._request()
        seconds = time.perf_counter() - started
        faults += request is not None and refused(self.trace.dialect, request)
        shown = _show(self.chat.view(), seconds=seconds, over=over, faults=faults)
        return msgspec.structs.replace(shown, **self.tally.read())

    def _request(self) -> tuple[dict[str, Any] | None, bool, int]:
        """The request, whether it does not fit, and how many rules the session itself finds broken."""
        try:
            return self.chat.request(), False, 0
        except DoesNotFit:
            return None, True, 0
        except BrokenGrammar:
            return None, False, 1

    def near(self, text: str, shown: Shown) -> bool:
        """Whether a reference in the request names an output that holds it."""
        return any(text in self._output(ref) for ref in shown.refs)

    def _output(self, ref: str) -> str:
        if ref not in self._whole:
            self._whole[ref] = self.chat.output(ref).text()
        return self._whole[ref]

    def close(self) -> None:
        """The conversation is over."""
        self.chat.close()


class _Tally:
    """What a session does for one request: its edits, and its questions to a model."""

    def __init__(self, trace: Trace, ask: Asker | None) -> None:
        self._ask, self._meter = ask, meter_for(None, trace.model)
        self._counts = {"edits": 0, "asked": 0, "asking": 0}

    def count_edits(self, outcome: Outcome) -> None:
        """Count a reduction's edits."""
        self._counts["edits"] += len(outcome.decisions)

    def answer(self, question: Ask) -> str | Answer:
        """Count a question, and pass it on."""
        assert self._ask is not None
        self._counts["asked"] += 1
        self._counts["asking"] += sum(map(self._meter.message, question.messages))
        self._counts["asking"] += self._meter.text(question.prompt)
        return self._ask(question)

    def read(self) -> dict[str, int]:
        """What was counted since the last time."""
        counted, self._counts = self._counts, dict.fromkeys(self._counts, 0)
        return counted


def refused(dialect: str, request: dict[str, Any]) -> bool:
    """Whether the provider would refuse a request, by its rules as `fanfold.testing` states them.

    They are stated there without the code by which a session checks itself.
    """
    reply = {"max_tokens": 1} if dialect == "anthropic" else {}  # replays leave no room for a reply
    body = {"model": "unknown", **request, **reply}
    return (
        rules.check(_APIS.get(dialect, dialect), body, JudgeTerms(str(body["model"]), foreign=True))
        is not None
    )


def _show(view: View, *, seconds: float, over: bool, faults: int) -> Shown:
    rows = (view.frame, *view.rows)
    return Shown(
        tuple(row.weight.digest for row in rows),
        tuple(row.tokens for row in rows),
        tuple("\n".join(text_of(message, unescaped=True) for message in row.messages) for row in rows),
        seconds,
        over=over,
        faults=faults,
        messages=tuple(message for row in rows for message in row.messages),
        refs=refs(view),
    )


class Everything:
    """No policy at all: everything is sent, as it is."""

    def __init__(self, trace: Trace, window: int) -> None:
        self.window = window
        self.inner = SessionPlayer(trace, 1 << 40, (), fallback=(), filters=(), recall=False)

    def show(self, count: int) -> Shown:
        """All so far."""
        shown = self.inner.show(count)
        return msgspec.structs.replace(shown, over=sum(shown.tokens) > self.window)

    def near(self, text: str, shown: Shown) -> bool:
        """Everything is there already."""
        return False

    def close(self) -> None:
        """The conversation is over."""
        self.inner.close()
