"""The plug-in for Google ADK, in the real package, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fanfold

pytest.importorskip("google.adk")
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models import BaseLlm, Gemini, LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import BaseModel, Field

from fanfold.integrations.adk import FanfoldPlugin
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial


class Scripted(BaseLlm):
    """A model that gives its replies in order, and keeps what it was sent."""

    model: str = "scripted-1"
    replies: list[Any]
    sent: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        dumped = [content.model_dump(mode="json", exclude_none=True) for content in llm_request.contents]
        self.sent.append(json.dumps(dumped))
        parts = self.replies[len(self.sent) - 1]
        bill = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=len(self.sent[-1]) // 4, candidates_token_count=5
        )
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=bill)


def said(text: str) -> list[types.Part]:
    return [types.Part(text=text)]


def calls(*names: str) -> list[types.Part]:
    return [types.Part(function_call=types.FunctionCall(name=name, args={})) for name in names]


def elementsJson() -> dict[str, Any]:  # noqa: N802 the tool is called so
    """A tree of the user interface."""
    return {"elements": [{"role": "AXButton", "title": f"b{i}", "help": "h"} for i in range(300)]}


def click() -> str:
    """Clicks."""
    return "clicked"


def ran(
    plugin: FanfoldPlugin,
    model: Scripted,
    *messages: str,
    session: str = "s1",
    before: Sequence[BasePlugin] = (),
    **more: Any,
) -> list[str]:
    """What the agent said to each message, in one session of ADK's; `before` are plug-ins that are asked first."""

    async def main() -> list[str]:
        given = {"tools": [elementsJson, click], "instruction": "You click.", **more}
        agent = LlmAgent(name="mac", model=model, **given)
        runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[*before, plugin]))
        await runner.session_service.create_session(app_name="app", user_id="ana", session_id=session)
        spoken = []
        for message in messages:
            content = types.Content(role="user", parts=[types.Part(text=message)])
            async for event in runner.run_async(user_id="ana", session_id=session, new_message=content):
                if event.is_final_response() and event.content:
                    spoken.append(event.content.parts[0].text)
        await runner.close()
        return spoken

    return asyncio.run(main())


def kept(path: Path) -> fanfold.Session:
    return fanfold.open("app/ana/s1/mac", store=f"sqlite:{path}", dialect="gemini", window=100_000)


@pytest.mark.requirement("C7")
def test_ui_data_is_pruned_before_the_request_and_everything_is_recorded(tmp_path: Path) -> None:
    model = Scripted(replies=[calls("elementsJson", "click"), said("It is done.")])
    plugin = FanfoldPlugin(preset="miki", store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
    assert ran(plugin, model, "Click on it.") == ["It is done."]
    assert model.sent[1].count("AXButton") == 200
    assert "help" not in model.sent[1]
    with kept(tmp_path / "a.db") as chat:
        messages = chat.view().messages
        assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
        assert [call.name for call in messages[1].calls] == ["elementsJson", "click"]
        assert [result.text[:9] for result in messages[2].results] == ['{"element', "clicked"]
        assert messages[3].text == "It is done."
        whole = chat.outputs()[-1].text()
        assert whole.count("AXButton") == 300, "kept whole"


@pytest.mark.requirement("C7")
def test_what_adk_sends_again_is_known(tmp_path: Path) -> None:
    model = Scripted(
        replies=[calls("click"), said("one"), calls("click", "click"), said("two"), said("three")]
    )
    plugin = FanfoldPlugin(preset="miki", store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
    assert ran(plugin, model, "first", "second", "third") == ["one", "two", "three"]
    with kept(tmp_path / "a.db") as chat:
        assert chat.stats()["entries"] == 10
        assert len(chat.view().rows) == 10, "one path, nothing forked"
        assert chat.stats()["requests"] == 5


@pytest.mark.requirement("C7")
def test_a_session_goes_on_in_a_later_run(tmp_path: Path) -> None:
    for number, text in enumerate(("one", "two")):
        plugin = FanfoldPlugin(preset="miki", store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
        assert ran(plugin, Scripted(replies=[said(text)]), f"message {number}") == [text]
    with kept(tmp_path / "a.db") as chat:
        sent = [chat.sent(number)[1].messages[-1].text for number in (0, 1)]
        assert sent == ["message 0", "message 1"]


@pytest.mark.requirement("C7")
def test_a_long_run_stays_within_its_window(tmp_path: Path) -> None:
    replies = [calls("elementsJson") for _ in range(12)]
    model = Scripted(replies=[*replies, said("done")])
    plugin = FanfoldPlugin(preset="miki", window=9_000)
    assert ran(plugin, model, "Look a dozen times.") == ["done"]
    assert len(model.sent) == 13
    assert max(map(len, model.sent)) < 4 * 9_000


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool


@pytest.mark.requirement("C7")
def test_an_agent_may_have_a_schema_for_its_answers() -> None:
    model = Scripted(replies=[said('{"good": true}')])
    assert ran(
        FanfoldPlugin(preset="miki", window=9_000), model, "Is it?", tools=[], output_schema=Verdict
    ) == ['{"good": true}']


@pytest.mark.requirement("C6")
def test_in_debug_mode_figures_are_told_every_five_requests() -> None:
    lines: list[str] = []
    model = Scripted(replies=[*(calls("click") for _ in range(10)), said("done")])
    ran(FanfoldPlugin(preset="miki", window=100_000, debug=lines.append), model, "Click ten times.")
    assert len(lines) == 2
    assert lines[0].startswith("Context stats: 9 messages, ~")
    assert lines[0].endswith(" tokens")


@pytest.mark.requirement("C6")
def test_requests_of_another_session_are_no_steps_of_this_one() -> None:
    lines: list[str] = []
    plugin = FanfoldPlugin(preset="miki", window=100_000, debug=lines.append)
    for session in ("s1", "s2"):
        model = Scripted(replies=[calls("click"), calls("click"), said("done")])
        ran(plugin, model, "Click twice.", session=session)
    assert lines == []


class AdkAgent:
    """An agent of ADK's for the check, with Google's own client."""

    def __init__(self, trial: Trial) -> None:
        plugins = [FanfoldPlugin(store=trial.store, window=trial.window)] if trial.store else []
        client = {"api_key": "any", "vertexai": False}
        model = Gemini(model="gemini-2.5-flash", base_url=trial.gemini_base_url, client_kwargs=client)
        agent = LlmAgent(
            name="reader", model=model, tools=list(trial.tools.values()), instruction="You read."
        )
        self.runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=plugins))

    def run(self, thread: str, text: str, mode: str) -> str:
        return asyncio.run(self._run(thread, text, mode))

    async def _run(self, thread: str, text: str, mode: str) -> str:
        service, said = self.runner.session_service, ""
        where = {"app_name": "app", "user_id": "ana", "session_id": thread}
        if await service.get_session(**where) is None:
            await service.create_session(**where)
        streaming = StreamingMode.SSE if mode == "stream" else StreamingMode.NONE
        async for event in self.runner.run_async(
            user_id="ana",
            session_id=thread,
            new_message=types.Content(role="user", parts=[types.Part(text=text)]),
            run_config=RunConfig(streaming_mode=streaming, max_llm_calls=0),
        ):
            if event.is_final_response() and event.content:
                said = event.content.parts[0].text
        return said

    def history(self, thread: str) -> str:
        where = {"app_name": "app", "user_id": "ana", "session_id": thread}
        session = asyncio.run(self.runner.session_service.get_session(**where))
        return "\n".join(event.model_dump_json() for event in session.events)

    def close(self) -> None:
        asyncio.run(self.runner.close())


@pytest.mark.slow
def test_an_agent_keeps_every_promise() -> None:
    check_integration(AdkAgent, modes=("run", "stream"))


class Picky(Scripted):
    """One that says "too long" once."""

    refusals: int = 1
    sizes: list[int] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        size = len(llm_request.model_dump_json(include={"contents"}))
        self.sizes.append(size)
        if len(self.sent) == len(self.replies) - 1 and self.refusals:
            self.refusals -= 1
            raise ValueError(
                "400 The input token count (16000) exceeds the maximum number of tokens allowed (9000)."
            )
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def test_a_request_that_is_too_long_is_sent_again_with_less() -> None:
    model = Picky(replies=[*(calls("elementsJson") for _ in range(3)), said("done")])
    assert ran(FanfoldPlugin(window=60_000), model, "Look.") == ["done"]
    assert model.sizes[-1] < model.sizes[-2], "the second try is smaller than the one that was refused"


def test_an_error_of_another_kind_is_the_users() -> None:
    class Broken(Scripted):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            raise ValueError("The key is wrong.")
            yield

    with pytest.raises(ValueError, match="The key is wrong"):
        ran(FanfoldPlugin(window=60_000), Broken(replies=[]), "Look.")


def test_contents_of_which_nothing_changed_are_the_same_objects() -> None:
    seen: list[Any] = []

    class Watching(Scripted):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            seen.append((llm_request.contents, before[-1]))
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    before: list[Any] = []

    class Noting(FanfoldPlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            before.append(list(llm_request.contents))
            await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)

    thought = types.Part(text="Hm.", thought=True, thought_signature=b"\x01\x02")
    model = Watching(replies=[[thought, *calls("click")], calls("elementsJson", "click"), said("done")])
    ran(Noting(window=60_000), model, "Click.")
    for sent, given in seen:
        assert all(one is other for one, other in zip(sent, given, strict=True))


def test_who_also_lets_adk_compact_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        agent = LlmAgent(name="mac", model=Scripted(replies=[said("one")]), tools=[click])
        compaction = EventsCompactionConfig(compaction_interval=3, overlap_size=1)
        plugin = FanfoldPlugin(window=60_000)
        app = App(name="app", root_agent=agent, plugins=[plugin], events_compaction_config=compaction)
        runner = InMemoryRunner(app=app)
        await runner.session_service.create_session(app_name="app", user_id="ana", session_id="s1")
        content = types.Content(role="user", parts=[types.Part(text="Hello.")])
        async for _ in runner.run_async(user_id="ana", session_id="s1", new_message=content):
            pass
        await runner.close()

    asyncio.run(main())
    assert caplog.text.count("events_compaction_config") == 1


def test_sessions_that_nobody_uses_are_let_go() -> None:
    class Staying(FanfoldPlugin):
        async def close(self) -> None:
            """The runner ends, and the plug-in goes on."""

    plugin = Staying(window=60_000, idle=0)
    for number in range(5):
        assert ran(plugin, Scripted(replies=[said("one")]), "Hello.", session=f"s{number}") == ["one"]
    assert plugin._adapter.pool.counters.open == 0


def test_a_schema_for_answers_is_counted() -> None:
    class Long(BaseModel):
        good: bool = Field(description="word " * 3_000)

    with pytest.raises(RuntimeError, match="shorten the schema among the parameters"):
        ran(
            FanfoldPlugin(window=2_500),
            Scripted(replies=[said("{}")]),
            "Is it?",
            tools=[],
            output_schema=Long,
        )


def test_a_tool_that_fails_and_one_that_is_unknown_stay_paired_and_a_retry_sends_the_same(
    tmp_path: Path,
) -> None:
    def fail() -> dict[str, str]:
        """Fails."""
        return {"error": "Another time, please."}

    class Flaky(Scripted):
        failed: list[str] = Field(default_factory=list)

        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            if len(self.sent) == 1 and not self.failed:
                dumped = [one.model_dump(mode="json", exclude_none=True) for one in llm_request.contents]
                self.failed.append(json.dumps(dumped))
                raise ValueError("The server had an error.")
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    class Again(BasePlugin):
        """Asks again after an error: with the request as ADK made it, which fanfold fits once more."""

        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            self.contents = [one.model_copy(deep=True) for one in llm_request.contents]

        async def on_model_error_callback(
            self, *, callback_context: Any, llm_request: Any, error: Any
        ) -> Any:
            context = callback_context.get_invocation_context()
            llm_request.contents = self.contents
            await plugin.before_model_callback(callback_context=callback_context, llm_request=llm_request)
            async for response in context.agent.canonical_model.generate_content_async(llm_request):
                return response
            return None

    model = Flaky(replies=[calls("fail", "unknown", "click"), calls("click"), said("done")])
    plugin = FanfoldPlugin(store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
    assert ran(plugin, model, "Click.", before=[Again(name="again")], tools=[fail, click]) == ["done"]
    assert model.failed == model.sent[1:2]
    assert "no tool with that name is available" in model.sent[1]
    with kept(tmp_path / "a.db") as chat:
        messages = chat.view().messages
        called = [call.name for message in messages for call in message.calls]
        answered = [len(message.results) for message in messages if message.results]
        assert (called, answered) == (["fail", "unknown", "click", "click"], [3, 1])
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (6, 3, ())


def test_going_back_in_time_forks_and_a_sub_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"

    async def main() -> None:
        seeker = LlmAgent(name="seeker", model=Scripted(replies=[said("found")]), tools=[click])
        ask = [types.Part(function_call=types.FunctionCall(name="seeker", args={"request": "Seek."}))]
        replies = [said("one"), ask, said("two"), said("three")]
        agent = LlmAgent(name="mac", model=Scripted(replies=replies), tools=[click, AgentTool(seeker)])
        plugin = FanfoldPlugin(store=store, window=100_000)
        runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[plugin]))
        where = {"user_id": "ana", "session_id": "s1"}
        await runner.session_service.create_session(app_name="app", **where)
        seen = []
        for text in ("first", "second", "another"):
            if text == "another":
                await runner.rewind_async(**where, rewind_before_invocation_id=seen[-1])
            content = types.Content(role="user", parts=[types.Part(text=text)])
            async for event in runner.run_async(**where, new_message=content):
                seen.append(event.invocation_id)
        await runner.close()

    asyncio.run(main())
    with fanfold.Pool(store) as pool:
        names = [summary.name for summary in pool.summaries() if summary.requests]
    assert sorted(name.rpartition("/")[2] for name in names) == ["mac", "seeker"]
    with kept(tmp_path / "a.db") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples" / "integrations" / "adk_runner.py"
    runpy.run_path(str(path), run_name="__main__")  # here, because ADK takes two seconds to import
    printed = capsys.readouterr().out
    assert "The valve opens at three bar." in printed
    assert "81 events" in printed
