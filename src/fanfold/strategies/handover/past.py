"""The past: what happened behind each row of a view. A message is read once; what was found is kept with its session.

What stands behind a row is known by its identity: what was erased, replaced or undone since is read anew. So is an
output whose call changed in an earlier row, for what is told of the output is what its call was about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice

import msgspec

from fanfold.core.message import Message, Result
from fanfold.core.view import Row, View
from fanfold.strategies.handover.echo import Echoes, ToolWords
from fanfold.strategies.handover.facts import Asked, DoneCall, Item, Said, read
from fanfold.strategies.handover.names import words_of
from fanfold.strategies.handover.sections import ShortAnswer
from fanfold.strategies.handover.tongue import Tongue, tongue_of
from fanfold.strategies.handover.tools import Tools, Use
from fanfold.text.identifiers import identifiers

_READ = 2_000
"""Characters of a request or of what a call is about that are read for names."""
_OWN = frozenset(("ask", "plan", "think", "edit", "write", "patch"))
"""Calls of which the output says what the person or the agent said."""
_PERSONS, _SAID = 10, 30
"""Requests and sayings by which the language is told."""


class Chapter(msgspec.Struct, frozen=True):
    """What happened behind one row."""

    source: object
    """What was read: a message, or the entries behind a fold."""
    entries: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    lasting: tuple[Item, ...] = ()
    """Those of the items that matter however long ago they were: requests, questions to the person and plans."""
    standing: tuple[Item, ...] = ()
    """Those that a hand-over may tell however long ago they were: these, what changed files, failures and checks."""
    said: tuple[Said, ...] = ()
    """What the agent said."""
    heard: tuple[ToolWords, ...] = ()
    """What tools said in it, for those who look whether somebody says it again."""
    named: tuple[str, ...] = ()
    """Names that the person used."""
    used: frozenset[str] = frozenset()
    """Names that calls were about."""
    spoken: frozenset[bytes] = frozenset()
    """Words that person and agent said."""
    folders: tuple[str, ...] = ()
    """The folders of files that calls name from the root on."""
    waiting: tuple[tuple[str, Use], ...] = ()
    """Calls that had no answer yet at its end."""
    answered: tuple[tuple[str, Use], ...] = ()
    """Calls that were answered here, each as an earlier row made it."""
    own: frozenset[str] = frozenset()
    """Those that were answered here, and that no earlier row made: a long hand-over has thousands."""
    running: tuple[tuple[str, str], ...] = ()
    """Commands that went on, by the number of their session."""
    resumed: tuple[tuple[str, str | None], ...] = ()
    """Commands that calls waited for here, each as an earlier row began it, if one did."""

    def follows(self, state: Ongoing) -> bool:
        """Whether the earlier rows still say what was taken from them."""
        return (
            self.own.isdisjoint(state.calls)
            and all(state.calls.get(id) == use for id, use in self.answered)
            and all(state.running.get(number) == command for number, command in self.resumed)
        )


class Ongoing(msgspec.Struct):
    """What goes on between two rows."""

    calls: dict[str, Use] = {}
    """Calls that wait for their answer."""
    running: dict[str, str] = {}
    """Commands that run, by the number of their session."""

    def copy(self) -> Ongoing:
        """The same, to read on from."""
        return Ongoing(dict(self.calls), dict(self.running))

    def pass_by(self, chapter: Chapter) -> None:
        """Take in what a chapter that follows answers and leaves open."""
        for id, _ in chapter.answered:
            self.calls.pop(id, None)
        self.calls.update(chapter.waiting)
        self.running.update(chapter.running)

    def opened_since(self, before: Ongoing) -> tuple[tuple[str, Use], ...]:
        """The calls that wait now and did not before."""
        return tuple(call for call in self.calls.items() if before.calls.get(call[0]) != call[1])

    def begun_since(self, before: Ongoing) -> tuple[tuple[str, str], ...]:
        """The commands that run now and did not before."""
        return tuple(one for one in self.running.items() if before.running.get(one[0]) != one[1])


class Past(msgspec.Struct, frozen=True):
    """What happened in a conversation, for one plan."""

    chapters: Mapping[str, Chapter]
    """By the rows in view, in order."""
    tongue: Tongue
    root: str
    """The folder below which most of the files lie that calls name."""
    named: tuple[str, ...]
    used: frozenset[str]
    spoken: frozenset[bytes]
    plain: bool = False
    """Whether nobody called a tool."""
    given: Mapping[str, str] = {}
    """References that the plan itself gave to parts, by their addresses."""
    echoes: Echoes | None = None
    """What tools said, for those who look whether somebody says it again."""


def past_of(view: View, tools: Tools) -> Past:
    """All that happened behind the rows of a view."""
    known: dict[str, Chapter] = view.memory.get(("past", tools), {})
    state = Ongoing()
    found: dict[str, Chapter] = {}
    for row in view.rows:
        source = _source(row, view)
        chapter = known.get(row.id)
        if chapter is None or chapter.source is not source or not chapter.follows(state):
            chapter = _join(row, source, known, view, state) or _read(row, source, view, tools, state)
        found[row.id] = chapter
        state.pass_by(chapter)
    view.memory["past", tools] = found
    told = [chapter for chapter in found.values() if chapter.items]
    return Past(
        chapters=found,
        tongue=tongue_for(
            (item for chapter in told for item in chapter.lasting if isinstance(item, Asked)),
            chain.from_iterable(chapter.said for chapter in told),
        ),
        root=root_of(chain.from_iterable(chapter.folders for chapter in told)),
        named=tuple(dict.fromkeys(chain.from_iterable(chapter.named for chapter in told))),
        used=frozenset().union(*(chapter.used for chapter in told)),
        spoken=frozenset().union(*(chapter.spoken for chapter in told)),
        plain=not any(chapter.waiting for chapter in found.values())
        and not any(isinstance(item, DoneCall) for chapter in told for item in chapter.items),
        echoes=Echoes(tuple(chain.from_iterable(chapter.heard for chapter in told)), view.memory),
    )


def _heard(item: Item, messages: Mapping[str, Message]) -> ToolWords:
    """What a tool said where something happened; not what a person answered or what a call of the agent's wrote."""
    if isinstance(item, Asked):
        return ToolWords(item.entry, item.words.text if item.words.speaker == "notice" else "")
    if isinstance(item, Said) or not item.address or item.use.kind in _OWN:
        return ToolWords(item.entry)
    entry, _, number = item.address.partition("#")
    part = messages[entry].parts[int(number)]
    return ToolWords(item.entry, part.text if isinstance(part, Result) else "")


def _source(row: Row, view: View) -> Message | tuple[str, ...]:
    """What there is to read behind a row."""
    if row.kind == "entry":
        return row.whole
    return view.behind(row.id) or row.asked if row.kind in ("fold", "mend", "drop") else ()


def _join(
    row: Row, source: object, known: Mapping[str, Chapter], view: View, before: Ongoing
) -> Chapter | None:
    """The chapter of a fold, from those of the rows that it covers; None if one of them was not read, or changed."""
    some = [
        chapter for id in row.covers if (chapter := known.get(id)) is not None and _holds(id, chapter, view)
    ]
    entries = tuple(chain.from_iterable(chapter.entries for chapter in some))
    if row.kind != "fold" or entries != source:
        return None
    after = before.copy()
    for chapter in some:
        if not chapter.follows(after):
            return None
        after.pass_by(chapter)
    answered = frozenset().union(*(chapter.own for chapter in some))
    answered = answered.union([id for chapter in some for id, _ in chapter.answered])
    return Chapter(
        source=source,
        entries=entries,
        items=tuple(chain.from_iterable(chapter.items for chapter in some)),
        lasting=tuple(chain.from_iterable(chapter.lasting for chapter in some)),
        standing=tuple(chain.from_iterable(chapter.standing for chapter in some)),
        said=tuple(chain.from_iterable(chapter.said for chapter in some)),
        heard=tuple(chain.from_iterable(chapter.heard for chapter in some)),
        named=tuple(dict.fromkeys(chain.from_iterable(chapter.named for chapter in some))),
        used=frozenset().union(*(chapter.used for chapter in some)),
        spoken=frozenset().union(*(chapter.spoken for chapter in some)),
        folders=tuple(chain.from_iterable(chapter.folders for chapter in some)),
        waiting=after.opened_since(before),
        answered=_calls_of(answered, before),
        own=answered.difference(before.calls),
        running=after.begun_since(before),
        resumed=_commands_of((number for chapter in some for number, _ in chapter.resumed), before),
    )


def _calls_of(ids: Set[str], before: Ongoing) -> tuple[tuple[str, Use], ...]:
    return tuple([call for call in before.calls.items() if call[0] in ids])


def _commands_of(numbers: Iterable[str], before: Ongoing) -> tuple[tuple[str, str | None], ...]:
    return tuple((number, before.running.get(number)) for number in dict.fromkeys(numbers))


def _holds(id: str, chapter: Chapter, view: View) -> bool:
    """Whether what was read behind a row still stands there."""
    now = view.said(id) if isinstance(chapter.source, Message) else view.behind(id)
    return chapter.source is now


def _read(row: Row, source: Message | tuple[str, ...], view: View, tools: Tools, before: Ongoing) -> Chapter:
    """The chapter of a row, from its messages; `before` is what goes on from earlier rows."""
    entries = (row.id,) if isinstance(source, Message) else source
    said = [source] if isinstance(source, Message) else map(view.said, source)
    told = [(entry, message) for entry, message in zip(entries, said, strict=True) if message is not None]
    messages = dict(told)
    after = before.copy()
    items: list[Item] = []
    for entry, message in told:
        items += read(entry, message, tools, after.calls, after.running)
    asked = [item for item in items if isinstance(item, Asked)]
    steps = [item for item in items if isinstance(item, DoneCall)]
    spoken = [item.first for item in items if isinstance(item, Said)]
    spoken += [item.words.own[:_READ] for item in asked]
    answered = frozenset([result.call for _, message in told for result in message.results])
    return Chapter(
        source=source,
        entries=entries,
        items=tuple(items),
        lasting=tuple(item for item in items if _lasts(item)),
        standing=tuple(item for item in items if _stands(item)),
        said=tuple([item for item in items if isinstance(item, Said)]),
        heard=tuple(_heard(item, messages) for item in items),
        named=tuple(dict.fromkeys(name for item in asked for name in identifiers(item.words.own[:_READ]))),
        used=frozenset(identifiers("\n".join(step.use.subject[:_READ] for step in steps))),
        spoken=frozenset(words_of(" ".join(spoken).lower())),
        folders=folders_of(steps),
        waiting=after.opened_since(before),
        answered=_calls_of(answered, before),
        own=answered.difference(before.calls),
        running=after.begun_since(before),
        resumed=_commands_of((step.use.session for step in steps if step.use.session), before),
    )


def _lasts(item: Item) -> bool:
    if isinstance(item, DoneCall):
        return bool(item.use.plan) or item.use.task is not None
    return isinstance(item, Asked) or item.question is not None


def _stands(item: Item) -> bool:
    if isinstance(item, DoneCall):
        return bool(item.use.changes or item.ended.check) or item.ended.ok is False or _lasts(item)
    return _lasts(item)


def replies_of(chapters: Iterable[Chapter]) -> Iterator[ShortAnswer]:
    """The answers that say little without their question: nobody asks again before he has his answer."""
    said: Said | None = None
    for item in chain.from_iterable(chapter.lasting for chapter in chapters):
        if isinstance(item, Said):
            said = item
        elif isinstance(item, Asked) and item.words.speaker == "person":
            asked = said.question.behind(item.words.text) if said and said.question else ""
            if said and asked:
                yield ShortAnswer(item, asked, said.entry)
            said = None


def newest_of(chapters: Sequence[Chapter], most: int) -> tuple[tuple[Item, ...], bool]:
    """What happened in some chapters, and whether something was left out: of what is older than the newest so many
    items only what stands, the requests and as many others again."""
    items = tuple(chain.from_iterable(chapter.items for chapter in chapters))
    if len(items) <= most:
        return items, False
    newest = items[-most:]
    standing = tuple(chain.from_iterable(chapter.standing for chapter in chapters))
    older = standing[: len(standing) - sum(map(_stands, newest))]
    others = sum(type(item) is not Asked for item in older) - most
    if others > 0:
        early = islice((at for at, item in enumerate(older) if type(item) is not Asked), others, None)
        cut = next(early, len(older))
        older = (*(item for item in older[:cut] if type(item) is Asked), *older[cut:])
    return (*older, *newest), True


def tongue_for(asked: Iterable[Asked], said: Iterable[Said]) -> Tongue:
    """The language that is spoken."""
    persons = (item.words.text[:_READ] for item in asked if item.words.speaker == "person")
    return tongue_of([*islice(persons, _PERSONS), *(item.first for item in islice(said, _SAID))])


def folders_of(items: Iterable[Item]) -> tuple[str, ...]:
    """The folders of the files that calls name from the root on."""
    paths = (item.use.path for item in items if isinstance(item, DoneCall))
    return tuple([path.rpartition("/")[0] for path in paths if path.startswith("/")])


def root_of(folders: Iterable[str]) -> str:
    """The folder below which most of these lie; none where that saves little."""
    counts: Counter[str] = Counter()
    total = 0
    for folder, count in Counter(folders).items():
        total += count
        pieces = folder.split("/")
        for end in range(3, len(pieces) + 1):
            counts["/".join(pieces[:end]) + "/"] += count
    common = [folder for folder, count in counts.items() if count >= 0.9 * total and count > 2]
    return max(common, key=len, default="")
