"""Five documented systems as presets: a budget, a meter, filters and a strategy put together (docs/systems.md).

`open("run", preset="gemini_cli")`, or `preset=presets.roo_code(percent=60)` where a figure is to differ. What a caller
gives beside a preset wins over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from fanfold.core.budget import Budget
from fanfold.core.errors import unknown
from fanfold.core.plan import Strategy
from fanfold.core.view import View
from fanfold.outputs.filters import Filter, binary, clip, prune
from fanfold.outputs.filters.clip import LINE, SIZE
from fanfold.strategies.combining import when
from fanfold.strategies.drop_oldest import drop_oldest
from fanfold.strategies.elide import elide
from fanfold.strategies.extract import Snapshot, extract
from fanfold.strategies.importance import Scorer, importance, score
from fanfold.strategies.rolling import rolling
from fanfold.strategies.schema import Schema
from fanfold.strategies.summarize import summarize
from fanfold.strategies.telling import told_by_assistant
from fanfold.strategies.truncate import truncate
from fanfold.systems import budgets, openstarry
from fanfold.systems import codelia as codelias
from fanfold.systems import gemini_cli as gemini
from fanfold.systems import miki as mikis
from fanfold.systems.meters import by_script
from fanfold.systems.roo_code import effective_threshold
from fanfold.systems.roo_code.condensing import N_MESSAGES_TO_KEEP
from fanfold.systems.roo_code.managing import CONDENSE_PERCENT
from fanfold.tokens.meter import Meter


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """How a system manages its context, as data."""

    name: str
    budget: Callable[[Budget], Budget]
    """From the limits of a model to when and how far to reduce."""
    strategy: tuple[Strategy, ...]
    meter: Meter | str | None = None
    """None: the one that suits the model."""
    filters: tuple[Filter, ...] | None = None
    """None: the usual ones."""
    recall: bool = False
    limit: Callable[[str | None], int] | None = None
    """The system's own table of windows, where it has one: it knows every model."""


def codelia(
    *,
    enabled: bool = True,
    auto: bool = True,
    threshold_ratio: float = codelias.THRESHOLD_RATIO,
    retain_last_turns: int = codelias.RETAIN_LAST_TURNS,
    model: str | None = None,
    summary_prompt: str | None = None,
    summary_directives: Sequence[str] = (),
    retain_prompt: str | None = None,
    retain_directives: Sequence[str] = (),
    cache: bool = True,
    context_budget_tokens: int | None = None,
    max_message_bytes: int = SIZE,
    max_line_length: int = LINE,
) -> Preset:
    """Outputs by reference, and at 80 % of the input limit retain, summary and the last turn (A).

    With `enabled=False` nothing is compacted, with `auto=False` only by hand; both hold until the window is full.
    With `cache=False` outputs are shown whole.
    """
    ratio = threshold_ratio if enabled and auto else 1.0
    trimming = elide(keep=1, share=context_budget_tokens, plain=True)
    clipping = clip(line=max_line_length, size=max_message_bytes, keep="head")
    compaction = summarize(
        keep_turns=retain_last_turns,
        keep_first=False,
        model=model,
        custom=summary_prompt,
        directives=summary_directives,
        retain=retain_prompt or True,
        retain_directives=retain_directives,
        refs=False,  # what no placeholder names may be deleted (A7)
        facts=False,
    )
    return Preset(
        name="codelia",
        budget=lambda known: budgets.reduce_like(
            known, budgets.codelia(known.max_input or known.window, ratio)
        ),
        strategy=(*((trimming,) if cache else ()), *((compaction,) if enabled else ())),
        filters=(binary(), *((clipping,) if cache else ())),
        recall=cache,
    )


def openstarry_window() -> Preset:
    """All that system prompt, tools and context leave belongs to the newest history (B3)."""
    return Preset(name="openstarry_window", budget=_everything, strategy=(drop_oldest(keep_first=False),))


def openstarry_summary(
    *, threshold: int = openstarry.THRESHOLD, turns: int = openstarry.OLDEST, model: str | None = None
) -> Preset:
    """Above ten turns, a light model takes the oldest five into a running summary, in the background (B4)."""
    return Preset(
        name="openstarry_summary",
        budget=_everything,
        strategy=(
            rolling(threshold=threshold, turns=turns, model=model),
            drop_oldest(keep_first=False, keep_summaries=True),
        ),
    )


def openstarry_state(schema: Schema = Snapshot, *, model: str | None = None) -> Preset:
    """A declared state is brought up to date after each turn, and sent instead of the dialogue (B5).

    The dialogue leaves where it takes a tenth of the room, down to a fiftieth: the state says what it came to.
    """
    return Preset(
        name="openstarry_state",
        budget=lambda known: replace(known, trigger=0.1, target=0.02),
        strategy=(extract(schema, name="state", model=model),),
    )


def miki(
    *, max_messages: int = mikis.MAX_MESSAGES, profile: str | None = None, scorer: Scorer = score
) -> Preset:
    """The newest 40 % of 24 messages and the most important of the others, UI trees pruned (C)."""
    if profile is not None and profile not in mikis.PROFILES:
        raise unknown("profile", profile, mikis.PROFILES)
    most = mikis.PROFILES[profile] if profile else max_messages
    trees = prune(
        tools=tuple(mikis.LIMITS),
        nodes=mikis.MAX_UI_NODES,
        depth=mikis.MAX_UI_DEPTH,
        children=mikis.MAX_UI_CHILDREN,
        text=mikis.MAX_TEXT_CHARS,
    )
    data = clip(line=mikis.MAX_TEXT_CHARS, size=mikis.MAX_DATA_CHARS, unit="characters", sparing=mikis.LIMITS)
    return Preset(
        name="miki",
        budget=lambda known: known,
        strategy=(importance(most=most, newest=mikis.NEWEST, scorer=scorer),),
        meter="characters/4",
        filters=(trees, binary(), data),
    )


def gemini_cli(
    *,
    threshold: float = gemini.COMPRESSION_THRESHOLD,
    keep: float = gemini.PRESERVE_THRESHOLD,
    other: float = 1.3,
    model: str | None = None,
) -> Preset:
    """At half of the window, a snapshot of the state in the place of the oldest 70 % (D)."""
    return Preset(
        name="gemini_cli",
        budget=lambda known: budgets.reduce_like(known, budgets.gemini_cli(known.window, threshold, keep)),
        strategy=(
            summarize(
                style="snapshot",
                keep=keep,
                split="turn",
                keep_first=False,
                acknowledge=True,
                model=model,
                whole=True,  # a snapshot that is too long fails the compression; it is not cut to pass (D8)
            ),
        ),
        meter=by_script(other=other),
        limit=gemini.token_limit,
    )


def roo_code(
    *,
    auto_condense: bool = True,
    percent: float = CONDENSE_PERCENT,
    max_tokens: int | None = None,
    profiles: Mapping[str, float] | None = None,
    profile: str | None = None,
    model: str | None = None,
    custom: str | None = None,
    layout: Literal["documented", "later"] = "documented",
) -> Preset:
    """At 75 % of the window a summary before the last three messages; where that fails, half is hidden (E).

    Without `auto_condense`, half is hidden where the window is full.
    """
    if layout not in ("documented", "later"):
        raise unknown("layout", layout, ("documented", "later"))
    least = effective_threshold(percent, profiles or {}, profile) if auto_condense else 100
    condense = summarize(
        style="sections", keep_messages=N_MESSAGES_TO_KEEP, model=model, custom=custom, facts=False
    )
    told = told_by_assistant(condense) if layout == "documented" else condense
    return Preset(
        name="roo_code",
        budget=lambda known: replace(
            budgets.reduce_like(known, budgets.roo_code(known.window, max_tokens, least)), shared=True
        ),
        strategy=(*((told,) if auto_condense else ()), when(_full, truncate(0.5))),
        meter="roo_code",
    )


def _full(view: View, budget: Budget) -> bool:
    return not view.fits(budget)


def _everything(known: Budget) -> Budget:
    return budgets.reduce_like(known, budgets.openstarry(known.limit))


PRESETS: dict[str, Callable[..., Preset]] = {
    "codelia": codelia,
    "openstarry_window": openstarry_window,
    "openstarry_summary": openstarry_summary,
    "openstarry_state": openstarry_state,
    "miki": miki,
    "gemini_cli": gemini_cli,
    "roo_code": roo_code,
}
