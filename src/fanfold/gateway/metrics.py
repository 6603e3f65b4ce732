"""Figures for Prometheus: counters, each with its labels."""

from __future__ import annotations

from collections import Counter
from time import time

_HELP = {
    "requests": "Requests by dialect and status.",
    "managed": "Requests whose conversation is kept inside its window.",
    "edited": "Requests that were sent with something reduced.",
    "bypassed": "Requests that were passed on unmanaged, by reason.",
    "refused_too_long": "Times a provider said that a request is too long.",
    "hidden_rounds": "Rounds in which the model looked something up again.",
    "client_compactions": "Times a client compacted, and got a reference instead.",
    "tokens_after": "Tokens of requests as they were sent on.",
    "cache_misses": "Replies that read less than half of their prompt from the provider's cache, by what broke it.",
    "cache_missed_tokens": "Tokens that were sent before and had to be read afresh, by what broke the cache.",
    "upstream_failures": "Requests that found no upstream, or lost it.",
    "streams_cut": "Streams that broke off, by who broke them off.",
}


class Metrics:
    """What the gateway did so far."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.since = time()

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Count something."""
        self._counts[name, tuple(sorted(labels.items())) if labels else ()] += amount

    def count(self, name: str) -> int:
        """How often something was counted, whatever its labels."""
        return sum(amount for (known, _), amount in self._counts.items() if known == name)

    def counts(self) -> list[tuple[str, dict[str, str], int]]:
        """All counters: name, labels and figure."""
        return [(name, dict(labels), amount) for (name, labels), amount in sorted(self._counts.items())]

    def help(self, name: str) -> str:
        """What a counter counts."""
        return _HELP[name]

    def text(self, **gauges: float) -> str:
        """All figures as Prometheus reads them; `gauges` are those of this moment."""
        lines: list[str] = []
        for name, sentence in _HELP.items():
            lines += [f"# HELP fanfold_{name}_total {sentence}", f"# TYPE fanfold_{name}_total counter"]
            found = sorted((labels, n) for (known, labels), n in self._counts.items() if known == name)
            lines += [f"fanfold_{name}_total{_braces(labels)} {amount}" for labels, amount in found]
        for name, value in gauges.items():
            lines += [f"# TYPE fanfold_{name} gauge", f"fanfold_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _braces(labels: tuple[tuple[str, str], ...]) -> str:
    inner = ",".join(f'{name}="{value}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""
