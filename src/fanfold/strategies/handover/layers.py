"""The hand-over as a strategy: the oldest stretch becomes a layer, written from the log.

A layer that was written stays as it is, so that the prompt cache keeps hitting; the next stretch becomes another layer
behind it. Only where the layers take too much are they written anew, as one, from the log.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, cast

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Edit, Elide, Fold
from fanfold.core.message import Call, Message, Result, Text, text_of
from fanfold.core.plan import Plan, Strategy, ask
from fanfold.core.view import Row, Span, View
from fanfold.strategies.filling import clip_newest, fewest, fills, left_free
from fanfold.strategies.framing import framing, is_crowded
from fanfold.strategies.handover.facts import DoneCall
from fanfold.strategies.handover.first import first_request, request_in
from fanfold.strategies.handover.names import Known, Sight, names_in, names_shown, ordered, see
from fanfold.strategies.handover.past import Past, newest_of, past_of, replies_of
from fanfold.strategies.handover.ruling import strict
from fanfold.strategies.handover.seal import sealed, unsealed
from fanfold.strategies.handover.sections import Story
from fanfold.strategies.handover.tongue import story_in
from fanfold.strategies.handover.tools import tools_with
from fanfold.strategies.handover.writing import Outline, Page, Room, outline
from fanfold.strategies.prompting import prompt, read_summary
from fanfold.strategies.shortening import shortened_arguments
from fanfold.text.identifiers import identifiers
from fanfold.text.patterns import pattern

MEMORY, LEAST = 0.58, 1 / 3
"""The share of the target that all layers may take together, and of what the frame leaves that counts as the target
where it is lower."""
MOST, _PIECES, _ANEW = 8, 8, 0.7
"""So many layers may stand; where less than the eighth part of their room is left, all are written anew in so much of
it."""
_LITTLE = 18_000
"""A room smaller than this is small."""
_MORE = (1.14, 1.45, 1.0)
"""In a crowded room, in a small one and in others, layers may take so much more: there, what is told in brief is most
of what there is."""
_NAMES, _OUTPUTS = (0.42, 0.33, 0.4), (0.22, 0.16, 0.14)
"""What names and lines about outputs take of a layer: in a crowded room, where few outputs can stay, in a small one and
in others."""
_LARGE, _FEWER = (2_000, 2_800), 0.26
"""Tokens of a layer between which names take less and less of it, down to this share: what was found needs the room."""
_CONSIDERED = 8
"""So many times the room for names is read for them, newest first: older names would hardly rank high enough."""
_WORTH = 0.75
"""A layer takes no more than this share of the rows that it stands for."""
_TRIES, _FILLED, _MARK = 4, 0.03, 24
"""So often the stretch is chosen anew, until no more than this share of the target is free; and tokens of a mark."""
_TELLS = 20
"""This part of the target is left for what a model will tell."""
_ITEMS = 2_000
"""Calls, sayings and requests that a hand-over is made from, besides those that matter however old they are: what a
reduction takes does not grow with the length of a session."""
_RECOGNISED = 60
"""Characters by which a request is recognised."""
_FREE = (4, 2)
"""Where the target is out of reach, a layer takes this part of what is free; in plain talk, where all that is told in
brief is in one hand-over, the second."""
_GIVEN = 4
"""So much slower names grow old that came with the person's words: no reference brings them back."""
_USER = 0.5
"""What the person's words take of a layer, rules and the first request aside."""
_SMALL = 6_000
"""Tokens of a window in which what people said needs the room, whatever the target."""
_SPEECH = 0.75
"""The share of the target that the hand-over of a talk without tools may take."""
_REFERRED, _CHANGED = 280, 12
"""Characters of arguments that get a reference before their call is folded, and how many do so in one reduction."""
_REF = pattern(r"ref=(m\d+)")
_SMALLER = 0.85
"""With the person's words, no more than this."""


def digest(
    *,
    keep_first: bool = True,
    refs: bool | None = None,
    tools: Mapping[str, str] | None = None,
    memory: float = MEMORY,
    least: float = LEAST,
    layered: bool = True,
    story: bool | str = False,
    model: str | None = None,
) -> Strategy:
    """Fold the oldest stretch into a hand-over: task, rules, plan, files, done, checks, failures, findings, names.

    No model is asked, unless there is to be a `story`: then a model tells why things were done, what was found and
    what comes next, asked with our prompt or with yours. `model` is the name of another model than the session's own
    for this. `tools` are names of tools of your own, each with its kind (`"run_sql": "shell"`). Hand-overs may take the
    share `memory` of the target, or of `least` of what the frame leaves; unless `layered`, they are written anew.
    """
    table = tools_with(tools)
    wanted = story if isinstance(story, str) and story else prompt("story") if story else ""

    def digest(view: View, budget: Budget) -> Plan:
        kept, hidden = _first(view, budget) if keep_first else [], _forgetful(view)
        if view.tokens <= budget.goal and view.fits(budget) and not hidden:
            return
        past = past_of(view, table)
        # In plain talk a later word may change an earlier one, and what matters is ranked over all of it.
        layers = written(view) if layered and not hidden and not past.plain else []
        but, most = _spared(view, budget, kept, layers, (memory, least), plain=past.plain)
        old, outlined, room = _stretch(view, budget, but, most, past, tells=bool(story))
        if outlined is None:
            return
        told = ""
        if story:
            answer = yield from ask(_question(old, layers), wanted, model=model)
            told = read_summary(answer)
        view, given = yield from _refer(old, view, past)
        past = msgspec.structs.replace(past, given=given)
        if told or given:
            outlined = outline_of(old, view, room, past, told=told)
        page = outlined.page(names_of(old, view, past, room.names))
        if not page.text:
            return
        if fills(budget):
            tell = partial(page_of, room=room, past=past, told=told)
            old, page, view = yield from _fill(old, page, view, budget.goal, [*kept, *layers], refs, tell)
        yield Fold(old.covers, sealed(page.text, old, view, ref=refs), sources=page.sources_behind(1))

    digest.asks = bool(story)  # type: ignore[attr-defined]
    return digest


def next_stretch(view: View, budget: Budget, *, least: float = LEAST) -> Span:
    """The rows that the next hand-over will take in any case, where others stand before it already."""
    layers = [] if _forgetful(view) else written(view)
    if not layers:
        return Span()
    but, most = _spared(view, budget, _first(view, budget), layers, (MEMORY, least), plain=False)
    return view.oldest(leaving=budget.goal - most // _PIECES, but=but)


def _refer(old: Span, view: View, past: Past) -> Generator[Edit, View, tuple[View, dict[str, str]]]:
    """Give the newest change of each file a reference, so that the hand-over can name it: it stands in the arguments of
    a call, and nothing but the log has them when the call is folded."""
    if view.refs is None or past.plain:
        return view, {}
    taken = {row.id: row for row in old.rows if row.kind == "entry" and row.calls}
    behind = _behind(old, view)
    later = (item for row in behind for item in past.chapters[row.id].items)
    steps = (item for item in later if type(item) is DoneCall and item.ended.ok is not False)
    seen = {change.path for item in steps for change in item.use.changes}
    given: dict[str, str] = {}
    for row in reversed(old.rows):
        for item in reversed(past.chapters[row.id].items):
            if type(item) is not DoneCall or not item.use.changes or item.ended.ok is False:
                continue
            new = {change.path for change in item.use.changes} - seen
            seen |= new
            entry, _, number = item.use.at.partition("#")
            if not new or entry not in taken or item.use.at in view.refs:
                continue
            part = taken[entry].messages[0].parts[int(number)]
            known = (
                isinstance(part, Call) and '"_elided"' in part.raw[:12]
            )  # an earlier step of the plan did it
            if isinstance(part, Call) and not known and len(part.raw) > _REFERRED and len(given) < _CHANGED:
                view = yield Elide(item.use.at, shortened_arguments(part, refs=True))
                part = next(row for row in view.rows if row.id == entry).messages[0].parts[int(number)]
            if found := _REF.search(text_of(part)[:200]):
                given[item.use.at] = found[1]
    return view, given


def _first(view: View, budget: Budget) -> list[Row]:
    """The first request, where it stays in its place."""
    first = first_request(view, budget)
    return [first] if first and _leads(first, view) else []


def _forgetful(view: View) -> list[Row]:
    """The rows that hide what a person ruled or asked first."""
    return [row for row in view.rows if row.kind in ("fold", "drop") and row.asked and _forgets(row, view)]


def _least(room: int, least: float, *, plain: bool) -> int:
    """What may be filled, however low the target is: in a small window, most of it in plain talk."""
    if plain:
        return 3 * room // 5 if room <= _SMALL else room // 10
    return int(least * room)


def _share(most: int, layers: Sequence[Row], *, plain: bool) -> int:
    """What a hand-over may take of the room for all: in plain talk there is but one."""
    if plain:
        return most
    return int(_ANEW * most) if layers else most // 2


def _spared(
    view: View,
    budget: Budget,
    kept: Sequence[Row],
    layers: Sequence[Row],
    shares: tuple[float, float],
    *,
    plain: bool,
) -> tuple[list[Row], int]:
    """The rows that stay, and the room of the next hand-over: another layer behind those that stand, or one in the
    place of all of them."""
    memory, least = shares
    free, least = budget.goal - framing(view), _least(budget.room - framing(view), least, plain=plain)
    tier = 2 if plain else _tier(view, budget)
    share = max(memory, _SPEECH) if plain else memory
    most = int(share * max(0, _MORE[tier] * free, min(_MORE[0], _MORE[tier]) * least))
    left = most - sum(row.tokens for row in layers)
    if layers and len(layers) < MOST and left >= most // _PIECES and _stands_behind(view, kept, layers):
        return [*kept, *layers], min(left, most // 2)
    return [*kept], _share(most, layers, plain=plain)


def _question(old: Span, layers: Sequence[Row]) -> list[Message]:
    """What a model reads to tell the story: the hand-overs so far, and the rows that go."""
    before = [row for row in layers if row.id not in old.covers]
    return [message for row in (*before, *old.rows) for message in row.messages]


def _fill(
    old: Span,
    page: Page,
    view: View,
    goal: int,
    but: Sequence[Row],
    refs: bool | None,
    tell: Callable[[Span, View], Page],
) -> Generator[Edit, Any, tuple[Span, Page, View]]:
    """The fewest rows that have to go so that the goal is left, the next one clipped; and their hand-over."""
    for _ in range(_TRIES):
        fewer = fewest(old, page.text, view, goal, but)
        if not 2 <= len(fewer.rows) < len(old.rows):
            break
        shorter = tell(fewer, view)
        if left_free(fewer, shorter.text, view, goal) < 0:
            break
        old, page = fewer, shorter
    named = view.refs is not None if refs is None else refs
    clipped = clip_newest(old, page.text, view, goal, refs=named)
    if clipped is not None:
        edit, old = clipped
        view = yield edit
        page = tell(old, view)
    return old, page, view


def _tier(view: View, budget: Budget) -> int:
    """Whether the room beside the frame is crowded (0), small (1), or neither (2)."""
    if is_crowded(budget, framing(view)):
        return 0
    return 1 if budget.room - framing(view) < _LITTLE else 2


def written(view: View) -> list[Row]:
    """The layers that stand, and whose entries the log knows."""
    return [
        row for row in view.rows if row.kind == "fold" and unsealed(row) is not None and view.behind(row.id)
    ]


def _leads(first: Row, view: View) -> bool:
    """Whether nothing that may go stands before a request: a hand-over that stands before it has to tell it."""
    offered = view.offered[0].rows[0] if view.offered else first
    return offered is first or next(row for row in view.rows if row is first or row is offered) is first


def _forgets(row: Row, view: View) -> bool:
    """Whether a row hides what a person ruled or asked first: there was no room for it when the row was made."""
    known: dict[str, tuple[Row, bool]] = view.memory.setdefault("forgets", {})
    if row.id not in known or known[row.id][0] is not row:
        text = "\n".join(message.text for message in row.messages)
        messages = zip(row.asked, map(view.said, row.asked), strict=True)
        said = [request_in(entry, one, view).words for entry, one in messages if one is not None]
        asked = [words for words in said if words.speaker in ("person", "context")]
        first = asked[0].text[:_RECOGNISED] if asked else ""
        rules = (rule for words in asked for rule in words.rules if strict(rule))
        tells = " ".join(first.split()) in " ".join(text.split()) and all(rule in text for rule in rules)
        known[row.id] = row, not tells
    return known[row.id][1]


def _stands_behind(view: View, kept: Sequence[Row], layers: Sequence[Row]) -> bool:
    """Whether all that is on offer came after the layers: what stayed before one for a time has to be told in order."""
    spared = {row.id for row in (*kept, *layers)}
    free = {row.id for block in view.offered for row in block.rows} - spared
    last = max(at for at, row in enumerate(view.rows) if row.id == layers[-1].id)
    return not any(row.id in free for row in view.rows[:last])


def _stretch(
    view: View, budget: Budget, but: Sequence[Row], most: int, past: Past, *, tells: bool
) -> tuple[Span, Outline | None, Room]:
    """The rows that go so that the target is filled, and what stands in their place: at most so many tokens, and a
    tenth of the window for the person's words."""
    spare = spare_of(view, budget)
    most = min(most, max(0, spare))
    tight = budget.goal < view.held + most
    if tight:  # the target is out of reach: enough stays free, or the next reduction is due at once
        most = min(most, spare // _FREE[past.plain])
    goal = max(budget.goal, view.held + most)
    tier = _tier(view, budget)
    reserve = most
    old, room = Span(), Room(0, 0, 0)
    told, size, last = None, 0, Span()
    for _ in range(_TRIES):
        old = view.oldest(leaving=min(goal, view.tokens) - reserve, but=but)
        if len(old.rows) < 2:
            return old, None, room
        own = min(most, int(_WORTH * old.tokens))
        names, outputs = int(_share_of_names(tier, own) * own), int(_OUTPUTS[tier] * own) if view.refs else 0
        total = min(spare, int(_SMALLER * old.tokens) - _MARK)
        user = min(total, budget.window // 10, most if tight else int(_USER * most))
        room = Room(total=total, user=user, story=own - names - outputs, names=names, outputs=outputs)
        if past.plain:
            room = Room(total=min(total, own), user=min(total, own), story=own)
        if told is None or (old.covers, room) != (last.covers, told.room):
            told, last = outline_of(old, view, room, past), old
            size = told.size()
        taken = min(total, size + names) + _MARK + (goal // _TELLS if tells else 0)
        free = goal - (view.tokens - old.tokens + taken)
        if abs(free) <= goal * _FILLED or (free > 0 and reserve <= taken) or view.tokens <= goal:
            break
        reserve = taken if free > 0 else taken - free
    return old, told, room


def _share_of_names(tier: int, own: int) -> float:
    """What names take of a layer of so many tokens."""
    low, high = _LARGE
    large = min(1.0, max(0.0, (own - low) / (high - low)))
    return _NAMES[tier] - large * (_NAMES[tier] - min(_NAMES[tier], _FEWER))


def spare_of(view: View, budget: Budget) -> int:
    """What is left of the room when everything on offer is gone. Where that alone does not fit, it is clipped in any
    case, and there is room for what must not be lost."""
    return (budget.room - view.held if view.held <= budget.room else budget.room // 3) - _MARK


def page_of(old: Span, view: View, room: Room, past: Past, *, told: str = "") -> Page:
    """The hand-over of some rows, with the story that a model told of them, if one did."""
    return outline_of(old, view, room, past, told=told).page(names_of(old, view, past, room.names))


def outline_of(old: Span, view: View, room: Room, past: Past, *, told: str = "") -> Outline:
    """The hand-over of some rows, but for names and outputs."""
    story = msgspec.structs.replace(story_of(old, view, past), told=told)
    return outline(story, room, view.count)


def story_of(old: Span, view: View, past: Past) -> Story:
    """What happened in some rows, and around them."""
    taken = set(old.covers)
    at = next(number for number, row in enumerate(view.rows) if row.id in taken)
    chapters = past.chapters
    items, cut = newest_of([chapters[row.id] for row in old.rows], _ITEMS)
    said = tuple(chain.from_iterable(chapters[row.id].said for row in old.rows))
    entries = frozenset(chain.from_iterable(chapters[row.id].entries for row in old.rows))
    replies = replies_of(chapters[row.id] for row in view.rows)
    return Story(
        items=items,
        tongue=past.tongue,
        before=tuple(chain.from_iterable(chapters[row.id].lasting for row in view.rows[:at])),
        later=tuple(chain.from_iterable(chapters[row.id].items for row in _behind(old, view))),
        refs=_both(past.given, view.refs or {}),
        root=past.root,
        plain=past.plain,
        sayings=said[-_ITEMS:],
        replies=tuple(one for one in replies if one.asked.entry in entries or one.by in entries),
        cut=cut,
        echoes=past.echoes,
        follows=any(unsealed(row) is not None for row in view.rows[:at]),
        words=tuple(
            text for row in old.rows if row.kind == "fold" and (text := story_in(unsealed(row) or ""))
        ),
    )


def _behind(old: Span, view: View) -> list[Row]:
    """The rows that stay and came after the first of some rows; what stands before them is older."""
    taken = set(old.covers)
    at = next(number for number, row in enumerate(view.rows) if row.id in taken)
    return [row for row in view.rows[at:] if row.id not in taken]


def _both(given: Mapping[str, str], known: Mapping[str, str]) -> Mapping[str, str]:
    """References of a plan and of the log, looked at without a copy: a long session has thousands."""
    return ChainMap(dict(given), cast("dict[str, str]", known)) if given else known


def names_of(old: Span, view: View, past: Past, room: int) -> Iterator[tuple[str, str]]:
    """The names of some rows by rank, with the reference of their output; none that is still in view."""
    taken, refs = set(old.covers), view.refs or {}
    shown = names_shown([row for row in view.rows if row.id not in taken], view)
    where: dict[str, str] = {}
    sights: dict[str, Sight] = {}
    left = float(_CONSIDERED * room)
    for age, (entry, message) in enumerate(_newest_first(old.rows, view)):
        if left < 0:
            break
        for number, part in enumerate(message.parts if message.role != "assistant" else ()):
            if isinstance(part, Result | Text):
                address = f"{entry}#{number}"
                found = names_in(address, part, view)
                old_by = age if isinstance(part, Result) else age // _GIVEN
                new = see(found, sights, old_by)
                left -= len("".join(new)) / 3
                where.update(dict.fromkeys(new, refs.get(address, "")))
    pinned = frozenset(identifiers("\n".join(view.pinned_texts)))
    known = Known(pinned, frozenset(past.named), past.used, past.spoken)
    return ((name, where[name]) for name in ordered(sights, known, shown))


def _newest_first(rows: Sequence[Row], view: View) -> Iterator[tuple[str, Message]]:
    """The messages behind some rows, as they were recorded, each with its entry; folds of ours are opened."""
    for row in reversed(rows):
        if row.kind == "entry":
            yield row.id, row.whole
        elif row.kind in ("fold", "mend", "drop"):
            for entry in reversed(view.behind(row.id) or row.asked):
                message = view.said(entry)
                if message is not None:
                    yield entry, message
