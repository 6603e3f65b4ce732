"""What a list of sessions tells of each, without opening it: kept with what a session writes, without any content."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fanfold.core.record import Edited, Move, Opened, Record, Sent, Totals


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session in a few figures, as of its last request or change, or a few messages later."""

    name: str = ""
    """The session's name."""
    model: str | None = None
    dialect: str | None = None
    labels: dict[str, str] = {}
    """What the caller said of it: its client, the client's own id."""
    parent: str = ""
    """The session that it was forked or spawned from."""
    system: str = ""
    """A hash of the words of its system prompt."""
    messages: int = 0
    requests: int = 0
    edits: int = 0
    """How many edits were made."""
    tokens: int = 0
    """How much the model would see now; of an open session, what came since its last request may not be counted."""
    room: int = 0
    """How much it could see; 0 where no window is known."""
    prompt: int = 0
    cached: int = 0
    output: int = 0
    """What was billed: tokens sent, those of them that came from the cache, and tokens generated."""
    cost: float | None = None
    """What that costs in dollars, about, at list prices; None where they are not known."""
    unmanaged: float | None = None
    """What it would have cost without fanfold, about: everything sent each time, with the client's own cache marks and
    a cache that never misses."""
    over: int = 0
    """In how many requests everything would not have fitted beside the reply: without fanfold, these had failed."""
    seen: float = 0.0
    """When something last happened, in seconds since 1970."""

    @property
    def client(self) -> str:
        """The program that speaks here, where the caller said so by the label `client`."""
        return self.labels.get("client", "")

    @property
    def fill(self) -> float:
        """How full the window is, as a share; more than 1 where the next request has to be reduced first."""
        return self.tokens / self.room if self.room else 0.0

    @property
    def cached_share(self) -> float:
        """The share of all tokens sent that came from the provider's cache, from 0 to 1."""
        return self.cached / self.prompt if self.prompt else 0.0


def summarize_records(name: str, records: Iterable[Record]) -> Summary:
    """What the records of a session tell, where no summary was kept; messages are counted by who keeps them."""
    summary, totals = Summary(name=name), Totals()
    requests = edits = 0
    for record in records:
        totals += record
        match record:
            case Move(time=time):
                summary = msgspec.structs.replace(summary, seen=time)
            case Opened(model=model, dialect=dialect, labels=labels, parent=parent):
                told = {"model": model, "dialect": dialect, "labels": labels, "parent": parent}
                summary = msgspec.structs.replace(summary, **told)
            case Sent(tokens=tokens):
                requests += 1
                summary = msgspec.structs.replace(summary, tokens=tokens)
            case Edited(decisions=decisions):
                edits += len(decisions)
    billed = {"prompt": totals.prompt, "cached": totals.cached, "output": totals.output}
    return msgspec.structs.replace(summary, requests=requests, edits=edits, **billed)
