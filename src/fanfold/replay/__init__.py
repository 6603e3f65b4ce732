"""Replay: what each policy would have cost, kept and lost on recorded conversations.

for played in fanfold.replay.replay(["traces/"], ["drop_oldest", "default"], window=32_000): ...
"""

from fanfold.replay.cache import Cache
from fanfold.replay.played import Change, Loss, Played
from fanfold.replay.player import SessionPlayer
from fanfold.replay.policy import policy
from fanfold.replay.reading import Failure, Place, is_trace, places, traces
from fanfold.replay.report import Comparison, remarks, rows, totals, trail_rows
from fanfold.replay.running import play, replay
from fanfold.replay.score import Recall, Score
from fanfold.replay.shown import Player, Policy, Shown
from fanfold.replay.trace import Trace
from fanfold.replay.trail import KINDS, Mark, Trail, marks

__all__ = [
    "KINDS",
    "Cache",
    "Change",
    "Comparison",
    "Failure",
    "Loss",
    "Mark",
    "Place",
    "Played",
    "Player",
    "Policy",
    "Recall",
    "Score",
    "SessionPlayer",
    "Shown",
    "Trace",
    "Trail",
    "is_trace",
    "marks",
    "places",
    "play",
    "policy",
    "remarks",
    "replay",
    "rows",
    "totals",
    "traces",
    "trail_rows",
]
