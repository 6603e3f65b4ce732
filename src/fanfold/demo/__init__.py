"""The demo: an agent does a real long task on this machine's own files, in a window of 32,000 tokens.

    fanfold demo

No key, no network: the agent is scripted, its tools really run.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from fanfold.text.json_text import print_json

STEPS = 200


def main(*, fast: bool = False, record: IO[bytes] | None = None, steps: int = STEPS) -> int:
    """Play the whole demo; 1 if a promise was broken. `fast` draws only the end, `record` takes it as SVG."""
    from fanfold.demo.picture import console  # late: only people look at pictures

    screen = console(record=record is not None)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fanfold-demo-") as folder:
        kept = _play(Path(folder), steps, screen, live=not fast and screen.is_terminal)
    screen.print(
        f"{time.perf_counter() - started:.1f} s, no key, no network. Next: fanfold --help, docs/, examples/."
    )
    if record is not None:
        from fanfold.demo.picture import svg

        record.write(svg(screen).encode())
    return 0 if kept else 1


def main_gateway(*, fast: bool = False, steps: int = STEPS) -> int:
    """Play the same task with a plain loop behind the gateway; 1 if a promise was broken."""
    from fanfold.demo.gateway import play
    from fanfold.demo.picture import Picture, console, proof

    screen = console()
    started = time.perf_counter()
    picture, drawn = Picture(screen.width), list[Any]()
    with ExitStack() as stack:
        live = not fast and screen.is_terminal
        show = _live(stack, screen) if live else _begun(stack, steps, drawn)
        _, promises = play(steps, lambda moment: show(picture.draw(moment)))
    if drawn:
        screen.print(drawn[-1])
    screen.print(proof(promises))
    screen.print(
        f"{time.perf_counter() - started:.1f} s, no key, no network. Next: fanfold serve, docs/clients.md."
    )
    return 0 if all(promise.kept for promise in promises) else 1


def gateway_figures(steps: int = STEPS) -> int:
    """Play it without a picture, and print its figures as JSON."""
    from fanfold.demo.gateway import play

    watching, promises = play(steps, lambda _: None)
    told = {"runs": [watching.account.figures()], "promises": promises}
    print(print_json(told))
    return 0 if all(promise.kept for promise in promises) else 1


def figures(steps: int = STEPS) -> int:
    """Play the demo without a picture, and print its figures as JSON."""
    from fanfold.demo.proving import proven
    from fanfold.demo.run import open_session, play

    with tempfile.TemporaryDirectory(prefix="fanfold-demo-") as folder, open_session(Path(folder)) as chat:
        played = play(chat, steps, lambda _: None)
        promises = proven(chat, played, Path(folder))
    told = {"runs": [account.figures() for account in played.accounts], "promises": promises}
    print(print_json(told))
    return 0 if all(promise.kept for promise in promises) else 1


def _play(folder: Path, steps: int, screen: Any, *, live: bool) -> bool:
    from fanfold.demo.picture import Picture, handover, proof, table
    from fanfold.demo.proving import proven
    from fanfold.demo.run import open_session, play

    picture = Picture(screen.width)
    drawn: list[Any] = []
    with open_session(folder) as chat, ExitStack() as stack:
        show = _live(stack, screen) if live else _begun(stack, steps, drawn)
        played = play(chat, steps, lambda frame: show(picture.draw(frame)))
        stack.close()
        if not live and drawn:
            screen.print(drawn[-1])
        if (panel := handover(chat.view(), screen.width)) is not None:
            screen.print(panel)
        screen.print(table(played, screen.width))
        promises = proven(chat, played, folder)
        screen.print(proof(promises))
    return all(promise.kept for promise in promises)


def _live(stack: ExitStack, screen: Any) -> Any:
    from rich.live import Live

    return stack.enter_context(Live(console=screen, refresh_per_second=20, transient=False)).update


def _begun(stack: ExitStack, steps: int, drawn: list[Any]) -> Any:
    """Keep what is drawn for the end; on a terminal, a line says until then that the agent is at work."""
    from rich.console import Console

    stack.enter_context(Console(stderr=True).status(f"an agent works for {steps:,} steps …"))
    return drawn.append
