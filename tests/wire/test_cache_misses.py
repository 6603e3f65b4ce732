"""Why the cache missed: ten ways to break it, each named, with the tokens that the scripted provider billed."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import pytest

import fanfold
from fanfold.testing.provider import Provider, Turn
from fanfold.testing.provider.cache import chain
from fanfold.testing.provider.paths import APIS
from fanfold.text.json_text import from_json, to_json

from .sdks import NAMES, Anthropic, Chat, Gemini, Responses, Sdk, ask

SYSTEM = "You find bugs. Today is 2026-11-17. " + "You say where they are. " * 900
READ, GREP = "read", "grep"


class World:
    """A session of a client that re-sends its frame, and a clock that both sides read."""

    hooks = fanfold.Hooks()

    def __init__(self, kind: type[Sdk], tools: Any = None) -> None:
        self.kind, self.now, self.store = kind, 1_000.0, fanfold.Memory()
        self.tools = kind.tools if tools is None else tools

    def __enter__(self) -> "World":
        self.provider = Provider(self._turn, cache_minimum=256, clock=lambda: self.now)
        self.sdk = self.kind(self.provider.__enter__())
        self.chat = fanfold.open("run", **self._told(self.kind.model))
        return self

    def __exit__(self, *_: Any) -> None:
        self.chat.close()
        self.provider.__exit__(None, None, None)

    def _told(self, model: str) -> dict[str, Any]:
        told = {"model": model, "dialect": self.kind.dialect, "window": 60_000, "system": SYSTEM}
        return {
            **told,
            "tools": self.tools,
            "recall": False,
            "volatile": False,
            "hooks": self.hooks,
            "store": self.store,
            "clock": lambda: self.now,
        }

    def _turn(self, request: Any) -> Turn:
        return Turn(f"Step {request.number}. " + "I looked at it. " * 40)

    def step(self, text: str = "Go on, please. " * 20) -> None:
        """A person speaks, and the model answers."""
        self.now += 10
        self.chat.say(text)
        ask(self.sdk, self.chat, False)

    def reframe(self, *, system: str = SYSTEM, tools: Any = None, model: str = "") -> None:
        """The client opens the session again with another frame, or for another model."""
        self.chat.close()
        told = {**self._told(model or self.kind.model), "system": system}
        self.chat = fanfold.open("run", **{**told, "tools": self.tools if tools is None else tools})


def other_order(world: World) -> None:
    world.reframe(tools=_tools(world, lambda tools: tools[::-1]))


def vanished(world: World) -> None:
    world.reframe(tools=_tools(world, lambda tools: tools[: 3 * len(tools) // 4]))


def many_tools(kind: type[Sdk]) -> Any:
    """Tools with the schemas of the others, enough of them to count."""
    names = [f"{name}_{at}" for at in range(20) for name in NAMES]
    body = to_json(kind.tools[0])
    if kind is not Gemini:
        return tuple(from_json(body.replace(f'"{NAMES[0]}"', f'"{name}"')) for name in names)
    (group,) = from_json(body).items()
    first = to_json(group[1][0])
    return ({group[0]: [from_json(first.replace(f'"{NAMES[0]}"', f'"{name}"')) for name in names]},)


def _tools(world: World, change: Callable[[Any], Any]) -> Any:
    if world.kind is Gemini:
        return tuple({name: change(group) for name, group in one.items()} for one in world.tools)
    return change(world.tools)


def another_day(world: World) -> None:
    world.reframe(system=SYSTEM.replace("11-17", "11-18"))


def folded(world: World) -> None:
    rows = [row.id for row in world.chat.view().rows]
    world.chat.fold((rows[1],), "The model looked at it.")


def silent(world: World) -> None:
    world.now += 2 * 3_600


def forgotten(world: World) -> None:
    world.provider._cache = type(world.provider._cache)(lambda: world.now)


def erased(world: World) -> None:
    world.chat.erase(world.chat.view().rows[1].id, "asked for")


def noted(world: World) -> None:
    world.chat.undo(world.chat.fold((world.chat.view().rows[1].id,), "Looked.").id)
    world.chat.pin(world.chat.view().rows[0].id)
    folded_row = world.chat.view().rows[2].id
    world.chat.fold((folded_row,), "A question.")


def another_model(world: World) -> None:
    world.reframe(model=OTHER[world.kind])


def changed(world: World) -> None:
    """The client re-sends its history, and says its first words otherwise."""
    (first, *rest) = [body for row in world.chat.view().rows for body in row.weight.wire]
    key = "parts" if world.kind is Gemini else "content"
    told = first[key] if isinstance(first[key], str) else first[key][0]["text"]
    said = {"text": f"Changed: {told}"} if world.kind is Gemini else f"Changed: {told}"
    world.chat.merge([{**first, key: [said] if world.kind is Gemini else said}, *rest])


OTHER = {
    Chat: "gpt-5.1",
    Responses: "gpt-5.1",
    Anthropic: "claude-sonnet-4-5",
    Gemini: "gemini-2.5-pro",
}
WAYS = {
    "another model": (another_model, "model", "caller"),
    "an early message changed": (changed, "changed", "client"),
    "tools in another order": (other_order, "tools", "client"),
    "a tool that vanishes": (vanished, "tools", "client"),
    "a date in the system prompt": (another_day, "system", "client"),
    "an edit": (folded, "edit", "person"),
    "an edit after another": (noted, "edit", "person"),
    "an erasure": (erased, "edit", "person"),
    "silence": (silent, "expired", "time"),
    "the provider forgets": (forgotten, "provider", "provider"),
}
KINDS = (Chat, Responses, Anthropic, Gemini)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_what_broke_the_cache_is_named(way: str, kind: type[Sdk]) -> None:
    change, cause, by = WAYS[way]
    with World(kind, many_tools(kind)) as world:
        for _ in range(4):
            world.step()
        assert world.chat.cache().broken is None
        change(world)
        world.step()
        use = world.chat.cache()
        billed = world.provider.requests[-1]
    assert use.broken is not None
    assert (use.broken.cause, use.broken.by) == (cause, by)
    could, again = compared(world)
    assert (use.prompt, use.read) == (billed.tokens, billed.cached)
    assert use.could == pytest.approx(could, rel=0.03, abs=400)
    assert use.again == pytest.approx(min(again, billed.tokens - billed.cached), rel=0.03, abs=400)
    assert use.cost is not None
    assert use.cost > 0


def compared(world: World) -> tuple[int, int]:
    """What the last two prompts share, and what was sent again though nobody read it: counted by the provider, from the
    bodies that arrived there, and from its own cache."""
    one, two = (request for request in world.provider.requests[-2:])
    api = next(api for api in APIS.values() if api.__name__.endswith(world.kind.api))
    old, new = (api.blocks(each.body, world.provider._count(each.model)) for each in (one, two))
    links = [chain(blocks, each.model) for blocks, each in ((old, one), (new, two))]
    same = sum(before == after for before, after in zip(*links, strict=False))
    could = sum(block.tokens for block in new[:same])
    if same < min(len(old), len(new)) and one.model == two.model:
        pairs = zip(old[same].text, new[same].text, strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        could += new[same].tokens * alike // len(new[same].text)
    texts = {block.text for block in old[same:]}
    again = sum(block.tokens * _known(block.text, texts) for block in new[same : len(old)])
    return could, round(again) + max(0, could - two.cached)


def _known(text: str, before: set[str]) -> float:
    """The share of a block that was sent before: all of it, or most of its words where it was changed."""
    if text in before:
        return 1.0
    words = Counter(re.findall(r"\w+", text))
    shares = (
        sum((words & Counter(re.findall(r"\w+", one))).values()) / max(1, words.total()) for one in before
    )
    return max((share for share in shares if share > 0.5), default=0.0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_between_two_edits_nothing_is_broken_and_the_figures_are_those_of_the_bill(kind: type[Sdk]) -> None:
    with World(kind) as world:
        for _ in range(6):
            world.step()
        uses = [world.chat.cache(n) for n in range(6)]
        requests = list(world.provider.requests)
    assert uses[0].broken is not None
    assert uses[0].broken.cause == "first"
    for last, use, billed in zip(uses[1:], uses[2:], requests[2:], strict=False):
        assert use.broken is None
        assert use.cost == 0
        assert use.read == billed.cached
        assert use.could == last.prompt


def test_after_a_rewind_the_path_is_another_and_nothing_is_lost() -> None:
    with World(Chat) as world:
        for n in range(4):
            world.step(f"Question {n}. " * 30)
        world.chat.rewind(turns=1)
        world.step("Something else, please. " * 20)
        use = world.chat.cache()
    assert use.broken is not None
    assert (use.broken.cause, use.again, use.cost) == ("path", 0, 0)
    assert 0 < use.could < use.prompt


def test_another_model_is_named() -> None:
    with World(Chat) as world:
        for _ in range(3):
            world.step()
        world.chat.close()
        world.chat = fanfold.open("run", **world._told("gpt-5.1"))
        world.step()
        broken = world.chat.cache().broken
    assert str(broken) == "model gpt-5.1 (by caller): gpt-5.2 before"


def test_what_is_different_in_the_system_prompt_is_shown() -> None:
    with World(Chat) as world:
        world.step()
        another_day(world)
        world.step()
        assert str(world.chat.cache().broken) == "system (by client): character 33: '7' became '8'"


def test_a_client_that_changes_an_early_message_is_named() -> None:
    history = [{"role": "user", "content": f"Question {n}. " + "Where is it? " * 40} for n in range(6)]
    said = [one for n in range(6) for one in (history[n], {"role": "assistant", "content": f"Answer {n}."})][
        :-1
    ]
    with fanfold.open("run", model="gpt-4.1", recall=False) as chat:
        chat.merge(said)
        chat.request(max_tokens=100)
        said[0] = {"role": "user", "content": said[0]["content"].replace("Question 0", "Question zero")}
        chat.merge(
            [*said, {"role": "assistant", "content": "Answer 5."}, {"role": "user", "content": "And?"}]
        )
        chat.request(max_tokens=100)
        broken = chat.cache().broken
    assert broken is not None
    assert (broken.cause, broken.by, broken.what) == ("changed", "client", "character 9: '0' became 'zero'")


def test_a_request_that_never_was_is_named() -> None:
    with fanfold.open("run", model="gpt-4.1") as chat, pytest.raises(fanfold.NotFound, match="no request -1"):
        chat.cache()


def test_marks_that_moved_are_named() -> None:
    mark = {"type": "ephemeral"}
    with World(Anthropic) as world:
        first = {"type": "text", "text": "Where is the bug? " * 100, "cache_control": mark}
        world.chat.add({"role": "user", "content": [first]})
        usual = world.sdk.params
        world.sdk.params = {**usual, "cache_control": mark}
        ask(world.sdk, world.chat, False)
        for _ in range(3):
            world.step()
        assert world.chat.cache().broken is None
        world.sdk.params = usual
        world.step()
        use, billed = world.chat.cache(), world.provider.requests[-1]
    assert use.broken is not None
    assert (use.broken.cause, use.broken.by, use.broken.where) == ("marks", "caller", "cache_control")
    assert (use.prompt, use.read) == (billed.tokens, billed.cached)
    assert use.again > 0


def test_marks_that_moved_and_cost_nothing_are_no_break() -> None:
    def marked(at: int) -> list[Any]:
        blocks: list[Any] = [{"type": "text", "text": text} for text in (SYSTEM, "Be brief. " * 300)]
        blocks[at]["cache_control"] = {"type": "ephemeral"}
        return blocks

    with World(Anthropic) as world:
        world.reframe(system=marked(1))
        world.step()
        world.step()
        world.reframe(system=marked(0))
        world.step()
        assert world.chat.cache().broken is None


def test_a_user_interface_is_told_of_a_break() -> None:
    told: list[Any] = []
    with World(Chat) as world:
        world.hooks = fanfold.Hooks(on_event=told.append)
        world.reframe()
        for _ in range(3):
            world.step()
        assert told == []
        another_day(world)
        world.step()
        use = world.chat.cache()
    assert [(one.request, one.cause, one.by, one.again) for one in told] == [
        (3, "system", "client", use.again)
    ]
