"""ledger: in every dialect the sums are the provider's bills, whatever was forked, delegated, folded or rewound."""

from __future__ import annotations

import random
from typing import Any

import pytest

import fanfold
from fanfold.testing.provider import Provider, Received, Turn

from .sdks import NAMES, QUICK, Sdk, ask


class Family:
    """A session with its forks and sub-agents, and which of the provider's requests each of them sent."""

    def __init__(self, kind: type[Sdk], provider: Provider, seed: int) -> None:
        self.sdk, self.provider, self.rng = kind(provider), provider, random.Random(seed)
        told: dict[str, Any] = {"model": kind.model, "dialect": kind.dialect, "tools": kind.tools}
        self.chat = fanfold.open("main", **told, window=30_000, system="You find bugs. " * 60, recall=False)
        self.sent: dict[str, list[Received]] = {}
        self.names = 0

    def step(self, chat: fanfold.Session, owner: str) -> Any:
        """One request, and its calls answered; whoever `owner` is pays."""
        reply = ask(self.sdk, chat)
        self.sent.setdefault(owner, []).append(self.provider.requests[-1])
        return reply

    def turn(self, chat: fanfold.Session, owner: str) -> None:
        """A person speaks; some of the calls are delegated."""
        chat.say(f"Question {self.rng.random()}. " * self.rng.randrange(1, 30))
        reply = self.step(chat, owner)
        for call in reply.calls:
            if not self.names or self.rng.random() < 0.4:
                self.names += 1
                with chat.spawn(call, name=f"agent{self.names}") as agent:
                    agent.say("Look there, please.")
                    self.step(agent, owner)  # its reply may call; nobody goes on
            chat.answer(call, "a line of a file\n" * self.rng.randrange(1, 60))

    def change(self, chat: fanfold.Session) -> None:
        """Fold a row, take the last edit back, or go on from before."""
        try:
            match self.rng.randrange(3):
                case 0:
                    chat.fold((self.rng.choice(chat.view().rows).id,), "Something was said here.")
                case 1:
                    chat.undo()
                case _:
                    chat.rewind(turns=1)
        except fanfold.FanfoldError:
            pass  # what cannot be done is not done


def turns(request: Received) -> Turn:
    """Words, and calls now and then."""
    calls = [(NAMES[k], {"path": f"m{request.number}.py"}) for k in range(request.number % 3)]
    return Turn("I look at it. " * (1 + request.number % 9), calls=calls)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", QUICK, ids=lambda kind: kind.__name__)
def test_the_ledgers_of_a_family_are_what_the_provider_billed(kind: type[Sdk], seed: int) -> None:
    with Provider(turns, cache_minimum=256) as provider:
        family = Family(kind, provider, seed)
        chat = family.chat
        for _ in range(6):
            family.turn(chat, "main")
            if family.rng.random() < 0.4:
                family.change(chat)
        with chat.fork("other") as other:
            for _ in range(3):
                family.turn(other, "other")
            check(other.ledger(), family.sent["other"])
        family.turn(chat, "main")
        check(chat.ledger(), family.sent["main"])
        assert chat.ledger().by("kind")["sub-agent"] > 0
        chat.close()


def check(ledger: fanfold.Ledger, billed: list[Received]) -> None:
    """The sums are those of the bills, as the provider made them."""
    assert ledger.usage.prompt == sum(each.tokens for each in billed)
    assert ledger.usage.cache_read == sum(each.cached for each in billed)
    for name in ("input", "cache_read", "cache_write", "output"):
        assert sum(getattr(line, name) for line in ledger.lines) == getattr(ledger.usage, name)
        assert all(getattr(line, name) >= 0 for line in ledger.lines)
    assert ledger.usage.output > 0
    assert ledger.unbilled == 0
