"""The demo runs from nothing and keeps its promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanfold import demo


def test_the_demo_keeps_every_promise_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") == 4
    assert "✗" not in printed


def test_the_demo_shows_a_reduction_and_an_undo(capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    printed = capsys.readouterr().out
    assert "reduced by one recorded edit" in printed
    assert "Undo the last edit" in printed


def test_the_readme_quotes_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert "56 of 60 requests" in readme
    assert "56 of 60 requests" in capsys.readouterr().out
