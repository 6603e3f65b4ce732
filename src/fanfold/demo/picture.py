"""What people see of the demo: the window by kind, the last edits, what was sent and what it cost."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from rich import box
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fanfold.core.view import View
from fanfold.demo.account import RunAccount
from fanfold.demo.proving import Promise
from fanfold.demo.run import KINDS, WINDOW, DemoRun, Moment
from fanfold.text.cutting import short

COLOURS = {
    "system": "bright_black",
    "tools": "magenta",
    "pinned": "bright_yellow",
    "summary": "cyan",
    "outputs": "dark_orange",
    "talk": "green",
}
_WIDTH = 78
_BESIDE_BAR = 22
"""What the frame and the figure beside the bar take of it."""
_EVENTS = 6
_NEWEST = 3
"""Lines that are shown of a section."""


class Picture:
    """The picture as it stands."""

    def __init__(self, width: int = _WIDTH) -> None:
        self.width = min(width, _WIDTH)
        self.events: deque[str] = deque(maxlen=_EVENTS)
        self.edits = 0

    def draw(self, frame: Moment) -> Panel:
        """The picture of one moment."""
        if frame.event:
            self.edits += 1
            self.events.append(f"step {frame.step:>3}  {frame.event}")
        account = frame.account
        figures = (
            f"step {frame.step}/{frame.steps}   {account.sent:,} tokens sent, {account.share:.0%} cached   "
            f"${account.cost:.2f}   {self.edits} reduction{'s' * (self.edits != 1)}"
        )
        events = Text("\n".join(self.events) or "nothing reduced yet", style="dim")
        return Panel(
            Group(
                Text(figures),
                Text(),
                window_bar(frame.kinds, self.width - _BESIDE_BAR),
                legend(frame.kinds),
                Text(),
                events,
            ),
            title=f"an agent in a window of {WINDOW:,} tokens",
            box=box.ROUNDED,
            width=self.width,
        )


def window_bar(kinds: dict[str, int], length: int) -> Text:
    """The window as a bar."""
    bar, used = Text(), 0
    for kind in KINDS:
        width = round(kinds[kind] / WINDOW * length)
        bar.append("█" * width, COLOURS[kind])
        used += width
    bar.append("░" * max(0, length - used), "bright_black")
    bar.append(f"  {sum(kinds.values()):,} tokens")
    return bar


def legend(kinds: dict[str, int]) -> Table:
    """What the colours mean: three kinds on a line."""
    made = Table.grid(padding=(0, 3))
    cells = [Text.assemble(("■ ", COLOURS[kind]), f"{kind} {kinds[kind]:,}") for kind in KINDS]
    for first in range(0, len(cells), 3):
        made.add_row(*cells[first : first + 3])
    return made


def table(played: DemoRun, width: int = _WIDTH) -> Table:
    """The three runs side by side; where there is little room, without what can be spared."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, int(width >= _WIDTH)))
    rows = [_cells(account) for account in played.accounts]
    shown = [name for name in rows[0] if width >= _WIDTH or name != "tokens sent"]
    for name in shown:
        left = name in ("", "finished")
        made.add_column(name, justify="left" if left else "right", no_wrap=name != "finished")
    for row in rows:
        made.add_row(*(row[name] for name in shown))
    return made


def _cells(account: RunAccount) -> dict[str, str]:
    return {
        "": account.name,
        "finished": account.end,
        "tokens sent": f"{account.sent:,}",
        "cached": f"{account.share:.0%}",
        "cost": f"${account.cost:.2f}",
    }


def handover(view: View, width: int = _WIDTH) -> Panel | None:
    """The newest hand-over in view: of each of its sections the newest lines; none where there is little room."""
    row = next((row for row in reversed(view.rows) if row.kind == "fold"), None)
    if row is None or width < _WIDTH:
        return None
    shown = Text()
    for heading, lines in _sections(row.messages[0].text):
        shown.append(f"{heading}\n", COLOURS["summary"])
        for line in lines[-_NEWEST:]:
            shown.append(f"{short(line, _WIDTH - 6)}\n")
        left = len(lines) - _NEWEST
        if left > 0:
            shown.append(f"  … and {left} older line{'s' * (left != 1)}\n", "dim")
    shown.rstrip()
    return Panel(
        shown, title=f"a hand-over: it stands for {row.count} messages", box=box.ROUNDED, width=_WIDTH
    )


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """The sections of a hand-over, each with its lines; what stands before them is left out, and so are addresses."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines()[1:]:
        if line.startswith("["):
            found.append((line, []))
        elif found and "://" not in line:
            found[-1][1].append(line)
    return found


def proof(promises: Iterable[Promise]) -> Text:
    """What was promised, and whether it holds."""
    text = Text()
    for promise in promises:
        text.append("✓ " if promise.kept else "✗ ", "green" if promise.kept else "red")
        text.append(f"{promise.text}\n")
    return text


class Screen(Console):
    """A console that leaves it to its caller what to do when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Pass the error on."""
        raise BrokenPipeError


def console(*, record: bool = False) -> Console:
    """Where it is drawn: colours only on a terminal."""
    return Screen(highlight=False, record=record, width=_WIDTH if record else None)


def svg(screen: Console) -> str:
    """What was drawn, as a picture that fetches nothing."""
    drawn = screen.export_svg(title="fanfold demo")
    return re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", drawn, flags=re.DOTALL)
