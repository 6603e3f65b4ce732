"""The Agents SDK's own runner, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from agents.memory import SQLiteSession
from agents.run import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI
from pydantic import BaseModel

import fanfold
from fanfold.integrations.openai_agents import FanfoldSession
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

LOOK = function_tool(look)


class SdkAgent:
    """An agent of the SDK's for the check."""

    kind: Any = OpenAIResponsesModel

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.fold = FanfoldSession("none", store=trial.store, window=trial.window) if trial.store else None
        self.sessions: dict[str, Any] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        client = AsyncOpenAI(base_url=self.trial.openai_base_url, api_key="any", max_retries=0)
        agent, given = self._made(thread, client)
        if mode == "sync":
            return str(Runner.run_sync(agent, text, **given).final_output)
        return asyncio.run(self._run(client, mode, agent, text, given))

    def _made(self, thread: str, client: Any) -> tuple[Any, dict[str, Any]]:
        tools = [function_tool(one) for one in self.trial.tools.values()]
        agent = Agent("reader", instructions="You read.", tools=tools, model=self.kind("gpt-4o", client))
        more: dict[str, Any] = {"max_turns": 1_000}
        if self.fold is None:
            session = self.sessions.setdefault(thread, SQLiteSession(thread))
            config = RunConfig(tracing_disabled=True)
        else:
            session = self.sessions.setdefault(thread, self.fold.another(thread))
            agent, config = session.agent(agent), session.run_config(RunConfig(tracing_disabled=True))
            more["hooks"] = session.hooks()
        return agent, {"session": session, "run_config": config, **more}

    @staticmethod
    async def _run(client: Any, mode: str, agent: Any, text: str, given: dict[str, Any]) -> str:
        async with client:
            if mode == "run":
                return str((await Runner.run(agent, text, **given)).final_output)
            stream = Runner.run_streamed(agent, text, **given)
            async for _ in stream.stream_events():
                pass
            return str(stream.final_output)

    def history(self, thread: str) -> str:
        return json.dumps(asyncio.run(self.sessions[thread].get_items()))

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


class ChatAgent(SdkAgent):
    """The same through Chat Completions."""

    kind = OpenAIChatCompletionsModel


@pytest.mark.parametrize("agent", [SdkAgent, ChatAgent])
def test_an_agent_keeps_every_promise(agent: Any) -> None:
    check_integration(agent, modes=("run", "sync", "stream"))


def ran(fold: FanfoldSession, model: Any, text: str = "Look.", **more: Any) -> Any:
    async def main() -> Any:
        agent = fold.agent(Agent("reader", tools=[LOOK], model=model, **more))
        config = fold.run_config(RunConfig(tracing_disabled=True))
        return await Runner.run(
            agent, text, session=fold, run_config=config, hooks=fold.hooks(), max_turns=200
        )

    return asyncio.run(main())


def asking(provider: Provider) -> Any:
    client = AsyncOpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
    return OpenAIResponsesModel("gpt-4o", client)


def calling(number: int, id: str | None = None) -> Any:
    return function_call("look", {"number": number}, call_id=id or f"call_{number:08d}")


def test_the_session_keeps_every_output_though_the_model_got_less() -> None:
    fold = FanfoldSession("t1", window=6_000)
    model = ScriptedModel([*([calling(number)] for number in range(30)), [assistant_message("Done.")]])
    assert ran(fold, model).final_output == "Done."
    kept = [
        item["output"] for item in asyncio.run(fold.get_items()) if item.get("type") == "function_call_output"
    ]
    assert kept == [look(number) for number in range(30)]
    sent = [item["output"] for item in model.calls[-1].input if item.get("type") == "function_call_output"]
    assert kept != sent


def test_untouched_items_are_the_identical_objects_and_keep_their_reasoning() -> None:
    fold, agent = FanfoldSession("t1", window=100_000), Agent("reader", tools=[LOOK], model="gpt-4o")
    items: list[Any] = [
        {"role": "user", "content": "Hello."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
        calling(1).model_dump(exclude_unset=True),
        {"type": "function_call_output", "call_id": "call_00000001", "output": "page"},
        {"role": "user", "content": "And?"},
    ]
    before = json.dumps(items)
    data = CallModelData(model_data=ModelInputData(list(items), "You read."), agent=agent, context=None)
    sent = asyncio.run(fold.filter(data)).input
    assert [one is own for one, own in zip(sent, items, strict=True)] == [True] * 5
    assert json.dumps(items) == before


def test_what_a_chat_model_said_is_sent_as_it_is_and_repaired_nowhere() -> None:
    """The SDK gives all items of such a model one made-up id, and takes it off again."""
    fold = FanfoldSession("t1", window=100_000)
    with Provider(
        [*(Turn("I look.", calls=[("look", {"number": n})]) for n in range(5)), Turn("Done.")]
    ) as provider:
        client = AsyncOpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
        assert ran(fold, OpenAIChatCompletionsModel("gpt-4o", client)).final_output == "Done."
    with fold.session("reader") as chat:
        assert {row.kind for row in chat.view().rows} == {"entry"}


def test_it_is_a_session_like_any_other(tmp_path: Path) -> None:
    async def main(session: Any) -> list[Any]:
        first = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
        await session.add_items(first)
        await session.add_items([{"role": "user", "content": "three"}])
        got = [await session.get_items(), await session.get_items(2), await session.get_items(0)]
        got += [await session.pop_item(), await session.get_items()]
        await session.add_items([{"role": "user", "content": "another"}])
        got.append(await session.get_items(1))
        await session.clear_session()
        return [*got, await session.get_items(), await session.pop_item()]

    ours = asyncio.run(main(FanfoldSession("t1", store=f"sqlite:{tmp_path / 'a.db'}")))
    theirs = asyncio.run(main(SQLiteSession("t1")))
    assert [json.dumps(one, sort_keys=True) for one in ours] == [
        json.dumps(one, sort_keys=True) for one in theirs
    ]


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    for text in ("one", "two"):
        fold = FanfoldSession("t1", store=store, window=100_000)
        ran(fold, ScriptedModel([[assistant_message(text)]]), f"Say {text}.")
        fold.close()
    with fanfold.open("t1/reader", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_a_retry_sends_the_same_bytes_and_records_nothing_twice() -> None:
    fold = FanfoldSession("t1")
    with Provider([Turn(calls=[("look", {"number": 1})]), Fail.server_error(), Turn("Done.")]) as provider:
        with pytest.raises(Exception, match="server had an error"):
            ran(fold, asking(provider))

        async def again() -> Any:
            items = await fold.get_items()
            assert items[-1]["type"] == "function_call_output"
            agent = fold.agent(Agent("reader", tools=[LOOK], model=asking(provider)))
            config = fold.run_config(RunConfig(tracing_disabled=True))
            return await Runner.run(agent, [], session=fold, run_config=config, hooks=fold.hooks())

        assert asyncio.run(again()).final_output == "Done."
        assert provider.requests[1].body["input"] == provider.requests[2].body["input"]
    with fold.session("reader") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (4, 2, ())


def test_parallel_failed_and_invalid_calls_stay_paired() -> None:
    @function_tool
    def fail(number: int) -> str:
        """Fail."""
        raise ValueError("Another number, please.")

    def called(name: str, arguments: str, id: str) -> Any:
        made = function_call(name, {"number": 1}, call_id=id)
        made.arguments = arguments
        return made

    first = [called("fail", '{"number": 1}', "call_00000001"), called("look", '{"number": ', "call_00000002")]
    model = ScriptedModel([first, [calling(3)], [assistant_message("Done.")]])
    fold = FanfoldSession("t1", window=100_000)

    async def main() -> Any:
        agent = fold.agent(Agent("reader", tools=[LOOK, fail], model=model))
        config = fold.run_config(RunConfig(tracing_disabled=True))
        return await Runner.run(agent, "Look.", session=fold, run_config=config, hooks=fold.hooks())

    assert asyncio.run(main()).final_output == "Done."
    sent = [item for item in model.calls[-1].input if "call_id" in item]
    calls = [item["call_id"] for item in sent if item["type"] == "function_call"]
    answers = [item["call_id"] for item in sent if item["type"] == "function_call_output"]
    assert calls == answers == ["call_00000001", "call_00000002", "call_00000003"]


@pytest.mark.parametrize("written", ["{bad", "[1]", '"x"', "null", "NaN"])
def test_a_recall_tool_answers_arguments_that_are_no_object(written: str) -> None:
    model = ScriptedModel(
        [[function_call("tool_output_cache", written, call_id="c1")], [assistant_message("Done.")]]
    )
    done = ran(FanfoldSession("t1", window=50_000), model)
    assert done.final_output == "Done."
    answers = [item["output"] for item in done.to_input_list() if item.get("type") == "function_call_output"]
    assert len(answers) == 1
    assert "are no JSON object" in answers[0]


def test_going_back_in_time_forks() -> None:
    fold = FanfoldSession("t1", window=100_000)
    model = ScriptedModel([[assistant_message(text)] for text in ("one", "two", "three")])
    ran(fold, model, "first")
    ran(fold, model, "second")
    for _ in range(2):
        asyncio.run(fold.pop_item())
    ran(fold, model, "another")
    with fold.session("reader") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_agents_that_hand_over_have_sessions_of_their_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldSession("t1", store=store, window=100_000)

    async def main() -> Any:
        second = fold.agent(Agent("second", model=ScriptedModel([[assistant_message("Done.")]])))
        given = [[function_call("transfer_to_second", {}, call_id="call_1")]]
        first = fold.agent(Agent("first", model=ScriptedModel(given), handoffs=[second]))
        config = fold.run_config(RunConfig(tracing_disabled=True))
        return await Runner.run(first, "Go.", session=fold, run_config=config, hooks=fold.hooks())

    assert asyncio.run(main()).final_output == "Done."
    assert names_in(store) == ["t1", "t1/first", "t1/second"]


def test_an_agent_as_a_tool_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldSession("t1", store=store, window=100_000)

    async def main() -> Any:
        config, hooks = fold.run_config(RunConfig(tracing_disabled=True)), fold.hooks()
        script = ScriptedModel([[calling(1)], [assistant_message("found")]])
        inner = fold.agent(Agent("seeker", tools=[LOOK], model=script))
        seek = inner.as_tool("seek", "Seeks.", run_config=config, hooks=hooks)
        asked = [[function_call("seek", {"input": "Seek."}, call_id="call_1")], [assistant_message("Done.")]]
        outer = fold.agent(Agent("chief", tools=[seek], model=ScriptedModel(asked)))
        return await Runner.run(outer, "Go.", session=fold, run_config=config, hooks=hooks)

    assert asyncio.run(main()).final_output == "Done."
    assert names_in(store) == ["t1", "t1/chief", "t1/seeker"]
    with fold.session("chief") as chat:
        assert [len(message.parts) for message in chat.view().messages] == [1, 1, 1, 1]
        assert chat.branches == ()


def names_in(store: str) -> list[str]:
    return sorted(summary.name for summary in fanfold.Pool(store).summaries())


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = "x" * 4_000


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    counted = []
    for kind, text in ((str, "Yes."), (Verdict, '{"good": true, "why": "so"}')):
        fold = FanfoldSession("t1", window=100_000)
        ran(fold, ScriptedModel([[assistant_message(text)]]), output_type=kind)
        with fold.session("reader") as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


def test_a_second_input_filter_is_refused() -> None:
    with pytest.raises(fanfold.errors.BadInput, match="input filter already"):
        FanfoldSession("t1").run_config(RunConfig(call_model_input_filter=lambda data: data.model_data))


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("openai_agents")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "openai_agents_run.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 items in the session" in done.stdout
