"""What it would have cost without fanfold is one figure, whoever tells it: what the same work costs at the provider."""

import pytest

from fanfold.gateway.journal import read_journal
from fanfold.testing.provider import Provider, Turn
from fanfold.tokens import models
from fanfold.tokens.usage import cost, usage_of
from tests.gateway.gate import Gate
from tests.gateway.test_loops import outputs
from tests.provider.test_sdks import THOUGHT, Anthropic, Chat

STEPS, REPLY = 24, 4_000


class Claude(Anthropic):
    """A loop with a model whose prices are known."""

    @property
    def request(self):
        return {**super().request, "model": "claude-sonnet-4-5"}


class Bare(Claude):
    """The same without any cache mark: at the provider nothing of it is cached, fanfold sets marks."""

    @property
    def request(self):
        return {key: value for key, value in super().request.items() if key != "cache_control"}


def script(request):
    if request.number > STEPS:
        return Turn("Found it.", thinking=THOUGHT)
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})], thinking=THOUGHT)


def work(sdk, at, lines=400):
    """A loop with outputs that are clipped when they arrive, and shortened later."""
    talk, texts = sdk(at), outputs(lines)
    for _ in range(STEPS + 1):
        talk.output = next(texts)
        talk.take(talk.ask(True))


def billed_without(sdk):
    """What the provider bills for the same work."""
    with Provider(script, window=1_000_000) as provider:
        work(sdk, provider)
    model = models.lookup(provider.requests[0].model)
    return sum(cost(usage_of(one.usage), model) for one in provider.requests)


@pytest.mark.parametrize("sdk", [Chat, Claude, Bare])
def test_every_page_tells_what_the_provider_would_have_billed(sdk, tmp_path):
    path = tmp_path / "lines.jsonl"
    with (
        Provider(script, window=16_000) as provider,
        Gate(provider.url, window=16_000, journal=str(path)) as gate,
    ):
        work(sdk, gate)
        (told,) = gate.gateway.conversations.pool.summaries()
    journal = read_journal(path)
    really = billed_without(sdk)
    assert told.unmanaged == pytest.approx(really, rel=0.1)
    assert sum(one.whole_cost for one in journal) == pytest.approx(told.unmanaged, rel=0.1)
    assert told.cost < really
    assert told.over == sum(one.over for one in journal) > STEPS // 2


class Long(Claude):
    """The same, with room for a long reply: less fits beside it than beside a reply as long as usual."""

    @property
    def request(self):
        return {**super().request, "max_tokens": REPLY}


def test_what_would_have_fitted_is_told_by_the_reply_that_was_asked_for(tmp_path):
    path = tmp_path / "lines.jsonl"
    with (
        Provider(script, window=16_000) as provider,
        Gate(provider.url, window=16_000, journal=str(path)) as gate,
    ):
        work(Long, gate, 60)
        (told,) = gate.gateway.conversations.pool.summaries()
    journal = read_journal(path)
    assert any(16_000 - REPLY < one.whole <= 14_000 for one in journal)
    assert [one.over for one in journal] == [one.whole > 16_000 - REPLY for one in journal]
    assert told.over == sum(one.over for one in journal)
