"""Sections of a hand-over: each reads the story and says its part in lines, oldest first.

A line has a brief form and, where there is more to say, a full one. Every line names the entries it was made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import msgspec

from fanfold.core.edit import RECALL
from fanfold.strategies.handover.echo import Echoes
from fanfold.strategies.handover.evidence import is_refusal, refusal
from fanfold.strategies.handover.facts import Asked, DoneCall, Item, Said
from fanfold.strategies.handover.looking import only_looks
from fanfold.strategies.handover.tongue import Tongue, cite
from fanfold.strategies.handover.tools import FileEdit, is_clients_own
from fanfold.text.cutting import both_ends, short
from fanfold.text.patterns import pattern

_STATES = {
    "completed": "[x]", "complete": "[x]", "done": "[x]", "in_progress": "[~]", "in-progress": "[~]", "doing": "[~]",
    "active": "[~]", "pending": "[ ]", "todo": "[ ]", "not-started": "[ ]", "cancelled": "[-]", "blocked": "[!]",
}  # fmt: skip
_CREATED = pattern(r"Task #?(\w+) created")
_DEFINED = pattern(
    r"(?:^|\s)(?:def|class|func|function|fn|const|let|var|type|interface|struct|enum|trait|export|public|private|static|"
    r"async|describe|it|test)\s+(?:async\s+|default\s+|const\s+|function\s+|class\s+|\([^)]{0,60}\)\s*)*['\"(]*"
    r"([A-Za-z_$][\w$.-]{2,60})"
)
_STOPS = pattern(r"kill|stop|close|cancel|terminate", 2)
"""In the name of a tool that ends what runs."""
_ID = pattern(r"\d+|[A-Za-z]{0,8}[_-]?[0-9a-f]{1,12}|[0-9a-f-]{36}|\w{1,12}")
"""A number or a name to ask by that is no more than that; in a longer one a tool could say anything."""
_TITLE = pattern(r"^#{1,4} (.{3,80})$", 8)
_TOGETHER = 16
"""Steps that are told in one line at most."""
_WORTH = 400
"""Characters of an output that is worth a line of its own."""
_CLIENTS = ("write", "edit", "patch", "delete", "move")
"""Calls that a client answers itself: nobody else's words stand in the answer."""
_REPORT = 700
"""Characters of what a sub-agent reports."""
_COMMAND, _BRIEF, _END = 150, 84, 20
"""Characters of a command, of one that is old, and of its end: what commands differ in stands there."""
_FIXES = pattern(r":fix\b| --(?:fix|write)\b")
"""A lint that also fixes what it finds is the same check."""


Forms = tuple[str, str]
"""What a line says in brief and, where there is more to say, in full."""


class Line:
    """One line of a hand-over. It is put into words when somebody asks: most are too old to find room."""

    __slots__ = ("_forms", "_tell", "entries", "origin", "slight")

    def __init__(
        self,
        brief: str = "",
        full: str = "",
        entries: tuple[str, ...] = (),
        slight: bool = False,
        tell: Callable[[], Forms] | None = None,
        origin: str = "",
    ) -> None:
        self._forms: Forms | None = (brief, full) if tell is None else None
        self._tell = tell
        self.entries = entries
        """The entries that it was made from, or parts of them (`entry#part`)."""
        self.slight = slight
        """Whether it says little, and gives way first."""
        self.origin = origin
        """Where the words come from that it quotes: a tool, the web, or the agent in a line of the person's."""

    @property
    def forms(self) -> Forms:
        """What it says in brief and in full."""
        if self._forms is None:
            assert self._tell is not None
            self._forms = self._tell()
        return self._forms

    @property
    def brief(self) -> str:
        """The least that it says."""
        return (self._forms or self.forms)[0]

    @property
    def full(self) -> str:
        """All that it says, where that is more."""
        return (self._forms or self.forms)[1]

    @property
    def text(self) -> str:
        """All that it says."""
        brief, full = self._forms or self.forms
        return full or brief


class ShortAnswer(msgspec.Struct, frozen=True, gc=False):
    """A person's answer that says little without its question."""

    asked: Asked
    """The answer."""
    question: str
    """What a reader must know of the question."""
    by: str
    """The entry in which it was asked."""


class Story(msgspec.Struct, frozen=True, dict=True):
    """What happened: before a stretch, in it, and after it."""

    items: tuple[Item, ...]
    tongue: Tongue
    before: tuple[Item, ...] = ()
    """Requests and plans."""
    later: tuple[Item, ...] = ()
    refs: Mapping[str, str] = {}
    root: str = ""
    """The folder below which most files lie; paths are told from there."""
    words: tuple[str, ...] = ()
    """Stories that a model told of the stretch in earlier summaries."""
    told: str = ""
    """The story that a model tells of it now; it had the earlier ones before it."""
    plain: bool = False
    """Whether it is a talk without tools."""
    sayings: tuple[Said, ...] | None = None
    """All that the agent said in the stretch, where the items are only the newest."""
    cut: bool = False
    """Whether it was too long to tell how many lines are left out."""
    echoes: Echoes | None = None
    """By which words are found that a tool said first."""
    follows: bool = False
    """Whether another hand-over stands before it, which says what a hand-over is."""
    replies: tuple[ShortAnswer, ...] = ()
    """Where a person only answers what the agent had asked; one of both is in the stretch."""

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """What was said to the agent in the stretch."""
        return tuple([item for item in self.items if type(item) is Asked])

    @cached_property
    def steps(self) -> tuple[DoneCall, ...]:
        """The calls of the stretch."""
        return tuple([item for item in self.items if type(item) is DoneCall])

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What the agent said in the stretch."""
        if self.sayings is not None:
            return self.sayings
        return tuple([item for item in self.items if type(item) is Said])

    @cached_property
    def later_steps(self) -> tuple[DoneCall, ...]:
        """The calls behind the stretch."""
        return tuple([item for item in self.later if type(item) is DoneCall])

    def at(self, path: str) -> str:
        """A path as it is told; one at the root itself with the folder that it is in."""
        below = path.removeprefix(self.root)
        return below if "/" in below or below == path else f"{self.root.rsplit('/', 2)[-2]}/{below}"

    def ref(self, step: DoneCall) -> str:
        """The reference by which an output is looked up, in brackets."""
        ref = self.refs.get(step.address)
        return f" ({ref})" if ref else ""


def plan(story: Story) -> Iterator[Line]:
    """The newest plan, with the state of each item; nothing where a newer one is still in view.

    What is done gives way first: what is open is what comes next."""
    if any(step.use.plan for step in story.later_steps):
        return
    items: dict[str, tuple[str, str]] = {}
    entries: list[str] = []
    for step in (item for item in (*story.before, *story.items) if isinstance(item, DoneCall)):
        if step.use.plan and step.ended.ok is not False:
            items = {str(at): item for at, item in enumerate(step.use.plan)}
            entries = [step.entry]
        elif step.use.task is not None and step.ended.ok is not False:
            number, what, state = step.use.task
            made = _CREATED.search(step.answer)
            number = number or (made[1] if made else str(len(items) + 1))
            old = items.get(number, ("", ""))
            items[number] = (what or old[0] or f"#{number}", state or old[1] or "pending")
            entries.append(step.entry)
    if entries and not any(entries[-1] == item.entry for item in story.steps):
        return  # it was told where it was last written
    for what, state in items.values():
        if state != "deleted":
            mark = _STATES.get(state.lower(), f"({state})" if state else "-")
            brief, full = f"{mark} {short(what, 70)}", f"{mark} {short(what, 160)}"
            yield Line(brief, full, tuple(entries[-1:]), slight=mark == "[x]")


def running(story: Story) -> Iterator[Line]:
    """What still runs at the end: commands, servers and agents, each with the number or name to ask for it by."""
    begun: dict[str, DoneCall] = {}
    for step in (*story.steps, *story.later_steps):
        if step.handle:
            begun.setdefault(step.handle, step)
        elif begun and (step.closed or step.ended.ok is not None or _STOPS.search(step.use.tool)):
            for handle in [handle for handle in begun if step.use.asks_for(handle)]:
                del begun[handle]
    own = {step.source for step in story.steps} if begun else set()
    for handle, step in begun.items():
        if step.source in own:
            brief, full = (short(below_root(step.use.subject, story), most) for most in (30, 110))
            said = f"{handle if _ID.fullmatch(handle) else cite(handle)}: {verb(step)}"
            yield Line(f"{said}{brief}", f"{said}{full}", (step.source,), origin=_origin(step))


def files(story: Story) -> Iterator[Line]:
    """Each file that was changed, how often, and its newest change; the file that was changed last comes last."""
    found: dict[str, list[tuple[DoneCall, FileEdit]]] = {}
    for step in story.steps:
        for change in step.use.changes if step.ended.ok is not False else ():
            if change.path:
                known = found.pop(change.path, [])
                known.append((step, change))
                found[change.path] = known
    for path, changes in found.items():
        entries = tuple(dict.fromkeys(one.source for one, _ in changes))
        yield Line(entries=entries, tell=partial(_file, path, changes, story))


def _file(path: str, changes: Sequence[tuple[DoneCall, FileEdit]], story: Story) -> Forms:
    step, newest = changes[-1]
    head = f"{story.at(path)}: {_verbs(changes, story.tongue)}"
    sure = any(one.ended.ok for one, _ in changes)
    head += "" if sure else f" ({story.tongue.asked_for})" if step.entry == "" else ""
    told, ref = _change(newest.new), story.refs.get(step.use.at)
    head += f" ({ref})" if ref else ""
    return (f"{head}; {short(told, 100)}", f"{head}; {told}") if told else (head, head)


def _verbs(changes: Sequence[tuple[DoneCall, FileEdit]], tongue: Tongue) -> str:
    words = {"written": tongue.created, "changed": tongue.changed, "deleted": tongue.deleted}
    counts = Counter(
        tongue.moved.format(change.to) if change.verb == "moved" else words[change.verb]
        for _, change in changes
    )
    return ", ".join(f"{word} {count}×" if count > 1 else word for word, count in counts.items())


def _change(new: str) -> str:
    """What a change adds: its first lines, and the names that it defines behind them."""
    lines = [line.strip() for line in new.splitlines() if any(map(str.isalnum, line))]
    head = short(" ⏎ ".join(lines[:3]), 170)
    names = [
        name for name in dict.fromkeys((*_DEFINED.findall(new), *_TITLE.findall(new))) if name not in head
    ]
    return f"{head} … {', '.join(names[:8])}" if names else head


def done(story: Story) -> Iterator[Line]:
    """One line a command, where it was run last; what was read, searched and changed between two of them in one."""
    group: list[DoneCall] = []
    subjects = [(step.use.kind, step.use.subject) for step in story.steps]
    counts, last = Counter(subjects), dict(zip(subjects, story.steps, strict=True))
    for step, subject in zip(story.steps, subjects, strict=True):
        if subject[0] in ("plan", "think") or step.use.tool in RECALL or is_choice(step):
            continue
        small = _is_small(step)
        if small and len(group) < _TOGETHER:
            group.append(step)
            continue
        if group:
            yield _group(group, story)
        group = [step] if small else []
        if not small and step.entry == last[subject].entry:
            tell = partial(_line, step, story, counts[subject])
            yield Line(entries=(step.source,), tell=tell, origin=_origin(step), slight=_is_slight(step))
    if group:
        yield _group(group, story)


def _is_slight(step: DoneCall) -> bool:
    """Whether a step only looked, and did not fail."""
    return step.use.kind == "shell" and step.ended.ok is not False and only_looks(step.use.subject)


def _group(steps: Sequence[DoneCall], story: Story) -> Line:
    return Line(entries=tuple([step.source for step in steps]), tell=partial(_together, steps, story))


def _is_small(step: DoneCall) -> bool:
    """Whether a step is told together with those beside it."""
    return step.use.kind in ("read", "search", "edit", "write", "patch") and step.ended.ok is not False


def _together(group: Sequence[DoneCall], story: Story) -> Forms:
    """Some small steps in a row: what was read, searched and changed, each once."""
    tongue = story.tongue
    told = []
    for kind, word in (("read", tongue.read), ("search", tongue.searched)):
        refs: dict[str, list[str]] = {}
        for step in (step for step in group if step.use.kind == kind):
            label = (
                story.at(step.use.subject)
                if kind == "read"
                else short(below_root(step.use.subject, story), 50)
            )
            refs.setdefault(label, []).append(story.refs.get(step.address, ""))
        some = [
            f"{label} ({', '.join(filter(None, known))})" if any(known) else label
            for label, known in refs.items()
        ]
        if some:
            told.append(f"{word} {', '.join(some)}")
    changes = [(step, change) for step in group for change in step.use.changes]
    paths = dict.fromkeys(change.path for _, change in changes)
    for path in paths:
        told.append(f"{_verbs([one for one in changes if one[1].path == path], tongue)} {story.at(path)}")
    return "; ".join(told) or group[0].use.tool, ""


def _line(step: DoneCall, story: Story, times: int) -> Forms:
    tongue = story.tongue
    match step.use.kind:
        case "shell":
            return _command(step, story, times)
        case "agent":
            word = step.use.tool if step.use.tool.lower() == "skill" else tongue.agent
            said = f"{word}: {short(step.use.subject, 90)}{_how(step, tongue)}"
            brief, full = (cite(short(step.answer, most)) for most in (_BRIEF, _REPORT))
            return f"{said} → {brief}{story.ref(step)}", f"{said} → {full}{story.ref(step)}"
        case "edit" | "write" | "patch" | "delete" | "move" | "read" | "search":
            said = f"{step.use.tool} {short(below_root(step.use.subject, story), 120)}{_how(step, tongue)}"
            return said + (story.ref(step) if step.size > _WORTH else ""), ""
        case _:
            word = tongue.fetched if step.use.kind == "fetch" else step.use.tool
            said = f"{word} {short(step.use.subject, 110)}{_how(step, tongue)}"
            answer = (
                f" → {cite(short(step.answer, 120))}" if step.answer and step.ended.ok is not False else ""
            )
            return f"{short(said, 90)}{story.ref(step)}", f"{said}{answer}{story.ref(step)}"


def _origin(step: DoneCall) -> str:
    """Who wrote the output of a step: a page of the web, or a tool."""
    return "web" if step.use.kind == "fetch" or "web" in step.use.tool.lower() else "tool"


def choices(story: Story) -> Iterator[Line]:
    """What a person answered where the agent gave him a choice, and why he refused a change: that is the person's."""
    for step in story.steps:
        if is_choice(step):
            asked, answer = short(step.use.subject, 120), _answered(step.answer)
            told = answer if asked[:40] in answer else f"{story.tongue.asked}: {asked} → {answer}"
            yield Line(short(told, 160), short(told, 400), (step.source,), origin="agent")
        elif is_refused(step):
            told = f"{story.tongue.refused.format(_what(step, story))}: {refusal(step.ended)}"
            yield Line(told, "", (step.source,))


def is_refused(step: DoneCall) -> bool:
    """Whether a person refused a change and said why, in words that can be nobody else's."""
    return is_refusal(step.ended) and step.use.kind in _CLIENTS and is_clients_own(step.use.tool)


def _what(step: DoneCall, story: Story) -> str:
    return f"{verb(step)}{short(below_root(step.use.subject, story), 64)}"


def is_choice(step: DoneCall) -> bool:
    """Whether a person answered a call."""
    return step.use.kind == "ask" and bool(step.answer) and step.ended.ok is not False


def _answered(text: str) -> str:
    """What a person answered, without what a client says around it."""
    answer = text.removeprefix("User has answered your questions: ")
    return answer.removesuffix(" You can now continue with the user's answers in mind.")


def below_root(text: str, story: Story) -> str:
    if not story.root:
        return text
    return (
        ", ".join(map(story.at, text.split(", "))) if text.startswith("/") else text.replace(story.root, "")
    )


def _command(step: DoneCall, story: Story, times: int) -> Forms:
    command = " ".join(step.use.subject[:600].split()) or step.use.tool
    told = step.ended.line if step.ended.check and (step.ended.counted or step.ended.ok is not False) else ""
    counted = f": {cite(short(told, 60))}" if step.ended.counted else ""
    told = told or (" ".join(step.answer.split()) if step.answer and step.ended.ok is not False else "")
    how = "" if step.ended.ok and not step.ended.check else _how(step, story.tongue)
    how, ref = (f" {times}×" if times > 1 else "") + how, story.ref(step)
    brief, full = both_ends(command, _BRIEF, _END), both_ends(command, _COMMAND, 2 * _END)
    return (
        f"$ {brief}{how}{counted}{ref}",
        f"$ {full}{how}{f': {cite(short(told, 100))}' if told else ''}{ref}",
    )


def _how(step: DoneCall, tongue: Tongue) -> str:
    """How a step ended, if that is known."""
    if step.ended.ok is None or step.ended.counted:
        return ""
    if step.ended.ok:
        return f" → {tongue.ok}"
    code = f" ({tongue.exit.format(step.ended.code)})" if step.ended.code else ""
    return f" → {tongue.failed}{code}"


def checks(story: Story) -> Iterator[Line]:
    """The newest run of each test, build and lint, with the line that says how it ended."""
    newest: dict[str, DoneCall] = {}
    for step in story.steps:
        if step.ended.check:
            newest.pop(_key(step), None)
            newest[_key(step)] = step
    again = {_key(step) for step in story.later_steps if step.ended.check}
    for check, step in newest.items():
        if check not in again and (step.ended.line or step.ended.ok is not None):
            line = f": {cite(step.ended.line)}" if step.ended.line else ""
            # With its pipes: they may hide how it ended.
            ran = both_ends(" ".join(step.use.subject.split()), _BRIEF, _END)
            told = f"{ran}{_how(step, story.tongue)}{line}{story.ref(step)}"
            yield Line(told, "", (step.source,), origin=_origin(step))


def failures(story: Story) -> Iterator[Line]:
    """What was tried and went wrong, and what solved it, or that nothing did so far; the same failure is told once."""
    steps = (*story.steps, *story.later_steps)
    told: dict[tuple[str, str], int] = {}
    for at, step in enumerate(story.steps):
        if step.ended.ok is False and (step.ended.line or step.ended.error) and not is_refused(step):
            key = (_key(step), "" if step.ended.check else step.ended.error)
            told.pop(key, None)
            told[key] = at
    for at in told.values():
        step = steps[at]
        yield Line(entries=(step.source,), tell=partial(_failure, at, steps, story), origin=_origin(step))


def _failure(at: int, steps: Sequence[DoneCall], story: Story) -> Forms:
    how = steps[at].ended
    what = how.check or f"{verb(steps[at])}{short(below_root(steps[at].use.subject, story), 64)}"
    wrong = [short(how.error, 200), "" if how.line in how.error else short(how.line, 90)]
    told = f"{what}: {cite('; '.join(filter(None, wrong)))}"
    return (told if is_refusal(how) else f"{told} → {_solution(at, steps, story)}"), ""


def verb(step: DoneCall) -> str:
    return "$ " if step.use.kind == "shell" else f"{step.use.tool} "


def _key(step: DoneCall) -> str:
    """By which a later step is told to be another try of the same."""
    if step.ended.check:
        return _FIXES.sub("", step.ended.check)
    if step.use.kind == "shell":
        return " ".join(step.use.subject.split()[:3])
    return f"{step.use.kind} {step.use.changes[0].path if step.use.changes else step.use.subject}"


def _solution(at: int, steps: Sequence[DoneCall], story: Story) -> str:
    """What was changed until the same thing went well; or that it was tried again and nothing shows how it ended."""
    key = _key(steps[at])
    changed: dict[str, None] = {}
    ended = story.tongue.open
    for step in steps[at + 1 :]:
        again = _key(step) == key
        if again and step.ended.ok is not True:
            ended = story.tongue.again if step.ended.ok is None else story.tongue.open
        if again and step.ended.ok:
            names = list(changed)
            what = (
                ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
                if names
                else f"{verb(step)}{_told(step, story)}"
            )
            return story.tongue.solved.format(what)
        if step.ended.ok is not False:
            changed.update((story.at(change.path).rpartition("/")[2], None) for change in step.use.changes)
    return ended


def _told(step: DoneCall, story: Story) -> str:
    return short(below_root(step.use.subject, story), 60)


Section = Callable[[Story], Iterator[Line]]
__all__ = [
    "Asked",
    "Line",
    "Section",
    "ShortAnswer",
    "Story",
    "checks",
    "choices",
    "done",
    "failures",
    "files",
    "plan",
    "running",
]  # fmt: skip
