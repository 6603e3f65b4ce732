"""A child that takes in, erases, clears away, exports and imports until it is killed; and what must hold after it."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest
from dying import Tell

import fanfold
from builders import calls
from fanfold import Session
from fanfold.stores.store import Store

OUTPUTS = [f"output {n}\n" * size for n, size in enumerate((20_000, 20_000, 200_000, 200_000))]
"""Few, so that sessions and imports often share a blob that another one is about to lose."""
VERBS = ("take", "take", "erase", "gc", "bring")


def opened(store: Store) -> Session:
    return fanfold.open("run", window=10**9, store=store, meter="characters/4", on_moved="reapply")


def clear_away(store: Store, tell: Tell, seed: int) -> None:
    """Destroy and copy until the end comes; tell of everything that is done."""
    chance, chat = random.Random(seed), opened(store)
    for number in range(10_000):
        refs = [output.ref for output in chat.outputs()]
        verb = chance.choice(VERBS) if refs else "take"
        if verb == "take":
            chat.add(calls(f"c{seed}-{number}"))
            chat.answer(f"c{seed}-{number}", chance.choice(OUTPUTS))
            tell(f"took {chat.outputs()[0].ref}")
        elif verb == "erase":
            ref = chance.choice(refs)
            tell(f"begun {ref}")
            with suppress(fanfold.Busy):  # somebody who died held the same content
                chat.erase(ref, "asked for")
                tell(f"erased {ref}")
        elif verb == "gc":
            chat.gc(delete=True, hidden=True)
        else:
            file = io.BytesIO()
            fanfold.export_session(store, "run", file)
            file.seek(0)
            tell(f"brought {fanfold.import_session(store, file, name=f'copy-{seed}-{number}')}")


def all_was_tried(told: list[str], one_more: Callable[[float], list[str]]) -> None:
    """Outputs were taken in, and something was destroyed or copied: else nothing was put to the test.

    If need be, a few live longer.
    """
    done, seconds = Counter(line.split()[0] for line in told), 1.0
    while not (done["took"] and done["begun"] + done["brought"]):
        assert seconds < 100, "nothing was taken in and erased or copied before the children were killed"
        done.update(line.split()[0] for line in one_more(seconds))
        seconds *= 2


def it_is_clear(store: Store, told: list[str]) -> None:
    """Nothing but what was erased is gone, what was erased stays so, and no session is there by half."""
    report = fanfold.doctor(store)  # type: ignore[arg-type]
    assert report.healthy, str(report)
    words = [line.split() for line in told]
    begun = {ref for word, ref in words if word == "begun"}
    with opened(store) as chat:
        for word, ref in words:
            if word == "took" and ref not in begun:
                assert chat.output(ref).text() in OUTPUTS
            elif word == "erased":
                with pytest.raises(fanfold.Gone):
                    chat.output(ref)
    there = set(store.sessions("default"))
    assert {name for word, name in words if word == "brought"} <= there
    for name in there:
        with fanfold.open(name, window=10**9, store=store, meter="characters/4") as copy:
            assert all(output.text() in OUTPUTS for output in copy.outputs())
