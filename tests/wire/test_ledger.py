"""What a session has cost, shared out over the things in its requests: the sums are what the provider billed."""

import pytest

from .loops import whole_loop
from .sdks import QUICK, Sdk


@pytest.mark.parametrize("sdk", QUICK, ids=lambda sdk: sdk.__name__)
def test_the_ledger_of_a_tool_loop_is_what_the_provider_billed(sdk: type[Sdk]) -> None:
    looped = whole_loop(sdk, 30)
    ledger = looped.chat.ledger()
    assert ledger.usage.prompt == sum(each.tokens for each in looped.requests)
    assert ledger.usage.cache_read == sum(each.cached for each in looped.requests) > 0
    for name in ("input", "cache_read", "cache_write", "output"):
        assert sum(getattr(line, name) for line in ledger.lines) == getattr(ledger.usage, name)
    assert (ledger.requests, ledger.unbilled) == (31, 0)
    kinds = ledger.by("kind")
    assert {"system", "schema", "person", "call", "output", "summary"} <= kinds.keys()
    assert sum(kinds.values()) == ledger.usage.total
