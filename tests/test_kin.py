"""Models that nobody knows yet: they keep the rules of their family."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, UnknownModel, models
from fanfold.config.defaults import meter_for
from fanfold.tokens.model_names import key, lineage
from fanfold.tokens.models import Model

TOMORROW = {
    "claude-opus-7": "claude-opus-5-5",
    "claude-zephyr-6": "claude-haiku-5-5",
    "us.anthropic.claude-opus-7-v1:0": "claude-opus-5-5",
    "claude-opus-7@20270101": "claude-opus-5-5",
    "anthropic/claude-opus-7:free": "claude-opus-5-5",
    "claude-opus-4-9": "claude-opus-4-8",
    "gpt-5.99": "gpt-5.6",
    "gpt-5.99-codex": "gpt-5.3-codex",
    "ft:gpt-5.99:house::1": "gpt-5.6",
    "o5-mini": "o4-mini",
    "gpt-oss-2-120b": "gpt-oss-120b",
    "qwen4-max": "qwen3.8-max",
    "mistral-large-5": "mistral-large-4-0",
}


@pytest.mark.parametrize(("name", "relative"), TOMORROW.items())
def test_a_model_released_tomorrow_has_the_nearest_relative_of_its_family(name: str, relative: str) -> None:
    """(19.11)"""
    found = models.kin(name)
    assert found is not None
    assert found.name == relative


@pytest.mark.parametrize(
    "name", ["my-model", "gpt", "gpt-j-6b", "gpt-neo-20b", "o1000", "", "/", "x" * 5_000, None]
)
def test_a_model_of_no_family_has_no_relative(name: str) -> None:
    """(19.11)"""
    assert models.kin(name) is None


@pytest.mark.parametrize("name", models.known())
def test_a_known_model_is_its_own_relative(name: str) -> None:
    """(19.11)"""
    assert models.kin(name) == models.find(name)


@given(
    st.sampled_from(["claude-opus", "claude-sonnet", "claude-zephyr"]), st.integers(6, 40), st.integers(0, 9)
)
def test_every_claude_to_come_is_anthropics_and_takes_no_prefill(kind: str, major: int, minor: int) -> None:
    """(19.11)"""
    for name in (f"{kind}-{major}-{minor}", f"{kind}-{major}", f"anthropic/{kind}-{major}.{minor}:free"):
        found = models.kin(name)
        assert found is not None
        assert (found.provider, found.tokenizer) == ("anthropic", "claude-4.7")
        assert "prefill" not in found.quirks


@given(st.sampled_from(["pro", "flash", "flash-lite", "argon", "zinc"]), st.integers(4, 40))
def test_every_gemini_to_come_wants_its_signatures(kind: str, major: int) -> None:
    """(19.11)"""
    assert models.has(f"gemini-{major}-{kind}", "thought_signatures")


@given(st.sampled_from(["", "-mini", "-nano", "-astra", "-zinc"]), st.integers(6, 30), st.integers(0, 9))
def test_every_gpt_to_come_takes_its_own_name_for_the_limit(kind: str, major: int, minor: int) -> None:
    """(19.11)"""
    assert models.has(f"gpt-{major}.{minor}{kind}", "max_completion_tokens")


def test_no_limits_are_guessed() -> None:
    """(19.11)"""
    with pytest.raises(UnknownModel, match="Known are, for example, claude-opus-5-5"):
        fanfold.open(model="claude-opus-7")


@pytest.mark.parametrize("size", [{"window": 50_000}, {"budget": Budget(window=50_000)}])
def test_a_session_with_a_model_of_tomorrow_obeys_its_family(size: dict[str, object]) -> None:
    """(19.11)"""
    with fanfold.open(model="claude-opus-7", dialect="anthropic", **size) as chat:  # type: ignore[arg-type]
        chat.say("Go.")
        chat.receive(
            {"role": "assistant", "content": [{"type": "text", "text": "Well"}], "stop_reason": "max_tokens"}
        )
        body = chat.request()
        assert body["messages"][-1]["role"] == "user"
    assert meter_for(None, "claude-opus-7").name == meter_for(None, "claude-opus-5-5").name


def test_a_registered_model_that_says_only_its_window_obeys_its_family() -> None:
    """(19.11)"""
    models.register(Model("claude-kin-test-7", window=50_000))
    found = models.kin("claude-kin-test-7")
    assert found is not None
    assert (found.window, found.provider, found.tokenizer) == (50_000, "anthropic", "claude-4.7")
    assert "stops_at_window" in found.quirks
    models.register(Model("claude-kin-test-7", window=50_000, provider="house", tokenizer="o200k"))
    own = models.kin("claude-kin-test-7")
    assert own is not None
    assert (own.provider, own.tokenizer) == ("house", "o200k")


@given(st.text(max_size=40))
def test_any_text_has_a_lineage_or_none(name: str) -> None:
    """(19.11)"""
    found = lineage(key(name))
    assert found is None or found.words


def test_a_sub_agent_has_a_prompt_and_tools_of_its_own() -> None:
    read = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    ask = {"type": "function", "function": {"name": "ask", "parameters": {"type": "object"}}}
    with fanfold.open("lead", window=20_000, system="You lead.", tools=[ask]) as lead:
        lead.say("Where is the bug?")
        lead.add({"role": "assistant", "tool_calls": [called_in_chat("c1", "ask")]})
        with lead.spawn("c1", system="You read.", tools=[read]) as helper:
            helper.say("Read the parser.")
            body = helper.request()
    assert body["messages"][0] == {"role": "system", "content": "You read."}
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names[0] == "read"
    assert "ask" not in names
    assert len(names) > 1, "it has tools, so it can look things up again"


def called_in_chat(id: str, name: str) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
