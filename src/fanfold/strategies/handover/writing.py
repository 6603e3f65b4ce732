"""Writing a hand-over: sections in their order, each within its bound, the newest winning within it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fanfold.strategies.handover import sections
from fanfold.strategies.handover.facts import Asked
from fanfold.strategies.handover.gist import quoted
from fanfold.strategies.handover.names import folders_of
from fanfold.strategies.handover.ruling import strict
from fanfold.strategies.handover.sections import Line, Story
from fanfold.strategies.handover.talk import replaced, weighty
from fanfold.text.cutting import cut, short

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
_SMALL = 600
"""Tokens of a hand-over that is too small for an opening."""
_LINE = 2
"""Tokens of what stands around a line."""
_QUOTED, _BEGINNING = 600, 300
"""Characters of a request that is quoted whole, and of the beginning of a longer one."""


class Room(msgspec.Struct, frozen=True):
    """Tokens that the parts of a hand-over may take at most, and all of it together."""

    total: int
    user: int
    """What the person asked and ruled; it comes before all else."""
    story: int
    names: int = 0
    outputs: int = 0


class Page(msgspec.Struct, frozen=True):
    """A hand-over: its text, and the entries that each line was made from."""

    text: str
    sources: tuple[tuple[str, ...], ...] = ()


class Outline(msgspec.Struct, frozen=True):
    """A hand-over without names and outputs."""

    sections: tuple[tuple[str, list[Line]], ...]
    story: Story
    room: Room
    spare: int
    """Tokens that are left of all of its room."""
    measure: Measure

    def page(self, names: Iterable[tuple[str, str]] = ()) -> Page:
        """The hand-over. `names` are the names that matter, best first, each with a reference or none."""
        found, spare, tongue = [*self.sections], self.spare, self.story.tongue
        told = "\n".join([line.text for _, lines in found for line in lines])
        rows = _rows(names, told, min(self.room.names, spare), self.measure)
        spare -= _add(found, tongue.names, rows, min(self.room.names + 64, spare), self.measure)
        most = min(self.room.outputs, spare)
        lines = list(sections.outputs(self.story, told)) if most > 0 else []
        _add(found, tongue.outputs, lines, most, self.measure)
        return _page(found, self.story, self.room.total)


def outline(story: Story, room: Room, measure: Measure) -> Outline:
    """What happened, in sections within their bounds."""
    tongue = story.tongue
    found: list[tuple[str, list[Line]]] = []
    spare = room.total - _add_user(found, story, room, measure)
    left = min(room.story, spare)
    left -= _add(found, tongue.summary, summary(story), left // 3, measure)
    wanted = [(name, lines, share) for name, make, share in _SHARES if (lines := list(make(story)))]
    for at, (name, lines, share) in enumerate(wanted):
        part = int(left * share / sum(other for _, _, other in wanted[at:]))
        left -= _add(found, getattr(tongue, name), lines, part, measure, more=tongue.more)
    return Outline(
        sections=tuple(found),
        story=story,
        room=room,
        spare=spare - min(room.story, spare) + left,
        measure=measure,
    )


def _page(found: Sequence[tuple[str, list[Line]]], story: Story, total: int) -> Page:
    root = story.tongue.below.format(story.root) if story.root else ""
    opening = story.tongue.opening if total > _SMALL else ""
    lines: list[tuple[str, tuple[str, ...]]] = [(" ".join(filter(None, (opening, root))), ())]
    for heading, some in found:
        lines.append((heading, ()))
        lines += [(f"- {line.text}".replace("\n", "\n  "), line.entries) for line in some]
    told = [(text, entries) for text, entries in lines if text]
    return Page("\n".join(text for text, _ in told), tuple(entries for _, entries in told))


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
    kept, taken = fit(lines, room, measure) if lines else ([], 0)
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


def _rows(names: Iterable[tuple[str, str]], told: str, room: int, measure: Measure) -> list[Line]:
    """Names in lines of their own, by the output in which they stand."""
    groups: dict[str, list[str]] = {}
    folders: set[str] = set()
    left = room
    for name, ref in names if room > 0 else ():
        if name in folders or name in told:
            continue
        left -= measure(name) + 1
        if left < 0:
            break
        groups.setdefault(ref, []).append(name)
        folders.update(folders_of(name))
    return [Line(f"{' | '.join(some)}{f' ({ref})' if ref else ''}") for ref, some in groups.items()]


def summary(story: Story) -> list[Line]:
    """The newest hand-over that a client or a model wrote."""
    if story.words:
        return [Line(_shortened(quoted(story.words[-1]), 3_000))]
    told = [item for item in story.items if isinstance(item, Asked) and item.words.speaker == "summary"]
    return (
        [Line(_shortened(told[-1].words.text, 3_000), told[-1].words.text[:9_000], (told[-1].entry,))]
        if told
        else []
    )


def _add_user(found: list[tuple[str, list[Line]]], story: Story, room: Room, measure: Measure) -> int:
    """What the person asked and ruled: rules before requests, but for how the first one begins.

    Rules and that beginning may take all of the room, if need be.
    """
    asked = [item for item in story.items if isinstance(item, Asked)]
    persons = [item for item in asked if item.words.speaker == "person"]
    gone = replaced([item.words.own for item in (*persons, *_later(story))])
    begins = not any(isinstance(item, Asked) and item.words.speaker == "person" for item in story.before)
    tasks = list(_tasks(persons, gone, story, begins=begins))
    rules = [
        Line(rule, "", (item.entry,), slight=not strict(rule))
        for item in persons
        for rule in item.words.rules
        if rule not in gone
    ]
    whole = sum(measure(line.text) + _LINE for line in tasks)
    apart = (
        [line for line in rules if not any(line.brief in task.text for task in tasks)]
        if whole <= room.user
        else rules
    )
    rest: list[tuple[str, list[Line]]] = []
    opening = _opening(tasks, begins, measure)
    taken = _add(rest, story.tongue.rules, apart, room.total - opening, measure)
    ruled = {line.brief for _, lines in rest for line in lines}
    tasks = [line for line in tasks if line is tasks[0] or not set(line.text.splitlines()) <= ruled]
    left = max(room.user - taken, min(opening, room.total - taken))
    kept, more = _fit_tasks(tasks, left, measure, begins=begins)
    if kept:
        found.append((story.tongue.task, kept))
    found += rest
    taken += more
    context = [line for item in asked if item.words.speaker == "context" for line in _demands(item, story)]
    left = min(room.total // 6, max(_BEGINNING, (room.user - taken) // 2))
    return taken + _add(found, story.tongue.instructions, context, left, measure)


def _later(story: Story) -> list[Asked]:
    return [item for item in story.later if isinstance(item, Asked) and item.words.speaker == "person"]


def _opening(tasks: Sequence[Line], begins: bool, measure: Measure) -> int:
    """What the first request takes at least."""
    return min(measure(tasks[0].text), measure(tasks[0].text[:_BEGINNING])) + _LINE if tasks and begins else 0


def _fit_tasks(lines: Sequence[Line], room: int, measure: Measure, *, begins: bool) -> tuple[list[Line], int]:
    """The first request, as far as there is room, and the newest of the others."""
    if not begins or not lines:
        return fit(lines, room, measure)
    opening = lines[0]
    rest = sum(measure(line.brief) + _LINE for line in lines[1:] if line.brief)
    whole = Line(_within(opening.text, max(room // 2, room - rest), measure), "", opening.entries)
    taken = measure(whole.text) + _LINE
    others, more = fit(lines[1:], room - taken, measure)
    return [*([whole] if whole.text else ()), *others], taken + more


def _tasks(persons: Sequence[Asked], gone: frozenset[str], story: Story, *, begins: bool) -> Iterator[Line]:
    once = {item.words.text: item for item in reversed(persons)}  # the same words again say nothing new
    for at, item in enumerate(reversed(once.values())):
        text = item.words.text
        if at == 0 and begins:
            yield Line(text, "", (item.entry,))
            continue
        size = story.tongue.chars.format(f"{len(text):,}")
        whole = text if len(text) <= _QUOTED else f"{_shortened(text, _BEGINNING)} … ({size})"
        brief = weighty(item.words.own, gone) or weighty(item.words.own, gone, 2)
        yield Line(short(brief, 240) or short(text, 80), whole, (item.entry,), slight=not brief)


def _demands(item: Asked, story: Story) -> Iterator[Line]:
    """How instructions begin, and the lines in which they demand something."""
    text = item.words.text
    size = story.tongue.chars.format(f"{len(text):,}")
    demands = [line for line in item.words.ruling_lines() if len(line) <= _QUOTED][:40]
    yield from (Line(short(line, 200), "", (item.entry,), slight=True) for line in reversed(demands))
    yield Line(f"{short(text, _BEGINNING)} ({size})", "", (item.entry,))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: cut(text, most)]


def _within(text: str, room: int, measure: Measure) -> str:
    """The beginning of a text, within about so many tokens."""
    total = max(1, measure(text))
    if total <= room:
        return text
    keep = max(0, int(len(text) * room / total) - 12)
    return f"{text[: cut(text, keep)]} …" if keep else ""
