"""Presets: what holds for all of them, in real sessions."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from talking import DIALECTS, talk

import fanfold
from builders import texts
from fanfold import BadSetting, presets
from fanfold.core.plan import name_of
from fanfold.testing import FakeModel, called, replied, returned


def test_there_are_seven() -> None:
    assert list(presets.PRESETS) == [
        "codelia", "openstarry_window", "openstarry_summary", "openstarry_state", "miki", "gemini_cli", "roo_code",
    ]  # fmt: skip
    assert [make().name for make in presets.PRESETS.values()] == list(presets.PRESETS)


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_preset_keeps_a_long_run_within_its_window(name: str, dialect: str) -> None:
    with fanfold.open("run", preset=name, window=12_000, dialect=dialect, summarizer=FakeModel()) as chat:
        chat.say("Mend the parser. Never touch lexer.py.")
        for i in range(40):
            chat.add(fanfold.Message("assistant", (fanfold.Call(f"c{i}", "read", "{}"),)))
            chat.answer(f"c{i}", f"output {i} " + "word " * 300)
            chat.request(max_tokens=200)
        assert chat.pressure().tokens <= 11_800
        assert chat.stats()["entries"] >= 80


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_preset_survives_a_model_that_is_down(name: str) -> None:
    with fanfold.open(
        "run", preset=name, window=12_000, summarizer=FakeModel(ConnectionError("down"))
    ) as chat:
        talk(chat, 60)
        chat.say("And now?")
        chat.request(max_tokens=200)
        assert chat.pressure().tokens <= 11_800


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("messages", [0, 1])
def test_where_there_is_next_to_nothing_a_preset_does_nothing(name: str, messages: int) -> None:
    with fanfold.open("run", preset=name, window=12_000, summarizer=FakeModel("{}")) as chat:
        for i in range(messages):
            chat.say(f"message {i}")
        assert chat.compact(force=True).status == "noop"
        assert len(chat.view().rows) == messages


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_what_is_pinned_stays_whatever_the_preset(name: str) -> None:
    with fanfold.open("run", preset=name, window=100_000, summarizer=FakeModel("{}")) as chat:
        talk(chat, 30)
        for row in chat.view().rows:
            chat.pin(row.id)
        before = texts(chat)
        chat.compact(force=True)
        chat.request()
        assert [text for text in texts(chat) if text in before] == before


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_only_results_are_sent_in_a_form_that_a_provider_takes(name: str) -> None:
    with fanfold.open("run", preset=name, window=12_000, summarizer=FakeModel("{}")) as chat:
        chat.merge([returned(f"c{i}", f"output {i} " + "word " * 400) for i in range(40)])
        chat.add(replied("seen"))
        request = chat.request(max_tokens=100)
        assert not any(message["role"] == "tool" for message in request["messages"])
        assert chat.pressure().tokens <= 11_900


@pytest.mark.parametrize("name", ["codelia", "miki", "gemini_cli", "roo_code"])
def test_what_is_given_beside_a_preset_wins(name: str) -> None:
    with fanfold.open(
        "run", preset=name, window=9_999, strategy=fanfold.drop_oldest(), meter="bytes/4", filters=[]
    ) as chat:
        terms = chat._state.terms
        assert [name_of(one) for one in terms.strategies] == ["drop_oldest"]
        assert (terms.meter.name, terms.filters, terms.budget.window) == ("bytes/4", (), 9_999)


@pytest.mark.parametrize(
    ("make", "figure", "wrong"),
    [
        (presets.codelia, "threshold_ratio", (0, -1, 1.01, 80, nan)),
        (presets.gemini_cli, "threshold", (0, -1, 1.01, 50, nan)),
        (presets.gemini_cli, "keep", (0, 1.01, 30)),
        (presets.roo_code, "percent", (0, -1, 101, nan)),
    ],
)
def test_a_figure_out_of_range_is_named(make: Any, figure: str, wrong: tuple[float, ...]) -> None:
    for value in wrong:
        with pytest.raises(BadSetting, match=f"{figure} is {value}; it must lie above 0"):
            fanfold.open("run", preset=make(**{figure: value}), window=100_000)


def test_a_ratio_that_leaves_a_token_or_less_is_no_share_of_the_whole() -> None:
    with fanfold.open("run", preset=presets.codelia(threshold_ratio=0.000_01), window=100_000) as chat:
        assert chat.pressure().trigger == 2


OTHERS = [{"window": 20_000}, {"window": 1_000_000}, {"model": "gpt-4o"}, {"model": "gemini-2.5-pro"}]


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(*other.values()))
def test_a_fork_for_another_model_keeps_the_thresholds_and_the_meter_of_a_preset(
    name: str, other: dict[str, Any]
) -> None:
    with fanfold.open("afresh", preset=name, **other) as afresh:
        wanted = afresh._state.terms
    with fanfold.open("run", preset=name, window=100_000) as chat:
        chat.add(replied(None, called("c1", "ask")))
        for made in (chat.fork("fork", **other), chat.spawn("c1", **other)):
            assert made._state.terms.budget == wanted.budget
            assert made._state.terms.meter.name == wanted.meter.name
