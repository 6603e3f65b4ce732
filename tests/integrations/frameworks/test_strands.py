"""The plug-in in agents of Strands, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from pydantic import BaseModel, Field
from strands import Agent, tool
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.middleware import InvokeModelStage
from strands.models.anthropic import AnthropicModel
from strands.models.model import Model
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager

import fanfold
from fanfold.integrations.strands import CLAUDE, OTHERS, FanfoldWindow
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

LOOK = tool(look)


class StrandsAgent:
    """An agent of Strands' for the check."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.fold = FanfoldWindow(store=trial.store, window=trial.window) if trial.store else None
        self.folder = mkdtemp()
        self.agents: dict[str, Agent] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        agent = self.agents.get(thread) or self._agent(thread)
        self.agents[thread] = agent
        if mode == "run":
            return str(agent(text)).strip()
        if mode == "arun":
            return str(asyncio.run(agent.invoke_async(text))).strip()
        return asyncio.run(self._stream(agent, text))

    def _agent(self, thread: str) -> Agent:
        client = {"base_url": self.trial.openai_base_url, "api_key": "any", "max_retries": 0}
        return Agent(
            OpenAIModel(client_args=client, model_id="gpt-4o"),
            tools=[tool(each) for each in self.trial.tools.values()],
            system_prompt="You read.",
            plugins=[self.fold] if self.fold else [],
            session_manager=FileSessionManager(thread, storage_dir=self.folder),
            callback_handler=None,
        )

    async def _stream(self, agent: Agent, text: str) -> str:
        async for event in agent.stream_async(text):
            if "result" in event:
                return str(event["result"]).strip()
        raise AssertionError("The stream had no result.")

    def history(self, thread: str) -> str:
        return json.dumps(self.agents[thread].messages)

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


def outputs(messages: list[Any]) -> list[str]:
    blocks = [
        block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block
    ]
    return [one["text"] for block in blocks for one in block["content"]]


def test_an_agent_keeps_every_promise() -> None:
    check_integration(StrandsAgent, modes=("run", "arun", "stream"))


class Scripted(Model):
    """A model that plays replies and keeps the objects that it was sent; Strands ships none."""

    def __init__(self, *replies: list[Any], **config: Any) -> None:
        self.sent: list[list[Any]] = []
        self.offered: list[list[str]] = []
        self.config = {"model_id": "gpt-4o", **config}
        self._replies = iter(replies)

    def get_config(self) -> Any:
        return self.config

    def update_config(self, **changes: Any) -> None:
        self.config.update(changes)

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield {}

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.sent.append(messages)
        self.offered.append([spec["name"] for spec in tool_specs or ()])
        reply = next(self._replies)
        yield {"messageStart": {"role": "assistant"}}
        for block in reply:
            async for event in pieces(block):
                yield event
        called = any("toolUse" in block for block in reply)
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}


async def pieces(block: Any) -> AsyncIterator[Any]:
    """A block of a reply, as it is streamed."""
    if "toolUse" in block:
        use = block["toolUse"]
        yield {
            "contentBlockStart": {"start": {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}}}
        }
        yield {
            "contentBlockDelta": {
                "delta": {"toolUse": {"input": fanfold.text.json_text.to_json(use["input"])}}
            }
        }
    elif "thought" in block:
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": block["thought"]}}}}
        yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "sealed"}}}}
    else:
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
    yield {"contentBlockStop": {}}


def calling(*numbers: int, name: str = "look") -> list[Any]:
    return [
        {"toolUse": {"toolUseId": f"call_{number}", "name": name, "input": {"number": number}}}
        for number in numbers
    ]


def saying(text: str) -> list[Any]:
    return [{"text": text}]


def made(fold: FanfoldWindow, model: Model, tools: Any = (LOOK,), **more: Any) -> Agent:
    return Agent(model, tools=list(tools), plugins=[fold], callback_handler=None, **more)


def test_the_messages_stay_whole_though_the_model_got_less() -> None:
    script = Scripted(*(calling(number) for number in range(30)), saying("Done."))
    agent = made(FanfoldWindow(window=6_000), script)
    agent("Look.")
    assert outputs(agent.messages) == [look(number) for number in range(30)]
    assert outputs(script.sent[-1]) != outputs(agent.messages)


def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures() -> None:
    given: list[Any] = []

    async def watch(context: Any, next_fn: Any) -> AsyncIterator[Any]:
        given.append(context.messages)
        async for event in next_fn(context):
            yield event

    script = Scripted([{"thought": "hm"}, *calling(1)], saying("Done."))
    agent = Agent(script, tools=[LOOK], callback_handler=None)
    agent.add_middleware(InvokeModelStage, watch)
    fold = FanfoldWindow(window=100_000)
    fold.init_agent(agent)
    sent: list[Any] = []

    async def last(context: Any, next_fn: Any) -> AsyncIterator[Any]:
        sent.append(context.messages)
        async for event in next_fn(context):
            yield event

    agent.add_middleware(InvokeModelStage, last)
    agent("Look.")
    assert [one is own for one, own in zip(sent[1], given[1], strict=True)] == [True] * 3
    thought = sent[1][1]["content"][0]["reasoningContent"]["reasoningText"]
    assert thought == {"text": "hm", "signature": "sealed"}


def test_of_parallel_results_only_the_one_that_is_too_long_is_shortened() -> None:
    @tool
    def print_all(number: int) -> str:
        """Print much."""
        return "a line of words\n" * 9_000 if number == 1 else "short"

    script = Scripted(calling(1, 2, name="print_all"), saying("Done."))
    agent = made(FanfoldWindow(window=8_000), script, [print_all])
    agent("Print.")
    own, sent = agent.messages[2]["content"], script.sent[1][2]["content"]
    assert sent[1] == own[1]
    assert len(sent[0]["toolResult"]["content"][0]["text"]) < len(own[0]["toolResult"]["content"][0]["text"])
    assert [one["toolResult"]["toolUseId"] for one in sent] == ["call_1", "call_2"]


def test_failed_calls_and_calls_of_unknown_tools_stay_paired() -> None:
    @tool
    def fail(number: int) -> str:
        """Fail."""
        raise ValueError("Another number, please.")

    script = Scripted(calling(1, name="fail"), calling(2, name="unknown"), calling(3), saying("Done."))
    made(FanfoldWindow(window=100_000), script, [fail, LOOK])("Look.")
    blocks = [block for message in script.sent[-1] for block in message["content"]]
    called = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    answered = [block["toolResult"] for block in blocks if "toolResult" in block]
    assert called == [one["toolUseId"] for one in answered]
    assert [one["status"] for one in answered] == ["error", "error", "success"]


def test_a_shortened_failure_is_still_a_failure() -> None:
    result = {"toolUseId": "c1", "status": "error", "content": [{"text": "long"}, {"json": {"a": 1}}]}
    own = {"role": "user", "content": [{"toolResult": result}]}
    body = OTHERS.body(own)
    assert OTHERS.build(fanfold.Message("user", ()), body, own)["content"][0] is own["content"][0]
    body["content"][0]["content"] = "short"
    built = OTHERS.build(fanfold.Message("user", ()), body, own)
    assert built["content"] == [
        {"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "short"}]}}
    ]


def test_pictures_and_files_are_told_and_come_back() -> None:
    blocks: list[Any] = [
        {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF"}}},
        {"document": {"format": "txt", "name": "b", "source": {"bytes": b"words"}}},
        {"video": {"format": "mp4", "source": {"bytes": b"film"}}},
        {"cachePoint": {"type": "default"}},
    ]
    own = {"role": "user", "content": blocks}
    body = CLAUDE.body(own)
    assert [block["type"] for block in body["content"]] == ["image", "document", "text", "text"]
    assert body["content"][2]["text"] == "words"
    assert CLAUDE.build(fanfold.Message("user", ()), body, own)["content"] == blocks[:4]


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    for text in ("one", "two"):
        fold = FanfoldWindow(store=store, window=100_000)
        kept = FileSessionManager("t1", storage_dir=str(tmp_path))
        made(fold, Scripted(saying(text)), session_manager=kept)(f"Say {text}.")
        fold.close()
    with fanfold.open("t1/default", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_a_session_that_was_kept_without_fanfold_goes_on_with_it(tmp_path: Path) -> None:
    for plugins in ([], [FanfoldWindow(window=100_000)], []):
        kept = FileSessionManager("t1", storage_dir=str(tmp_path))
        agent = Agent(Scripted(saying("yes")), plugins=plugins, session_manager=kept, callback_handler=None)
        agent("Well?")
    assert len(agent.messages) == 6


def test_going_back_in_time_forks() -> None:
    fold, script = FanfoldWindow("t1", window=100_000), Scripted(*map(saying, ("one", "two", "three")))
    agent = made(fold, script)
    agent("first")
    before = list(agent.messages)
    agent("second")
    agent.messages[:] = before
    agent("another")
    with fold.session("t1/default") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_a_retry_sends_the_same_and_records_nothing_twice() -> None:
    fold = FanfoldWindow("t1")
    turns = [Turn(calls=[("look", {"number": 1})]), Fail.server_error(), Turn("Done.")]
    with Provider(turns) as provider:
        client = {"base_url": provider.openai_base_url, "api_key": "any", "max_retries": 0}
        agent = made(fold, OpenAIModel(client_args=client, model_id="gpt-4o"))
        with pytest.raises(Exception, match="server had an error"):
            agent("Look.")
        agent([])
        assert str(agent.messages[-1]["content"][0]["text"]) == "Done."
        assert provider.requests[1].body["messages"] == provider.requests[2].body["messages"]
    with fold.session("t1/default") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (4, 2, ())


def test_a_sub_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldWindow(store=store, window=100_000)
    inner = made(fold, Scripted(saying("found"), saying("again")), name="seeker", agent_id="seeker")
    use = [{"toolUse": {"toolUseId": f"c{n}", "name": "seeker", "input": {"input": "Seek."}}} for n in (1, 2)]
    kept = FileSessionManager("t1", storage_dir=str(tmp_path))
    script = Scripted(use[:1], use[1:], saying("Done."))
    made(fold, script, [inner.as_tool()], session_manager=kept)("Look.")
    fold.close()
    names = [summary.name for summary in fanfold.Pool(store).summaries()]
    assert len(names) == 2
    assert sum(name.endswith("/seeker") for name in names) == 1
    assert "t1/default" in names


def test_an_agent_without_tools_is_offered_none() -> None:
    script = Scripted(saying("Hello."))
    made(FanfoldWindow(window=100_000), script, ())("Hello?")
    assert script.offered == [[]]


def test_an_agent_without_a_manager_of_its_own_keeps_all_messages() -> None:
    script = Scripted(*(calling(number) for number in range(60)), saying("Done."))
    agent = made(FanfoldWindow(window=100_000), script)
    agent("Look.")
    assert len(agent.messages) == 122


@pytest.mark.parametrize(
    ("more", "warned"),
    [
        ({}, False),
        ({"conversation_manager": NullConversationManager()}, False),
        ({"context_manager": False}, False),
        ({"conversation_manager": SlidingWindowConversationManager(window_size=10)}, True),
        ({"conversation_manager": SummarizingConversationManager()}, True),
        ({"context_manager": "auto"}, True),
    ],
)
def test_a_manager_that_shortens_too_is_told(
    more: Any, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    made(FanfoldWindow(), Scripted(), **more)
    assert ("A manager of Strands is active" in caplog.text) == warned


def test_what_a_plug_in_adds_to_each_request_is_sent_and_not_recorded() -> None:
    def remind(context: Any) -> Any:
        *before, last = context.messages
        last = {**last, "content": [*last["content"], {"text": f"It is step {len(before)}."}]}
        return context.replace(messages=[*before, last], dynamic_trailing_blocks=1)

    script = Scripted(calling(1), saying("Done."))
    fold = FanfoldWindow("t1", window=100_000)
    agent = Agent(script, tools=[LOOK], callback_handler=None)
    agent.add_middleware(InvokeModelStage.Input, remind)
    fold.init_agent(agent)
    agent("Look.")
    assert [sent[-1]["content"][-1] for sent in script.sent] == [
        {"text": "It is step 0."},
        {"text": "It is step 2."},
    ]
    with fold.session("t1/default") as chat:
        assert "It is step" not in str(chat.view().messages)
        assert chat.branches == ()


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = Field(description="Say why. " * 500)


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    counted = []
    reply = [{"toolUse": {"toolUseId": "c1", "name": "Verdict", "input": {"good": True, "why": "so"}}}]
    for kind, script in ((None, Scripted(saying("Yes."))), (Verdict, Scripted(reply))):
        fold = FanfoldWindow("t1", window=100_000)
        made(fold, script)("Well?", structured_output_model=kind)
        with fold.session("t1/default") as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


@pytest.mark.parametrize("thinking", [None, {"type": "enabled", "budget_tokens": 1_024}])
def test_claude_works_through_a_long_run_with_thinking_and_without(thinking: Any) -> None:
    def script(request: Any) -> Turn:
        thought = "I look." if (request.body.get("thinking") or {}).get("type") == "enabled" else ""
        if request.number >= 50:
            return Turn("Done.", thinking=thought)
        calls = [("look", {"number": request.number}), ("look", {"number": 900 + request.number})]
        return Turn(thinking=thought, calls=calls[: 2 if request.number % 5 == 0 else 1])

    with Provider(script, window=20_000) as provider:
        client = {"base_url": provider.anthropic_base_url, "api_key": "any"}
        params = {"params": {"thinking": thinking}} if thinking else {}
        model = AnthropicModel(client_args=client, model_id="claude-sonnet-4-6", max_tokens=4_000, **params)
        agent = made(FanfoldWindow(window=16_000), model)
        assert str(agent("Look.")).strip() == "Done."
        assert provider.rejected == []
        assert max(request.tokens for request in provider.requests) <= 16_000


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("strands")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "strands_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the agent" in done.stdout
