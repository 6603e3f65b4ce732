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
