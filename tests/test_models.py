"""Model names in all their spellings, and the facts behind them."""

from __future__ import annotations

import runpy
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadInput, BadSetting, UnknownModel
from fanfold.tokens import model_names, model_table
from fanfold.tokens.models import Model, Prices, Tier, find, known, register

CLOUDS = (
    "openai/",
    "models/",
    "azure/",
    "openrouter/anthropic/",
    "vertex_ai/",
    "bedrock/us.anthropic.",
    "eu.meta.",
    "arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.",
)
DATES = ("-20310717", "-2031-07-17", "@20310717", "-07-2031", "-0717", ":free", "@default", "-20310717-v1:0")
STAGES = ("-latest", "-preview", "-preview-07-17")
SCRIPT = Path(__file__).parent.parent / "scripts" / "refresh_models.py"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("gpt-5.2", "gpt-5.2"),
        ("openai/gpt-5.2", "gpt-5.2"),
        ("GPT-4o", "gpt-4o"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0:200k", "claude-3-5-sonnet"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("bedrock/converse/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-1-v1:0",
            "claude-opus-4-1",
        ),
        ("deepseek.v3.2", "deepseek-v3.2"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("azure/gpt-35-turbo", "gpt-3.5-turbo"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("deepseek/deepseek-r1:free", "deepseek-r1"),
        ("deepseek-r1:32b", "deepseek-r1-32b"),
        ("accounts/fireworks/models/kimi-k2p5", "kimi-k2.5"),
        ("ft:gpt-4o-2024-08-06:acme::x1", "ft:gpt-4o-2024-08-06"),
        ("ft:gpt-5:acme::x1", "gpt-5"),
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("mistral-large", "mistral-large-latest"),
        ("gpt-5.2-codex-max", "gpt-5.2-codex"),
        ("gpt-4o-my-deployment", "gpt-4o"),
        ("o3-mini-high", "o3-mini"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
    ],
)
def test_a_model_is_found_in_every_usual_spelling(asked: str, found: str) -> None:
    assert find(asked).name == found


@pytest.mark.parametrize(
    "asked",
    [
        "gpt-45-foo",
        "o1000",
        "gpt-5.99",
        "gpt-5.99-codex",
        "claude-opus-4-9",
        "gpt-4-64k",
        "gpt",
        "",
        "/",
        "-",
        "x" * 5000,
    ],
)
def test_a_name_that_only_looks_alike_is_unknown(asked: str) -> None:
    with pytest.raises(UnknownModel):
        find(asked)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_prefix_of_a_cloud_changes_nothing(cloud: str) -> None:
    assert [find(cloud + name).name for name in known()] == list(known())


@pytest.mark.parametrize("date", DATES)
def test_a_date_changes_nothing(date: str) -> None:
    assert [find(name + date).name for name in known()] == list(known())


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_changes_nothing_unless_it_has_a_row_of_its_own(stage: str) -> None:
    for name in known():
        assert find(name + stage).name in (name, f"{name}-latest", f"{name}-preview")


@given(st.sampled_from(known()), st.sampled_from(CLOUDS), st.sampled_from(DATES))
def test_a_cloud_and_a_date_together_change_nothing(name: str, cloud: str, date: str) -> None:
    assert find(cloud + name + date).name == name


@given(st.sampled_from(known()), st.text("abcdefgh", min_size=3, max_size=9))
def test_a_longer_name_stays_in_the_family(name: str, suffix: str) -> None:
    assert find(f"{name}-{suffix}").tokenizer == find(name).tokenizer


@given(st.text(max_size=400))
def test_any_text_is_a_model_or_unknown(name: str) -> None:
    with suppress(UnknownModel):
        assert find(name).name in known()


def test_an_unknown_model_says_how_to_make_it_known() -> None:
    with pytest.raises(UnknownModel) as caught:
        find("gpt-5.21")
    said = str(caught.value)
    assert "gpt-5.2" in said
    assert "fanfold.models.register(Model('gpt-5.21', window=…" in said
    assert '[models."gpt-5.21"]' in said


def test_a_name_that_is_no_text_is_bad_input() -> None:
    with pytest.raises(BadInput):
        find(None)  # type: ignore[arg-type]


def test_a_registered_model_is_found_in_every_spelling() -> None:
    register(Model("house-llm", window=64_000))
    assert find("acme/house-llm-20310717").window == 64_000
    assert "house-llm" in known()


def test_a_registered_model_goes_before_the_table() -> None:
    assert find("gpt-4o").window == 128_000
    register(Model("gpt-4o", window=1_000))
    assert find("openai/gpt-4o").window == 1_000


def test_the_name_of_the_wide_window_gives_a_million() -> None:
    assert find("claude-sonnet-4-5-20250929[1m]").window == 1_000_000
    assert find("claude-sonnet-4-5-20250929").window == 200_000


@pytest.mark.parametrize("limits", [{}, {"window": 0}, {"window": -1}, {"max_output": 5}])
def test_a_model_without_a_size_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(BadSetting):
        Model("m", **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "window", "max_input", "max_output", "shared", "tokenizer"),
    [
        ("gpt-5.2", 400_000, 272_000, 128_000, True, "o200k"),
        ("gpt-4o", 128_000, 128_000, 16_384, True, "o200k"),
        ("gpt-4", 8_192, 8_192, 8_192, True, "cl100k"),
        ("o3", 200_000, 200_000, 100_000, True, "o200k"),
        ("claude-sonnet-4-5", 200_000, 200_000, 64_000, True, "claude"),
        ("claude-opus-4-7", 1_000_000, 1_000_000, 128_000, True, "claude-4.7"),
        ("gemini-1.5-pro", 2_097_152, 2_097_152, 8_192, False, "gemma"),
        ("gemini-2.5-pro", 1_048_576, 1_048_576, 65_536, False, "gemma"),
        ("gemini-2.5-flash", 1_048_576, 1_048_576, 65_536, False, "gemma"),
        ("gemini-2.5-flash-lite", 1_048_576, 1_048_576, 65_536, False, "gemma"),
        ("deepseek-chat", 131_072, 131_072, 8_192, True, "deepseek"),
        ("qwen3-max", 262_144, 258_048, 65_536, True, "qwen"),
        ("gpt-oss-120b", 131_072, 131_072, 65_536, True, "gpt-oss"),
    ],
)
def test_the_table_knows_the_limits(
    name: str, window: int, max_input: int, max_output: int, shared: bool, tokenizer: str
) -> None:
    model = find(name)
    limits = (model.window, model.max_input, model.max_output, model.shared, model.tokenizer)
    assert limits == (window, max_input, max_output, shared, tokenizer)


def test_the_table_knows_the_prices() -> None:
    claude = find("claude-opus-4-6")
    assert claude.prices == Prices(5.0, 25.0, 0.5, 6.25, 10.0)
    assert claude.min_cacheable == 4_096


def test_a_long_prompt_has_its_own_prices() -> None:
    prices = find("gemini-2.5-pro").prices
    assert prices is not None
    assert prices.at(200_000).input == 1.25
    assert prices.at(200_001).input == 2.5


def test_the_highest_tier_reached_counts() -> None:
    low, high = Tier(10, Prices(2.0, 2.0)), Tier(20, Prices(3.0, 3.0))
    assert [Prices(1.0, 1.0, tiers=(low, high)).at(size).input for size in (10, 11, 21)] == [1.0, 2.0, 3.0]


def test_every_row_makes_a_model_of_its_own_key() -> None:
    assert len(known()) == len(model_table.MODELS) >= 300
    for name in known():
        assert find(name).name == name


def test_every_table_model_has_plausible_facts() -> None:
    for name in known():
        model = find(name)
        assert model.window is not None
        assert model.max_input is not None
        assert 2_000 <= model.max_input <= model.window <= 20_000_000
        assert model.prices is None or 0 < model.prices.input <= 1_000


def test_importing_models_leaves_the_table_for_later() -> None:
    code = "import sys, fanfold.tokens.models; sys.exit('fanfold.tokens.model_table' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_script_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT))
    facts = {
        "house/chat-x": {"litellm_provider": "nobody", "mode": "chat", "max_input_tokens": 9_000},
        "gpt-9": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 9_000},
    }
    first, second = (script["module"](script["table"](facts), "2031-07-17") for _ in range(2))
    assert first == second
    assert '"gpt-9": (' in first
    assert "chat-x" not in first


def test_the_generated_module_says_when_and_by_what() -> None:
    assert "scripts/refresh_models.py" in (model_table.__doc__ or "")
    assert model_table.DATE in (model_table.__doc__ or "")


@given(st.text(max_size=80))
def test_a_key_is_its_own_key(name: str) -> None:
    once = model_names.key(name)
    assert model_names.key(once) == once or not once.isascii()
