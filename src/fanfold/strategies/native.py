"""Native: let the provider compact. Its opaque item is kept, and what it stands for leaves the view.

Anthropic and OpenAI (Responses) ignore everything before their newest compaction item, or say that it may be left out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.errors import BadSetting
from fanfold.core.message import user
from fanfold.core.plan import Plan
from fanfold.core.view import Row, Span, View
from fanfold.strategies.handover.first import asking_row, first_request, quoted_first, room_to_quote, without
from fanfold.strategies.handover.seal import sealed

BETA = "compact-2026-01-12"
"""What Anthropic wants in `betas` for a request with `context_management` in it."""


def native(at: int | None = None) -> Native:
    """Let the provider compact: requests say so with `native(…).params(dialect)`, replies bring its opaque item.

    The item is recorded as a fold of all that it stands for, and passed back untouched. Put another strategy behind
    this one: it does nothing where no item came. Where one stands, others reduce what came after it.
    """
    if at is not None and at < 1:
        raise BadSetting("native compacts at a number of tokens, or where the provider thinks best.")
    return Native(at)


class Native(msgspec.Struct, frozen=True):
    """The strategy that `native` makes."""

    at: int | None = None
    """The prompt's tokens at which the provider compacts; by default it decides."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "native"

    def params(self, dialect: str) -> dict[str, Any]:
        """The parameters of a request that ask for it: `chat.request(**strategy.params("anthropic"))`."""
        match dialect:
            case "anthropic":
                trigger = {"trigger": {"type": "input_tokens", "value": self.at}} if self.at else {}
                return {
                    "context_management": {"edits": [{"type": "compact_20260112", **trigger}]},
                    "betas": [BETA],
                }
            case "openai.responses":
                threshold = {"compact_threshold": self.at} if self.at else {}
                return {"context_management": [{"type": "compaction", **threshold}]}
        raise BadSetting(
            f"No provider that speaks {dialect} compacts by itself; anthropic and openai.responses do."
        )

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Fold what the newest item stands for into the item; what stands before a kept row leaves.

        The first request stays in place while it is short; a longer one is quoted before the item.
        """
        before, run = _replaced(view, budget)
        if before.rows:
            yield without(before, view, room_to_quote(budget))
        block = _last_block(view, run)
        if len(run.rows) > len(block.rows):
            quote = quoted_first(Span(run.rows[: -len(block.rows)]), view, room_to_quote(budget))
            asked = (user(sealed(quote, run, view)),) if quote else ()
            yield Fold(run.covers, (*asked, *block.messages))

    def due(self, view: View, budget: Budget) -> bool:
        """Whether an item came, and what it stands for is still in view."""
        before, run = _replaced(view, budget)
        return bool(before.rows) or len(run.rows) > len(_last_block(view, run).rows)

    @property
    def trim(self) -> Native:
        """The same: it never does more."""
        return self


def _replaced(view: View, budget: Budget) -> tuple[Span, Span]:
    """The rows on offer that an item replaces: those before the last row that stays, and the run up to the item."""
    last = next((i for i in range(len(view.rows) - 1, -1, -1) if _compacts(view.rows[i])), None)
    if last is None:
        return Span(), Span()
    offered = {row.id for block in view.offered for row in block.rows} - _first(view, budget)
    item = view.rows[last]
    block = next(block for block in view.blocks if any(row is item for row in block.rows))
    if any(row.id not in offered for row in block.rows):
        return Span(), Span()
    rows = view.rows[: last + 1]
    start = next((i + 1 for i in range(last, -1, -1) if rows[i].id not in offered), 0)
    rest = tuple(row for row in block.rows if row.id not in {one.id for one in rows})
    before = tuple(row for row in rows[:start] if row.id in offered)
    return Span(before if any(map(_worth_leaving, before)) else ()), Span((*rows[start:], *rest))


def _first(view: View, budget: Budget) -> set[str]:
    """The first request, if it is short and nothing before it tells what was asked."""
    row = first_request(view, budget)
    return {row.id} if row is not None and row is asking_row(view) else set()


def _worth_leaving(row: Row) -> bool:
    """Whether a row is more than a marker."""
    return row.kind not in ("fold", "drop") or row.compacts


def _last_block(view: View, run: Span) -> Span:
    """The block of the item at the end of a run."""
    ids = {row.id for row in run.rows[-1:]}
    return next((block for block in view.blocks if ids & {row.id for row in block.rows}), Span())


def _compacts(row: Row) -> bool:
    return row.kind in ("entry", "mend") and row.compacts
