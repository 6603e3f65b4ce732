"""Replaying traces: every policy on every conversation, on all cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from fanfold.config.defaults import meter_for
from fanfold.core.errors import BadSetting, FanfoldError
from fanfold.outputs.filters import clip
from fanfold.replay.cache import cache_of, overlap
from fanfold.replay.needs import Need, Needs, needs, rules
from fanfold.replay.played import Change, Loss, Played, change, loss
from fanfold.replay.player import TRIGGER
from fanfold.replay.policy import policy
from fanfold.replay.reading import (
    KILLED,
    Failed,
    Failure,
    ReadTrace,
    TalkName,
    places,
    read,
    reason,
    told_apart,
)
from fanfold.replay.report import Comparison
from fanfold.replay.score import Score
from fanfold.replay.shown import Player, Policy, Shown
from fanfold.replay.spending import Spending
from fanfold.replay.spreading import Results, spread
from fanfold.replay.trace import ModelCall, Trace, unreduced
from fanfold.replay.trail import Watch, Witness
from fanfold.replay.working import NEXT, Working

SHARE = 5
"""Outputs within the limits of `clip` that take up to this part of the window are to be shown whole on arrival."""
TENTH = 10
"""Rules up to this part of the window are to stand verbatim, and so is a first request."""
MISSED = 5
"""So many pieces of each kind of the trail that were missing are told."""
DEAREST = 10
"""So many of the most expensive blocks are told."""
LAST = 5
"""So many results before a request are the newest."""
BEGINNING = 200
"""Characters of a first request that is too long to stand verbatim, and yet has to be recognised."""


def replay(
    origins: Any,
    policies: str | Sequence[str] = ("none", "drop_oldest", "default"),
    *,
    window: int = 100_000,
    engine: str = "cores",
    workers: int | None = None,
    cache_ttl: float | None = None,
    done: Callable[[Played, float | None], object] | None = None,
    failed: Failed | None = None,
) -> Comparison:
    """Replay recorded conversations under each policy; `done` is told after each, with the share of all that is done.

    What fails is an error, unless `failed` is told of it: then the rest is replayed, and a conversation that fails
    under one policy is left out under all, so that they stay comparable. With `cache_ttl`, a provider's cache forgets
    a prompt that no request used for so many seconds, by the recorded times; where there are none, nothing is
    forgotten. The engine `ray` runs the same on a Ray cluster.
    """
    names = _check_names([policies] if isinstance(policies, str) else policies)
    jobs = (
        Job(
            number=number,
            read=one,
            policy=name,
            window=window,
            share=one.share(place / len(names)),
            cache_ttl=cache_ttl,
            needed=needed,
        )
        for number, one in enumerate(read(places(origins), failed))
        for needed in _needs_of(one, failed)
        for place, name in enumerate(names, 1)
    )
    ends = spread(Job.run if failed is None else Job.attempt, jobs, engine, workers)
    return Comparison(_collect(ends, done, failed), window)


def _check_names(policies: Sequence[str]) -> tuple[str, ...]:
    """Each policy once; what is wrong with their names is said before anything is read."""
    if not policies:
        raise BadSetting("No policy was named; `drop_oldest` and `default` are two.")
    for name in policies:
        policy(name)
    return tuple(dict.fromkeys(policies))


def _needs_of(one: ReadTrace, failed: Failed | None) -> list[Needs]:
    """What its replies needed, looked for once for all policies; nothing if that fails."""
    try:
        return [needs(one.trace)]
    except Exception as error:
        if failed is None:
            raise
        failed(Failure(one.source, reason(error), one.trace.name))
        return []


class Job(msgspec.Struct, frozen=True):
    """One policy on one conversation, to be played."""

    number: int
    """Of the conversation."""
    read: ReadTrace
    policy: str
    window: int
    share: float | None = None
    """How much of everything is done after it."""
    cache_ttl: float | None = None
    needed: Needs | None = None
    """What the replies of the trace needed, the same for every policy."""

    def run(self) -> Played:
        """Play it."""
        return play(self.read.trace, self.policy, self.window, cache_ttl=self.cache_ttl, needed=self.needed)

    def attempt(self) -> Played | Failure:
        """Play it, or say why not."""
        try:
            return self.run()
        except Exception as error:
            return self.failure(reason(error))

    def failure(self, why: str) -> Failure:
        """That it could not be played."""
        return Failure(self.read.source, why, self.read.trace.name, self.policy)


def _collect(
    ends: Results[Job, Played | Failure],
    done: Callable[[Played, float | None], object] | None,
    failed: Failed | None,
) -> list[Played]:
    """What was played, in order; a failure is told once for each conversation."""
    kept: list[tuple[int, str, Played]] = []
    broken: set[int] = set()
    with closing(ends):
        for job, end in ends:
            if isinstance(end, Played):
                kept.append((job.number, job.read.source, end))
                if done is not None:
                    done(end, job.share)
            elif job.number not in broken:
                broken.add(job.number)
                _tell(end or job.failure(KILLED), failed)
    return _name_apart([one for one in kept if one[0] not in broken])


def _tell(failure: Failure, failed: Failed | None) -> None:
    if failed is None:
        raise FanfoldError(f"{failure}.")
    failed(failure)


def _name_apart(kept: Sequence[tuple[int, str, Played]]) -> list[Played]:
    """The same, under names that tell the conversations apart."""
    known = {number: TalkName(played.conversation, source) for number, source, played in kept}
    names = dict(zip(known, told_apart(list(known.values())), strict=True))
    return [msgspec.structs.replace(played, conversation=names[number]) for number, _, played in kept]


def play(
    trace: Trace,
    name: str,
    window: int,
    chosen: Policy | None = None,
    *,
    cache_ttl: float | None = None,
    needed: Needs | None = None,
) -> Played:
    """One policy on one conversation; `needed` is what `needs` finds in it, if that is known already."""
    player = (chosen or policy(name))(trace, window)
    try:
        return _Replay(trace=trace, name=name, window=window, player=player, cache_ttl=cache_ttl).run(
            needs(trace) if needed is None else needed
        )
    finally:
        player.close()


class _Replay:
    """A conversation under a policy, call by call."""

    def __init__(self, trace: Trace, name: str, window: int, player: Player, cache_ttl: float | None) -> None:
        self.trace, self.name, self.window, self.player = trace, name, window, player
        self.score, self.tight = Score(), Score()
        self.windows: list[int] = []
        self.changes: list[Change | None] = []
        self.lost: list[Loss] = []
        self.cache = cache_of(trace.model, cache_ttl)
        self.stated: list[str] = []
        self.meter, self.clip = meter_for(None, trace.model), clip()
        self.unreduced = unreduced(trace)
        self.opening = _Opening.of(trace, window)
        self.watch, self.witness = Watch(trace.messages), Witness(trace.messages)
        self.working, self.spending = Working(trace.messages), Spending()
        self.newest: deque[tuple[str, bool]] = deque(maxlen=LAST)
        """The newest results, and whether each was shown whole when it arrived."""

    def run(self, needed: Needs) -> Played:
        """Every call in order."""
        last: Shown | None = None
        time: float | None = None
        at = 0
        for number, (call, wanted) in enumerate(zip(self.trace.calls, needed, strict=True)):
            fresh = self.trace.messages[at : call.before]
            shown = self.player.show(call.before)
            self.windows.append(sum(shown.tokens))
            self.changes.append(change(number, shown, last))
            self.witness.hear(shown, call.before)
            if self.changes[-1] is not None and shown.edits:
                ahead = self.trace.calls[min(number + NEXT, len(self.trace.calls)) - 1]
                self.working.look(shown, self.player, call.before, ahead.until)
            if self._is_tight(call):
                self.watch.look(shown, call.before)
            self._spend(shown, last, _since(time, call.time))
            self._take_in(fresh, shown)
            for score in self._scores(call):
                score.take(shown, last, self.cache, self.trace.model, _since(time, call.time))
                self._recall(score, number, call, wanted, shown)
                self._rules(score, fresh, shown)
                self._score_opening(score, call, shown)
                self._outputs(score, fresh, shown)
                self._newest(score, shown)
            at, last, time = call.before, shown, call.time
        return self._finish()

    def _spend(self, shown: Shown, last: Shown | None, since: float | None) -> None:
        same, _ = overlap(shown, last)
        self.spending.take(shown, self.cache.holds(same, since))

    def _finish(self) -> Played:
        for score in (self.score, self.tight):
            score.trail, score.false = self.watch.trail(), len(self.witness.false)
            score.files, score.named = self.working.files, self.working.named
            score.handles = self.working.handles
        return Played(
            conversation=self.trace.name,
            policy=self.name,
            score=self.score,
            tight=self.tight,
            windows=tuple(self.windows),
            changes=tuple(filter(None, self.changes)),
            spent=self.spending.total,
            dearest=self.spending.dearest(DEAREST),
            lost=tuple(self.lost),
            missed=self.watch.missed(MISSED),
            false=tuple(self.witness.false),
            model=self.trace.model,
        )

    def _scores(self, call: ModelCall) -> Iterator[Score]:
        yield self.score
        if self._is_tight(call):
            yield self.tight

    def _is_tight(self, call: ModelCall) -> bool:
        """Whether everything would not fit, so that something has to give way."""
        return self.unreduced[call.before] > TRIGGER * self.window

    def _take_in(self, fresh: Sequence[Any], shown: Shown) -> None:
        for text in (result.text for message in fresh for result in message.results):
            if text.strip():
                self.newest.append((text, text in shown.text))

    def _newest(self, score: Score, shown: Shown) -> None:
        arrived = [text for text, whole in self.newest if whole]
        score.newest += len(arrived)
        score.newest_whole += sum(text in shown.text for text in arrived)

    def _recall(
        self, score: Score, number: int, call: ModelCall, wanted: tuple[Need, ...], shown: Shown
    ) -> None:
        for need in wanted:
            visible = need.text in shown.text
            near = not visible and not need.loose and self.player.near(need.text, shown)
            score.recall(need, visible, near)
            if not visible and not near and not need.loose and score is self.score:
                self.lost.append(loss(number, need.text, self.trace, call))

    def _rules(self, score: Score, fresh: Sequence[Any], shown: Shown) -> None:
        if score is self.score:
            self.stated += [line for message in fresh for line in rules(message)]
        if self.meter.text("\n".join(self.stated)) <= self.window // TENTH:
            score.rules_stated += len(self.stated)
            score.rules_kept += sum(line in shown.text for line in self.stated)

    def _score_opening(self, score: Score, call: ModelCall, shown: Shown) -> None:
        if self.opening.number < call.before:
            text = self.opening.text
            score.begun += 1
            score.begun_kept += text in shown.text or any(
                text in block for block in self.watch.squeeze(shown)
            )

    def _outputs(self, score: Score, fresh: Sequence[Any], shown: Shown) -> None:
        for text in (result.text for message in fresh for result in message.results):
            if text and not self.clip(text, "", {}) and self.meter.text(text) <= self.window // SHARE:
                score.outputs += 1
                score.whole += text in shown.text


def _since(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


class _Opening(NamedTuple):
    """What is to be seen of the user's first request: all of it while it fits a tenth of the window."""

    number: int
    """That of its message."""
    text: str

    @classmethod
    def of(cls, trace: Trace, window: int) -> _Opening:
        """That of a conversation; in one without requests it comes behind everything."""
        asked = (i for i, message in enumerate(trace.messages) if message.is_request and message.text)
        number = next(asked, len(trace.messages))
        first = trace.messages[number].text if number < len(trace.messages) else ""
        whole = meter_for(None, trace.model).text(first) <= window // TENTH
        return cls(number, first if whole else " ".join(first[:BEGINNING].split()))
