"""Summarise: a model writes down what the old part says, and that stands in its place (A9-A17, D5, E3, E4)."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.errors import BadSetting
from fanfold.core.message import Message, assistant, user
from fanfold.core.plan import Plan, Strategy, ask
from fanfold.core.view import Span, View
from fanfold.strategies.filling import fewest, fills
from fanfold.strategies.handover.auditing import RETAINED, audited, bounded, told
from fanfold.strategies.handover.first import first_request
from fanfold.strategies.handover.seal import sealed, sealed_apart
from fanfold.strategies.prompting import Style, prompt, read_summary, spoken, tagged, with_directives
from fanfold.strategies.splitting import At, Split, spared

ACKNOWLEDGED = "Got it. Thanks for the additional context!"


def summarize(
    *,
    style: Style = "summary",
    keep: float | None = None,
    keep_turns: int | None = None,
    keep_messages: int | None = None,
    split: At = "block",
    keep_first: bool = True,
    model: str | None = None,
    custom: str | None = None,
    directives: Sequence[str] = (),
    retain: bool | str = False,
    retain_directives: Sequence[str] = (),
    acknowledge: bool = False,
    least: int = 2,
    refs: bool | None = None,
    whole: bool = False,
    facts: bool = True,
) -> Strategy:
    """Fold everything but the newest into a model's summary.

    The tail is given as a share of the view or in tokens (`keep`), in turns or in messages; by default the target
    decides. A summary that stands already is taken into the new one. The summary stands in a hand-over, with the
    `facts` from the log beside it; without them it stands alone, and only what it lost is added: pinned lines, the
    first request, the user's rules, important names. Words that take more than about a third of the target are cut;
    with `whole`, which has no facts either, they never are. `retain` asks for a list of what must not be lost, in words
    of your own if it is a text; that list stands first. `acknowledge` adds a short reply of the assistant behind the
    summary. `refs`: whether it names a reference to what it hides; by default where there are recall tools.
    """
    if style not in ("summary", "snapshot", "sections"):
        raise BadSetting(f"A summary's style is summary, snapshot or sections, not {style!r}.")
    retaining = bool(retain or retain_directives)
    listing = f"{_listing(retain, retain_directives)}\n\n" if retaining else ""
    wanted = listing + with_directives(custom or prompt(style), directives)
    tail = Split(keep, keep_turns, keep_messages, split)

    def summarize(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        old = spared(tail.old(view, budget), first)
        if len(old.rows) < least:
            return
        answer = yield from ask(old.messages, wanted, model=model)
        text = read_summary(answer, style)
        kept = bounded(tagged(spoken(answer), "retain") or "", view, budget, RETAINED) if retaining else ""
        if facts and not whole:
            text = told(text, old, view, budget)
        else:
            text = audited(text, old, view, budget, whole=whole)
        if tail == Split(at=split) and fills(budget):  # what it tells of and is not folded may be read twice
            fewer = fewest(old, kept + text, view, budget.goal, [first] if first else [])
            old = fewer if len(fewer.rows) >= least else old
        yield Fold(old.covers, _shows(kept, text, old, view, acknowledge=acknowledge, ref=refs))

    summarize.asks = True  # type: ignore[attr-defined]
    return summarize


def _listing(retain: bool | str, directives: Sequence[str]) -> str:
    """The question for a list of what must not be lost, in the caller's words or in ours."""
    return with_directives(retain if isinstance(retain, str) and retain else prompt("retain"), directives)


def _shows(
    kept: str, text: str, old: Span, view: View, *, acknowledge: bool, ref: bool | None
) -> str | tuple[Message, ...]:
    """What stands in the place of the old rows: what was retained, the summary, a word of acknowledgement."""
    if not kept and not acknowledge:
        return sealed(text, old, view, ref=ref)
    texts = sealed_apart(kept, text, old, view, ref=ref) if kept else (sealed(text, old, view, ref=ref),)
    return (*map(user, texts), *((assistant(ACKNOWLEDGED),) if acknowledge else ()))
