"""Plug-ins: a package that is really installed adds one of each kind; a broken one is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fanfold
from fanfold import BadSetting
from fanfold.core.plan import name_of
from fanfold.plugins import installed
from fanfold.testing import FakeModel, called, check_strategy, replied

pytest.importorskip("hatchling")
EXAMPLE = Path(__file__).parent.parent / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example is installed: its wheel is built and unpacked, which needs no pip."""
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("site")
    source = shutil.copytree(EXAMPLE, wheels / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = wheels.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(target)
    return target


@pytest.fixture
def plugged(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The example is on the path, and the working folder is empty."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)


def broken(
    folder: Path, kind: str = "strategies", code: str = "raise RuntimeError('the moon is full')"
) -> None:
    """A package with this code in its module, as an installer would have left it."""
    info = folder / "fanfold_broken-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fanfold_broken\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(f"[fanfold.{kind}]\nminutes = fanfold_broken:nothing\n")
    (folder / "fanfold_broken.py").write_text(code)


@pytest.mark.requirement("B6")
@pytest.mark.usefixtures("plugged")
def test_the_example_offers_one_of_each_kind() -> None:
    mine = [one for one in installed() if one.package == "fanfold-minutes 1.0"]
    assert {(one.kind, one.name) for one in mine} == {
        ("strategies", "minutes"),
        ("filters", "first_lines"),
        ("scorers", "loud"),
        ("stores", "jar"),
        ("dialects", "house.chat"),
    }


@pytest.mark.requirement("B6")
@pytest.mark.usefixtures("plugged")
def test_a_settings_file_names_a_strategy_of_a_plug_in_and_its_settings() -> None:
    Path("fanfold.toml").write_text('strategy = {name = "minutes", keep = 0.2, style = "who does what"}\n')
    model = FakeModel("Ana mends the parser.")
    with fanfold.open("run", window=2_000, summarizer=model) as chat:
        for number in range(10):
            chat.say(f"Point {number}: " + "we talk about it. " * 40)
            chat.add(replied("Noted."))
        chat.compact()
        assert chat.view().messages[1].text.startswith("Ana mends the parser.")
    assert model.asked[0].prompt == "Write minutes: who does what."
    Path("fanfold.toml").write_text('strategy = {name = "minutes", kep = 0.2}\n')
    with pytest.raises(
        BadSetting, match=r"line 1: There is no setting of minutes 'kep'\. Did you mean 'keep'"
    ):
        fanfold.open("run", window=2_000)


@pytest.mark.usefixtures("plugged")
def test_a_filter_and_a_store_of_a_plug_in_by_name() -> None:
    with fanfold.open("run", window=9_000, filters=["first_lines"], store="jar:kitchen") as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        chat.answer("c1", "line\n" * 500)
        shown = chat.view().messages[-1].results[0].text
        assert shown.splitlines()[-1] == "[480 lines more as ref=o1]"
    with fanfold.open("run", window=9_000, store="jar:kitchen") as chat:
        assert chat.output("o1").line_count == 500


@pytest.mark.usefixtures("plugged")
def test_the_doctor_says_that_he_does_not_know_stores_of_others() -> None:
    for store in ("jar:kitchen", fanfold.Tenants()):
        with pytest.raises(fanfold.BadInput, match="a store of another kind"):
            fanfold.doctor(store)  # type: ignore[arg-type]


@pytest.mark.requirement("C1")
@pytest.mark.usefixtures("plugged")
def test_a_scorer_of_a_plug_in_by_name() -> None:
    Path("fanfold.toml").write_text('strategy = {name = "importance", most = 6, scorer = "loud"}\n')
    with fanfold.open("run", window=100_000) as chat:
        for number in range(12):
            chat.say(f"{'!' * 30 if number == 3 else 'quiet'} {number} " + "x" * 200)
        chat.add(replied("So many."))
        chat.compact(force=True)
        assert any(message.text.startswith("!!!") for message in chat.view().messages)


@pytest.mark.usefixtures("plugged")
def test_a_dialect_of_a_plug_in_by_name() -> None:
    from fanfold_minutes import minutes

    with fanfold.open("run", window=9_000, dialect="house.chat") as chat:
        chat.say("hello")
        assert chat.request() == {"turns": [{"role": "user", "content": "hello"}]}
    with fanfold.open("run", window=9_000) as chat, chat.fork("there", dialect="house.chat") as there:
        there.say("hello")
        assert there.request() == {"turns": [{"role": "user", "content": "hello"}]}
    with pytest.raises(BadSetting, match=r"There is no dialect 'hous.chat'. Did you mean 'house.chat'"):
        fanfold.open("run", window=9_000, dialect="hous.chat")
    assert name_of(minutes()) == "minutes"
    check_strategy(minutes())


@pytest.mark.usefixtures("plugged")
def test_a_list_is_fitted_for_a_dialect_of_a_plug_in() -> None:
    messages = [{"role": "user", "content": "Hello."}]
    assert fanfold.fit(messages, window=9_000, dialect="house.chat") == messages


@pytest.mark.requirement("B6")
def test_a_plug_in_that_fails_to_load_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(BadSetting) as raised:
        fanfold.open("run", window=2_000, strategy="minutes")
    assert str(raised.value) == (
        "The plug-in 'minutes' (fanfold_broken:nothing of fanfold_broken 2.1) cannot be loaded: "
        "RuntimeError: the moon is full. Fix or remove that package."
    )
    with fanfold.open("run", window=2_000, strategy="drop_oldest"):
        """What nobody named does no harm."""


USES = {
    "strategies": {"strategy": "minutes"},
    "filters": {"filters": ["minutes"]},
    "scorers": {"strategy": {"name": "importance", "scorer": "minutes"}},
    "stores": {"store": "minutes:kitchen"},
    "dialects": {"dialect": "minutes"},
}
HOSTILE = {
    "import sys; sys.exit(3)": "cannot be loaded: SystemExit: 3",
    "nothing = 5": "cannot be loaded: it is of type int, not a function",
    "def nothing(*_, **__): raise KeyError('disk')": "failed: KeyError: 'disk'",
    "def nothing(*_, **__): raise SystemExit": "failed: SystemExit: ",
    "def nothing(*_, **__): return None": "made nothing of use, but something of type NoneType",
}


@pytest.mark.requirement("B6")
@pytest.mark.parametrize(
    ("kind", "code"),
    [(kind, code) for kind in USES for code in HOSTILE if kind != "scorers" or "def " not in code],
)
def test_a_plug_in_that_does_what_it_should_not_is_named(
    kind: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, kind, code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fanfold_broken", raising=False)
    with pytest.raises(BadSetting) as raised:
        fanfold.open("run", window=2_000, **USES[kind])
    named = "The plug-in 'minutes' (fanfold_broken:nothing of fanfold_broken 2.1) "
    assert str(raised.value).startswith(named + HOSTILE[code])


@pytest.mark.requirement("B6")
@pytest.mark.usefixtures("plugged")
def test_two_packages_that_offer_the_same_name_are_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        BadSetting, match=r"(?=.*fanfold_broken 2.1)(?=.*fanfold-minutes 1.0).*Remove all but one"
    ):
        fanfold.open("run", window=2_000, strategy="minutes")


def test_a_remembered_strategy_of_a_plug_in_that_asks_a_model_is_refused_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not known before it is made that it asks; without a model it would do nothing, in silence."""
    asking = "    def asking(view, budget):\n        return ()\n    asking.asks = True\n"
    code = f"def nothing():\n{asking}    return asking\n"
    broken(tmp_path, code=code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fanfold_broken", raising=False)
    store = f"sqlite:{tmp_path / 'a.db'}"
    with fanfold.open("run", window=9_000, store=store, strategy="minutes", summarizer=str) as chat:
        chat.say("Hi.")
    with pytest.raises(BadSetting, match="asking asks a model, and there is none"):
        fanfold.open("run", store=store)
    with fanfold.open("run", store=store, summarizer=str) as chat:
        assert chat.view().rows


def test_a_package_that_offers_a_thing_under_the_old_and_the_new_word_offers_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def nothing():\n    return lambda text, tool, arguments: text.upper()\n"
    broken(tmp_path, "filters", code=code)
    entries = tmp_path / "fanfold_broken-2.1.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text() + entries.read_text().replace("filters", "passes"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fanfold_broken", raising=False)
    assert [one.name for one in installed("filters")] == ["minutes"]
    with fanfold.open("run", window=9_000, filters="minutes") as chat:
        chat.add(replied("", called("c1")))
        chat.answer("c1", "low")
        assert "LOW" in str(chat.request())
