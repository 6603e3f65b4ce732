"""The plug-in for Google ADK, in the real package, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import fanfold

pytest.importorskip("google.adk")
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel, Field

from fanfold.integrations.adk import FanfoldPlugin


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
    plugin: FanfoldPlugin, model: Scripted, *messages: str, session: str = "s1", **more: Any
) -> list[str]:
    """What the agent said to each message, in one session of ADK's."""

    async def main() -> list[str]:
        given = {"tools": [elementsJson, click], "instruction": "You click.", **more}
        agent = LlmAgent(name="mac", model=model, **given)
        runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[plugin]))
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
    plugin = FanfoldPlugin(store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
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
    plugin = FanfoldPlugin(store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
    assert ran(plugin, model, "first", "second", "third") == ["one", "two", "three"]
    with kept(tmp_path / "a.db") as chat:
        assert chat.stats()["entries"] == 10
        assert len(chat.view().rows) == 10, "one path, nothing forked"
        assert chat.stats()["requests"] == 5


@pytest.mark.requirement("C7")
def test_a_session_goes_on_in_a_later_run(tmp_path: Path) -> None:
    for number, text in enumerate(("one", "two")):
        plugin = FanfoldPlugin(store=f"sqlite:{tmp_path / 'a.db'}", window=100_000)
        assert ran(plugin, Scripted(replies=[said(text)]), f"message {number}") == [text]
    with kept(tmp_path / "a.db") as chat:
        sent = [chat.sent(number)[1].messages[-1].text for number in (0, 1)]
        assert sent == ["message 0", "message 1"]


@pytest.mark.requirement("C7")
def test_a_long_run_stays_within_its_window(tmp_path: Path) -> None:
    replies = [calls("elementsJson") for _ in range(12)]
    model = Scripted(replies=[*replies, said("done")])
    plugin = FanfoldPlugin(window=9_000)
    assert ran(plugin, model, "Look a dozen times.") == ["done"]
    assert len(model.sent) == 13
    assert max(map(len, model.sent)) < 4 * 9_000


class Verdict(BaseModel):
    """What an agent is to answer with."""

    good: bool


@pytest.mark.requirement("C7")
def test_an_agent_may_have_a_schema_for_its_answers() -> None:
    model = Scripted(replies=[said('{"good": true}')])
    assert ran(FanfoldPlugin(window=9_000), model, "Is it?", tools=[], output_schema=Verdict) == [
        '{"good": true}'
    ]


@pytest.mark.requirement("C6")
def test_in_debug_mode_figures_are_told_every_five_requests() -> None:
    lines: list[str] = []
    model = Scripted(replies=[*(calls("click") for _ in range(10)), said("done")])
    ran(FanfoldPlugin(window=100_000, debug=lines.append), model, "Click ten times.")
    assert len(lines) == 2
    assert lines[0].startswith("Context stats: 9 messages, ~")
    assert lines[0].endswith(" tokens")


@pytest.mark.requirement("C6")
def test_requests_of_another_session_are_no_steps_of_this_one() -> None:
    lines: list[str] = []
    plugin = FanfoldPlugin(window=100_000, debug=lines.append)
    for session in ("s1", "s2"):
        model = Scripted(replies=[calls("click"), calls("click"), said("done")])
        ran(plugin, model, "Click twice.", session=session)
    assert lines == []
