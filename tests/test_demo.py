"""The demo runs from nothing and keeps its promises."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import fanfold
from fanfold import demo
from fanfold.demo import gateway, library

ROOT = Path(__file__).parent.parent


def test_the_demo_keeps_every_promise_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    picture = io.BytesIO()
    assert demo.main(fast=True, record=picture) == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") == 6
    assert "✗" not in printed
    assert "fails at step" in printed
    assert "task lost at step" in printed
    assert "step 200/200" in printed
    assert "a hand-over: it stands for" in printed
    assert "[found, decided and reported, in the agent's words]" in printed
    assert b"<svg" in picture.getvalue()
    assert b"https://" not in picture.getvalue()
    expect_the_picture_of_the_pages_to_show(picture.getvalue().decode())


def expect_the_picture_of_the_pages_to_show(drawn: str) -> None:
    """What the README shows is what the demo draws today; figures only where the same Python drew it."""
    script = runpy.run_path(str(ROOT / "scripts" / "picture_demo.py"))
    words, kept = script["words"], script["PICTURE"].read_text(encoding="utf-8")
    if script["PYTHON"] in kept:
        assert words(script["sign"](drawn)) == words(kept), "docs/assets/demo.svg is stale: run `make pages`"


@pytest.mark.slow
def test_the_demo_is_cheaper_than_a_sliding_window_and_cached_as_the_readme_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert demo.figures(120) == 0
    _, sliding, ours = json.loads(capsys.readouterr().out)["runs"]
    assert ours["cost"] < sliding["cost"] / 2
    assert ours["share"] > 0.8
    assert sliding["share"] < 0.4
    assert (sliding["forgot"] is not None, ours["forgot"]) == (True, None)


def test_the_tools_of_the_demo_really_look_at_files() -> None:
    assert "contextlib.py" in library.run("list", {"path": "."})
    (hit,) = library.hits("^def contextmanager", "contextlib.py")
    assert "contextmanager" in library.run("read", {"path": "contextlib.py", "first": hit[1], "count": 1})
    assert library.run("grep", {"pattern": "no such thing at all", "path": "contextlib.py"}) == "no hit"


@pytest.mark.slow
def test_a_narrow_terminal_reads_whole_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert demo.main(fast=True, steps=20) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 40
    assert "…" not in printed
    assert "sliding window" in printed


@pytest.mark.slow
def test_behind_the_gateway_a_plain_loop_keeps_every_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main_gateway(fast=True, steps=40) == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") == 5
    assert "✗" not in printed
    assert "reduction" in printed
    assert "step 40/40" in printed


def test_why_the_gateway_of_the_demo_did_not_start_is_said_in_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("fanfold: The gateway needs uvicorn: pip install 'fanfold[serve]'\n", encoding="utf-8")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    with pytest.raises(
        fanfold.FanfoldError, match=r"^The gateway did not start: The gateway needs uvicorn: pip"
    ):
        gateway._wait(ended, "http://127.0.0.1:9", log)
