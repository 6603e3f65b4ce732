"""Writing a hand-over: sections in their order, each within its bound, the newest winning within it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fanfold.strategies.handover import sections
from fanfold.strategies.handover.facts import Asked
from fanfold.strategies.handover.sections import Line, Story
from fanfold.strategies.handover.talk import replaced, weighty
from fanfold.text.cutting import cut
from fanfold.text.excerpt import short

Measure = Callable[[str], int]
_SHARES: tuple[tuple[str, sections.Section, float], ...] = (
    ("plan", sections.plan, 0.12),
    ("files", sections.files, 0.22),
    ("done", sections.done, 0.26),
    ("checks", sections.checks, 0.06),
    ("failures", sections.failures, 0.11),
    ("found", sections.found, 0.23),
)
"""The sections that the story is told in, and the share of its room that each may take; what one leaves free is for
those behind it."""
_LINE = 2
"""Tokens of what stands around a line."""
_QUOTED, _BEGINNING = 600, 300
"""Characters of a request that is quoted whole, and of the beginning of a longer one."""


class Room(msgspec.Struct, frozen=True):
    """Tokens that the parts of a hand-over may take."""

    user: int
    """What the person asked and ruled."""
    story: int
    names: int = 0
    outputs: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.user + self.story + self.names + self.outputs


class Page(msgspec.Struct, frozen=True):
    """A hand-over: its text, and the entries that each line was made from."""

    text: str
    sources: tuple[tuple[str, ...], ...] = ()


def write(story: Story, room: Room, measure: Measure, names: Iterable[str] = ()) -> Page:
    """The hand-over of a story. `names` are the names that matter, best first."""
    tongue = story.tongue
    found: list[tuple[str, list[Line]]] = []
    left = room.story
    left -= _add(found, tongue.summary, summary(story), room.story // 3, measure)
    _add_user(found, story, room.user, measure)
    wanted = [(name, lines, share) for name, make, share in _SHARES if (lines := list(make(story)))]
    for at, (name, lines, share) in enumerate(wanted):
        part = int(left * share / sum(other for _, _, other in wanted[at:]))
        left -= _add(found, getattr(tongue, name), lines, part, measure, more=tongue.more)
    told = "\n".join(line.text for _, lines in found for line in lines)
    _add(found, tongue.names, _rows(names, told, story.root, room.names, measure), room.names + 64, measure)
    _add(found, tongue.outputs, list(sections.outputs(story, told)), room.outputs, measure)
    return _page(found, story)


def _page(found: Sequence[tuple[str, list[Line]]], story: Story) -> Page:
    root = story.tongue.below.format(story.root) if story.root else ""
    lines: list[tuple[str, tuple[str, ...]]] = [(" ".join(filter(None, (story.tongue.opening, root))), ())]
    for heading, some in found:
        lines.append((heading, ()))
        lines += [(f"- {line.text}".replace("\n", "\n  "), line.entries) for line in some]
    return Page("\n".join(text for text, _ in lines), tuple(entries for _, entries in lines))


def _add(
    found: list[tuple[str, list[Line]]],
    heading: str,
    lines: Sequence[Line],
    room: int,
    measure: Measure,
    more: str = "",
) -> int:
    """Put a section in, as much of it as fits; returns the tokens that it takes."""
    room -= measure(heading) + _LINE
    kept, taken = fit(lines, room, measure)
    if not kept:
        return 0
    if more and len(kept) < len(lines):
        kept = [Line(more.format(len(lines) - len(kept))), *kept]
    found.append((heading, kept))
    return taken + measure(heading) + _LINE


def fit(lines: Sequence[Line], room: int, measure: Measure) -> tuple[list[Line], int]:
    """The newest lines that fit in their brief form, those that say little last; of them the newest in full."""
    chosen: dict[int, int] = {}
    left = room
    for slight in (False, True):
        for at in range(len(lines) - 1, -1, -1):
            if lines[at].slight is slight and lines[at].brief:
                cost = measure(lines[at].brief) + _LINE
                if cost > left:
                    break
                chosen[at] = cost
                left -= cost
    kept = {at: lines[at].brief for at in sorted(chosen)}
    for at in sorted(chosen, reverse=True):
        more = measure(lines[at].full) + _LINE - chosen[at] if lines[at].full else 0
        if more > left:
            break
        left -= max(0, more)
        kept[at] = lines[at].text
    return [Line(text, "", lines[at].entries) for at, text in kept.items()], room - left


def _rows(names: Iterable[str], told: str, root: str, room: int, measure: Measure) -> list[Line]:
    """Names in lines of their own, by the output in which they stand."""
    groups: dict[str, list[str]] = {}
    left = room
    for name in names:
        plain, _, ref = name.rstrip(")").partition(" (")
        if (plain.removeprefix(root) or plain) in told:
            continue
        left -= measure(plain) + 1
        if left < 0:
            break
        groups.setdefault(ref, []).append(plain)
    return [Line(f"{' | '.join(some)}{f' ({ref})' if ref else ''}") for ref, some in groups.items()]


def summary(story: Story) -> list[Line]:
    """The newest hand-over that a client wrote itself."""
    told = [item for item in story.items if isinstance(item, Asked) and item.words.speaker == "summary"]
    return [Line(_shortened(told[-1].words.text, 3_000), told[-1].words.text[:9_000], (told[-1].entry,))] if told else []


def _add_user(found: list[tuple[str, list[Line]]], story: Story, room: int, measure: Measure) -> None:
    """What the person asked and ruled: rules first, then the first request, then the newest."""
    asked = [item for item in story.items if isinstance(item, Asked)]
    persons = [item for item in asked if item.words.speaker == "person"]
    texts = [item.words.own for item in persons]
    gone = replaced([*texts, *(i.words.own for i in story.later if isinstance(i, Asked))])
    first = not any(isinstance(item, Asked) and item.words.speaker == "person" for item in story.before)
    tasks = list(_tasks(persons, gone, room, measure, story, first=first))
    task, taken = _fit_tasks(tasks, room, measure, first=first)
    told = "\n".join(line.text for line in task)
    rules = [
        Line(rule, "", (item.entry,)) for item in persons for rule in item.words.rules if rule not in told and rule not in gone
    ]
    if rules:
        need = sum(measure(line.brief) + _LINE for line in rules)
        task, taken = _fit_tasks(tasks, max(room - need, room // 3), measure, first=first)
    if task:
        found.append((story.tongue.task, task))
    _add(found, story.tongue.rules, rules, max(0, room - taken), measure)
    context = [item for item in asked if item.words.speaker == "context"]
    lines = [line for item in context for line in _demands(item, story)]
    _add(found, story.tongue.instructions, lines, max(0, room - taken) // 2, measure)


def _fit_tasks(lines: Sequence[Line], room: int, measure: Measure, *, first: bool) -> tuple[list[Line], int]:
    """The first request, as far as there is room, and the newest of the others."""
    if not first or not lines:
        return fit(lines, room, measure)
    opening = lines[0]
    rest = sum(measure(line.brief) + _LINE for line in lines[1:] if line.brief)
    share = max(room // 2, room - rest)
    whole = opening if measure(opening.text) <= share else Line(_within(opening.text, share, measure), "", opening.entries)
    taken = measure(whole.text) + _LINE
    others, more = fit(lines[1:], room - taken, measure)
    return [Line(whole.text, "", whole.entries), *others], taken + more


def _tasks(
    persons: Sequence[Asked], gone: frozenset[str], room: int, measure: Measure, story: Story, *, first: bool
) -> Iterator[Line]:
    for at, item in enumerate(persons):
        text = item.words.text
        if at == 0 and first:
            yield Line(text, "", (item.entry,))
            continue
        size = story.tongue.chars.format(f"{len(text):,}")
        whole = text if len(text) <= _QUOTED else f"{_shortened(text, _BEGINNING)} … ({size})"
        brief = weighty(item.words.own, gone) or weighty(item.words.own, gone, 2)
        yield Line(short(brief, 240) or short(text, 80), whole, (item.entry,))


def _demands(item: Asked, story: Story) -> Iterator[Line]:
    """How instructions begin, and the lines in which they demand something."""
    text = item.words.text
    yield from reversed([Line(short(line, 200), "", (item.entry,)) for line in item.words.ruling_lines()][:40])
    size = story.tongue.chars.format(f"{len(text):,}")
    yield Line(f"{short(text, 160)} ({size})", "", (item.entry,))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: cut(text, most)]


def _within(text: str, room: int, measure: Measure) -> str:
    """The beginning of a text, within so many tokens, and behind it what it demands."""
    total = max(1, measure(text))
    if total <= room:
        return text
    keep = max(80, int(len(text) * room / total) - 40)
    return f"{text[: cut(text, keep)]} … [{len(text):,}]"
