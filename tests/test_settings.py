"""A settings file makes models known."""

from __future__ import annotations

from pathlib import Path

import pytest

import fanfold
from fanfold import BadSetting, UnknownModel
from fanfold.settings import find_model


def write(folder: Path, text: str) -> None:
    (folder / "fanfold.toml").write_text(text)


def test_a_model_of_the_settings_file_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownModel, match=r'fanfold\.toml, \[models\."house-1"\]'):
        fanfold.open("run", model="house-1")
    write(tmp_path, '[models."house-1"]\nwindow = 5_000\nmax_output = 100\n')
    with fanfold.open("run", model="house-1") as chat:
        assert chat.pressure().room == 4_900


def test_another_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[models."house-2"]\nwindow = 7_000\n')
    monkeypatch.setenv("FANFOLD_CONFIG", str(other))
    assert find_model("house-2").window == 7_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "cannot be read"),
        ('[models."house-3"]\nwindou = 5\n', "windou"),
        ('[models."house-3"]\nwindow = "big"\n', "window"),
        ('[models."house-3"]\nwindow = -5\n', "above zero"),
        ('[models]\n"house-3" = 7\n', "house-3"),
    ],
)
def test_a_wrong_setting_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(BadSetting, match=said):
        find_model("house-3")
