"""F9: a wrong window, or a missing output limit: compaction at every step, or never."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import UnknownModel, models

from .naive import loop, tokens

TABLE = {"gpt-4": 8_192}


def test_the_naive_table_has_a_default_that_fits_nobody() -> None:
    window = TABLE.get("shiny-new-model", 4_096)
    compactions = sum(tokens(loop(steps)) > window * 0.8 for steps in range(0, 400, 10))
    assert compactions > 10, "at a real window of a million there is nothing to compact"


def test_an_unknown_model_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(UnknownModel, match=r"window="):
        fanfold.open("run", model="shiny-new-model-9")


def test_a_registered_model_has_its_window_and_pressure_explains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    models.register(models.Model("shiny-f9", window=1_000_000, max_output=64_000))
    with fanfold.open("run", model="shiny-f9", filters=()) as chat:
        chat.merge(loop(400))
        chat.request()
        assert not any(row.why for row in chat.view().rows)
        pressure = chat.pressure()
        assert (pressure.reserve, pressure.room) == (32_000, 968_000)
        assert f"{pressure.tokens:,} of 968,000 tokens" in str(pressure)
