"""The wrapped LLM in agents of LlamaIndex, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    ChatResponse,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel, Field, PrivateAttr

import fanfold
from fanfold.dialects.registry import dialect_named
from fanfold.integrations.llama_index import CHAT, CLAUDE, FanfoldLLM, thread
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

LOOK = FunctionTool.from_defaults(look)


class LlamaAgent:
    """An agent of LlamaIndex's for the check."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        address = {"api_base": trial.openai_base_url, "reuse_client": False}  # each run has a loop of its own
        openai = OpenAI("gpt-4o", api_key="any", max_retries=0, **address)
        fitted = FanfoldLLM(openai, store=trial.store, window=trial.window) if trial.store else None
        self.fold, self.llm = fitted, fitted or openai
        self.memories: dict[str, Memory] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        return asyncio.run(self._run(thread, text, mode))

    async def _run(self, name: str, text: str, mode: str) -> str:
        tools = [*self.trial.tools.values(), *(self.fold.recall_tools() if self.fold else ())]
        agent = FunctionAgent(
            llm=self.llm, tools=tools, system_prompt="You read.", streaming=mode == "stream", timeout=None
        )
        memory = self.memories.setdefault(name, Memory.from_defaults(session_id=name, token_limit=10_000_000))
        with thread(name):
            return str(await agent.run(text, memory=memory, max_iterations=1_000))

    def history(self, thread: str) -> str:
        return "\n".join(message.content or "" for message in self.memories[thread].get_all())

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


def test_an_agent_keeps_every_promise() -> None:
    check_integration(LlamaAgent, modes=("run", "stream"))


class Scripted(MockFunctionCallingLLM):
    """LlamaIndex's own fake, which plays replies and keeps the objects that it was sent."""

    _replies: Iterator[list[Any]] = PrivateAttr()
    _sent: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, *replies: list[Any]) -> None:
        super().__init__(is_chat_model=True)
        self._replies = iter(replies)

    def _reply(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self._sent.append(list(messages))
        return ChatResponse(message=ChatMessage(role="assistant", blocks=next(self._replies)))

    def chat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> ChatResponse:
        return self._reply(chat_history)

    async def achat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> ChatResponse:
        return self._reply(chat_history)

    def stream_chat_with_tools(
        self, tools: Any, chat_history: Any = None, **_: Any
    ) -> Iterator[ChatResponse]:
        whole = self._reply(chat_history)
        yield ChatResponse(message=ChatMessage(role="assistant", content=""))
        yield whole

    async def astream_chat_with_tools(
        self, tools: Any, chat_history: Any = None, **_: Any
    ) -> AsyncIterator[ChatResponse]:
        async def pieces() -> AsyncIterator[ChatResponse]:
            for piece in self.stream_chat_with_tools(tools, chat_history):
                yield piece

        return pieces()


def calling(*numbers: int, name: str = "look") -> list[Any]:
    return [
        ToolCallBlock(tool_call_id=f"call_{number}", tool_name=name, tool_kwargs={"number": number})
        for number in numbers
    ]


def saying(text: str) -> list[Any]:
    return [TextBlock(text=text)]


def ran(
    llm: FanfoldLLM, text: str = "Look.", memory: Any = None, tools: Any = (LOOK,), **more: Any
) -> Memory:
    memory = memory or Memory.from_defaults(token_limit=10_000_000)

    async def main() -> None:
        agent = FunctionAgent(llm=llm, tools=[*tools, *llm.recall_tools()], timeout=None, **more)
        await agent.run(text, memory=memory, max_iterations=1_000)

    asyncio.run(main())
    return memory


def outputs(messages: Sequence[ChatMessage]) -> list[str]:
    return [message.content or "" for message in messages if message.role == "tool"]


def test_the_memory_stays_whole_though_the_model_got_less() -> None:
    script = Scripted(*(calling(number) for number in range(30)), saying("Done."))
    memory = ran(FanfoldLLM(script, session="t1", window=6_000))
    assert outputs(memory.get_all()) == [look(number) for number in range(30)]
    assert outputs(script._sent[-1]) != outputs(memory.get_all())


@pytest.mark.parametrize("streaming", [False, True])
def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures(streaming: bool) -> None:
    thought = ThinkingBlock(content="hm", additional_information={"signature": "sealed"})
    script = Scripted(saying("Done."))
    llm = FanfoldLLM(script, session="t1", window=100_000)
    answer = ChatMessage(role="tool", content="page", additional_kwargs={"tool_call_id": "call_1"})
    history = [
        ChatMessage(role="system", content="You read."),
        ChatMessage(role="user", content="Look."),
        ChatMessage(role="assistant", blocks=[thought, *calling(1)]),
        answer,
    ]
    if streaming:
        list(llm.stream_chat_with_tools([LOOK], chat_history=history))
    else:
        llm.chat_with_tools([LOOK], chat_history=history)
    assert [a is b for a, b in zip(script._sent[0], history, strict=True)] == [True] * 4
    with llm.session_named("t1/agent") as chat:
        assert chat.view().messages[-1].text == "Done."


def test_what_is_said_beside_the_history_is_part_of_it() -> None:
    script = Scripted(saying("Hello."))
    llm = FanfoldLLM(script, session="t1", window=100_000)
    asyncio.run(llm.achat_with_tools([LOOK], "Hello?", [ChatMessage(role="user", content="First.")]))
    assert [message.content for message in script._sent[0]] == ["First.", "Hello?"]


def test_of_parallel_results_only_the_one_that_is_too_long_is_shortened() -> None:
    def print_all(number: int) -> str:
        """Print much."""
        return "a line of words\n" * 9_000 if number == 1 else "short"

    script = Scripted(calling(1, 2, name="print_all"), saying("Done."))
    memory = ran(FanfoldLLM(script, session="t1", window=8_000), tools=[print_all])
    own, sent = outputs(memory.get_all()), outputs(script._sent[1])
    assert sent[1] == own[1] == "short"
    assert len(sent[0]) < len(own[0]) == 16 * 9_000


def test_failed_calls_and_calls_of_unknown_tools_stay_paired() -> None:
    def fail(number: int) -> str:
        """Fail."""
        raise ValueError("Another number, please.")

    script = Scripted(calling(1, name="fail"), calling(2, name="unknown"), calling(3), saying("Done."))
    ran(FanfoldLLM(script, session="t1", window=100_000), tools=[fail, LOOK])
    last = script._sent[-1]
    called = [
        one.tool_call_id for message in last for one in message.blocks if isinstance(one, ToolCallBlock)
    ]
    answered = [message.additional_kwargs["tool_call_id"] for message in last if message.role == "tool"]
    assert called == answered == ["call_1", "call_2", "call_3"]


def test_arguments_that_are_no_json_and_calls_beside_the_blocks_are_told() -> None:
    broken = ChatMessage(
        role="assistant",
        blocks=[ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs='{"number": ')],
    )
    assert CHAT.body(broken)["tool_calls"][0]["function"]["arguments"] == '{"number": '
    assert CLAUDE.body(broken)["content"][0]["input"] == {"raw": '{"number": '}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"number": 1}'}}
    older = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})
    assert CHAT.body(older)["tool_calls"] == [call]


def test_pictures_are_told() -> None:
    blocks = [TextBlock(text="See."), ImageBlock(image=b"\x89PNG", image_mimetype="image/png")]
    message = ChatMessage(role="user", blocks=blocks)
    url = CHAT.body(message)["content"][1]["image_url"]["url"]
    assert url.startswith("data:image/png;base64,")
    assert CLAUDE.body(message)["content"][1]["source"]["data"] == url.partition(",")[2]


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    store, memory = f"sqlite:{tmp_path / 'a.db'}", None
    for text in ("one", "two"):
        llm = FanfoldLLM(Scripted(saying(text)), session="t1", store=store, window=100_000)
        memory = ran(llm, f"Say {text}.", memory)
        llm.close()
    with fanfold.open("t1/agent", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_going_back_in_time_forks() -> None:
    llm = FanfoldLLM(Scripted(*map(saying, ("one", "two", "three"))), session="t1", window=100_000)
    memory = ran(llm, "first")
    before = memory.get_all()
    ran(llm, "second", memory)
    earlier = Memory.from_defaults(token_limit=10_000_000)
    earlier.put_messages(before)
    ran(llm, "another", earlier)
    with llm.session_named("t1/agent") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]


def test_a_retry_sends_the_same_and_records_nothing_twice() -> None:
    history = [ChatMessage(role="user", content="Hello?")]
    with Provider([Fail.server_error(), Turn("Hello.")]) as provider:
        openai = OpenAI("gpt-4o", api_key="any", api_base=provider.openai_base_url, max_retries=0)
        llm = FanfoldLLM(openai, session="t1")
        with pytest.raises(Exception, match="server had an error"):
            llm.chat_with_tools([LOOK], chat_history=history)
        assert llm.chat_with_tools([LOOK], chat_history=history).message.content == "Hello."
        assert provider.requests[0].body == provider.requests[1].body
    with llm.session_named("t1/agent") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (2, 1, ())


def test_a_sub_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    inner = FanfoldLLM(Scripted(saying("found")), agent="seeker", store=store, window=100_000)
    outer = FanfoldLLM(Scripted(calling(1, name="seek"), saying("Done.")), store=store, window=100_000)

    async def seek(number: int) -> str:
        """Seek."""
        return str(await FunctionAgent(llm=inner, tools=[LOOK]).run("Seek."))

    with thread("t1"):
        ran(outer, tools=[seek])
    for llm in (inner, outer):
        llm.close()
    assert {summary.name for summary in fanfold.Pool(store).summaries()} == {"t1/agent", "t1/seeker"}


def test_a_conversation_without_a_name_is_told_to_the_model_that_looks_something_up() -> None:
    script = Scripted(
        [ToolCallBlock(tool_call_id="c1", tool_name="tool_output_cache", tool_kwargs={"ref_id": "o1"})],
        saying("Done."),
    )
    memory = ran(FanfoldLLM(script, window=100_000))
    assert "Which conversation is meant is not known" in outputs(memory.get_all())[0]


def test_questions_without_tools_go_on_as_they_are(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    with Provider([Turn("Hello."), Turn("Hello.")]) as provider:
        openai = OpenAI("gpt-4o", api_key="any", api_base=provider.openai_base_url)
        llm = FanfoldLLM(openai, session="t1", store=store)
        assert llm.chat([ChatMessage(role="user", content="Hello?")]).message.content == "Hello."
        assert llm.complete("Hello?").text == "Hello."
    llm.close()
    assert list(fanfold.Pool(store).summaries()) == []


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = Field(description="Say why. " * 500)


def test_the_schema_of_a_structured_reply_is_counted_in_a_session_of_its_own() -> None:
    reply = Turn(calls=[("Verdict", {"good": True, "why": "so"})])
    with Provider([Turn("Yes."), reply]) as provider:
        openai = OpenAI("gpt-4o", api_key="any", api_base=provider.openai_base_url)
        llm = FanfoldLLM(openai, session="t1")

        async def main() -> Any:
            agent = FunctionAgent(llm=llm, tools=[LOOK], output_cls=Verdict, streaming=False)
            return (await agent.run("Well?")).structured_response

        assert asyncio.run(main()) == {"good": True, "why": "so"}
    with llm.session_named("t1/agent/reply") as chat:
        assert chat.sent(0)[0].tokens > 1_000
    with llm.session_named("t1/agent") as chat:
        assert chat.branches == ()


@pytest.mark.parametrize("thinking", [None, {"type": "enabled", "budget_tokens": 1_024}])
def test_claude_works_through_a_long_run_with_thinking_and_without(thinking: Any) -> None:
    def script(request: Any) -> Turn:
        thought = "I look." if (request.body.get("thinking") or {}).get("type") == "enabled" else ""
        if request.number >= 50:
            return Turn("Done.", thinking=thought)
        calls = [("look", {"number": request.number}), ("look", {"number": 900 + request.number})]
        return Turn(thinking=thought, calls=calls[: 2 if request.number % 5 == 0 else 1])

    with Provider(script, window=20_000) as provider:
        claude = Anthropic(
            "claude-sonnet-4-6",
            api_key="any",
            base_url=provider.anthropic_base_url,
            max_tokens=4_000,
            thinking_dict=thinking,
        )
        memory = ran(FanfoldLLM(claude, session="t1", window=16_000), streaming=False)
        assert memory.get_all()[-1].content == "Done."
        assert provider.rejected == []
        assert max(request.tokens for request in provider.requests) <= 16_000


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("llama_index")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "llama_index_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the memory" in done.stdout


@pytest.mark.parametrize("converter", [CHAT, CLAUDE])
def test_pictures_and_files_in_results_are_told_and_stay_beside_shorter_words(converter: Any) -> None:
    others = [
        ImageBlock(image=b"\x89PNG", image_mimetype="image/png"),
        AudioBlock(audio=b"sound", format="mp3"),
        DocumentBlock(data=b"%PDF", document_mimetype="application/pdf"),
        CachePoint(cache_control=CacheControl(type="ephemeral")),
    ]
    given = {"tool_call_id": "c1"}
    result = ChatMessage(role="tool", blocks=[TextBlock(text="See. " * 99), *others], additional_kwargs=given)
    dialect = dialect_named(converter.dialect)
    read = dialect.message(converter.body(result))
    assert not dialect.faults(read)
    parts = (fanfold.Text("short"), *read.results[0].parts[1:])
    built = converter.build(fanfold.Message("tool", (fanfold.Result("c1", parts),)), None, result)
    assert built.blocks[0] == TextBlock(text="short")
    assert list(built.blocks[1:]) == others
