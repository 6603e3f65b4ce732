"""What a policy cost, kept and lost, summed over model calls."""

from __future__ import annotations

import msgspec

from fanfold.replay.cache import Cache, overlap
from fanfold.replay.needs import Need
from fanfold.replay.shown import Shown
from fanfold.replay.trail import Trail

WRITE, READ = 1.25, 0.1
"""Token equivalents: what a prompt token costs uncached and cached, as a share of its list price."""


class Recall(msgspec.Struct):
    """How many references were needed, and where they were."""

    needed: int = 0
    visible: int = 0
    near: int = 0
    """Not in view, but one call away."""

    def count(self, visible: bool, near: bool) -> None:
        """Take in one reference."""
        self.needed += 1
        self.visible += visible
        self.near += near and not visible

    @property
    def in_view(self) -> float:
        """The share that was in view."""
        return self.visible / self.needed if self.needed else 1.0

    @property
    def in_reach(self) -> float:
        """The share that was in view or one call away."""
        return (self.visible + self.near) / self.needed if self.needed else 1.0

    def __add__(self, other: Recall) -> Recall:
        return Recall(self.needed + other.needed, self.visible + other.visible, self.near + other.near)


class Score(msgspec.Struct):
    """What one policy did, so far."""

    calls: int = 0
    prompt: int = 0
    """Tokens sent."""
    cached: int = 0
    """Of these, what the provider's prompt cache had."""
    resent: int = 0
    """Tokens that were sent before and had to be sent again uncached, because something before them changed."""
    peak: int = 0
    edits: int = 0
    asked: int = 0
    asking: int = 0
    """Tokens of the questions to a model that reductions made; they are part of the cost, and never cached."""
    over: int = 0
    faults: int = 0
    seconds: float = 0.0
    all: Recall = msgspec.field(default_factory=Recall)
    fresh: Recall = msgspec.field(default_factory=Recall)
    loose: Recall = msgspec.field(default_factory=Recall)
    """Like `fresh`, of any code-like word instead of identifiers only; nobody looks whether they are one call away."""
    begun: int = 0
    """Requests of conversations that began with a person's request."""
    begun_kept: int = 0
    """Of these, those in which that first request stood verbatim, or the beginning of one too long for that."""
    rules_stated: int = 0
    rules_kept: int = 0
    outputs: int = 0
    """Outputs that arrived within the limits."""
    whole: int = 0
    """Of these, those that were shown whole."""
    newest: int = 0
    """Of the last five results before each request, those that were shown whole when they arrived."""
    newest_whole: int = 0
    """Of these, those that were still shown whole."""
    trail: Trail = msgspec.field(default_factory=Trail)
    """What of the trail of work stood in the requests that had to be reduced; each conversation counts once."""
    files: Recall = msgspec.field(default_factory=Recall)
    """Files that the next calls after a reduction work on, by their newest known content."""
    named: Recall = msgspec.field(default_factory=Recall)
    """The same files, by their names."""
    handles: Recall = msgspec.field(default_factory=Recall)
    """What ran on at a reduction and was asked for later."""
    false: int = 0
    """Statements about how something ended that the history contradicts, each once."""
    dollars: float = 0.0
    unpriced: int = 0
    """Requests to models whose prices nobody knows."""
    expired: int = 0
    """Requests that came when the cache had forgotten the one before."""
    untimed: int = 0
    """Requests of which nobody recorded how long after the one before they came, so that nothing expired."""

    @property
    def cost(self) -> float:
        """Token equivalents of all prompts, those to a model that summarizes included."""
        return WRITE * (self.prompt - self.cached + self.asking) + READ * self.cached

    @property
    def share(self) -> float:
        """The part of all prompt tokens that was cached."""
        return self.cached / self.prompt if self.prompt else 0.0

    @property
    def per_call(self) -> float:
        """Tokens of a request."""
        return self.prompt / self.calls if self.calls else 0.0

    def take(
        self, shown: Shown, last: Shown | None, cache: Cache, model: str | None, since: float | None = None
    ) -> None:
        """Count one request after another, so many seconds later."""
        total = sum(shown.tokens)
        same, resent = overlap(shown, last)
        cached = cache.holds(same, since)
        self.calls += 1
        self.prompt += total
        self.cached += cached
        self.resent += resent
        self.peak = max(self.peak, total)
        self.edits += shown.edits
        self.asked += shown.asked
        self.asking += shown.asking
        self.over += shown.over
        self.faults += shown.faults
        self.seconds += shown.seconds
        dollars = cache.dollars(total, cached, shown.asking, model)
        self.dollars += dollars or 0.0
        self.unpriced += dollars is None
        if cache.ttl is not None and last is not None:
            self.expired += cache.expired(since)
            self.untimed += since is None

    def recall(self, need: Need, visible: bool, near: bool) -> None:
        """Count one reference that a reply needed."""
        if need.loose:
            if need.fresh:
                self.loose.count(visible, near)
            return
        self.all.count(visible, near)
        if need.fresh:
            self.fresh.count(visible, near)

    def __add__(self, other: Score) -> Score:
        fields = Score.__struct_fields__
        summed = {name: getattr(self, name) + getattr(other, name) for name in fields if name != "peak"}
        return Score(peak=max(self.peak, other.peak), **summed)
