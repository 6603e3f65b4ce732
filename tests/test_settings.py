"""Settings: code wins over the environment, the environment over the file; a mistake is shown in its line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Budget, UnknownModel, models, presets
from fanfold.config import settings
from fanfold.config.settings_file import find_model
from fanfold.core.plan import name_of


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working folder, and no model known but those of the table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_registered", {})
    yield
    models._find.cache_clear()
    models._keys.cache_clear()


def write(text: str) -> None:
    Path("fanfold.toml").write_text(text, encoding="utf-8")


def opened(**options: Any) -> Any:
    """What a session was really opened with."""
    with fanfold.open("run", **{"window": 100_000, **options}) as chat:
        return chat._state.terms


def strategies(**options: Any) -> list[str]:
    return [name_of(one) for one in opened(**options).strategies]


def test_a_model_of_the_settings_file_is_known() -> None:
    with pytest.raises(UnknownModel, match=r'fanfold\.toml, \[models\."house-1"\]'):
        fanfold.open("run", model="house-1")
    write('[models."house-1"]\nwindow = 5_000\nmax_output = 100\n')
    with fanfold.open("run", model="house-1") as chat:
        assert chat.pressure().room == 4_900


def test_a_model_of_the_settings_file_goes_before_the_table() -> None:
    write('[models."gpt-4o-2024-05-13"]\nwindow = 50_000\nmax_output = 1_000\n')
    with fanfold.open("run", model="gpt-4o-2024-05-13") as chat:
        assert chat.pressure().room == 49_000


def test_another_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[models."house-2"]\nwindow = 7_000\n')
    monkeypatch.setenv("FANFOLD_CONFIG", str(other))
    assert find_model("house-2").window == 7_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "fanfold.toml cannot be read"),
        (
            '\n[models."house-3"]\nwindou = 5\n',
            "line 3: There is no setting of a model 'windou'. Did you mean 'window'",
        ),
        ('[models."house-3"]\nwindow = "big"\n', r"line 2: .*window"),
        ('[models."house-3"]\nwindow = -5\n', "line 1: .*above zero"),
        ('[models."house-3"]\nmax_output = 5\n', "line 1: .*needs a size"),
        ('[models]\n"house-3" = 7\n', 'line 2: "house-3" is a table'),
        ("models = 7", "line 1: models is a table"),
    ],
)
def test_a_wrong_model_is_named(text: str, said: str) -> None:
    write(text)
    with pytest.raises(BadSetting, match=said):
        find_model("house-3")


@pytest.mark.requirement("B6")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('window = "8k"', r"line 1: window is a setting of the budget: write it below a line \[budget\]\."),
        ('labels = {client = "me"}', r"line 1: labels can only be given in code: fanfold\.open\(…, labels=…\)\."),
        ('stratgy = "drop_oldest"', "line 1: There is no setting 'stratgy'. Did you mean 'strategy'"),
        ('\nstrategy = "drop_oldst"', "line 2: There is no strategy 'drop_oldst'. Did you mean 'drop_oldest'"),
        ('strategy = ["elide", "windw"]', "line 1: There is no strategy 'windw'"),
        ("strategy = 5", "line 1: .*by name"),
        ('[strategy]\nname = "elide"\nkep = 1', "line 3: There is no setting of elide 'kep'. Did you mean 'keep'"),
        ('strategy = {name = "elide", keep = -1}', "line 1: elide keeps zero or more"),
        ('strategy = {name = "elide", keep = "x"}', "line 1: keep of elide .* Expected `int`, got `str`"),
        ('strategy = {name = "drop_oldest", keep_first = "yes"}', "line 1: keep_first of .* Expected `bool`"),
        ('[strategy]\nname = "summarize"\nstyle = "sectons"', "line 3: .* 'sectons'. Did you mean 'sections'"),
        ('strategy = {name = "importance", scorer = 5}', "line 1: scorer of importance is a function, or the name"),
        ('[preset]\nname = "codelia"\nsummary_directives = "be short"', "line 3: summary_directives of codelia"),
        ('[preset]\nname = "codelia"\ncache = "no"', "line 3: cache of codelia .* Expected `bool`, got `str`"),
        ('[preset]\nname = "roo_code"\nlayout = "latr"', "line 3: .*layout of roo_code 'latr'. Did you mean 'later'"),
        ('[preset]\nname = "roo_code"\nprofiles = {fast = "x"}', "line 3: profiles of roo_code"),
        ('[preset]\nname = "miki"\nprofile = "shrt"', "line 1: There is no profile 'shrt'. Did you mean 'short'"),
        ('passes = ["clp"]', "line 1: There is no filter 'clp'. Did you mean 'clip'"),
        ('meter = "inches"', "line 1: There is no meter 'inches'"),
        ('meter = "rooo_code"', "line 1: There is no meter 'rooo_code'. Did you mean 'roo_code'"),
        ("meter = 5", "line 1: A meter is one, or the name of one, not 5"),
        ('preset = "roo"', "line 1: There is no preset 'roo'. Did you mean 'roo_code'"),
        ('preset = {name = "roo_code", percnt = 9}', "setting of roo_code 'percnt'. Did you mean 'percent'"),
        ('preset = {name = "roo_code", percent = "high"}', "line 1: percent of roo_code .* Expected `float`"),
        ('preset = {name = "gemini_cli", threshold = "high"}', "line 1: threshold of gemini_cli .* Expected `float`"),
        ('preset = {name = "gemini_cli", threshold = 50}', "line 1: gemini_cli .* threshold is 50; it must lie"),
        ("model = 5", "line 1: model is the name of one"),
        ('model = ""', "line 1: model is a name, not ''"),
        ('\nprofile = ""', "line 2: profile is a name, not ''"),
        ('passes = "window"', "line 1: There is no filter 'window'"),
        ('# first\n[budget]\n# then\ntriger = 0.5', "line 4: .*budget 'triger'. Did you mean 'trigger'"),
        ('[budget]\nreserve = 0.5', "line 2: reserve is a whole number, not 0.5"),
        ('[budget]\nwindow = 0', "line 2: window is a whole number above zero, not 0"),
        ('[budget]\ntarget = 0', "line 2: target is a share"),
        ('[budget]\ntrigger = 0.6\nmax_bytes = 99_999_999_999_999_999', "line 3: max_bytes is"),
        ('[budget]\nreserve = 100_000', "line 2: A reserve of 100,000 leaves nothing"),
        ('\npreset = {name = "roo_code", max_tokens = 90_000}', "line 2: roo_code .* Nine tenths of 100,000"),
        ('strategy = [\n  "digest",\n  {name = "elide", kep = 1},\n]', "line 3: There is no setting of elide 'kep'"),
        ('strategy = [\n  {name = "elide", keep = 2},\n  {name = "elide", keep = "x"},\n]', "line 3: keep of elide"),
        ('[[passes]]\nname = "clip"\nline = 900\n[[passes]]\nname = "clip"\nline = "x"', "line 6: line of clip"),
        ('passes = [\n"binary",\n{name = "clip", line = "x"},\n{name = "clip", line = 900},\n]', "line 3: line of"),
        ('[models."gpt-4o"]\nwindou = 5', "line 2: There is no setting of a model 'windou'"),
        ('[budget]\ntrigger = "half"', "line 2: trigger is a share"),
        ('[budget]\ntrigger = 0.3\ntarget = 0.5', "line 2: The target .* lies above the trigger"),
        ('[profiles]\n"my own" = "high"', "line 2: The threshold of 'my own' is a percentage"),
        ("[profils]\nfast = 60", "line 1: There is no setting 'profils'. Did you mean 'profiles'"),
        ('\nprofile = "fst"\n[profiles]\nfast = 60', "line 2: There is no profile 'fst'. Did you mean 'fast'"),
    ],
)  # fmt: skip
def test_a_mistake_is_shown_with_its_line_and_the_nearest_spelling(text: str, said: str) -> None:
    write(text)
    with pytest.raises(BadSetting, match=said):
        opened()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FANFOLD_STRATGY", "drop_oldest", "no variable FANFOLD_STRATGY. Did you mean FANFOLD_STRATEGY"),
        ("FANFOLD_STRATEGY", "elide, windw", "FANFOLD_STRATEGY: There is no strategy 'windw'"),
        ("FANFOLD_TRIGGER", "half", "FANFOLD_TRIGGER: trigger is a share"),
        ("FANFOLD_WINDOW", "1.5", "FANFOLD_WINDOW: window is a whole number"),
        ("FANFOLD_TRIGGER", "0.2", "FANFOLD_TRIGGER: The target .* lies above the trigger"),
        ("FANFOLD_PROFILE", "fst", "FANFOLD_PROFILE: There is no profile 'fst'. Known are: none."),
        ("FANFOLD_CONFIG", "nowhere.toml", "nowhere.toml cannot be read"),
        ("FANFOLD_PRESET", "mikki", "FANFOLD_PRESET: There is no preset 'mikki'. Did you mean 'miki'"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSetting, match=said):
        opened()


def test_a_strategy_is_found_by_the_name_that_0_1_gave_it() -> None:
    write('strategy = [{name = "elide", keep = 2}, {name = "window", keep_first = false}]')
    assert strategies() == ["elide", "drop_oldest"]


@pytest.mark.requirement("B6")
def test_code_wins_over_the_environment_and_that_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert strategies() == ["auto"]
    write('strategy = [{name = "elide", keep = 2}, "drop_oldest"]')
    assert strategies() == ["elide", "drop_oldest"]
    assert opened().strategies[0].keep == 2
    monkeypatch.setenv("FANFOLD_STRATEGY", "truncate")
    assert strategies() == ["truncate"]
    assert strategies(strategy="importance") == ["importance"]
    assert strategies(strategy=fanfold.drop_oldest()) == ["drop_oldest"]


def test_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    write('strategy = "drop_oldest"\n[budget]\ntrigger = 0.6')
    for variable in ("STRATEGY", "PRESET", "PASSES", "MODEL", "PROFILE", "TRIGGER", "CONFIG"):
        monkeypatch.setenv(f"FANFOLD_{variable}", "")
    assert strategies() == ["drop_oldest"]
    assert opened().budget.trigger == 0.6


def test_a_byte_order_mark_before_the_settings_is_passed_over() -> None:
    Path("fanfold.toml").write_text('strategy = "drop_oldest"', encoding="utf-8-sig")
    assert strategies() == ["drop_oldest"]


def test_a_preset_in_code_wins_over_a_strategy_in_the_file() -> None:
    write('strategy = "drop_oldest"\nmeter = "bytes/4"\npasses = []')
    assert strategies(preset="miki") == ["importance"]
    assert opened(preset="miki").meter.name == "characters/4"
    assert len(opened(preset="miki").filters) == 3
    assert (opened().meter.name, opened().filters) == ("bytes/4", ())
    assert opened(preset="miki", meter="roo_code").meter.name == "roo_code"


def test_every_figure_of_the_budget_is_taken_from_the_strongest_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("[budget]\ntrigger = 0.6\ntarget = 0.2\nreserve = 500\nwindow = 9_000")
    with fanfold.open("run") as chat:
        assert chat._state.terms.budget == Budget(
            window=9_000, trigger=0.6, target=0.2, reserve=500, max_bytes=50 * 2**20
        )
    monkeypatch.setenv("FANFOLD_TRIGGER", "0.7")
    budget = opened(window=8_000).budget
    assert (budget.window, budget.trigger, budget.target) == (8_000, 0.7, 0.2)
    own = Budget(window=1_000)
    assert opened(window=None, budget=own).budget == own


def test_a_preset_of_the_file_takes_figures_of_its_own() -> None:
    write('preset = {name = "roo_code", percent = 60}')
    assert opened().budget.ceiling == 60_000
    assert opened(preset="roo_code").budget.ceiling == 75_000
    assert opened(preset=presets.roo_code(percent=50)).budget.ceiling == 50_000


def test_the_model_can_be_named_beside_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    write('model = "gpt-4o"')
    with fanfold.open("run") as chat:
        chat.say("hello")
        assert chat.request()["model"] == "gpt-4o"
    monkeypatch.setenv("FANFOLD_MODEL", "gpt-5.2")
    assert opened().model == "gpt-5.2"
    assert opened(model="gpt-4o").model == "gpt-4o"


@pytest.mark.requirement("E2")
def test_profiles_have_thresholds_of_their_own_or_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        'preset = "roo_code"\nprofile = "opus"\n[profiles]\nopus = 80\nhaiku = 60\nturbo = 70\ndefault = -1'
    )
    assert [opened(profile=name).budget.ceiling for name in (None, "opus", "haiku", "turbo", "default")] == [
        80_000, 80_000, 60_000, 70_000, 75_000,
    ]  # fmt: skip
    monkeypatch.setenv("FANFOLD_PROFILE", "haiku")
    assert opened().budget.ceiling == 60_000


@pytest.mark.requirement("E2")
def test_a_threshold_out_of_range_inherits_with_a_warning() -> None:
    write("[profiles]\nfast = 4")
    usual = opened().budget.ceiling
    with pytest.warns(UserWarning, match='Invalid profile threshold 4 for profile "fast"'):
        assert opened(profile="fast").budget.ceiling == usual


@pytest.mark.requirement("E1", "E2")
def test_no_profile_goes_beyond_what_is_allowed() -> None:
    write('preset = "roo_code"\n[profiles]\nlate = 100')
    assert opened(profile="late").budget.ceiling == 90_000 - 8_192


def test_fit_reads_the_settings_too() -> None:
    messages = [{"role": "user", "content": f"{i} " + "word " * 40} for i in range(40)]
    write('meter = "characters/4"')
    by_characters = fanfold.fit(messages, window=1_000)
    Path("fanfold.toml").unlink()
    assert fanfold.fit(messages, window=1_000) != by_characters


def test_every_setting_of_the_file_to_begin_with_is_a_real_one() -> None:
    from importlib.resources import files

    text = files("fanfold.cli").joinpath("fanfold.toml").read_text()
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    settings = [line for line in lines if line.startswith("[") or (" = " in line and "`" not in line)]
    settings.remove('preset = "gemini_cli"')
    write("\n".join(settings))
    assert strategies() == ["elide", "digest"]
    assert find_model("my-model").window == 200_000


def test_where_sessions_are_kept_can_stand_in_the_file_and_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write('store = "sqlite:kept.db"\ntenant = "me"')
    with fanfold.open("run", window=9_000) as chat:
        chat.say("Hello")
    assert Path("kept.db").exists()
    with fanfold.open("run", window=9_000, store="sqlite:kept.db", tenant="me") as chat:
        assert chat.stats()["messages"] == 1
    monkeypatch.setenv("FANFOLD_STORE", "sqlite:other.db")
    with fanfold.open("run", window=9_000) as chat:
        assert chat.stats()["messages"] == 0
    assert Path("other.db").exists()


def test_what_code_says_about_the_store_wins() -> None:
    write('store = "sqlite:kept.db"')
    with fanfold.open("run", window=9_000, store="memory") as chat:
        chat.say("Hello")
    assert not Path("kept.db").exists()


def test_a_remembered_dialect_wins_over_a_setting() -> None:
    with fanfold.open("run", window=9_000, dialect="gemini", store="sqlite:kept.db") as chat:
        chat.say("Hello")
    write('dialect = "anthropic"')
    with fanfold.open("new", window=9_000) as chat:
        chat.say("Hello")
        assert "max_tokens" in chat.request()
    with fanfold.open("run", window=9_000, store="sqlite:kept.db") as chat:
        assert "contents" in chat.request()


def test_commands_find_the_store_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    from fanfold.cli.app import run

    write('store = "sqlite:kept.db"')
    with fanfold.open("run-7", window=9_000) as chat:
        chat.say("Hello")
    assert run(["ls"]) == 0
    assert "run-7" in capsys.readouterr().out


def test_a_wrong_plain_setting_is_named_with_its_line() -> None:
    write('\non_moved = "explode"')
    with pytest.raises(
        fanfold.BadSetting, match=r"fanfold.toml, line 2: on_moved is one of raise, reapply, branch"
    ):
        opened()


def test_every_option_stands_in_the_file_or_is_said_to_stand_in_code_only() -> None:
    options = set(inspect.signature(fanfold.open).parameters) - {"name"}
    assert options == {*settings.CHOICES, *settings.IN_CODE, "window", "budget"}
