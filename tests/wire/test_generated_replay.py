"""Generated conversations, many of them broken, go through small windows in every dialect without a violation."""

from collections.abc import Sequence

import pytest

from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.testing.replaying import MODELS, Replayed, replay

from .generated import conversation

TRIED = (
    [(0, 8_000), (1, 16_000)],
    pytest.param(
        [(0, 16_000), (1, 8_000), *((seed, window) for seed in range(2, 60) for window in (8_000, 16_000))],
        marks=pytest.mark.slow,
    ),
)
"""Seeds and windows."""
STATELESS = {"openai.responses": {"store": False, "include": ["reasoning.encrypted_content"]}}


def replayed(seed: int, recorded_as: str, sent_as: str, window: int) -> Replayed:
    source = dialect_named(recorded_as, MODELS[recorded_as])
    messages = [source.message(body) for body in conversation(seed, recorded_as)]
    params = STATELESS.get(sent_as) if seed % 2 else None
    return replay(messages, dialect=sent_as, window=window, params=params)


@pytest.mark.parametrize("tried", TRIED, ids=["few", "many"])
@pytest.mark.parametrize("sent_as", DIALECTS)
@pytest.mark.parametrize("recorded_as", DIALECTS)
def test_a_generated_conversation_is_never_refused(
    recorded_as: str, sent_as: str, tried: Sequence[tuple[int, int]]
) -> None:
    for seed, window in tried:
        found = replayed(seed, recorded_as, sent_as, window)
        assert found.requests > 0
        assert (found.broken, found.refused) == ([], []), f"seed {seed}, window {window}"
        assert (found.over, found.does_not_fit) == (0, 0), f"seed {seed}, window {window}"
