"""What a session is opened with, checked and complete."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import msgspec

from fanfold.config.events import Hooks
from fanfold.config.options import OnMoved
from fanfold.core.budget import Budget
from fanfold.core.ids import digest
from fanfold.core.plan import Strategy
from fanfold.core.record import Opened
from fanfold.deferral.offer import Deferral, DeferralTerms
from fanfold.dialects.dialect import Dialect
from fanfold.outputs.filters.filter import Filter
from fanfold.stores.store import Tenant
from fanfold.tokens.meter import Meter


class Terms(msgspec.Struct, frozen=True, dict=True):
    """What a session is opened with."""

    name: str
    tenant: Tenant
    dialect: Dialect
    meter: Meter
    budget: Budget
    sized: Callable[[str | None, int | None, str], Budget]
    """The budget for another model, window or dialect, with the same thresholds."""
    metered: Callable[[str | None], Meter]
    """The meter for another model."""
    strategies: tuple[Strategy, ...]
    fallbacks: tuple[Strategy, ...]
    model: str | None
    hooks: Hooks
    clock: Callable[[], float]
    summarizer_window: int | None
    """The window of the model that strategies ask."""
    one_model: bool = False
    """Whether that one is asked, whatever model a question names."""
    on_moved: OnMoved = "raise"
    """What to do if somebody else wrote first."""
    filters: tuple[Filter, ...] = ()
    """What shapes an output when it arrives."""
    recall: bool | None = None
    """Whether the model has tools to look things up again, and the session answers them; None: if it has others."""
    volatile: tuple[str, ...] | bool | None = None
    """Lines of the system prompt that change, by a text in them; True: found by comparing; None: only order is kept."""
    defer: float | None = None
    """The share of the window that schemas may take before tools wait; None: the caller's marks decide."""
    opened: Opened = Opened()
    """What of this is remembered."""

    @cached_property
    def cache_key(self) -> str:
        """By what a provider finds the cache of this session: the hash of its name."""
        return digest(self.name.encode("utf-8", "surrogatepass"))

    def deferral(self) -> Deferral:
        """What decides which tools a request offers."""
        wanted = DeferralTerms(self.defer, self.budget.window, self.model, find=self.hooks.find_tools)
        return Deferral(self.dialect, self.meter, wanted)
