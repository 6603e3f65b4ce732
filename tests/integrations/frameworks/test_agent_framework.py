"""The context provider in agents of Microsoft Agent Framework, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    CompactionProvider,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    SlidingWindowStrategy,
)
from agent_framework.anthropic import AnthropicClient
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from pydantic import BaseModel, Field

import fanfold
from fanfold.integrations.agent_framework import CLAUDE, OTHERS, FanfoldProvider
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

LONG = {"max_iterations": 1_000}
"""Agent Framework ends a run after 40 requests unless it is told otherwise."""


class FrameworkAgent:
    """An agent of Agent Framework's for the check."""

    client = OpenAIChatCompletionClient
    options: Any = None

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.fold = FanfoldProvider(store=trial.store, window=trial.window) if trial.store else None
        self.sessions: dict[str, AgentSession] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        return asyncio.run(self._run(thread, text, mode))

    async def _run(self, thread: str, text: str, mode: str) -> str:
        client = self.client(
            model="gpt-4o",
            api_key="any",
            base_url=self.trial.openai_base_url,
            function_invocation_configuration=LONG,
        )
        agent = Agent(
            client,
            "You read.",
            name="reader",
            tools=list(self.trial.tools.values()),
            context_providers=[self.fold] if self.fold else [],
            default_options=self.options,
        )
        session = self.sessions.setdefault(thread, AgentSession(session_id=thread))
        if mode == "run":
            return (await agent.run(text, session=session)).messages[-1].text
        stream = agent.run(text, session=session, stream=True)
        assert [update async for update in stream]
        return (await stream.get_final_response()).messages[-1].text

    def history(self, thread: str) -> str:
        contents = [one for message in kept(self.sessions[thread]) for one in message.contents]
        return "\n".join(str(one.result if one.type == "function_result" else one.text) for one in contents)

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


class ResponsesAgent(FrameworkAgent):
    """The same with the Responses API, the history kept here."""

    client = OpenAIChatClient
    options: Any = {"store": False}  # noqa: RUF012 read only


def kept(session: AgentSession) -> list[Message]:
    messages: list[Message] = session.state["in_memory"]["messages"]
    return messages


def outputs(messages: Any) -> list[str]:
    found = [one for message in messages for one in message.contents if one.type == "function_result"]
    return [str(one.result) for one in found]


@pytest.mark.parametrize("kind", [FrameworkAgent, ResponsesAgent])
def test_an_agent_keeps_every_promise(kind: Any) -> None:
    check_integration(kind, modes=("run", "stream"))


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc, type-arg]
    """A client that plays replies and keeps the objects that it was sent; Agent Framework ships none."""

    model = "gpt-4o"

    def __init__(self, *replies: list[Any], **more: Any) -> None:
        super().__init__(function_invocation_configuration=LONG, **more)
        self.sent: list[list[Message]] = []
        self.options: list[Any] = []
        self._replies = iter(replies)

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        self.sent.append(list(messages))
        self.options.append(options)
        contents = next(self._replies)
        if stream:
            return ResponseStream(self._pieces(contents), finalizer=ChatResponse.from_updates)
        return self._whole(contents)

    async def _whole(self, contents: list[Any]) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", contents)])

    async def _pieces(self, contents: list[Any]) -> AsyncIterator[ChatResponseUpdate]:
        for content in contents:
            one = Content.from_text(content) if isinstance(content, str) else content
            yield ChatResponseUpdate(role="assistant", contents=[one])


def calling(*numbers: int, name: str = "look") -> list[Any]:
    return [
        Content.from_function_call(f"call_{number}", name, arguments={"number": number}) for number in numbers
    ]


def made(fold: FanfoldProvider, client: Any, tools: Any = (look,), **more: Any) -> Agent:
    return Agent(client, tools=list(tools), context_providers=[fold], **more)


def ran(agent: Agent, text: Any = "Look.", thread: str = "t1", **more: Any) -> AgentSession:
    session = more.pop("session", None) or AgentSession(session_id=thread)
    asyncio.run(agent.run(text, session=session, **more))
    return session


def test_the_session_stays_whole_though_the_model_got_less() -> None:
    script = Scripted(*(calling(number) for number in range(30)), ["Done."])
    session = ran(made(FanfoldProvider(window=6_000), script))
    assert outputs(kept(session)) == [look(number) for number in range(30)]
    assert outputs(script.sent[-1]) != outputs(kept(session))


def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures() -> None:
    thought = Content.from_text_reasoning(text="hm", protected_data="sealed")
    script = Scripted([thought, *calling(1)], ["Done."])
    given: list[Any] = []

    async def watch(context: Any, call_next: Any) -> None:
        given.append(list(context.messages))
        await call_next()

    from agent_framework import chat_middleware

    agent = made(FanfoldProvider(window=100_000), script, middleware=[chat_middleware(watch)])
    ran(agent)
    assert [one is own for one, own in zip(script.sent[1], given[1], strict=True)] == [True] * 3
    assert script.sent[1][1].contents[0].protected_data == "sealed"


def test_of_parallel_results_only_the_one_that_is_too_long_is_shortened() -> None:
    def print_all(number: int) -> str:
        """Print much."""
        return "a line of words\n" * 9_000 if number == 1 else "short"

    script = Scripted(calling(1, 2, name="print_all"), ["Done."])
    session = ran(made(FanfoldProvider(window=8_000), script, [print_all]))
    own, sent = outputs(kept(session)), outputs(script.sent[1])
    assert (sent[1], own[1]) == ("short", "short")
    assert len(sent[0]) < len(own[0]) == 16 * 9_000
    answered = [
        one.call_id for message in script.sent[1] for one in message.contents if one.type == "function_result"
    ]
    assert answered == ["call_1", "call_2"]


def test_failed_calls_and_arguments_that_are_no_json_stay_paired() -> None:
    def fail(number: int) -> str:
        """Fail."""
        raise ValueError("Another number, please.")

    broken = [Content.from_function_call("call_2", "look", arguments='{"number": ')]
    script = Scripted(calling(1, name="fail"), broken, calling(3), ["Done."])
    ran(made(FanfoldProvider(window=100_000), script, [fail, look]))
    contents = [one for message in script.sent[-1] for one in message.contents]
    called = [one.call_id for one in contents if one.type == "function_call"]
    answered = [one for one in contents if one.type == "function_result"]
    assert called == [one.call_id for one in answered] == ["call_1", "call_2", "call_3"]
    assert [one.exception is not None for one in answered] == [True, True, False]
    assert OTHERS.body(Message("assistant", broken))["content"][0]["input"] == {"raw": '{"number": '}


def test_a_shortened_failure_is_still_a_failure() -> None:
    failed = Content.from_function_result("c1", result="long", exception="ValueError")
    own = Message("tool", [failed])
    body = OTHERS.body(own)
    assert OTHERS.build(fanfold.Message("user", ()), body, own).contents[0] is failed
    body["content"][0]["content"] = "short"
    built = OTHERS.build(fanfold.Message("user", ()), body, own).contents[0]
    assert (built.result, built.exception, built.call_id) == ("short", "ValueError", "c1")
    assert failed.result == "long"


def test_pictures_and_files_are_told_and_come_back() -> None:
    contents = [
        Content.from_data(b"\x89PNG\r\n\x1a\n", "image/png"),
        Content.from_uri("https://example.org/a.png", media_type="image/png"),
        Content.from_data(b"%PDF", "application/pdf"),
        Content.from_hosted_file("f1"),
    ]
    own = Message("user", contents)
    body = CLAUDE.body(own)
    assert [block["type"] for block in body["content"]] == ["image", "image", "text", "text"]
    back = CLAUDE.build(fanfold.Message("user", ()), body, own)
    assert [a is b for a, b in zip(back.contents, own.contents, strict=True)] == [True] * 4


@pytest.mark.parametrize("converter", [CLAUDE, OTHERS])
def test_a_message_of_nothing_but_a_bill_says_nothing(converter: Any) -> None:
    billed = Message("assistant", [Content.from_usage({"input_token_count": 1})])
    assert converter.body(billed) == {"role": "assistant", "content": []}


def test_a_thought_and_its_signature_that_came_apart_are_one() -> None:
    pieces = [
        Content.from_text_reasoning(text="hm"),
        Content.from_text_reasoning(text=None, protected_data="sealed"),
    ]
    own = Message("assistant", [*pieces, "Yes."])
    body = CLAUDE.body(own)
    assert body["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    assert CLAUDE.build(fanfold.Message("assistant", ()), body, own).contents == own.contents


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    store, state = f"sqlite:{tmp_path / 'a.db'}", AgentSession(session_id="t1").to_dict()
    for text in ("one", "two"):
        fold = FanfoldProvider(store=store, window=100_000)
        session = AgentSession.from_dict(state)
        state = ran(made(fold, Scripted([text]), name="talker"), f"Say {text}.", session=session).to_dict()
        fold.close()
    with fanfold.open("t1/talker", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_going_back_in_time_forks() -> None:
    fold = FanfoldProvider(window=100_000)
    agent = made(fold, Scripted(["one"], ["two"], ["three"]))
    session = ran(agent, "first")
    before = list(kept(session))
    ran(agent, "second", session=session)
    session.state["in_memory"]["messages"] = before
    ran(agent, "another", session=session)
    with fold.session("t1/agent") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_a_retry_sends_the_same_and_records_nothing_twice() -> None:
    fold, session = FanfoldProvider(), AgentSession(session_id="t1")
    with Provider([Turn("Hello."), Fail.server_error(), Turn("Done.")]) as provider:

        async def main() -> None:
            client = OpenAIChatCompletionClient(
                model="gpt-4o", async_client=openai_client(provider.openai_base_url)
            )
            agent = made(fold, client)
            await agent.run("Hello?", session=session)
            with pytest.raises(Exception, match="server had an error"):
                await agent.run("Go on.", session=session)
            await agent.run("Go on.", session=session)

        asyncio.run(main())
        assert provider.requests[1].body["messages"] == provider.requests[2].body["messages"]
    with fold.session("t1/agent") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (4, 2, ())


def openai_client(base_url: str) -> Any:
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0)


@pytest.mark.parametrize("shared", [False, True])
def test_a_sub_agent_has_a_session_of_its_own(tmp_path: Path, shared: bool) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldProvider(store=store, window=100_000)
    inner = made(fold, Scripted(["found"]), name="seeker")
    use = [Content.from_function_call("c1", "seeker", arguments={"task": "Seek."})]
    outer = made(fold, Scripted(use, ["Done."]), [inner.as_tool(propagate_session=shared)], name="chief")
    ran(outer)
    fold.close()
    names = {summary.name for summary in fanfold.Pool(store).summaries()}
    assert len(names) == 2
    assert "t1/chief" in names
    assert sum(name.endswith("/seeker") for name in names) == 1


def test_an_agent_without_tools_is_offered_none() -> None:
    script = Scripted(["Hello."])
    ran(made(FanfoldProvider(window=100_000), script, ()))
    assert not script.options[0].get("tools")


def test_messages_of_the_system_stay_in_front() -> None:
    script = Scripted(["Hello."])
    agent = made(FanfoldProvider(window=100_000), script, ())
    ran(agent, [Message("system", ["Be brief."]), Message("user", ["Hello?"])])
    assert [message.role for message in script.sent[0]] == ["system", "user"]


@pytest.mark.parametrize("where", ["nowhere", "agent", "client", "provider"])
def test_a_strategy_that_shortens_too_is_told(where: str, caplog: pytest.LogCaptureFixture) -> None:
    rival = SlidingWindowStrategy(keep_last_groups=20)
    client = Scripted(["Hello."], **({"compaction_strategy": rival} if where == "client" else {}))
    agent = made(FanfoldProvider(window=100_000), client)
    if where == "agent":
        agent.compaction_strategy = rival
    if where == "provider":
        agent.context_providers.append(CompactionProvider(before_strategy=rival))
    ran(agent)
    assert ("A compaction strategy of Agent Framework is active" in caplog.text) == (where != "nowhere")


def test_a_history_that_the_service_keeps_is_left_alone_and_told(caplog: pytest.LogCaptureFixture) -> None:
    class Keeping(Scripted):
        STORES_BY_DEFAULT = True

    fold, script = FanfoldProvider(window=100_000), Keeping(calling(1), ["Done."])
    ran(made(fold, script))
    assert 'default_options={"store": False}' in caplog.text
    with fold.session("t1/agent") as chat:
        assert chat.stats()["entries"] == 0


def test_a_history_that_is_loaded_late_is_told(caplog: pytest.LogCaptureFixture) -> None:
    agent = made(FanfoldProvider(), Scripted(["Hello."]), require_per_service_call_history_persistence=True)
    ran(agent)
    assert "require_per_service_call_history_persistence" in caplog.text


def test_a_stream_that_its_reader_leaves_is_closed_and_not_recorded() -> None:
    fold = FanfoldProvider(window=100_000)
    agent = made(fold, Scripted(["One.", "Two.", "Three."], ["Done."]))

    async def main() -> None:
        async with agent.run("Count.", session=AgentSession(session_id="t1"), stream=True) as stream:
            async for _ in stream:
                break
        await agent.run("Count.", session=AgentSession(session_id="t1"))

    asyncio.run(main())
    with fold.session("t1/agent") as chat:
        assert [message.text for message in chat.view().messages] == ["Count.", "Done."]


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = Field(description="Say why. " * 500)


@pytest.mark.parametrize("wanted", [Verdict, Verdict.model_json_schema()])
def test_the_schema_of_a_structured_reply_is_counted(wanted: Any) -> None:
    counted = []
    for schema in (None, wanted):
        fold, script = FanfoldProvider(window=100_000), Scripted(['{"good": true, "why": "so"}'])
        ran(made(fold, script), options={"response_format": schema} if schema else {})
        with fold.session("t1/agent") as chat:
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

        async def main() -> str:
            from anthropic import AsyncAnthropic

            client = AnthropicClient(
                model="claude-sonnet-4-6",
                anthropic_client=AsyncAnthropic(base_url=provider.anthropic_base_url, api_key="any"),
                function_invocation_configuration=LONG,
            )
            options: Any = {"max_tokens": 4_000, **({"thinking": thinking} if thinking else {})}
            agent = made(FanfoldProvider(window=16_000), client, default_options=options)
            return (await agent.run("Look.", session=AgentSession(session_id="t1"))).messages[-1].text

        assert asyncio.run(main()) == "Done."
        assert provider.rejected == []
        assert max(request.tokens for request in provider.requests) <= 16_000


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("agent_framework")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "agent_framework_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the session" in done.stdout
