"""The trail of work: what an agent must still know after a reduction, and what a reduction may not say.

It is found in the raw history by rules of its own. Nothing here looks at how the strategies find the same things: a
policy that was judged by its own rules would come out flattered.
"""

from fanfold.replay.trail.kept import Missed, Trail, Watch
from fanfold.replay.trail.marks import KINDS, Mark, marks
from fanfold.replay.trail.steps import Step, steps
from fanfold.replay.trail.truth import Witness

__all__ = ["KINDS", "Mark", "Missed", "Step", "Trail", "Watch", "Witness", "marks", "steps"]
