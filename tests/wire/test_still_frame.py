"""A frame that stands still: order, a tool that vanishes for a while, a date in the system prompt."""

from typing import Any

import pytest

import fanfold

from .sdks import Anthropic, Chat, Gemini, Responses, Sdk
from .test_cache_misses import SYSTEM, World, _tools, other_order, vanished

each = pytest.mark.parametrize(
    "kind", [Chat, Responses, Anthropic, Gemini], ids=("chat", "responses", "anthropic", "gemini")
)


class StillWorld(World):
    """The same client, with a session whose frame stands still."""

    volatile: Any = True

    def _told(self, model: str) -> dict[str, Any]:
        return {**super()._told(model), "volatile": self.volatile}


def frame_of(world: World) -> tuple[Any, Any]:
    """System prompt and tools, as the provider got them last."""
    body = world.provider.requests[-1].body
    first = [one for one in body.get("messages", ()) if one["role"] in ("system", "developer")]
    system = body.get("system") or body.get("instructions") or body.get("systemInstruction") or first
    return str(system).replace("'cache_control': {'type': 'ephemeral'}, ", ""), body.get("tools")


LINES = "You find bugs.\nToday is 2026-11-17.\n" + "You say where they are. " * 200


def next_day(world: World) -> None:
    world.reframe(system=LINES.replace("17", "18"))


def again(world: World, system: str) -> Any:
    """The client sends its frame again; the messages of the next request."""
    world.reframe(system=system)
    world.step()
    return world.provider.requests[-1].body["messages"]


@each
@pytest.mark.parametrize("change", [other_order, vanished, next_day], ids=["order", "vanished", "date"])
def test_the_cache_is_read_although_the_client_changed_its_frame(kind: type[Sdk], change: Any) -> None:
    with StillWorld(kind) as world:
        world.reframe(system=LINES if change is next_day else SYSTEM)
        for _ in range(4):
            world.step()
        before = frame_of(world)
        change(world)
        world.step()
        world.step()
        assert frame_of(world) == before
        assert [use.broken for use in map(world.chat.cache, (4, 5))] == [None, None]
        assert world.provider.rejected == []


def test_a_line_that_changed_is_told_at_the_end_and_leaves_the_prompt_with_the_next_edit() -> None:
    with StillWorld(Chat) as world:
        again(world, LINES)
        told = again(world, LINES.replace("17", "18"))
        assert "Today is 2026-11-17." in told[0]["content"]
        assert "[system prompt, as of now] Today is 2026-11-18." in told[-1]["content"]
        rows = world.chat.view().rows
        world.chat.fold((rows[0].id, rows[1].id), "We began.")
        world.chat.say("And now?")
        after = world.chat.request(max_tokens=300)["messages"]
        assert "Today is" not in after[0]["content"]
        assert "Today is 2026-11-18." in after[-1]["content"]


def test_declared_lines_stand_at_the_end_from_the_first_request_on() -> None:
    for dialect, model in (("openai.chat", "gpt-5.2"), ("anthropic", "claude-opus-4-5"), ("gemini", None)):
        with fanfold.open(
            "run", model=model, window=60_000, dialect=dialect, system=LINES, volatile="Today is"
        ) as chat:
            chat.say("Go.")
            request = chat.request(max_tokens=100)
            assert str(request).count("Today is 2026-11-17.") == 1
            assert str(request).index("Today is") > str(request).index("Go.")


def test_a_tool_that_is_missing_is_answered_and_comes_back() -> None:
    with StillWorld(Chat) as world:
        world.step()
        vanished(world)
        world.step()
        name = world.kind.tools[1]["function"]["name"]
        call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"path": "x"}'}}
        world.chat.say("Go.")
        world.chat.request(max_tokens=300)
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reply = world.chat.receive(
            {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        )
        assert (reply.calls, reply.recalled) == ((), ("c1",))
        assert "not available at present" in world.chat.request(max_tokens=300)["messages"][-1]["content"]
        world.reframe()
        assert world.chat._state.still.missing == frozenset()


def test_what_really_changed_is_sent_at_once() -> None:
    with StillWorld(Chat) as world:
        again(world, LINES)
        other = LINES.replace("You find bugs.", "From now on you write poems about the sea.")
        assert "poems" in again(world, other)[0]["content"]
        more = _tools(world, lambda tools: (*tools, {"type": "function", "function": {"name": "sed"}}))
        world.reframe(system=other, tools=more[::-1])
        world.step()
        names = [tool["function"]["name"] for tool in world.provider.requests[-1].body["tools"]]
        assert names == ["grep", "read", "sed"]


def test_without_the_option_only_the_order_is_kept() -> None:
    class UsualWorld(StillWorld):
        volatile = None

    with UsualWorld(Chat) as world:
        world.step()
        other_order(world)
        world.step()
        assert world.chat.cache().broken is None
        world.reframe(system=SYSTEM.replace("17", "18"))
        world.step()
        assert world.chat.cache().broken is not None
