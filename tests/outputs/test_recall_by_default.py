"""Told nothing, a model with tools can look up what it no longer sees, and one without is told of no tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Budget, Call, Message
from fanfold.core.errors import BadInput
from fanfold.core.message import assistant, text_of
from fanfold.outputs.recall import definitions
from fanfold.replay.player import SessionPlayer
from fanfold.replay.trace import trace
from fanfold.testing import called, replied, returned, said
from fanfold.transcripts import Conversation

NAMES = ["tool_output_cache", "tool_output_cache_grep", "tool_output_cache_search"]
LONG = "a line of the log\n" * 20_000
RUN = {
    "openai.chat": {"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}},
    "openai.responses": {
        "type": "function",
        "name": "run",
        "parameters": {"type": "object"},
        "strict": False,
    },
    "anthropic": {"name": "run", "input_schema": {"type": "object"}},
    "gemini": {"functionDeclarations": [{"name": "run"}]},
}
MODELS = ["gpt-5.2", "claude-sonnet-4-5", "gemini-2.5-pro", "deepseek-chat", "nobody-knows-it"]


def offered(request: dict[str, Any]) -> list[str]:
    """The names of the tools in a request, of any dialect."""
    tools = request.get("tools") or request.get("config", {}).get("tools") or []
    bodies = [one for tool in tools for one in tool.get("functionDeclarations", [tool])]
    return [str(body.get("function", body)["name"]) for body in bodies]


def ran(chat: fanfold.Session, output: str = LONG) -> str:
    """What is shown of an output."""
    chat.say("Run it.")
    chat.add(Message("assistant", (Call("c1", "run", "{}"),)))
    chat.answer("c1", output)
    return chat.view().messages[-1].results[0].text


@pytest.mark.parametrize("dialect", RUN)
def test_a_session_with_tools_offers_recall_from_the_first_request_and_one_without_does_not(
    dialect: str,
) -> None:
    """(19.17)"""
    options: dict[str, Any] = {"dialect": dialect, "model": "x", "window": 60_000}
    with fanfold.open("with", tools=[RUN[dialect]], **options) as chat:
        chat.say("Hello.")
        assert offered(chat.request()) == ["run", *NAMES]
        chat.add(assistant("Hello."))
        shown = ran(chat)
        assert 'tool_output_cache(ref_id="o1"' in shown
        assert offered(chat.request()) == ["run", *NAMES]
    with fanfold.open("without", **options) as chat:
        shown = ran(chat)
        assert "ref=o1" in shown
        assert "tool_output_cache" not in shown
        assert offered(chat.request()) == []


@pytest.mark.parametrize("form", RUN)
@pytest.mark.parametrize("dialect", RUN)
def test_tools_in_the_form_of_another_dialect_turn_recall_on_too(dialect: str, form: str) -> None:
    """(19.17, 19.10)"""
    options: dict[str, Any] = {"dialect": dialect, "model": "x", "window": 60_000}
    with fanfold.open("run", tools=[RUN[form]], **options) as chat:
        assert "tool_output_cache(" in ran(chat)
        assert sorted(offered(chat.request())) == ["run", *NAMES]
    with fanfold.open("own", tools=[RUN[form], *definitions(form)], **options) as chat:
        ran(chat)
        assert sorted(offered(chat.request())) == ["run", *NAMES]
        assert not chat._state.recall


def test_declarations_of_another_dialect_are_counted_one_by_one() -> None:
    """(19.17, 19.10) OpenAI takes 128 tools."""
    for count, names in ((125, NAMES), (126, [])):
        tools = [{"functionDeclarations": [{"name": f"run{n}"} for n in range(count)]}]
        with fanfold.open("run", model="gpt-5.2", dialect="openai.chat", tools=tools) as chat:
            chat.say("Hello.")
            assert [name for name in offered(chat.request()) if name in NAMES] == names


@pytest.mark.parametrize("form", RUN)
@pytest.mark.parametrize("dialect", RUN)
def test_a_tool_that_is_called_like_a_recall_tool_is_refused_beside_them(
    dialect: str, form: str, tmp_path: Path
) -> None:
    """(19.17, 19.10)"""
    own = json.loads(json.dumps(RUN[form]).replace('"run"', '"tool_output_cache_grep"'))
    store = f"sqlite:{tmp_path / 'a.db'}"
    options: dict[str, Any] = {"dialect": dialect, "model": "x", "window": 60_000, "store": store}
    with pytest.raises(BadInput, match=r"'tool_output_cache_grep'.*recall=False"):
        fanfold.open("run", recall=True, tools=iter([own]), **options)
    assert not (tmp_path / "a.db").exists()
    with fanfold.open("run", recall=True, tools=[RUN[form], *definitions(dialect)], **options) as chat:
        chat.say("Hello.")
        assert sorted(offered(chat.request())) == ["run", *NAMES]


@pytest.mark.parametrize("dialect", RUN)
def test_an_output_names_no_tool_that_the_model_does_not_have(dialect: str) -> None:
    """(19.17)"""
    wide = "x" * 5_000 + "\n" + "short\n" * 10
    options: dict[str, Any] = {"dialect": dialect, "model": "x", "window": 60_000, "tools": [RUN[dialect]]}
    for output in (LONG, wide, "x" * 200_000, LONG * 60):
        options["filters"] = [fanfold.clip(line=2_000)] if output == wide else None
        with fanfold.open("told", recall=False, **options) as chat:
            assert "ref=o1" in ran(chat, output)
            assert "tool_output_cache" not in str(chat.request())
        with fanfold.open("not told", **options) as chat:
            assert "tool_output_cache" in ran(chat, output)


def test_who_offers_the_recall_tools_itself_answers_them_itself() -> None:
    """(19.17)"""
    own = [RUN["openai.chat"], *definitions()]
    with fanfold.open("run", window=60_000, tools=own) as chat:
        assert 'tool_output_cache(ref_id="o1"' in ran(chat)
        assert offered(chat.request()) == ["run", *NAMES]
        asked = called("c2", "tool_output_cache", ref_id="o1")
        reply = chat.receive({"choices": [{"message": replied(None, asked), "finish_reason": "tool_calls"}]})
        assert [call.id for call in reply.calls] == ["c2"]


def test_a_session_opened_again_goes_on_as_it_began(tmp_path: Path) -> None:
    """(19.17)"""
    store, tools = f"sqlite:{tmp_path / 'a.db'}", [RUN["openai.chat"]]
    for name, recall in (("with", None), ("without", False)):
        options: dict[str, Any] = {"window": 60_000, "store": store}
        with fanfold.open(name, recall=recall, tools=tools, **options) as chat:
            chat.say("Hello.")
            before = chat.request()
            chat.add(assistant("Hello."))
        for again in ({}, {"tools": tools}):
            with fanfold.open(name, **options, **again) as chat:
                assert chat.request()["tools"] == before["tools"]
                with chat.fork(f"{name} {len(again)}") as fork:
                    assert fork.request()["tools"] == before["tools"]
                    assert ("tool_output_cache(" in ran(fork)) == (recall is None)


def test_a_client_that_re_sends_its_history_keeps_its_tools_to_itself() -> None:
    """(19.17) It runs the calls itself, and would not know those of the recall tools."""
    with fanfold.open("run", window=60_000) as chat:
        chat.merge({"messages": [said("Hello.")], "tools": [RUN["openai.chat"]]})
        assert offered(chat.request()) == ["run"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", RUN)
def test_the_recall_tools_take_at_most_250_tokens(dialect: str, model: str) -> None:
    """(19.17)"""
    options: dict[str, Any] = {"dialect": dialect, "model": model, "window": 60_000, "tools": [RUN[dialect]]}
    with fanfold.open("with", **options) as chat, fanfold.open("without", recall=False, **options) as other:
        assert 0 < chat.view().frame.tokens - other.view().frame.tokens <= 250


@pytest.mark.parametrize("dialect", RUN)
def test_their_json_takes_at_most_250_tokens(dialect: str) -> None:
    """(19.17)"""
    assert fanfold.models.find("gpt-5.2")
    text = json.dumps(definitions(dialect))
    with fanfold.open("run", model="gpt-5.2") as chat:
        assert chat.view().count(text) <= 250


@pytest.mark.parametrize("recorded", [True, False], ids=["tools recorded", "calls only"])
def test_a_replay_measures_what_a_session_does_that_is_told_nothing(recorded: bool) -> None:
    """(19.17)"""
    talk = [said("Run it."), replied(None, called("c1", "run")), returned("c1", LONG), replied("Done.")]
    frame = {"tools": [RUN["openai.chat"]]} if recorded else {}
    nothing = (None,) * len(talk)
    recording = Conversation(
        "run", "-", "chat", "openai.chat", None, frame, tuple(talk), nothing, nothing, (), None
    )
    player = SessionPlayer(trace(recording), 60_000, None)
    shown = player.show(3)
    room = Budget(window=60_000, reserve=0)  # a replay leaves no room for replies
    with fanfold.open("run", budget=room, tools=[RUN["openai.chat"]]) as chat:
        chat.merge([*talk[:3]])
        assert shown.texts[1:] == tuple(
            "\n".join(text_of(message, unescaped=True) for message in row.messages)
            for row in chat.view().rows
        )
    assert offered(player.chat.request()) == ["run", *NAMES]
    assert shown.refs == ("o1",)
    player.close()


def test_fit_offers_nothing_that_it_cannot_answer(tmp_path: Path) -> None:
    """(19.17)"""
    talk = [said("Run it."), replied(None, called("c1", "run")), returned("c1", LONG), replied("Done.")]
    body = {"messages": talk, "tools": [RUN["openai.chat"]]}
    for store in (None, f"sqlite:{tmp_path / 'a.db'}"):
        fitted = fanfold.fit(body, window=4_000, store=store)
        assert offered(fitted) == ["run"]
        assert "tool_output_cache" not in str(fitted)
