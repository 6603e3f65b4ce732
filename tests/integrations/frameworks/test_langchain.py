"""The middleware in LangChain's own agents, with real clients that talk to the scripted provider."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

import fanfold
from fanfold.core.errors import MissingExtra
from fanfold.core.message import Call, Message, Result, Text, Thinking
from fanfold.dialects.registry import dialect_named
from fanfold.integrations.langchain import CHAT, CLAUDE, FanfoldMiddleware
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.frameworks.common import imported_with

BIG = "word " * 1_500


class LangChainAgent:
    """An agent of LangChain's for the check."""

    kind: Any = FanfoldMiddleware

    def __init__(self, trial: Trial) -> None:
        self.fold = self.kind(store=trial.store, window=trial.window) if trial.store else None
        self.agent = self._made(
            ChatOpenAI(base_url=trial.openai_base_url, api_key="any", model="gpt-4o", max_retries=0),
            [tool(one) for one in trial.tools.values()],
            system_prompt="You read.",
            middleware=[self.fold] if self.fold else [],
            checkpointer=InMemorySaver(),
        )

    def _made(self, *given: Any, **more: Any) -> Any:
        return create_agent(*given, **more)

    def run(self, thread: str, text: str, mode: str) -> str:
        config = {"configurable": {"thread_id": thread}, "recursion_limit": 1_000}
        given = {"messages": [("user", text)]}
        if mode == "run":
            return self.agent.invoke(given, config)["messages"][-1].text
        if mode == "stream":
            pieces = [piece for piece, _ in self.agent.stream(given, config, stream_mode="messages")]
            assert any(piece.text for piece in pieces)
            return self.agent.get_state(config).values["messages"][-1].text
        return asyncio.run(self._arun(given, config, mode))

    async def _arun(self, given: Any, config: Any, mode: str) -> str:
        if mode == "arun":
            return (await self.agent.ainvoke(given, config))["messages"][-1].text
        async for _ in self.agent.astream(given, config, stream_mode="messages"):
            pass
        return (await self.agent.aget_state(config)).values["messages"][-1].text

    def history(self, thread: str) -> str:
        state = self.agent.get_state({"configurable": {"thread_id": thread}})
        return "\n".join(message.text for message in state.values["messages"])

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


class DeepAgent(LangChainAgent):
    """An agent of deepagents for the check."""

    kind = FanfoldMiddleware.for_deepagents

    def _made(self, *given: Any, **more: Any) -> Any:
        return create_deep_agent(*given, **more)


def test_an_agent_keeps_every_promise() -> None:
    check_integration(LangChainAgent, modes=("run", "arun", "stream", "astream"))


def test_a_deep_agent_keeps_every_promise() -> None:
    check_integration(DeepAgent, modes=("run", "arun", "stream", "astream"))


class Scripted(GenericFakeChatModel):
    """LangChain's own fake model, with tools; it keeps the objects that it was sent."""

    sent: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.sent.append(messages)
        return super()._generate(messages, *args, **kwargs)


def calling(id: str, number: int = 1, name: str = "look", **given: Any) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"id": id, "name": name, "args": given or {"number": number}}])


def scripted(*replies: Any) -> Scripted:
    return Scripted(messages=iter(replies), sent=[])


def threaded(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 500}


def test_untouched_messages_are_the_identical_objects_and_keep_their_signatures() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    model = scripted(
        AIMessage(content=[thought], tool_calls=[{"id": "c1", "name": "look", "args": {"number": 1}}]),
        AIMessage("Done."),
    )
    agent = create_agent(model, [tool(look)], middleware=[FanfoldMiddleware(window=100_000)])
    state = agent.invoke({"messages": [HumanMessage("Look.", id="h1")]})["messages"]
    assert [sent is own for sent, own in zip(model.sent[1], state[:3], strict=True)] == [True] * 3
    assert model.sent[1][1].content[0] == thought


def test_the_state_is_unchanged_after_folding_and_checkpoints_hold_every_output() -> None:
    replies = [calling(f"c{number}", number) for number in range(40)]
    model, saver = scripted(*replies, AIMessage("Done.")), InMemorySaver()
    agent = create_agent(
        model, [tool(look)], middleware=[FanfoldMiddleware(window=6_000)], checkpointer=saver
    )
    agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))
    outputs = [
        message.content
        for message in agent.get_state(threaded("t1")).values["messages"]
        if isinstance(message, ToolMessage)
    ]
    assert outputs == [look(number) for number in range(40)]
    shown = [message.content for message in model.sent[-1] if isinstance(message, ToolMessage)]
    assert outputs != shown, "and less was sent"


def test_parallel_calls_failed_results_and_invalid_calls_stay_paired() -> None:
    @tool
    def fail(number: int) -> str:
        """Fail."""
        raise ValueError("no such page")

    both = AIMessage(
        content="",
        tool_calls=[
            {"id": "a", "name": "look", "args": {"number": 1}},
            {"id": "b", "name": "fail", "args": {"number": 2}},
        ],
    )
    wrong = AIMessage(
        content="",
        invalid_tool_calls=[
            {"id": "x", "name": "look", "args": "{no json", "error": "bad", "type": "invalid_tool_call"}
        ],
    )
    model = scripted(both, wrong, calling("c"), AIMessage("Done."))
    quick = {"max_retries": 0, "on_failure": "continue"}
    agent = create_agent(
        model,
        [tool(look), fail],
        middleware=[FanfoldMiddleware(window=100_000), ToolRetryMiddleware(**quick)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))
    agent.invoke({"messages": [("user", "Go on.")]}, threaded("t1"))
    last = model.sent[-1]
    called = [call["id"] for message in last if isinstance(message, AIMessage) for call in message.tool_calls]
    called += [call["id"] for m in last if isinstance(m, AIMessage) for call in m.invalid_tool_calls]
    answered = [message.tool_call_id for message in last if isinstance(message, ToolMessage)]
    assert sorted(called) == sorted(answered), "the invalid call got an answer, too"
    assert next(m for m in last if isinstance(m, ToolMessage) and m.tool_call_id == "b").status == "error"


def test_a_retry_sends_the_same_bytes_and_records_nothing_twice(tmp_path: Path) -> None:
    script = [Turn(calls=[("look", {"number": 1})]), Fail.server_error(), Turn("Done.")]
    with Provider(script) as provider:
        model = ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model="gpt-4o", max_retries=0)
        fold = FanfoldMiddleware(store=f"sqlite:{tmp_path / 'a.db'}")
        agent = create_agent(
            model,
            [tool(look)],
            middleware=[ModelRetryMiddleware(max_retries=2, initial_delay=0), fold],
            checkpointer=InMemorySaver(),
        )
        assert agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))["messages"][-1].text == "Done."
        assert provider.requests[1].raw == provider.requests[2].raw
    with fold.session("t1/agent") as chat:
        assert (chat.stats()["entries"], chat.stats()["requests"], chat.branches) == (4, 2, ())


def test_a_thread_goes_on_in_a_new_process(tmp_path: Path) -> None:
    saver, store = InMemorySaver(), f"sqlite:{tmp_path / 'a.db'}"
    for text in ("one", "two"):
        fold = FanfoldMiddleware(store=store, window=100_000)
        agent = create_agent(scripted(AIMessage(text)), [tool(look)], middleware=[fold], checkpointer=saver)
        agent.invoke({"messages": [("user", f"Say {text}.")]}, threaded("t1"))
        fold.close()
    with fanfold.open("t1/agent", store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Say one.", "one", "Say two.", "two"]


def test_going_back_in_time_forks() -> None:
    fold = FanfoldMiddleware(window=100_000)
    model = scripted(*(AIMessage(text) for text in ("one", "two", "three")))
    agent = create_agent(model, [tool(look)], middleware=[fold], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "first")]}, threaded("t1"))
    agent.invoke({"messages": [("user", "second")]}, threaded("t1"))
    past = next(
        state for state in agent.get_state_history(threaded("t1")) if len(state.values["messages"]) == 2
    )
    agent.invoke({"messages": [("user", "another")]}, past.config)
    assert [message.text for message in model.sent[-1]] == ["first", "one", "another"]
    with fold.session("t1/agent") as chat:
        assert [message.text for message in chat.view().messages] == ["first", "one", "another", "three"]
        assert [message.text for message in chat.sent(1)[1].messages] == ["first", "one", "second"], (
            "nothing is lost"
        )


def test_a_sub_agent_has_a_session_of_its_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldMiddleware(store=store, window=100_000)
    inner = create_agent(
        scripted(calling("i1"), AIMessage("found")), [tool(look)], middleware=[fold], name="seeker"
    )

    @tool
    def seek(number: int) -> str:
        """Let somebody seek."""
        return inner.invoke({"messages": [("user", f"Seek {number}.")]})["messages"][-1].text

    outer = create_agent(
        scripted(calling("o1", name="seek"), AIMessage("Done.")), [seek], middleware=[fold], name="chief",
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    outer.invoke({"messages": [("user", "Go.")]}, threaded("t1"))
    names = sorted(summary.name for summary in fanfold.Pool(store).summaries())
    assert names[0] == "t1/chief"
    assert names[1].startswith("t1/seeker/")
    assert len(names) == 2


def test_an_agent_without_a_thread_is_known_by_its_first_message(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldMiddleware(store=store, window=100_000)
    agent = create_agent(scripted(AIMessage("one"), AIMessage("two")), [tool(look)], middleware=[fold])
    first = agent.invoke({"messages": [("user", "Hello.")]})["messages"]
    agent.invoke({"messages": [*first, ("user", "And?")]})
    assert len(fanfold.Pool(store).summaries()) == 1


def test_an_agent_without_tools_is_offered_none() -> None:
    with Provider(Turn("Hello.")) as provider:
        model = ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model="gpt-4o")
        create_agent(model, middleware=[FanfoldMiddleware()]).invoke({"messages": [("user", "Hello.")]})
        assert "tools" not in provider.requests[0].body


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool
    why: str = "x" * 4_000


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    counted = []
    for schema in (None, Verdict):
        fold = FanfoldMiddleware()
        reply = Turn(calls=[("Verdict", {"good": True, "why": "it is"})]) if schema else Turn("Yes.")
        with Provider(reply) as provider:
            model = ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model="gpt-4o")
            from langchain.agents.structured_output import ToolStrategy

            strategy = ToolStrategy(schema) if schema else None
            agent = create_agent(
                model, [tool(look)], middleware=[fold], response_format=strategy, checkpointer=InMemorySaver()
            )
            agent.invoke({"messages": [("user", "Is it?")]}, threaded("t1"))
        with fold.session("t1/agent") as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


def test_the_user_is_told_of_a_summariser_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    rival = SummarizationMiddleware(
        model=scripted(*(AIMessage("short") for _ in range(9))), trigger=("messages", 3), keep=("messages", 1)
    )
    model = scripted(*(AIMessage(str(number)) for number in range(4)))
    agent = create_agent(
        model,
        [tool(look)],
        middleware=[rival, FanfoldMiddleware(window=100_000)],
        checkpointer=InMemorySaver(),
    )
    with caplog.at_level(logging.WARNING):
        for number in range(4):
            agent.invoke({"messages": [("user", f"message {number}")]}, threaded("t1"))
    assert "SummarizationMiddleware" in caplog.text


def test_the_user_is_told_of_an_editor_before_it(caplog: pytest.LogCaptureFixture) -> None:
    rival = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=100, keep=1)])
    model = scripted(*(calling(f"c{number}", number) for number in range(4)), AIMessage("Done."))
    agent = create_agent(model, [tool(look)], middleware=[rival, FanfoldMiddleware(window=100_000)])
    agent.invoke({"messages": [("user", "Look.")]})
    assert caplog.text.count("ContextEditingMiddleware is active beside fanfold") == 1


def test_a_fallback_to_another_model_is_sent_the_same_and_nothing_is_recorded_twice() -> None:
    script = [Turn(calls=[("look", {"number": 1})]), Fail.server_error(), Turn("Done.")]
    with Provider(script) as provider:
        first, second = (
            ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model=name, max_retries=0)
            for name in ("gpt-4o", "gpt-4o-mini")
        )
        fold = FanfoldMiddleware()
        agent = create_agent(
            first,
            [tool(look)],
            middleware=[ModelFallbackMiddleware(second), fold],
            checkpointer=InMemorySaver(),
        )
        assert agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))["messages"][-1].text == "Done."
        failed, taken = (request.body for request in provider.requests[1:])
        assert (failed["messages"], failed["tools"]) == (taken["messages"], taken["tools"])
        assert (failed["model"], taken["model"]) == ("gpt-4o", "gpt-4o-mini")
    with fold.session("t1/agent") as chat:
        assert (chat.stats()["entries"], chat.branches) == (4, ())


@pytest.mark.parametrize("thinking", [None, {"type": "enabled", "budget_tokens": 1_024}])
def test_claude_works_through_a_long_run_with_thinking_and_without(thinking: dict[str, Any] | None) -> None:
    def script(request: Any) -> Turn:
        thought = "I look." if (request.body.get("thinking") or {}).get("type") == "enabled" else ""
        if request.number >= 60:
            return Turn("Done.", thinking=thought)
        calls = [("look", {"number": request.number}), ("look", {"number": 900 + request.number})]
        return Turn(thinking=thought, calls=calls[: 2 if request.number % 5 == 0 else 1])

    with Provider(script, window=20_000) as provider:
        model = ChatAnthropic(
            base_url=provider.anthropic_base_url, api_key="any", model="claude-sonnet-4-6", max_tokens=4_000,
            max_retries=0, thinking=thinking,
        )  # fmt: skip
        agent = create_agent(model, [tool(look)], middleware=[FanfoldMiddleware(window=16_000)])
        done = agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))["messages"]
        assert done[-1].text == "Done."
        assert provider.rejected == []
        assert max(request.tokens for request in provider.requests) <= 16_000
        assert len(provider.requests) == 61


def test_deepagents_get_it_in_the_place_of_their_summariser() -> None:
    fold = FanfoldMiddleware.for_deepagents(window=16_000)
    script = [Turn(calls=[("look", {"number": number})]) for number in range(60)]
    with Provider([*script, Turn("Done.")], window=16_000) as provider:
        model = ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model="gpt-4o", max_retries=0)
        agent = create_deep_agent(model, [tool(look)], middleware=[fold], checkpointer=InMemorySaver())
        done = agent.invoke({"messages": [("user", "Look.")]}, threaded("t1"))
        assert done["messages"][-1].text == "Done."
        assert provider.rejected == []
        assert sum(isinstance(message, ToolMessage) for message in done["messages"]) == 60
        assert "tool_output_cache" in str(provider.requests[-1].body["tools"])
    nodes = [name for name in agent.get_graph().nodes if "Summarization" in name]
    assert nodes == [], "their summariser is not there any more"


def test_a_deepagents_that_is_missing_or_too_old_is_named_with_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = metadata.version

    def there(package: str) -> str:
        return "0.6.9" if package == "deepagents" else right(package)

    monkeypatch.setattr(metadata, "version", there)
    with pytest.raises(MissingExtra, match=r"needs deepagents 0\.7 or later; 0\.6\.9 is installed"):
        FanfoldMiddleware.for_deepagents()


def test_sub_agents_of_deepagents_have_sessions_of_their_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldMiddleware.for_deepagents(store=store, window=100_000)
    seeker = {"name": "seeker", "description": "Seeks.", "system_prompt": "You seek.", "middleware": [fold]}

    def task(id: str, kind: str) -> AIMessage:
        return calling(id, name="task", description=f"Seek as {kind}.", subagent_type=kind)

    model = scripted(
        task("c1", "seeker"), AIMessage("found"), task("c2", "general-purpose"), AIMessage("found, too"),
        AIMessage("Done."),
    )  # fmt: skip
    agent = create_deep_agent(
        model, [tool(look)], middleware=[fold], subagents=[seeker], checkpointer=InMemorySaver()
    )
    done = agent.invoke({"messages": [("user", "Go.")]}, threaded("t1"))["messages"]
    assert [message.text for message in done if isinstance(message, ToolMessage)] == ["found", "found, too"]
    fold.close()
    names = sorted(summary.name for summary in fanfold.Pool(store).summaries())
    assert [name.split("/")[:2] for name in names] == [
        ["t1", "agent"],
        ["t1", "general-purpose"],
        ["t1", "seeker"],
    ]


@pytest.mark.parametrize("converter", [CHAT, CLAUDE])
def test_what_is_built_keeps_what_the_message_had(converter: Any) -> None:
    was = AIMessage(
        content=[
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I write."},
            {"type": "tool_use", "id": "c1", "name": "write", "input": {"text": BIG}},
        ],
        tool_calls=[{"id": "c1", "name": "write", "args": {"text": BIG}}],
        id="run-1",
        response_metadata={"model_name": "claude"},
    )
    parts = (Thinking("hm", "s"), Text("I write."), Call("c1", "write", '{"_elided":"text of 7 KiB"}'))
    built = converter.build(Message("assistant", parts), None, was)
    assert built.tool_calls[0]["args"] == {"_elided": "text of 7 KiB"}
    assert built.content[0]["signature"] == "s"
    assert built.content[2]["input"] == {"_elided": "text of 7 KiB"}
    assert built.response_metadata == was.response_metadata
    assert was.tool_calls[0]["args"] == {"text": BIG}, "and that one is untouched"
    result = ToolMessage(content=BIG, tool_call_id="c1", status="error", artifact={"rows": 3})
    shorter = converter.build(Message("tool", (Result("c1", (Text("[trimmed]"),), True),)), None, result)
    assert (shorter.content, shorter.status, shorter.tool_call_id) == ("[trimmed]", "error", "c1")


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("langchain")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "langchain_agent.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the state" in done.stdout


def test_a_system_message_that_leads_the_conversation_goes_on_and_nothing_behind_it_is_lost() -> None:
    with Provider([Turn("Four.")]) as provider:
        model = ChatOpenAI(model="gpt-4o", base_url=provider.openai_base_url, api_key="any")
        agent = create_agent(model, [look], middleware=[FanfoldMiddleware(window=100_000)])
        agent.invoke({"messages": [SystemMessage("You read."), HumanMessage("What is 2+2?")]})
        sent = [(one["role"], one["content"]) for one in provider.requests[0].body["messages"]]
        assert sent == [("system", "You read."), ("user", "What is 2+2?")]


def test_every_result_is_sent_where_one_of_several_is_missing() -> None:
    calls = [{"id": id, "name": "look", "args": {"number": 1}} for id in "123"]
    history = [HumanMessage("Look."), AIMessage("", tool_calls=calls)]
    history += [
        ToolMessage("two", tool_call_id="2"),
        ToolMessage("three", tool_call_id="3"),
        HumanMessage("Go on."),
    ]
    with Provider([Turn("Done.")]) as provider:
        model = ChatAnthropic(model="claude-opus-4-5", base_url=provider.anthropic_base_url, api_key="any")
        agent = create_agent(model, [look], middleware=[FanfoldMiddleware(window=100_000)])
        agent.invoke({"messages": history})
        assert provider.rejected == []
        text = json.dumps(provider.requests[0].body["messages"])
        assert "two" in text
        assert "three" in text


PNG = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
CONTENTS: list[dict[str, Any]] = [
    PNG,
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    {"type": "image", "file_id": "f1"},
    {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "filename": "x.pdf"},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
    {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
    {"type": "media", "mime_type": "video/mp4", "data": "AAAA"},
    {"type": "text-plain", "text": "hey", "mime_type": "text/plain"},
    {"type": "search_result", "title": "a", "source": "b", "content": []},
    {"type": "guard_content", "since": datetime(2026, 1, 1)},
]


@pytest.mark.parametrize("block", CONTENTS, ids=lambda block: block["type"])
@pytest.mark.parametrize("kind", ["chat", "anthropic-chat"])
def test_pictures_files_and_unknown_content_go_on_as_the_identical_objects(kind: str, block: Any) -> None:
    class Named(Scripted):
        @property
        def _llm_type(self) -> str:
            return kind

    said: list[Any] = [
        HumanMessage([{"type": "text", "text": "See."}, block]),
        calling("c1"),
        ToolMessage([{"type": "text", "text": "Here."}, block], tool_call_id="c1"),
        AIMessage("I see."),
        HumanMessage("And now?"),
    ]
    model = Named(messages=iter([AIMessage("Done.")]), sent=[])
    fold = FanfoldMiddleware(window=50_000)
    create_agent(model, [tool(look)], middleware=[fold]).invoke({"messages": said}, threaded("t1"))
    assert all(a is b for a, b in zip(model.sent[0], said, strict=True))


@pytest.mark.parametrize("converter", [CHAT, CLAUDE])
def test_a_picture_stays_beside_words_that_are_shortened_and_goes_where_it_is_left_out(
    converter: Any,
) -> None:
    was = ToolMessage([{"type": "text", "text": BIG}, PNG], tool_call_id="c1")
    picture = converter_read(converter, was).parts[1]
    shorter = Result("c1", (Text("[trimmed]"), picture))
    assert converter.build(Message("tool", (shorter,)), None, was).content == [
        {"type": "text", "text": "[trimmed]"}, PNG
    ]  # fmt: skip
    gone = Result("c1", (Text("[trimmed]"), Text("[a picture]")))
    assert converter.build(Message("tool", (gone,)), None, was).content == "[trimmed]\n[a picture]"


def converter_read(converter: Any, message: Any) -> Any:
    read = dialect_named(converter.dialect).message(converter.body(message))
    return read.results[0]


def test_arguments_that_are_no_json_and_thoughts_of_any_form_are_told() -> None:
    dated = {"id": "c1", "name": "look", "args": {"number": datetime(2026, 1, 1)}}
    reply = AIMessage([{"type": "reasoning", "summary": ["a", {"text": "b"}]}], tool_calls=[dated])
    assert CHAT.body(reply)["reasoning_content"] == "ab"
    assert "2026" in CHAT.body(reply)["tool_calls"][0]["function"]["arguments"]
    assert "2026" in CLAUDE.body(reply)["content"][1]["input"]["raw"]
