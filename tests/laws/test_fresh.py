"""fresh: what the model has not seen yet is verbatim as passes left it, if it fits; the largest gives way first."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import fanfold
from fanfold import Ask, Budget, Call
from fanfold.outputs.filters import clip
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import conversations
from laws.hostile import HOSTILE, summarizes
from laws.world import World

FRAME = World().chat.pressure().frame
"""Tokens of a world's system prompt and tools, those to look things up included."""
THOUGHT = {"role": "assistant", "content": "", "reasoning_content": "Where was that? " * 30}
SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=4)


def _with_outputs(bodies: list[Any], sizes: list[int]) -> tuple[list[Any], list[str]]:
    ids = [f"new-{n}" for n in range(len(sizes))]
    outputs = [f"{id} " + "word " * size for id, size in zip(ids, sizes, strict=True)]
    step = [replied("Now.", *(called(id) for id in ids))]
    step += [returned(id, output) for id, output in zip(ids, outputs, strict=True)]
    return [*bodies, said("Last request."), *step], outputs


def _sent(request: dict[str, Any]) -> list[str]:
    return [str(body.get("content")) for body in request["messages"]]


@example([said("Go."), replied("Done."), said("Go on."), THOUGHT], [1, 1, 1], None)
@given(conversations(most=800), SIZES, st.sampled_from((None, summarizes, *HOSTILE)))
def test_new_outputs_are_whole_where_they_fit_together(
    bodies: list[Any], sizes: list[int], strategy: Any
) -> None:
    room = FRAME + sum(sizes) + 12 * len(sizes) + 160
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


SECRET = "hunter2-is-it"
REDACTED = st.sampled_from(("", "*", "*" * len(SECRET), "[this was taken out by the caller's own pass]"))


def _redactor(instead: str) -> Any:
    def redact(text: str, tool: str, arguments: Any) -> str:
        return text.replace(SECRET, instead)

    return redact


def _looked_up(chat: fanfold.Session) -> str:
    calls = [("", {"ref_id": output.ref, "limit": 2_000}) for output in chat.outputs()]
    calls.append(("_search", {"pattern": "hunter|new"}))
    return "\n".join(
        chat.recall(Call("r", f"tool_output_cache{name}", json.dumps(asked))) for name, asked in calls
    )


@given(REDACTED, st.lists(SIZES, min_size=1, max_size=6), st.sampled_from((None, summarizes, *HOSTILE)))
def test_outputs_are_verbatim_as_filters_left_them_and_models_never_get_more(
    instead: str, turns: list[list[int]], strategy: Any
) -> None:
    """(19.15)"""
    asked: list[Ask] = []

    def model(question: Ask) -> str:
        asked.append(question)
        return "They ran it, and it worked."

    budget, filters = Budget(window=2_400, reserve=50), [_redactor(instead), clip(size=1_000)]
    with fanfold.open("run", budget=budget, filters=filters, strategy=strategy, summarizer=model) as chat:
        transcript: list[Any] = []
        for turn, sizes in enumerate(turns):
            outputs = [f"new-{turn}-{n} {SECRET} " + "word " * size for n, size in enumerate(sizes)]
            transcript += [
                said(f"Request {turn}."),
                replied(None, *(called(one.split()[0]) for one in outputs)),
            ]
            transcript += [returned(one.split()[0], one) for one in outputs]
            chat.merge(transcript)
            request = chat.request()
            assert SECRET not in str(request)
            left = [output.replace(SECRET, instead) for output in outputs]
            if sum(map(len, left)) < 2_000 and all(len(one) < 1_000 for one in left):
                assert [one for one in left if one not in _sent(request)] == []
            transcript.append(replied(f"Done {turn}."))
            chat.merge(transcript)
            chat.compact(force=True)
        assert SECRET not in _looked_up(chat)
        assert SECRET not in str(asked)
        assert SECRET in str([output.text() for output in chat.outputs()])
