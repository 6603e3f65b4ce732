"""One conversation replayed under several policies, in a process of its own: whoever serves the page goes on serving.

It reads a conversation and the policies as JSON from standard input, and writes one line of JSON for every call that it
has played; the last line has what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from fanfold.config.naming import strategies_named
from fanfold.core.errors import BadInput, FanfoldError
from fanfold.replay.needs import needs
from fanfold.replay.played import Played
from fanfold.replay.player import SessionPlayer
from fanfold.replay.policy import policy
from fanfold.replay.recorded import RecordedPlayer, RecordedWork
from fanfold.replay.running import play
from fanfold.replay.score import Score
from fanfold.replay.shown import Player, Policy, Shown
from fanfold.replay.trace import Trace, trace
from fanfold.text.json_text import write_json
from fanfold.transcripts import Conversation

_MOST = 60
"""So many losses are told."""


class TriedPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy to play."""

    window: int
    strategy: str = "default"
    """A name that `fanfold replay --policy` knows; `none` sends everything."""
    thrift: float | None = None
    label: str = ""

    def policy(self) -> Policy:
        """Whoever plays it; an error says what is wrong with the choice."""
        if self.window < 1:
            raise BadInput("A window is a number of tokens above zero.")
        if self.thrift is None:
            return policy(self.strategy)
        if self.strategy not in ("default", "auto"):
            raise BadInput(f"Thrift is a setting of the default; {self.strategy} has none.")
        made = strategies_named({"name": "auto", "refs": True, "thrift": self.thrift})
        return lambda trace, window: SessionPlayer(trace, window, made)


class TrialQuestion(msgspec.Struct, frozen=True):
    """What is to be played."""

    conversation: Conversation
    choices: tuple[TriedPolicy, ...]
    """The first is the present one."""
    recorded: RecordedWork | None = None
    """What really happened; None where no request went out."""


class _Counting:
    """A player that tells after every request."""

    def __init__(self, player: Player, tell: Callable[[], None]) -> None:
        self._player, self._tell = player, tell
        self.near, self.close = player.near, player.close

    def show(self, count: int) -> Shown:
        """The request after so many messages."""
        shown = self._player.show(count)
        self._tell()
        return shown


def run(question: TrialQuestion, tell: Callable[[dict[str, Any]], None]) -> None:
    """Play every choice; `tell` hears how far it is, and what was found."""
    whole, work = _known(trace(question.conversation), question.recorded)
    if not whole.calls:
        raise BadInput("The model did not speak here yet, so there is nothing to replay.")
    needed, found = needs(whole), list[dict[str, Any]]()
    every, done = len(whole.calls) * len(question.choices), 0

    def count() -> None:
        nonlocal done
        done += 1
        tell({"done": done, "of": every})

    for choice in question.choices:
        chosen = _player(choice, work)

        def counting(trace: Trace, window: int, chosen: Policy = chosen) -> Player:
            return _Counting(chosen(trace, window), count)

        played = play(whole, choice.strategy, choice.window, counting, needed=needed)
        found.append({**describe(choice, played), **(_billed(choice, played, work, whole) if work else {})})
    tell({"done": every, "of": every, "results": found})


def _known(whole: Trace, work: RecordedWork | None) -> tuple[Trace, RecordedWork | None]:
    """The calls to compare: those whose requests are known; all of them, and nothing recorded, if there are none."""
    if work is None or work.messages != len(whole.messages):
        return whole, None
    known = work.within(whole)
    return (known, work) if known.calls else (whole, None)


def _player(choice: TriedPolicy, work: RecordedWork | None) -> Policy:
    """Whoever plays a choice: what really happened is not played again."""
    if work is not None and choice.label == "now":
        return lambda trace, window: RecordedPlayer(trace, work)
    return choice.policy()


def _billed(choice: TriedPolicy, played: Played, work: RecordedWork, whole: Trace) -> dict[str, Any]:
    """Figures as they were billed, or would have been by the same measure; replies are in the dollars."""
    score, scale = played.score, work.scale
    told: dict[str, Any] = {"recorded": choice.label == "now", "billed": bool(work.prompt)}
    if not work.prompt:
        return told
    if choice.label == "now":
        real = Score(prompt=work.prompt, cached=work.cached)
        windows = tuple(work.last[call.before].tokens for call in whole.calls)
        return {
            **told,
            "dollars": work.dollars,
            "cost": real.cost,
            "prompt": work.prompt,
            "cached_share": real.share,
            "peak": max(windows),
            "windows": windows,
        }
    dollars = None if score.unpriced or work.dollars is None else score.dollars * scale + work.replies
    return {
        **told,
        "dollars": work.unmanaged if choice.label == "everything" else dollars,
        "cost": score.cost * scale,
        "prompt": round(score.prompt * scale),
        "peak": round(score.peak * scale),
        "windows": [round(tokens * scale) for tokens in played.windows],
    }


def describe(choice: TriedPolicy, played: Played) -> dict[str, Any]:
    """What one policy did, for the page."""
    score = played.score
    return {
        **msgspec.structs.asdict(choice),
        "recorded": False,
        "billed": False,
        "calls": score.calls,
        "dollars": None if score.unpriced else score.dollars,
        "cost": score.cost,
        "prompt": score.prompt,
        "cached_share": score.share,
        "peak": score.peak,
        "over": score.over,
        "broken": score.faults,
        "edits": score.edits,
        "reductions": len(played.changes),
        "trail": score.trail.mean,
        "kinds": {kind: score.trail.share(kind) for kind in score.trail.kinds},
        "names_in_view": score.fresh.in_view if score.fresh.needed else None,
        "names_in_reach": score.fresh.in_reach if score.fresh.needed else None,
        "rules": score.rules_kept / score.rules_stated if score.rules_stated else None,
        "first_request": score.begun_kept / score.begun if score.begun else None,
        "windows": played.windows,
        "changes": [change.call for change in played.changes],
        "lost": played.lost[:_MOST],
        "lost_count": len(played.lost),
        "missed": played.missed,
    }


def main() -> None:
    """Play what standard input says."""

    def tell(line: dict[str, Any]) -> None:
        sys.stdout.buffer.write(write_json(line) + b"\n")
        sys.stdout.buffer.flush()

    try:
        run(msgspec.json.decode(sys.stdin.buffer.read(), type=TrialQuestion), tell)
    except FanfoldError as error:
        tell({"error": str(error)})


if __name__ == "__main__":
    main()
