"""The demo runs from nothing and keeps its promises."""

from __future__ import annotations

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
