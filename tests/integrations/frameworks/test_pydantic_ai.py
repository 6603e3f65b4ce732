"""The capability in Pydantic AI's own agents, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, capture_run_messages
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

import fanfold
from fanfold.integrations.pydantic_ai import Fanfold
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

NO_LIMIT = UsageLimits(request_limit=None)


class PydanticAgent:
    """An agent of Pydantic AI's for the check."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.fold = Fanfold(store=trial.store, window=trial.window) if trial.store else None
        self.histories: dict[str, list[ModelMessage]] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        return asyncio.run(self._run(thread, text, mode))

    async def _run(self, thread: str, text: str, mode: str) -> str:
        async with AsyncOpenAI(base_url=self.trial.openai_base_url, api_key="any", max_retries=0) as client:
            agent = Agent(
                OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)),
                name="reader",
                instructions="You read.",
                tools=list(self.trial.tools.values()),
                capabilities=[self.fold] if self.fold else [],
            )
            given: Any = {
                "message_history": self.histories.get(thread), "conversation_id": thread, "usage_limits": NO_LIMIT,
            }  # fmt: skip
            if mode == "iter":
                async with agent.iter(text, **given) as steps:
                    async for _ in steps:
                        pass
                    assert steps.result is not None
                    self.histories[thread] = steps.result.all_messages()
                    return steps.result.output
            if mode == "stream":
                given["event_stream_handler"] = self._listen
            done = await agent.run(text, **given)
            self.histories[thread] = done.all_messages()
            return done.output

    @staticmethod
    async def _listen(ctx: Any, events: Any) -> None:
        async for _ in events:
            pass

    def history(self, thread: str) -> str:
        return ModelMessagesTypeAdapter.dump_json(self.histories[thread]).decode()

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


def test_an_agent_keeps_every_promise() -> None:
    check_integration(PydanticAgent, modes=("run", "iter", "stream"))


class Scripted:
    """Pydantic AI's own function model, which plays replies and keeps the objects that it was sent."""

    def __init__(self, *replies: Any) -> None:
        self.sent: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []
        self._replies = iter(replies)
        self.model = FunctionModel(self._answer)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(messages)
        self.infos.append(info)
        return ModelResponse(parts=list(next(self._replies)))


def calling(*numbers: int, name: str = "look") -> list[Any]:
    return [ToolCallPart(name, {"number": number}, f"call_{number}") for number in numbers]


def ran(fold: Fanfold, script: Scripted, text: str = "Look.", tools: Any = (look,), **more: Any) -> Any:
    agent = Agent(script.model, name="reader", tools=list(tools), capabilities=[fold], **more)
    return agent.run_sync(text, conversation_id="t1", usage_limits=NO_LIMIT)


def test_the_history_stays_whole_though_the_model_got_less() -> None:
    script = Scripted(*(calling(number) for number in range(30)), [TextPart("Done.")])
    done = ran(Fanfold(window=6_000), script)
    parts = [part for message in done.all_messages() for part in message.parts]
    assert [part.content for part in parts if isinstance(part, ToolReturnPart)] == [
        look(n) for n in range(30)
    ]
    sent = [
        part.content
        for message in script.sent[-1]
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert sent != [look(n) for n in range(30)]


def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures() -> None:
    thought = ThinkingPart("hm", signature="sealed")
    script = Scripted([thought, *calling(1)], [TextPart("Done.")])
    done = ran(Fanfold(window=100_000), script)
    own = done.all_messages()
    assert [sent is kept for sent, kept in zip(script.sent[1], own[:3], strict=True)] == [True] * 3
    assert script.sent[1][1].parts[0] is thought


def test_of_parallel_results_only_the_one_that_is_too_long_is_shortened() -> None:
    def print_all(number: int) -> str:
        """Print much."""
        return "a line of words\n" * 9_000 if number == 1 else "short"

    script = Scripted(calling(1, 2, name="print_all"), [TextPart("Done.")])
    done = ran(Fanfold(window=8_000), script, tools=[print_all])
    own, sent = done.all_messages()[2], script.sent[1][2]
    assert sent.parts[1] is own.parts[1]
    assert len(sent.parts[0].content) < len(own.parts[0].content)
    assert sent.parts[0].tool_call_id == own.parts[0].tool_call_id


def test_failed_calls_stay_paired() -> None:
    def fail(number: int) -> str:
        """Fail."""
        raise ModelRetry("Another number, please.")

    script = Scripted(calling(1, name="fail"), calling(2), [TextPart("Done.")])
    ran(Fanfold(window=100_000), script, tools=[fail, look])
    parts = [part for message in script.sent[-1] for part in message.parts]
    called = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    answered = [
        part.tool_call_id
        for part in parts
        if getattr(part, "tool_name", None) and not isinstance(part, ToolCallPart)
    ]
    assert called == answered


def test_a_reply_that_is_streamed_by_run_stream_is_recorded_with_its_bill() -> None:
    """It ends with the first text that a model says, beside calls too: so this is no run for the check."""
    fold = Fanfold()

    async def main(url: str) -> str:
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, name="reader", tools=[look], capabilities=[fold])
            async with agent.run_stream("Look.", conversation_id="t1") as stream:
                return await stream.get_output()

    with Provider([Turn(calls=[("look", {"number": 1})]), Turn("Done.")]) as provider:
        assert asyncio.run(main(provider.openai_base_url)) == "Done."
        billed = sum(request.tokens for request in provider.requests)
    with fold.session("t1/reader") as chat:
        assert [message.text for message in chat.view().messages][-1] == "Done."
        assert (chat.stats()["requests"], chat.stats()["billed_tokens"]) == (2, billed)


@pytest.mark.parametrize("system", ["openai", "anthropic"])
def test_unknown_tools_and_arguments_that_are_no_json_stay_paired(system: str) -> None:
    broken = [ToolCallPart("look", '{"number": ', "call_1"), ToolCallPart("unknown", "{}", "call_2")]
    script, fold = Scripted(broken, calling(3), [TextPart("Done.")]), Fanfold(window=100_000)
    script.model._system = system
    ran(fold, script)
    parts = [part for message in script.sent[-1] for part in message.parts]
    called = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    answered = [part.tool_call_id for part in parts if isinstance(part, (ToolReturnPart, RetryPromptPart))]
    assert called == answered == ["call_1", "call_2", "call_3"]
    with fold.session("t1/reader") as chat:
        assert (chat.stats()["entries"], chat.branches) == (7, ())


@pytest.mark.parametrize("written", ["{bad", "[1]", '"x"', "null"])
def test_a_recall_tool_answers_arguments_that_are_no_object(written: Any) -> None:
    asked = [ToolCallPart("tool_output_cache", written, f"call_{number}") for number in (1, 2, 3)]
    script = Scripted(*([one] for one in asked), [TextPart("Done.")])
    assert ran(Fanfold(window=50_000), script).output == "Done."
    parts = [part for message in script.sent[-1] for part in message.parts]
    answers = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    assert len(answers) == 3
    assert all("are no JSON object" in str(answer) for answer in answers)


@pytest.mark.parametrize("rival", [True, False])
def test_a_history_processor_beside_it_is_told_once(rival: bool, caplog: pytest.LogCaptureFixture) -> None:
    fold, script = Fanfold(window=100_000), Scripted(calling(1), calling(2), [TextPart("Done.")])
    more = [ProcessHistory(lambda messages: messages)] if rival else []
    agent = Agent(script.model, tools=[look], capabilities=[*more, fold])
    assert agent.run_sync("Look.").output == "Done."
    assert caplog.text.count("ProcessHistory is active beside fanfold") == rival


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    store, history = f"sqlite:{tmp_path / 'a.db'}", None
    for text in ("one", "two"):
        fold = Fanfold(store=store, window=100_000)
        agent = Agent(Scripted([TextPart(text)]).model, name="reader", tools=[look], capabilities=[fold])
        history = agent.run_sync(f"Say {text}.", message_history=history, conversation_id="t1").all_messages()
        fold.close()
    with fanfold.open("t1/reader", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_going_back_in_time_forks() -> None:
    fold, script = Fanfold(window=100_000), Scripted(*([TextPart(text)] for text in ("one", "two", "three")))
    agent = Agent(script.model, name="reader", tools=[look], capabilities=[fold])
    first = agent.run_sync("first", conversation_id="t1").all_messages()
    agent.run_sync("second", message_history=first, conversation_id="t1")
    agent.run_sync("another", message_history=first, conversation_id="t1")
    with fold.session("t1/reader") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_a_retry_records_nothing_twice() -> None:
    fold = Fanfold()

    async def main() -> Any:
        with Provider(
            [Turn(calls=[("look", {"number": 1})]), Fail.server_error(), Turn("Done.")]
        ) as provider:
            client = AsyncOpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0)
            model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, name="reader", tools=[look], capabilities=[fold])
            with capture_run_messages() as history, pytest.raises(Exception, match="server had an error"):
                await agent.run("Look.", conversation_id="t1")
            done = await agent.run(message_history=history, conversation_id="t1")
            return done.output, provider.requests

    output, requests = asyncio.run(main())
    assert output == "Done."
    assert requests[1].body["messages"] == requests[2].body["messages"]
    with fold.session("t1/reader") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (4, 2, ())


def test_a_sub_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = Fanfold(store=store, window=100_000)
    inner = Agent(Scripted([TextPart("found")]).model, name="seeker", tools=[look], capabilities=[fold])

    async def seek(number: int) -> str:
        """Let somebody seek."""
        return (await inner.run(f"Seek {number}.")).output

    ran(fold, Scripted(calling(1, name="seek"), [TextPart("Done.")]), tools=[seek])
    names = [summary.name for summary in fanfold.Pool(store).summaries()]
    assert len(names) == 2
    assert sum(name.endswith("/seeker") for name in names) == 1
    assert "t1/reader" in names


def test_an_agent_without_tools_is_offered_none() -> None:
    script = Scripted([TextPart("Hello.")])
    ran(Fanfold(window=100_000), script, tools=())
    assert script.infos[0].function_tools == []


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = "x" * 4_000


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    counted = []
    replies: list[Any] = [[TextPart("Yes.")], [ToolCallPart("final_result", {"good": True})]]
    for kind, reply in zip((str, Verdict), replies, strict=True):
        fold = Fanfold(window=100_000)
        ran(fold, Scripted(reply), output_type=kind)
        with fold.session("t1/reader") as chat:
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
        model = AnthropicModel(
            "claude-sonnet-4-6",
            provider=AnthropicProvider(base_url=provider.anthropic_base_url, api_key="any"),
        )
        settings: Any = {"max_tokens": 4_000, **({"anthropic_thinking": thinking} if thinking else {})}
        agent = Agent(model, tools=[look], capabilities=[Fanfold(window=16_000)], model_settings=settings)
        assert agent.run_sync("Look.", usage_limits=NO_LIMIT).output == "Done."
        assert provider.rejected == []
        assert max(request.tokens for request in provider.requests) <= 16_000


def test_claude_s_thinking_pauses_where_a_loop_began_without() -> None:
    begun: Any = [
        ModelRequest(parts=[UserPromptPart("Look.")]),
        ModelResponse(parts=[ToolCallPart("look", {"number": 1}, tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("look", "seen", tool_call_id="c1")]),
    ]
    with Provider([Turn("Done.")]) as provider:
        model = AnthropicModel(
            "claude-opus-4-1",
            provider=AnthropicProvider(base_url=provider.anthropic_base_url, api_key="any"),
        )
        thinking = {"type": "enabled", "budget_tokens": 1_024}
        settings: Any = {"max_tokens": 4_000, "anthropic_thinking": thinking}
        agent = Agent(model, tools=[look], capabilities=[Fanfold(window=100_000)], model_settings=settings)
        assert agent.run_sync(message_history=begun).output == "Done."
        assert provider.rejected == []
        assert provider.requests[0].body["thinking"] == {"type": "disabled"}


def test_control_parts_survive_a_fold() -> None:
    from pydantic_ai.messages import SystemPromptPart

    from fanfold.integrations.pydantic_ai import Unit, _join

    first = ModelRequest(parts=[SystemPromptPart("You read."), UserPromptPart("Look.")])
    reply, second = ModelResponse(parts=[TextPart("Yes.")]), ModelRequest(parts=[UserPromptPart("More.")])
    units = [Unit(-1, UserPromptPart("[summary]")), Unit(2, second.parts[0])]
    joined = list(_join(units, [first, reply, second]))
    assert [part.part_kind for message in joined for part in message.parts] == [
        "system-prompt",
        "user-prompt",
        "user-prompt",
    ]
    assert joined[-1] is second


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("pydantic_ai")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "pydantic_ai_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the history" in done.stdout


@pytest.mark.parametrize("system", ["openai", "anthropic"])
def test_pictures_and_files_go_on_as_the_identical_objects_and_are_counted(system: str) -> None:
    picture = BinaryContent(b"\x89PNG" * 300, media_type="image/png")
    others = [
        BinaryContent(b"%PDF", media_type="application/pdf"),
        BinaryContent(b"film", media_type="video/mp4"),
        AudioUrl("https://x.y/z.mp3"),
        ImageUrl("https://x.y/z.png"),
    ]

    def shot() -> list[Any]:
        return ["See.", picture, *others]

    script = Scripted([ToolCallPart("shot", {}, "c1")], [TextPart("Done.")])
    script.model._system = system
    fold = Fanfold(window=100_000)
    agent = Agent(script.model, name="reader", tools=[shot], capabilities=[fold])
    done = agent.run_sync(["Look.", picture, *others], conversation_id="t1")
    sent, kept = script.sent[-1], done.all_messages()
    assert all(a is b for a, b in zip(sent, kept, strict=False))
    with fold.session("t1/reader") as chat:
        assert chat.view().tokens > 4_000, "the pictures and files of a prompt and of a result"
