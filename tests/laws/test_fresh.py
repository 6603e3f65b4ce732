"""fresh: what the model has not seen yet is shown whole, as far as it fits; the largest gives way first."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanfold import Budget
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import conversations
from laws.hostile import HOSTILE, summarizes
from laws.world import World

SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=4)


def _with_outputs(bodies: list[Any], sizes: list[int]) -> tuple[list[Any], list[str]]:
    ids = [f"new-{n}" for n in range(len(sizes))]
    outputs = [f"{id} " + "word " * size for id, size in zip(ids, sizes, strict=True)]
    step = [replied("Now.", *(called(id) for id in ids))]
    step += [returned(id, output) for id, output in zip(ids, outputs, strict=True)]
    return [*bodies, said("Last request."), *step], outputs


def _sent(request: dict[str, Any]) -> list[str]:
    return [str(body.get("content")) for body in request["messages"]]


@given(conversations(most=800), SIZES, st.sampled_from((None, summarizes, *HOSTILE)))
def test_new_outputs_are_whole_where_they_fit_together(
    bodies: list[Any], sizes: list[int], strategy: Any
) -> None:
    room = sum(sizes) + 12 * len(sizes) + 200
    world = World(strategy, budget=Budget(window=room + 50, reserve=50))
    transcript, outputs = _with_outputs(bodies, sizes)
    world.merge(transcript)
    request = world.request()
    assert request is not None
    assert [output for output in outputs if output not in _sent(request)] == []


@given(conversations(most=300), st.lists(st.integers(300, 2_000), min_size=2, max_size=4, unique=True))
def test_the_largest_gives_way_first(bodies: list[Any], sizes: list[int]) -> None:
    world = World(budget=Budget(window=int(sum(sizes) * 0.7), reserve=20))
    transcript, outputs = _with_outputs(bodies, sizes)
    world.merge(transcript)
    request = world.request()
    assert request is not None
    whole = [size for size, output in zip(sizes, outputs, strict=True) if output in _sent(request)]
    clipped = [size for size in sizes if size not in whole]
    assert clipped
    assert not whole or max(whole) < min(clipped) + 64


@given(conversations(most=800), st.sampled_from((None, summarizes, *HOSTILE)))
def test_the_last_request_is_whole(bodies: list[Any], strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=400))
    world.merge([*bodies, said("Only this counts now.")])
    request = world.request()
    assert request is not None
    assert "Only this counts now." in _sent(request)
