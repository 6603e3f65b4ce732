"""Summarise: a model writes down what the old part says, and that stands in its place (A9-A17, D5, E3, E4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
    decides. A summary that stands already is taken into the new one. The summary stands in a hand-over, with `facts`
    from the log beside it; without them, or where it is to stay `whole`, it stands alone with what it lost: pinned
    lines, the first request, rules, important names. Long words are cut, unless it is `whole`. `retain` asks for a list
    of what must not be lost, in words of your own if it is a text; that list stands first. `acknowledge` adds a short
    reply. `refs`: whether it names a reference to what it hides; by default where there are recall tools.
    """
    if style not in ("summary", "snapshot", "sections"):
        raise BadSetting(f"A summary's style is summary, snapshot or sections, not {style!r}.")
    retaining = bool(retain or retain_directives)
    wanted = _listing(retain, retain_directives) + with_directives(custom or prompt(style), directives)
    tail = Split(keep, keep_turns, keep_messages, split)
    write = told if facts and not whole else partial(audited, whole=whole)

    def summarize(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        if len((old := spared(tail.old(view, budget), first)).rows) < least:
            return
        answer = yield from ask(old.messages, wanted, model=model)
        text = read_summary(answer, style)
        kept = bounded(tagged(spoken(answer), "retain") or "", view, budget, RETAINED) if retaining else ""
        text = write(text, old, view, budget)
        if tail == Split(at=split) and fills(budget):  # what it tells of and is not folded may be read twice
            fewer = fewest(old, kept + text, view, budget.goal, [first] if first else [])
            old = fewer if len(fewer.rows) >= least else old
        yield Fold(old.covers, _shows(kept, text, old, view, acknowledge=acknowledge, ref=refs))

    summarize.asks = True  # type: ignore[attr-defined]
    return summarize


def _listing(retain: bool | str, directives: Sequence[str]) -> str:
    """The question for a list of what must not be lost, if one is wanted, in the caller's words or in ours."""
    if not (retain or directives):
        return ""
    asked = retain if isinstance(retain, str) and retain else prompt("retain")
    return f"{with_directives(asked, directives)}\n\n"


def _shows(
    kept: str, text: str, old: Span, view: View, *, acknowledge: bool, ref: bool | None
) -> str | tuple[Message, ...]:
    """What stands in the place of the old rows: what was retained, the summary, a word of acknowledgement."""
    if not kept and not acknowledge:
        return sealed(text, old, view, ref=ref)
    texts = sealed_apart(kept, text, old, view, ref=ref) if kept else (sealed(text, old, view, ref=ref),)
    return (*map(user, texts), *((assistant(ACKNOWLEDGED),) if acknowledge else ()))
