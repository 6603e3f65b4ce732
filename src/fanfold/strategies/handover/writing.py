"""Writing a hand-over: sections in their order, each within its bound, the newest winning within it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import groupby, islice

import msgspec

from fanfold.strategies.handover import outputs, sections
from fanfold.strategies.handover.echo import SaidLine, Way, is_whole
from fanfold.strategies.handover.facts import Asked
from fanfold.strategies.handover.findings import findings, share_told
from fanfold.strategies.handover.names import add_folders
from fanfold.strategies.handover.ruling import strict
from fanfold.strategies.handover.sections import Line, Story
from fanfold.strategies.handover.speech import speech
from fanfold.strategies.handover.talk import rank, replaced, weighty
from fanfold.strategies.handover.tongue import cite, closed, quoted
from fanfold.strategies.handover.words import Words
from fanfold.text.cutting import clip_text, cut, short
from fanfold.text.identifiers import BETWEEN, identifiers

Measure = Callable[[str], int]
Told = tuple[str, tuple[str, ...], str]
"""A line as it is written down, the entries that it was made from, and who speaks in it."""
SPEAKERS = {"p": "person", "a": "agent", "c": "client", "m": "model", "t": "tool", "w": "web"}
"""Who may speak in a line, by the letter that is recorded with it."""
_SPEAKERS = {"task": "p", "rules": "p", "summary": "c", "instructions": "c", "story": "m", "names": "t"}
"""Who speaks in a section; in all others the agent."""
_ECHOING: Mapping[str, Way] = {
    "task": "said", "rules": "said", "plan": "told", "found": "told",
    "running": "done", "files": "done", "done": "done", "checks": "done", "failures": "done",
}  # fmt: skip
"""Sections in which a person or the agent may say what a tool said first."""
_FOUND, _ROOMY = (0.25, 0.42), (600, 1_800)
"""What the agent said may take of the room for lists: where that is small, and where it is large; tokens of both."""
_SHARES: tuple[tuple[str, sections.Section, float], ...] = (
    ("plan", sections.plan, 0.12),
    ("files", sections.files, 0.22),
    ("done", sections.done, 0.26),
    ("checks", sections.checks, 0.06),
    ("failures", sections.failures, 0.11),
)
"""The sections that the story is told in, and the share of its room that each may take; what one leaves free is for
those behind it."""
_TOLD = 0.5
"""What a model's story may take, as a share of the room for lists; most of it comes on top."""
_SMALL = 600
"""Tokens of a hand-over that is too small for an opening."""
_OTHERS, _FEW = 3, 300
"""This part of the room for outputs is kept for references alone; tokens of a room that is small."""
_PASSING = 0.25
"""What words that say little may take of the share of their section, where others want it."""
_LINE = 2
"""Tokens of what stands around a line."""
_AT_ONCE = 24
"""Names that are counted at a time."""
_NOTE = 60
"""Characters of the note where words are cut."""
_BESIDE = " · "
"""Between what was said in passing."""
_ID = 8
"""Characters of an id that tell it from others."""
_QUOTED, _BEGINNING = 600, 300
"""Characters of a request that is quoted whole, and of the beginning of a longer one."""
_ASKED = 120
"""Characters of the question that an old answer belongs to."""
_ASKING = "agent"
"""The origin of a line that quotes what the agent asked."""


class Room(msgspec.Struct, frozen=True):
    """Tokens that the parts of a hand-over may take at most, and all of it together."""

    total: int
    user: int
    """What the person asked and ruled; it comes before all else."""
    story: int
    names: int = 0
    outputs: int = 0


class Page(msgspec.Struct, frozen=True):
    """A hand-over: its text, and where its lines come from, as a fold records it."""

    text: str
    sources: tuple[tuple[int, str], ...] = ()

    def sources_behind(self, lines: int) -> tuple[tuple[int, str], ...]:
        """The sources, where so many lines stand before the text."""
        return tuple((number + lines, source) for number, source in self.sources)


class Outline(msgspec.Struct, frozen=True, dict=True):
    """A hand-over without names and outputs."""

    sections: tuple[tuple[str, list[Line]], ...]
    story: Story
    room: Room
    spare: int
    """Tokens that are left of all of its room."""
    measure: Measure

    def page(self, names: Iterable[tuple[str, str]] = ()) -> Page:
        """The hand-over. `names` are the names that matter, best first, each with a reference or none."""
        told = self._told(names)
        return Page(_text(told), tuple(_sources(told)))

    def size(self) -> int:
        """The tokens of the hand-over without names."""
        return self.measure(_text(self._told(())))

    def _told(self, names: Iterable[tuple[str, str]]) -> list[Told]:
        more: list[tuple[str, list[Line]]] = []
        spare, tongue = self.spare, self.story.tongue
        rows = _rows(names, self._words, min(self.room.names, spare), self.measure, self.story.refs)
        spare -= _add(more, tongue.names, rows, min(self.room.names + 64, spare), self.measure)
        self._add_outputs(more, min(self.room.outputs, spare))
        return _whole([*self._lines, *_lines(more, self.story)], self.story, self.room.total)

    @cached_property
    def _words(self) -> str:
        """What is told in the sections."""
        return "\n".join([line.text for _, lines in self.sections for line in lines])

    @cached_property
    def _lines(self) -> list[Told]:
        """The sections as they are written down, whatever names and outputs stand behind them."""
        return list(_lines(self.sections, self.story))

    def _apart(self, room: int) -> int:
        """What of the room for outputs is kept for references alone: where it is small, what all of them take."""
        if room >= _FEW:
            return room // _OTHERS
        lines = outputs.references(self.story, self._words)
        return min(room, max(room // _OTHERS, sum(self.measure(line.text) + _LINE for line in lines)))

    def _add_outputs(self, more: list[tuple[str, list[Line]]], room: int) -> None:
        """Put in what outputs there are: what each was as far as there is room, of the others the references alone."""
        if room <= 0:
            return
        listed: list[tuple[str, list[Line]]] = []
        heading, apart = self.story.tongue.outputs, self._apart(room)
        lines = list(outputs.labelled(self.story, self._words))
        taken = _add(listed, heading, lines, room - apart, self.measure)
        named = "\n".join([self._words, *(line.text for _, lines in (*more, *listed) for line in lines)])
        rest = list(outputs.references(self.story, named))
        _add(listed, heading, rest, room - taken, self.measure)
        if listed:
            more.append((heading, [line for _, lines in reversed(listed) for line in lines]))


def outline(story: Story, room: Room, measure: Measure) -> Outline:
    """What happened, in sections within their bounds."""
    tongue = story.tongue
    found: list[tuple[str, list[Line]]] = []
    taken = _add_user(found, story, room, measure)
    spare = room.total - taken - _add_instructions(found, story, room, taken, measure)
    most = min(int(_TOLD * room.story), spare)
    taken = _add(found, tongue.story, stories(story, most, measure), spare, measure)
    spare -= taken
    # A story stands in the place of what was found, and takes no more than that from the lists.
    left = whole = min(room.story - (min(taken, int(_FOUND[0] * room.story)) if story.told else taken), spare)
    left -= _add(found, tongue.summary, summary(story), left // 3, measure)
    left -= _add(found, tongue.running, list(sections.running(story)), left // 2, measure)
    left = _add_lists(found, story, left, measure)
    return Outline(sections=tuple(found), story=story, room=room, spare=spare - whole + left, measure=measure)


def _add_lists(found: list[tuple[str, list[Line]]], story: Story, left: int, measure: Measure) -> int:
    """Put in the lists, each within its share, and what the agent said; returns what is left."""
    tongue, said = story.tongue, () if story.told else story.said
    wanted = [(name, lines, share) for name, make, share in _SHARES if (lines := list(make(story)))]
    shares, words = sum(share for _, _, share in wanted), _share_of_words(left)
    own = int(words * left / (words + shares))
    spoken = words * max(_PASSING, share_told(said, own)) if said else 0.0
    for at, (name, lines, share) in enumerate(wanted):
        part = int(left * share / (spoken + sum(other for _, _, other in wanted[at:])))
        left -= _add(found, getattr(tongue, name), lines, part, measure, more=tongue.more, cut=story.cut)
    if said:
        lines, gone = findings(said, left - measure(tongue.found) - _LINE, measure)
        head = [Line(tongue.more.format(f"{gone}{'+' * story.cut}"))] if gone else []
        left -= _add(found, tongue.found, [*head, *lines], left, measure)
    return left


def _share_of_words(room: int) -> float:
    """What the agent said may take of so many tokens: lists come first where there is little room."""
    (low, high), (small, large) = _FOUND, _ROOMY
    return low + (high - low) * min(1.0, max(0.0, (room - small) / (large - small)))


def _whole(lines: list[Told], story: Story, total: int) -> list[Told]:
    """The lines of a hand-over, its opening before them."""
    root = story.tongue.below.format(story.root) if story.root else ""
    quotes = story.tongue.quotes if any("«" in text for text, _, _ in lines) else ""
    opening = story.tongue.opening if total > _SMALL and not story.follows else ""
    head = " ".join(filter(None, (opening, quotes, root)))
    return [(head, (), ""), *lines] if head else lines


def _text(told: Iterable[Told]) -> str:
    return "\n".join([text for text, _, _ in told])


def _sources(told: Iterable[Told]) -> Iterator[tuple[int, str]]:
    """The number of each line that has a source, and its source in brief."""
    number = 1
    for text, entries, speakers in told:
        if speakers:
            yield number, " ".join((f"@{speakers}", *dict.fromkeys(map(_brief, filter(None, entries)))))
        number += text.count("\n") + 1


def _brief(source: str) -> str:
    """The beginning of an entry's id, which tells it from the others of a session, and the number of its part."""
    entry, mark, part = source.partition("#")
    return f"{entry[:_ID]}{mark}{part}"


def _lines(found: Sequence[tuple[str, list[Line]]], story: Story) -> Iterator[Told]:
    """Sections as they are written down, each line with its sources; a story is prose, all else are lists."""
    names = {getattr(story.tongue, name): name for name in (*_SPEAKERS, *_ECHOING)}
    for heading, lines in _mark_echoes(found, names, story):
        yield heading, (), ""
        name = names.get(heading, "")
        for line in _in_passing(lines) if name == "found" else lines:
            told = quoted(line.text) if name in ("summary", "instructions") else line.text
            if (
                name not in _SPEAKERS
            ):  # a name of a file may have lines in it, and no line of ours is another's
                told = " ".join(told.splitlines())
            text = told if name == "story" else f"- {closed(told)}".replace("\n", "\n  ")
            yield text, line.entries, _speakers(name, line)


def _in_passing(lines: Iterable[Line]) -> Iterator[Line]:
    """What was found, a line each; what was said in passing between two findings in one line, each thing once."""
    for slight, some in groupby(lines, key=lambda line: line.slight):
        if not slight:
            yield from some
            continue
        run = list(some)
        origin = next((line.origin for line in run if line.origin), "")
        entries = tuple(dict.fromkeys(entry for line in run for entry in line.entries))
        texts = dict.fromkeys(closed(line.text) for line in run)
        yield Line(_BESIDE.join(texts), "", entries, origin=origin)


def _mark_echoes(
    found: Sequence[tuple[str, list[Line]]], names: Mapping[str, str], story: Story
) -> Iterable[tuple[str, list[Line]]]:
    """Sections in which words that a tool said first stand in marks; such words are no rule of the person's."""
    if story.echoes is None:
        return found
    said = [
        (name, line)
        for heading, lines in found
        if (name := names.get(heading, "")) in _ECHOING
        for line in lines
        if line.entries and (_ECHOING[name] != "done" or strict(line.text))
    ]
    told = story.echoes.mark(
        [SaidLine(line.text, line.entries[0].partition("#")[0], _ECHOING[name]) for name, line in said]
    )
    echoes = [(name, line, text) for (name, line), text in zip(said, told, strict=True) if text != line.text]
    if not echoes:
        return found
    alone = {item.entry: item.words.own.strip() for item in story.asked}
    other: dict[int, Line | None] = {}
    for name, line, text in echoes:
        # Who sends one sentence and nothing else has made it his own.
        if alone.get(line.entries[0]) != line.text.strip() or not is_whole(text):
            origin = _ASKING if line.origin == _ASKING else "tool"
            marked = Line(text, "", line.entries, slight=line.slight, origin=origin)
            other[id(line)] = None if name == "rules" else marked
    changed = [(heading, [other.get(id(line), line) for line in lines]) for heading, lines in found]
    kept = ((heading, [line for line in lines if line is not None]) for heading, lines in changed)
    return [(heading, lines) for heading, lines in kept if lines]


def _speakers(name: str, line: Line) -> str:
    """Who speaks in a line: who the section is by, and whom it quotes."""
    if not line.entries and name not in ("names", "story"):
        return ""  # our own, such as how many were left out
    origin = "tool" if name == "task" else line.origin  # in a request, files and outputs are quoted
    asked = "a" if line.origin == _ASKING else ""
    return _SPEAKERS.get(name, "a") + asked + (origin[:1] if "«" in line.text else "")


def _add(
    found: list[tuple[str, list[Line]]],
    heading: str,
    lines: Sequence[Line],
    room: int,
    measure: Measure,
    more: str = "",
    cut: bool = False,
) -> int:
    """Put a section in, as much of it as fits; returns the tokens that it takes."""
    room -= measure(heading) + _LINE
    kept, taken = fit(lines, room, measure) if lines else ([], 0)
    if not kept:
        return 0
    if more and len(kept) < len(lines):
        kept = [Line(more.format(f"{len(lines) - len(kept)}{'+' * cut}")), *kept]
    found.append((heading, kept))
    return taken + measure(heading) + _LINE


def fit(lines: Sequence[Line], room: int, measure: Measure) -> tuple[list[Line], int]:
    """The newest lines that fit in their brief form, those that say little last; of them the newest in full."""
    chosen: dict[int, int] = {}
    left = room
    numbers = range(len(lines) - 1, -1, -1)
    slight = [at for at in numbers if lines[at].slight]
    for some in ([at for at in numbers if not lines[at].slight] if slight else numbers, slight):
        for at in some:
            if brief := lines[at].brief:
                cost = measure(brief) + _LINE
                if cost > left:
                    break
                chosen[at] = cost
                left -= cost
    kept = {at: lines[at].brief for at in sorted(chosen)}
    for at in reversed(kept):
        full = lines[at].full
        more = measure(full) + _LINE - chosen[at] if full else 0
        if more > left:
            break
        left -= max(0, more)
        kept[at] = full or kept[at]
    return [
        Line(text, "", line.entries, slight=line.slight, origin=line.origin)
        for line, text in ((lines[at], text) for at, text in kept.items())
    ], room - left


def _rows(
    names: Iterable[tuple[str, str]], told: str, room: int, measure: Measure, refs: Mapping[str, str]
) -> list[Line]:
    """Names in lines of their own, by the output in which they stand; none that was told."""
    groups: dict[str, list[str]] = {}
    if names and room > 0:
        known = frozenset(identifiers(told))
        new = ((name, ref) for name, ref in names if name not in known)
        for name, ref in _fit_names(new, room, measure):
            groups.setdefault(ref, []).append(name)
    where = {ref: (address,) for address, ref in (refs.items() if groups else ()) if ref in groups}
    return [
        Line(f"{BETWEEN.join(some)}{f' ({ref})' if ref else ''}", "", where.get(ref, ()))
        for ref, some in groups.items()
    ]


def _fit_names(names: Iterator[tuple[str, str]], room: int, measure: Measure) -> Iterator[tuple[str, str]]:
    """The first of these names that fit, each with its reference; no folder of which a file was listed."""
    folders: set[str] = set()
    lines: set[str] = set()
    while some := list(islice(names, _AT_ONCE)):
        kept = []
        for name, ref in some:
            if name not in folders:
                add_folders(name, folders)
                kept.append((name, ref))
        # They are counted together, as they will stand there: one by one, that takes four times as long.
        while kept and (cost := _cost(kept, lines, measure)) > room:
            kept, names = kept[: min(len(kept) - 1, len(kept) * room // cost)], iter(())
        if kept:
            room -= cost
            lines.update([ref for _, ref in kept])
            yield from kept


def _cost(names: Sequence[tuple[str, str]], lines: Set[str], measure: Measure) -> int:
    """Tokens of names, and of the lines that are new with them."""
    new = {ref for _, ref in names} - lines
    around = "".join([f" ({ref})" for ref in new if ref])
    return measure(BETWEEN.join([*(name for name, _ in names), around])) + _LINE * len(new)


def stories(story: Story, room: int, measure: Measure) -> list[Line]:
    """What a model tells of the stretch; where none does now, what it told of it before."""
    if story.told:
        return [Line(clip_words(story.told, room, measure))]
    return [Line(clip_words(text, room // len(story.words), measure)) for text in story.words]


def clip_words(text: str, room: int, measure: Measure) -> str:
    """A model's words in about so many tokens, the middle cut; no line of them passes for a heading of ours."""
    text = quoted(text)
    total = max(1, measure(text))
    return text if total <= room else clip_text(text, max(0, int(len(text) * room / total) - _NOTE))


def summary(story: Story) -> list[Line]:
    """The newest hand-over that a client wrote."""
    told = [item for item in story.asked if item.words.speaker == "summary"]
    return (
        [Line(_shortened(told[-1].words.text, 3_000), told[-1].words.text[:9_000], (told[-1].entry,))]
        if told
        else []
    )


def audit(
    words: str, story: Story, room: Room, measure: Measure, names: Iterable[tuple[str, str]] = ()
) -> str:
    """A model's words, and behind them what they lost: what was asked first, the rules, names that rank high."""
    found: list[tuple[str, list[Line]]] = []
    spare = room.total - _add_user(found, story, room, measure, told=words, all_requests=False)
    told = "\n".join([words, *(line.text for _, lines in found for line in lines)])
    rows = _rows(names, told, min(room.names, spare), measure, story.refs)
    _add(found, story.tongue.names, rows, min(room.names + 64, spare), measure)
    return "\n".join(filter(None, (words, *(text for text, _, _ in _lines(found, story)))))


def quote(story: Story, room: int, measure: Measure) -> str:
    """What was asked first, and the rules, in about so many tokens."""
    return audit("", story, Room(room, room, 0), measure)


def _add_user(
    found: list[tuple[str, list[Line]]],
    story: Story,
    room: Room,
    measure: Measure,
    *,
    told: str = "",
    all_requests: bool = True,
) -> int:
    """What the person asked and ruled: rules before requests, but for how the first one begins.

    Rules and that beginning may take all of the room, if need be. What was `told` is left out.
    """
    persons = [item for item in story.asked if item.words.speaker == "person"]
    if not all_requests:
        persons = persons or [_as_material(item) for item in story.asked[:1]]
    if story.plain and all_requests:
        return _add_speech(found, persons, story, room, measure)
    gone = replaced(tuple([item.words.own for item in (*persons, *_later(story))]))
    begins = not any(isinstance(item, Asked) and item.words.speaker == "person" for item in story.before)
    tasks = list(_tasks(persons, gone, story, begins=begins and bool(persons)))
    tasks = _with_choices(tasks, story) if all_requests else tasks[:begins]
    tasks = [line for line in tasks if not told or line.text not in told]
    rules = [
        Line(rule, "", (item.entry,), slight=not strict(rule))
        for item in persons
        for rule in item.words.rules
        if rule not in gone and rule not in told
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
    return taken + more


def _add_instructions(
    found: list[tuple[str, list[Line]]], story: Story, room: Room, taken: int, measure: Measure
) -> int:
    """What a client put into the user's mouth, within what the person's own words leave."""
    told = [item for item in story.asked if item.words.speaker == "context"]
    lines = [line for item in told for line in _demands(item, story)]
    left = min(room.total // 6, max(_BEGINNING, (room.user - taken) // 2))
    return _add(found, story.tongue.instructions, lines, left, measure)


def _add_speech(
    found: list[tuple[str, list[Line]]],
    persons: Sequence[Asked],
    story: Story,
    room: Room,
    measure: Measure,
) -> int:
    """What people said in a talk without tools; how the first request begins comes before all else."""
    tongue, first, rest = story.tongue, list[Line](), persons
    taken = sum(measure(heading) + _LINE for heading in (tongue.task, tongue.rules))
    begins = not any(isinstance(item, Asked) and item.words.speaker == "person" for item in story.before)
    if begins and persons:
        text = _within(_shortened(persons[0].words.text, _QUOTED), (room.user - taken) // 2, measure)
        first = [Line(text, "", (persons[0].entry,))] if text else []
        rest = persons[1:]
        taken += sum(measure(line.text) + _LINE for line in first)
    answers = {
        reply.asked.entry: (story.tongue.answering.format(reply.question), rank(reply.question.rstrip("?？")))
        for reply in story.replies
    }
    rules, others, more = speech(rest, _later(story), room.user - taken, measure, answers)
    found += [
        (heading, lines)
        for heading, lines in ((tongue.task, [*first, *others]), (tongue.rules, rules))
        if lines
    ]
    return taken + more


def _as_material(item: Asked) -> Asked:
    """What a client put into the user's mouth, quoted: where no person asked anything, it is all that there is."""
    return Asked(item.entry, Words("notice", cite(short(item.words.text, _BEGINNING))))


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
    replies = {reply.asked.entry: reply for reply in story.replies}
    # The same words again say nothing new, but for an answer to another question.
    once: dict[tuple[str, str], Asked] = {}
    for item in reversed(_with_answers(persons, story)):
        reply = replies.get(item.entry)
        once[item.words.text, reply.question if reply else ""] = item
    for at, item in enumerate(reversed(once.values())):
        text = item.words.text
        if at == 0 and begins:
            yield Line(text, "", (item.entry,))
            continue
        size = story.tongue.chars.format(f"{len(text):,}")
        whole = text if len(text) <= _QUOTED else f"{_shortened(text, _BEGINNING)} … ({size})"
        brief = weighty(item.words.own, gone) or weighty(item.words.own, gone, 2)
        said = short(brief, 240) or short(text, 80)
        if reply := replies.get(item.entry):
            told = story.tongue.answering.format(short(reply.question, _ASKED))
            whole = f"{whole} {story.tongue.answering.format(reply.question)}"
            yield Line(f"{said} {told}", whole, (item.entry, reply.by), origin=_ASKING)
        else:
            yield Line(said, whole, (item.entry,), slight=not brief)


def _with_choices(tasks: Sequence[Line], story: Story) -> list[Line]:
    """What a person asked, and how he answered where the agent gave him a choice, in order."""
    choices = list(sections.choices(story))
    if not choices:
        return list(tasks)
    places = {item.entry: at for at, item in enumerate(story.items)}
    lines = [*tasks, *choices]
    return sorted(lines, key=lambda line: places.get(line.entries[0].partition("#")[0], -1))


def _with_answers(persons: Sequence[Asked], story: Story) -> list[Asked]:
    """What people asked in a stretch, and how they answered questions in it, also where the answer stays in view."""
    known = {item.entry for item in persons}
    return [*persons, *(reply.asked for reply in story.replies if reply.asked.entry not in known)]


def _demands(item: Asked, story: Story) -> Iterator[Line]:
    """How instructions begin, and the lines in which they demand something."""
    text = item.words.text
    size = story.tongue.chars.format(f"{len(text):,}")
    demands = [line for line in item.words.demands if len(line) <= _QUOTED][:40]
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
