"""Budget: all threshold arithmetic lives here."""

from __future__ import annotations

from functools import cached_property
from math import ceil, floor, inf

import msgspec

from fanfold.core.errors import BadBudget
from fanfold.core.learning import BOUNDS

NEARLY_FULL = 0.95
"""The share of what remains that a request may take (systems.md D3)."""


def tool_share(window: int) -> int:
    """How many tokens tool outputs may take together (systems.md A1)."""
    return min(max(floor(window * 0.25), 20_000), 60_000)


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
        for name in ("window", "max_input", "max_output", "max_bytes"):
            _whole(name, getattr(self, name), least=1)
        _whole("reserve", self.reserve, least=0)
        _whole("gain", self.gain, least=0)
        _whole("cached_from", self.cached_from, least=0)
        for name in ("trigger", "target"):
            _number(name, getattr(self, name))
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
        return self._left_by(self.reply if self.shared else 0)

    @property
    def taken(self) -> int:
        """What the reply takes of it: nothing where the input has a lower limit of its own."""
        return self._left_by(0) - self.limit

    def _left_by(self, reply: int) -> int:
        room = floor(self.window * (1 - self.buffer)) - reply
        return room if self.max_input is None else min(room, self.max_input)

    @cached_property
    def room(self) -> int:
        """What a view may cost, in the meter's own tokens."""
        return self.counted(self.limit)

    @cached_property
    def ceiling(self) -> int:
        """Reduce when the view costs this much."""
        return min(self.room, self.counted(_share(self.trigger, self.limit)))

    def presses(self, tokens: int) -> bool:
        """Whether a view of so many tokens is reduced; where all of the room may be taken, only if it does not fit."""
        return tokens >= self.ceiling if self.ceiling < self.room else tokens > self.room

    @cached_property
    def goal(self) -> int:
        """How far a reduction goes."""
        return min(self.room, self.counted(_share(self.target, self.limit)))

    @property
    def tool_share(self) -> int:
        """How many tokens tool outputs may take together."""
        return tool_share(self.window)

    def counted(self, billed: float) -> int:
        """Billed tokens in the meter's own tokens."""
        scale, offset = self.measured
        least, most = BOUNDS
        counted = min(max((billed - offset) / scale, billed / most), billed / least)
        return max(0, floor(counted - self.beside))

    def billed(self, counted: float) -> int:
        """The meter's tokens as the provider would bill them."""
        scale, offset = self.measured
        least, most = BOUNDS
        whole = counted + self.beside
        return max(0, ceil(max(min(scale * whole + offset, most * whole), least * whole)))

    def factor(self, counted: float) -> float:
        """What a token of a row costs in a view of so many: the scale, unless rows were then more than the whole."""
        return min(self.measured[0], self.billed(counted) / counted) if counted else 1.0

    def reserving(self, tokens: int | None) -> Budget:
        """The same budget for a request with its own max_tokens."""
        return self if tokens is None else msgspec.structs.replace(self, reserve=tokens)

    def within(self, most: int | None, most_bytes: int | None = None) -> Budget:
        """The same budget for a provider that takes no more than this, whatever its documents say."""
        if most is None and most_bytes is None:
            return self
        return msgspec.structs.replace(
            self, max_input=_lower(self.max_input, most), max_bytes=_lower(self.max_bytes, most_bytes)
        )

    def at_percent(self, percent: float) -> Budget:
        """The same budget, reducing at a percentage of the window (E2)."""
        _bounded("percent", percent, most=100)
        trigger = max(2, ceil(self.window * percent / 100))
        return msgspec.structs.replace(self, trigger=trigger, target=max(2, min(self.goal, trigger // 2)))

    def reducing_like(self, other: Budget) -> Budget:
        """The same limits with another budget's thresholds, in tokens, its buffer, and its reserve if it has one."""
        return msgspec.structs.replace(
            self,
            trigger=other.trigger if other.trigger > 1 else max(2, other.ceiling),
            target=max(2, other.goal),
            reserve=other.reserve or self.reserve,
            buffer=other.buffer,
        )

    def limited_like(self, other: Budget) -> Budget:
        """The same thresholds with the limits of another budget."""
        names = ("window", "max_input", "max_output", "shared", "cached_from")
        return msgspec.structs.replace(self, **{name: getattr(other, name) for name in names})

    def learned(self, scale: float, offset: float) -> Budget:
        """The same budget, seen through what bills taught."""
        return msgspec.structs.replace(self, measured=(scale, offset))

    @classmethod
    def codelia(cls, limit: int, ratio: float = 0.8) -> Budget:
        """Compact at floor(limit × ratio) of the model's input limit (A11)."""
        _given("limit", limit)
        _bounded("threshold_ratio", ratio, most=1)
        return cls(window=limit, reserve=0, trigger=max(2, floor(limit * ratio)), target=min(0.4, ratio / 2))

    @classmethod
    def openstarry(cls, limit: int) -> Budget:
        """Give all that system, tools and context leave to the newest history (B3)."""
        return cls(window=limit, reserve=0, trigger=1.0, target=1.0)

    @classmethod
    def gemini_cli(cls, limit: int = 1_048_576, threshold: float = 0.5, keep: float = 0.3) -> Budget:
        """Compress at half of the model's limit, keep the newest 30 % (D1)."""
        _given("limit", limit)
        _bounded("threshold", threshold, most=1)
        _bounded("keep", keep, most=1)
        trigger = max(2, ceil(limit * threshold))
        return cls(window=limit, reserve=0, trigger=trigger, target=threshold * keep)

    @classmethod
    def nearly_full(cls, remaining: int) -> Budget:
        """Compress where a request takes more than 95 % of what remains (D3)."""
        _given("remaining", remaining)
        trigger = max(2, floor(remaining * NEARLY_FULL) + 1)
        return cls(window=remaining, reserve=0, trigger=trigger, target=NEARLY_FULL / 2)

    @classmethod
    def roo_code(cls, window: int, max_tokens: int | None = None, percent: float = 75.0) -> Budget:
        """Condense at a percentage of the window, never above 0.9 of it less the reply (E1)."""
        _given("window", window)
        _whole("max_tokens", max_tokens, least=0)
        _bounded("percent", percent, most=100)
        reply = max_tokens or 8_192
        allowed = floor(window * 0.9) - reply
        if allowed <= 0:
            raise BadBudget(
                f"Nine tenths of {window:,} tokens less a reply of {reply:,} leave nothing. Give a smaller max_tokens."
            )
        trigger = max(2, ceil(window * percent / 100))
        target = max(2, min(allowed, trigger) // 2)
        return cls(window=window, reserve=reply, buffer=0.1, trigger=trigger, target=target)


def _lower(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _share(value: float, of: int) -> int:
    return floor(value * of) if value <= 1 else floor(min(value, of))


_MOST = 2**53
"""More tokens or bytes than this are no limit, and cannot be reckoned with exactly."""


def _bounded(name: str, value: float, *, most: int) -> None:
    if not isinstance(value, int | float) or not 0 < value <= most:
        raise BadBudget(f"{name} is {value!r}; it must lie above 0, and not above {most}.")


def _number(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
        raise BadBudget(f"{name} is {value!r}; it must be a share between 0 and 1, or a number of tokens.")


def _whole(name: str, value: object, least: int) -> None:
    if value is not None:
        _given(name, value, least)


def _given(name: str, value: object, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadBudget(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    if value > _MOST:
        raise BadBudget(f"{name} is a number of {value.bit_length()} bits; it must be at most {_MOST:,}.")
