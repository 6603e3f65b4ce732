"""What `make release-check` looks for is found: each of these wheels and papers is wrong in one way."""

from __future__ import annotations

import runpy
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
release = SimpleNamespace(**runpy.run_path(str(SCRIPTS / "check_release.py")))
NAME = f"fanfold-{release.PROJECT['version']}"
TOLD = "Name: fanfold\nLicense-Expression: MIT\nRequires-Python: >=3.11\nSummary: It folds.\nKeywords: llm\n"
URLS = "".join(f"Project-URL: {kind}, x\n" for kind in ("Documentation", "Source", "Changelog", "Issues"))


def tracked() -> dict[str, str]:
    """Every file of the package, as a wheel has it."""
    listed = release._run(["git", "ls-files", "src"], cwd=release.ROOT).split()
    return {name.removeprefix("src/"): "" for name in listed}


def wheel(folder: Path, files: dict[str, str]) -> Path:
    path = folder / f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


def test_a_whole_wheel_is_right(tmp_path: Path) -> None:
    files = {**tracked(), f"{NAME}.dist-info/METADATA": TOLD + URLS}
    assert "files" in release.check_contents(wheel(tmp_path, files))
    assert "4 URLs" in release.check_metadata(wheel(tmp_path, files))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"notes.txt": ""}, "none of the package"),
        ({"fanfold/tests/x.py": ""}, "the wheel has tests"),
        ({"fanfold/test_x.py": ""}, "the wheel has tests"),
        ({"fanfold/__init__.py": None}, "the wheel lacks"),
        ({"fanfold/demo/vendor/some.js": ""}, "fanfold/demo/vendor has no licence text"),
    ],
)
def test_a_wrong_wheel_is_found_out(change: dict[str, str | None], said: str, tmp_path: Path) -> None:
    files = {name: text for name, text in {**tracked(), **change}.items() if text is not None}
    with pytest.raises(release.Wrong, match=said):
        release.check_contents(wheel(tmp_path, files))


@pytest.mark.parametrize("lacking", ["License-Expression", "Keywords", "Project-URL: Issues"])
def test_metadata_that_lack_something_are_found_out(lacking: str, tmp_path: Path) -> None:
    told = [line for line in (TOLD + URLS).splitlines() if not line.startswith(lacking)]
    with pytest.raises(release.Wrong, match=lacking.rpartition(" ")[2]):
        release.check_metadata(wheel(tmp_path, {f"{NAME}.dist-info/METADATA": "\n".join(told)}))


def test_every_promised_python_that_is_here_is_tried_and_must_work() -> None:
    assert release.promised("3.11")
    assert not release.promised("3.99")
    here = f"3.{sys.version_info.minor}"
    assert here in release.interpreters()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("# Changelog\n\n## {v} (2026-11-20)\n\n- You can fold.\n", None),
        (
            "# Changelog\n\n## {minor} (2026-11-20)\n\n### New\n\n- You can fold.\n\n## 0.0.1 (2026-01-01)\n",
            None,
        ),
        ("# Changelog\n\n## {v} (not released yet)\n\n- You can fold.\n", "has no day"),
        ("# Changelog\n\n## {v}\n\n- You can fold.\n", "has no day"),
        ("# Changelog\n\n## {v}9 (2026-11-20)\n\n- You can fold.\n", "the newest section"),
        (
            "# Changelog\n\n## 99.0 (2026-11-20)\n\n- More.\n\n## {v} (2026-11-19)\n\n- x\n",
            "the newest section",
        ),
        ("# Changelog\n\n## {v} (2026-11-20)\n\n## 0.0.1 (2026-01-01)\n\n- Older.\n", "says nothing"),
        ("# Changelog\n", "the newest section"),
    ],
)
def test_the_changelog_has_a_dated_section_of_exactly_this_version(changes: str, said: str | None) -> None:
    number = release.PROJECT["version"]
    text = changes.replace("{v}", number).replace("{minor}", number.removesuffix(".0"))
    if said is None:
        assert "1 points" in release.check_changelog(text)
        return
    with pytest.raises(release.Wrong, match=said):
        release.check_changelog(text)


def test_a_promised_python_that_is_not_here_is_said_to_be_untried() -> None:
    assert release.missing(["3.11", "3.13"]) == ["3.12", "3.14"]
    with pytest.raises(release.NotTried, match=r"not tried, because this machine has no Python 3\.12"):
        release.not_tried("3.12")


def test_every_promised_python_has_a_line(tmp_path: Path) -> None:
    titles = [title for title, _ in release.checks(tmp_path / "a.whl", tmp_path / "a.tar.gz", False)]
    for minor in range(11, 15):
        assert f"the wheel in an empty environment of Python 3.{minor}" in titles


def test_nothing_but_empty_environments_is_installed_into() -> None:
    text = (SCRIPTS / "check_release.py").read_text(encoding="utf-8")
    assert '"make"' not in text
    assert text.count('"install"') == text.count('UV, "pip", "install", "--quiet", *chosen') == 1
