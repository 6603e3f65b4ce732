"""Replay: what each policy would have cost, kept and lost on recorded conversations.

for played in fanfold.replay.replay(["traces/"], ["drop_oldest", "default"], window=32_000): ...
"""

from fanfold.replay.cache import Cache
from fanfold.replay.failure import Failure
from fanfold.replay.place import Place, places
from fanfold.replay.played import Change, Loss, Played
from fanfold.replay.player import SessionPlayer
from fanfold.replay.policy import policy
from fanfold.replay.reading import is_trace, traces
from fanfold.replay.report import remarks, rows, totals
from fanfold.replay.running import play, replay
from fanfold.replay.score import Recall, Score
from fanfold.replay.shown import Player, Policy, Shown
from fanfold.replay.trace import Trace

__all__ = [
    "Cache",
    "Change",
    "Failure",
    "Loss",
    "Place",
    "Played",
    "Player",
    "Policy",
    "Recall",
    "Score",
    "SessionPlayer",
    "Shown",
    "Trace",
    "is_trace",
    "places",
    "play",
    "policy",
    "remarks",
    "replay",
    "rows",
    "totals",
    "traces",
]
