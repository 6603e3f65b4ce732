"""Sizes as text, by one definition: in code, in settings, in the environment and on the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import BadBudget, BadSetting, Budget
from fanfold.cli.sizes import size
from fanfold.config.settings_file import find_model
from fanfold.gateway.settings import read_settings
from fanfold.testing import talk
from fanfold.text.sizes import parse_size, share_of


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16000", 16_000),
        ("16k", 16_000),
        ("16 K", 16_000),
        ("1.5M", 1_500_000),
        ("128_000", 128_000),
        ("64KiB", 65_536),
        ("100 tokens", 100),
        ("16k tokens", 16_000),
        ("16,000", 16_000),
        ("16.1k", 16_100),
        ("1.005M", 1_005_000),
    ],
)
def test_a_size_is_the_same_number_everywhere(text: str, number: int) -> None:
    assert parse_size(text) == size(text) == Budget(window=text, gain=0, reserve=0).window == number  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "k", "16x", "-16k", "1.5", "16k5", "85%", "٣k", "²k", "1,5k"])
def test_what_is_no_size_is_none(text: str) -> None:
    assert parse_size(text) is None


@pytest.mark.parametrize(
    ("text", "share"), [("85%", 0.85), ("100 %", 1.0), ("0%", None), ("101%", None), ("85", None)]
)
def test_a_share_is_a_percentage(text: str, share: float | None) -> None:
    assert share_of(text) == share


def test_a_budget_takes_all_its_sizes_and_shares_as_text() -> None:
    sizes: dict[str, Any] = {
        "window": "200k",
        "max_output": "32k",
        "reserve": "8k",
        "max_bytes": "1MiB",
        "trigger": "85%",
        "target": "60k",
    }
    assert Budget(**sizes) == Budget(
        window=200_000, max_output=32_000, reserve=8_000, max_bytes=1 << 20, trigger=0.85, target=60_000
    )


def test_a_session_is_opened_with_a_window_in_words_and_remembers_the_number() -> None:
    store = fanfold.Memory()
    with fanfold.open("run", window="16k", summarizer_window="8k", store=store) as chat:
        chat.say("Hello.")
        assert (chat.view().room, chat._state.terms.summarizer_window) == (14_400, 8_000)
        with chat.fork("other", window="32k") as other:
            assert other.view().room == 28_800
    with fanfold.open("run", store=store) as again:
        assert again.view().room == 14_400


def test_the_same_for_asyncio() -> None:
    async def room() -> int | None:
        async with fanfold.aopen("run", window="16k") as chat:
            return (await chat.view()).room

    assert asyncio.run(room()) == 14_400


def test_a_pool_takes_sizes_for_all_its_sessions_or_for_one() -> None:
    with fanfold.Pool(fanfold.Memory(), window="16k") as pool:
        with pool.session("one") as chat:
            assert chat.view().room == 14_400
        with pool.session("two", window="8k") as chat:
            assert chat.view().room == 7_200


def test_fit_takes_a_window_and_a_reserve_in_words() -> None:
    messages = talk(40)
    short = fanfold.fit(messages, window="2k", reserve="1k")
    assert short == fanfold.fit(messages, window=2_000, reserve=1_000) != messages


@pytest.mark.parametrize(
    "call", [lambda: fanfold.open("x", window="16x"), lambda: fanfold.fit(talk(2), window="16x")]
)
def test_a_window_that_is_no_size_says_what_one_is(call: Any) -> None:
    with pytest.raises(BadBudget, match=r"window is '16x'; it must be .*, or a size such as '16k'"):
        call()


def test_settings_and_environment_take_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "fanfold.toml"
    monkeypatch.setenv("FANFOLD_CONFIG", str(file))
    file.write_text(
        'summarizer_window = "8k"\n[budget]\nwindow = "16k"\ntrigger = "90%"\n[models."my-model"]\nwindow = "32k"\n'
        '[serve]\nwindow = "64k"\nmemory = "32MiB"\n[serve.per_model."gpt-*"]\nwindow = "24k"\n'
    )
    with fanfold.open("run") as chat:
        budget = chat._state.terms.budget
        assert (budget.window, budget.trigger, chat._state.terms.summarizer_window) == (16_000, 0.9, 8_000)
    assert find_model("my-model").window == 32_000
    served = read_settings()
    assert (served.window, served.memory, served.per_model["gpt-*"].window) == (64_000, 32 << 20, 24_000)
    monkeypatch.setenv("FANFOLD_WINDOW", "8k")
    with fanfold.open("other") as chat:
        assert chat._state.terms.budget.window == 8_000
    monkeypatch.setenv("FANFOLD_WINDOW", "16x")
    with pytest.raises(
        BadSetting, match=r"FANFOLD_WINDOW: window is a whole number above zero, or a size such as 16k"
    ):
        fanfold.open("third")


def test_a_size_in_the_settings_that_is_none_is_named_with_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "fanfold.toml"
    monkeypatch.setenv("FANFOLD_CONFIG", str(file))
    file.write_text('[serve]\nport = 4141\nwindow = "16x"\n')
    with pytest.raises(BadSetting, match=r'line 3.*window is a whole number, or a size such as "16k"'):
        read_settings()
