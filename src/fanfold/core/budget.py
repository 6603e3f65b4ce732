"""Budget: all threshold arithmetic lives here."""

from __future__ import annotations

from functools import cached_property
from math import ceil, floor, inf

import msgspec
from msgspec.structs import force_setattr, replace

from fanfold.core.errors import BadBudget
from fanfold.text.sizes import as_number, portion_of

BOUNDS = (0.5, 2.5)
"""An estimate may be corrected to between half of it and two and a half times as much."""

FAR = 2.0
"""So many times the slope a whole request may cost by the token."""

LEAST = 50
"""Less growth than this tells nothing about the scale."""


class Learned(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the bills taught: billed ≈ scale × counted + offset.

    The last bill is the baseline and only what is newer is estimated. An edit voids the baseline, never the
    scale and the overhead.
    """

    slope: float = 1.0
    """What a newly counted token costs."""
    growths: tuple[tuple[int, int], ...] = ()
    """Counted and billed growth between bills, the newest last."""
    overhead: float = 0.0
    """What every request costs beside what is counted: a client's own prompt, a tool's preamble."""
    least: tuple[int, int] | None = None
    """Counted and billed, of the smallest request of this session: it tells the overhead best."""
    whole: tuple[int, int] | None = None
    """Counted and billed, of the last request."""
    reply: tuple[int, int] = (0, 0)
    """The reply to it: as counted, and as it was billed when written."""
    valid: bool = False
    """Whether the baseline holds: nothing was edited since the last bill."""
    exact: bool = False
    """Whether the model's own tokenizer counts: its scale is 1, and a bill tells only what comes on top."""

    @property
    def last(self) -> tuple[int, int] | None:
        """The baseline: what was counted and what was billed for the last request."""
        return self.whole if self.valid else None

    @property
    def scale(self) -> float:
        """What a counted token costs: a new one while the baseline holds, else one of the last request."""
        if self.valid or self.whole is None or self.whole[0] < LEAST or self.exact:
            return self.slope
        # The last request without its overhead; what lies far from the slope is put down to the overhead.
        counted, billed = self.whole
        average = (billed - self.overhead) / max(1, counted)
        near = min(max(average, self.slope / FAR), self.slope * FAR)
        return min(max(near, BOUNDS[0]), BOUNDS[1])

    @property
    def offset(self) -> float:
        """What to add to scale × counted."""
        if self.whole is None:
            return self.overhead
        counted, billed = self.whole
        if not self.valid:
            return max(self.overhead, billed - self.scale * counted)
        known, written = self.reply
        offset = billed + written - self.slope * (counted + known)
        return max(0.0, offset) if self.exact else offset

    def voided(self) -> Learned:
        """The same without the baseline: an edit was made since."""
        return replace(self, valid=False) if self.valid else self

    def inherited(self) -> Learned:
        """What another session of the same model can start from."""
        return Learned(slope=self.slope, growths=self.growths, overhead=self.overhead, exact=self.exact)


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, dict=True):
    """How much fits, when to reduce, and how far.

    `trigger` and `target` are shares of the room when below or at 1, tokens above.
    """

    window: int
    max_input: int | None = None
    max_output: int | None = None
    shared: bool = True
    """Whether input and output share one window."""
    reserve: int | None = None
    """Tokens kept free for the reply; by default the model's maximum, a tenth of the window or 32k."""
    buffer: float = 0.0
    """A share of the window that stays free beside the reply."""
    trigger: float = 0.85
    target: float = 0.4
    gain: int = 16
    """The tokens that an edit must save at least, unless the window forces it."""
    max_bytes: int | None = None
    cached_from: int = 1_024
    """Tokens of a prompt's beginning from which on its provider caches it."""
    cold: bool = False
    """Whether the provider has forgotten the last prompt by now, so that an edit breaks nothing."""
    measured: tuple[float, float] = (1.0, 0.0)
    """The meter's scale and offset, as learned from bills: billed = scale × counted + offset, within bounds."""
    beside: int = 0
    """What a request carries beside the view, in the meter's own tokens."""

    def __post_init__(self) -> None:
        for name in ("window", "max_input", "max_output", "max_bytes", "reserve", "gain", "cached_from"):
            value = getattr(self, name)
            if value is not None:
                least = 0 if name in ("reserve", "gain", "cached_from") else 1
                force_setattr(self, name, whole_number(name, value, least))
        for name in ("trigger", "target"):
            value = portion_of(getattr(self, name))
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
                raise BadBudget(
                    f"{name} is {value!r}; it must be a share between 0 and 1, or a number of tokens."
                )
            force_setattr(self, name, value)
        if not isinstance(self.buffer, int | float) or not 0 <= self.buffer < 1:
            raise BadBudget(f"buffer is {self.buffer!r}; it must be a share of the window, below 1.")
        if self.limit <= 0:
            raise BadBudget(
                f"A reserve of {self.reply:,} leaves nothing of a window of {self.window:,} tokens. "
                "Ask for fewer output tokens, or raise the window."
            )
        if self.goal > self.ceiling:
            raise BadBudget(
                f"The target ({self.goal:,} tokens) lies above the trigger ({self.ceiling:,}): "
                "every reduction would be followed by another. Lower the target."
            )

    @property
    def reply(self) -> int:
        """Tokens kept free for the reply."""
        if self.reserve is not None:
            return self.reserve
        return min(self.max_output or self.window, self.window // 10, 32_000)

    @cached_property
    def limit(self) -> int:
        """What a request may cost as the provider bills it."""
        left = floor(self.window * (1 - self.buffer)) - (self.reply if self.shared else 0)
        return left if self.max_input is None else min(left, self.max_input)

    @property
    def taken(self) -> int:
        """What the reply takes of it: nothing where the input has a lower limit of its own."""
        most = floor(self.window * (1 - self.buffer))
        return (most if self.max_input is None else min(most, self.max_input)) - self.limit

    @cached_property
    def room(self) -> int:
        """What a view may cost, in the meter's own tokens."""
        return self.counted(self.limit)

    @cached_property
    def ceiling(self) -> int:
        """Reduce when the view costs this much."""
        return self._threshold(self.trigger)

    def presses(self, tokens: int) -> bool:
        """Whether a view of so many tokens is reduced; where all of the room may be taken, only if it does not fit."""
        return tokens >= self.ceiling if self.ceiling < self.room else tokens > self.room

    @cached_property
    def goal(self) -> int:
        """How far a reduction goes."""
        return self._threshold(self.target)

    def _threshold(self, value: float) -> int:
        billed = floor(value * self.limit) if value <= 1 else floor(min(value, self.limit))
        return min(self.room, self.counted(billed))

    @property
    def tool_share(self) -> int:
        """How many tokens tool outputs may take together (systems.md A1)."""
        return min(max(floor(self.window * 0.25), 20_000), 60_000)

    def counted(self, billed: float) -> int:
        """Billed tokens in the meter's own tokens."""
        scale, offset = self.measured
        least, most = BOUNDS
        counted = min(max((billed - offset) / scale, billed / most), billed / least)
        return max(0, floor(counted - self.beside))

    def billed(self, counted: float, requests: int = 1) -> int:
        """The meter's tokens as the provider would bill them: those of a request, or of several together."""
        scale, offset = self.measured
        least, most = BOUNDS
        whole = counted + self.beside * requests
        told = scale * whole + offset * requests
        return max(0, ceil(max(min(told, most * whole), least * whole)))

    def factor(self, counted: float) -> float:
        """What a token of a row costs in a view of so many: the scale, unless rows were then more than the whole."""
        return min(self.measured[0], self.billed(counted) / counted) if counted else 1.0

    def reserving(self, tokens: int | None) -> Budget:
        """The same budget for a request with its own max_tokens."""
        return self if tokens is None else replace(self, reserve=tokens)

    def limited_like(self, other: Budget) -> Budget:
        """The same thresholds with the limits of another budget."""
        names = ("window", "max_input", "max_output", "shared", "cached_from")
        return replace(self, **{name: getattr(other, name) for name in names})

    def measured_by(
        self,
        learned: Learned,
        reply: int | None = None,
        most: int | None = None,
        most_bytes: int | None = None,
    ) -> Budget:
        """The same budget for a request with its own max_tokens, seen through what bills and refusals taught.

        A provider may take no more than `most` tokens, or `most_bytes`, whatever its documents say.
        """
        mixed = self.trigger <= 1 < self.target  # a share shrinks with the limit, a number of tokens does not
        seen = replace(
            self,
            reserve=self.reserve if reply is None else reply,
            max_input=_lower(self.max_input, most),
            max_bytes=_lower(self.max_bytes, most_bytes),
            target=self.trigger if mixed else self.target,
            measured=(learned.scale, learned.offset),
        )
        target = min(self.target, floor(self.trigger * seen.limit))
        return replace(seen, target=target) if mixed and target > 1 else seen


def _lower(limit: int | None, other: int | None) -> int | None:
    return limit if other is None or (limit is not None and limit < other) else other


_MOST = 2**53
"""More tokens or bytes than this are no limit, and cannot be reckoned with exactly."""


def whole_number(name: str, value: object, least: int = 1) -> int:
    """The whole number of at least `least` that is given, or that a size such as `16k` stands for."""
    number = as_number(value)
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        more = ", or a size such as '16k'" * isinstance(value, str)
        raise BadBudget(f"{name} is {value!r}; it must be a whole number of at least {least}{more}.")
    if number > _MOST:
        raise BadBudget(f"{name} is a number of {number.bit_length()} bits; it must be at most {_MOST:,}.")
    return number
