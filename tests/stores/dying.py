"""A child that talks, reduces and takes in outputs until it is killed; and what must hold after its death."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import fanfold
from builders import calls
from fanfold import Note, Session, drop_oldest
from fanfold.core.record import Edited
from fanfold.stores.store import Store
from laws import holds

GROUP = 3
"""So many messages are said at once, so that half of it would show."""
SIZES = (1_000, 1_500_000)
"""Of outputs that lie beside the rows, and of those that lie elsewhere."""
DONE = {"said", "took", "reduced"}
"""What a child does, and tells of."""
Tell = Callable[[str], object]


def two_edits(view: Any, budget: Any) -> Any:
    """A plan of two decisions and more, so that half a plan would show."""
    yield Note("state", f"at {view.version}")
    yield Note("plan", f"after {view.version}")
    yield from drop_oldest()(view, budget)


def open_on(store: Store, name: str = "run") -> Session:
    return fanfold.open(
        name, window=3_000, store=store, strategy=two_edits, meter="characters/4", on_moved="reapply"
    )


def live(store: Store, tell: Tell, seed: int) -> None:
    """Say, reduce and take in outputs until the end comes; tell of everything that is done."""
    chance, chat, tools = random.Random(seed), open_on(store), open_on(store, "tools")
    tell("open")
    for n in range(10_000):
        roles = ("user", "assistant", "user")
        bodies = [{"role": role, "content": f"{seed} {n} {role} " + "word " * 30} for role in roles]
        history = [dict(message.wire.body) for message in _history(chat) if message.wire]
        chat.merge([*history, *bodies])
        tell(f"said {chat.head}")
        if chance.random() < 0.6:
            tell(f"took {_taken(tools, f'c{seed}-{n}', chance.randbytes(chance.choice(SIZES)))}")
        if chance.random() < 0.3 and chat.compact(force=True).status == "reduced":
            tell(f"reduced {chat.view().version}")


def _history(chat: Session) -> list[Any]:
    log = chat._state.log
    return [log.message(id) for id in log.tree.path(chat.head)]


def _taken(tools: Session, call: str, data: bytes) -> str:
    """Let a tool answer; gives back the output's reference and sum."""
    tools.add(calls(call))
    tools.answer(call, data)
    return f"{tools.outputs()[0].ref} {sha256(data).hexdigest()}"


def in_a_child(work: Callable[[Tell], None], seconds: float) -> tuple[list[str], int]:
    """Let a child work and die; gives back what it had acknowledged, and the signal that ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(lambda text: os.write(writing, f"{text}\n".encode()))
        finally:
            os._exit(1)
    os.close(writing)
    ended = _ended(child, seconds)
    with os.fdopen(reading) as file:
        return file.read().splitlines(), os.WTERMSIG(ended)


def _ended(child: int, seconds: float) -> int:
    """Wait for the end of a child, and bring it about in the end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.002)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def all_were_done(told: list[str], one_more: Callable[[float], list[str]]) -> None:
    """All three were done before the ends came, else nothing was put to the test. If need be, a few live longer."""
    seconds = 1.0
    while (missing := DONE - {line.split()[0] for line in told}) and seconds < 60:
        told = [*told, *one_more(seconds)]
        seconds *= 2
    assert not missing, "not all was done before the children were killed"


def it_is_whole(store: Store, told: list[str]) -> None:
    """Everything acknowledged is there, nothing by half, and the laws hold."""
    with fanfold.open("run", window=3_000, store=store, meter="characters/4") as chat:
        resumed = holds.fingerprint(chat.view())
        chat._state.read_whole()
        assert holds.fingerprint(chat.view()) == resumed, "the checkpoint shows something else than the log"
        path = holds.path_of(chat)
        said = [line.split()[1] for line in told if line.startswith("said")]
        assert [id for id in path if id in set(said)] == said, "an acknowledged message is gone"
        assert len(path) % GROUP == 0, "half of a unit of work is there"
        _plans_are_whole(chat, told)
        holds.every_entry_is_covered_once(chat)
        holds.the_view_is_that_of_a_log_read_anew(chat)
    with open_on(store, "tools") as tools:
        holds.every_entry_is_covered_once(tools)
        _outputs_are_whole(tools, told)
    report = fanfold.doctor(store)  # type: ignore[arg-type]
    assert report.healthy, str(report)


def _plans_are_whole(chat: Session, told: list[str]) -> None:
    """Every plan that was acknowledged is there, and none by half."""
    plans = [record for record in chat._state.log.records if isinstance(record, Edited)]
    for plan in (plan for plan in plans if plan.decisions[0].by == "auto"):
        notes = [decision.edit.name for decision in plan.decisions if isinstance(decision.edit, Note)]
        assert notes == ["state", "plan"], "half a plan is there"
    assert len(plans) >= sum(line.startswith("reduced") for line in told), "an acknowledged plan is gone"


def _outputs_are_whole(tools: Session, told: list[str]) -> None:
    """Whatever has a reference is whole, and what was acknowledged is there as it came."""
    kept = {output.ref: output.bytes() for output in tools.outputs()}
    assert {len(data) for data in kept.values()} <= set(SIZES), "half an output looks whole"
    for _, ref, total in (line.split() for line in told if line.startswith("took")):
        assert sha256(kept[ref]).hexdigest() == total, "an acknowledged output is gone"
