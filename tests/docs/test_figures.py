"""The figures on the pages are those that were measured, and every bench has its own on docs/bench.md."""

from __future__ import annotations

import re
import runpy
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
bench_all = SimpleNamespace(**runpy.run_path(str(ROOT / "scripts" / "bench_all.py")))
NEED_DATA = {"billing.py", "forensics.py", "grammar.py", "moment.py"}
"""These are measured on recorded conversations, which are not a part of the project."""
ROWS = {
    "fanfold, by default": "fanfold, default",
    "OpenHands LLMSummarizingCondenser, with a stand-in for its model": "openhands LLMSummarizingCondenser",
    "Agent Framework TruncationStrategy": "agent_framework TruncationStrategy",
    "Haystack SlidingWindowCompactor": "haystack SlidingWindowCompactor",
}
"""What the README calls a policy, and what docs/replay.md calls it."""


def test_a_page_of_benches_keeps_what_was_not_run_again() -> None:
    bench = bench_all.BENCHES[3]
    page = bench_all.write_page({bench.name: bench_all.write_section(bench, "Measured now.", 0, "1.0 ×")})
    again = bench_all.read_sections(page)
    assert list(again) == [bench.name]
    assert bench_all.write_page(again) == page


def test_a_bench_that_failed_is_told_on_the_page() -> None:
    assert "It failed (exit 3)." in bench_all.write_section(bench_all.BENCHES[0], "Measured now.", 3, "boom")


def test_an_unknown_bench_is_named() -> None:
    with pytest.raises(SystemExit, match="There is no bench nothing; there are speed, session"):
        bench_all.main(["nothing"])


def test_the_benches_that_are_missing_or_failed_can_be_run_alone() -> None:
    first, second, third = bench_all.BENCHES[:3]
    page = bench_all.write_page(
        {
            first.name: bench_all.write_section(first, "Measured now.", 0, "1.0 ×"),
            second.name: bench_all.write_section(second, "Measured now.", 1, "boom"),
        }
    )
    missing = bench_all.benches_named(["missing"], bench_all.read_sections(page))
    assert [bench.name for bench in missing] == [bench.name for bench in bench_all.BENCHES if bench != first]
    assert bench_all.benches_named([third.name], {}) == [third]
    assert bench_all.benches_named([], bench_all.read_sections(page)) == list(bench_all.BENCHES)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def table(text: str, *heading: str) -> dict[str, list[str]]:
    """The rows of the first table whose heading has these words, by their first cell."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith("|") and all(word in line for word in heading))
    found: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip(" *`").replace("`", "") for cell in line.strip("|").split("|"))
        if name.strip("-:"):
            found[name] = cells
    return found


def test_every_bench_has_its_last_figures_on_the_page() -> None:
    sections = bench_all.read_sections(page("docs/bench.md"))
    assert list(sections) == [bench.name for bench in bench_all.BENCHES]
    assert [name for name, section in sections.items() if "It failed (exit" in section] == []


def test_every_script_that_measures_is_a_bench() -> None:
    measuring = {path.name for path in (ROOT / "bench").glob("*.py") if "__main__" in path.read_text("utf-8")}
    run = {Path(word).name for bench in bench_all.BENCHES for word in bench.arguments.split()}
    assert measuring - run == NEED_DATA


def test_benches_are_listed_in_one_place() -> None:
    for rule in re.findall(r"^bench(?:-all)?:.*\n((?:\t.*\n)+)", page("Makefile"), re.M):
        assert "scripts/bench_all.py" in rule
        assert "bench/" not in rule.replace("scripts/bench_all.py", "")


def test_the_length_of_a_bench_is_said_in_its_unit() -> None:
    sizes = bench_all.sizes_in(["messages=20000", "speed"])
    assert sizes == {"messages": 20_000, "requests": 2_000}
    commands = {bench.name: bench.of_size(sizes).command for bench in bench_all.BENCHES}
    assert commands["speed"] == "python bench/speed.py 20000"
    assert commands["growth"] == "python bench/gateway.py growth 2000"
    assert commands["caching"] == "python bench/caching.py"
    with pytest.raises(SystemExit, match="There is no size tokens; there are messages, requests"):
        bench_all.sizes_in(["tokens=5"])


def test_the_readme_has_the_figures_of_replay() -> None:
    told, figures = page("README.md"), page("docs/replay.md")
    cost = table(figures, "16,000: cost", "32,000: cost", "first request")
    trail = table(figures, "policy", "person's words", "mean")
    exact = table(figures, "fanfold, default", "16,000")["trail, mean of nine kinds %"][1]
    shown = table(told, "trail of work", "needed names in view")
    assert shown.keys() == ROWS.keys()
    for name, cells in shown.items():
        row = cost[ROWS[name]]
        kept = trail.get(ROWS[name], [None] * 10)[9]
        whole = [str(kept), exact] if ROWS[name] == "fanfold, default" else [str(kept or "–")]
        assert cells[0].removesuffix(" %") in whole
        assert [Decimal(cell.removesuffix("%")) for cell in cells[1:3]] == [Decimal(row[4]), Decimal(row[9])]
        assert cells[3] == str(Decimal(row[3]).quantize(Decimal("0.1"), ROUND_HALF_UP))


def test_the_readme_says_how_many_sessions_were_measured() -> None:
    assert "What 72 recorded sessions" in page("README.md")
    assert re.search(r"at 32,000 72\b", page("docs/replay.md"))
    (command,) = re.findall(r"`python -m (bench\.peers) FILES --window 32k`", page("README.md"))
    assert (ROOT / command.replace(".", "/") / "__main__.py").exists()


def test_the_page_of_integrations_has_the_figures_that_were_measured_last() -> None:
    measured = bench_all.read_sections(page("docs/bench.md"))["integrations"]
    rows = {line for line in measured.splitlines() if line.startswith("| ")}
    shown = {line for line in page("docs/integrations.md").splitlines() if line.startswith("| ")}
    assert len(rows) > 30
    assert rows - shown == set()
    compared = page("docs/integrations.md").partition("## Compared with their own managers")[2]
    assert {line for line in compared.splitlines() if line.startswith("| ")} - rows == set()


def test_the_readme_says_of_the_prompt_cache_what_the_demo_shows() -> None:
    assert "nine tenths of all tokens come from the cache; with a plain sliding window, a fifth" in " ".join(
        page("README.md").split()
    )
    _, sliding, ours = (
        int(share) for share in re.findall(r">(?:&#160;|\s)*(\d+)%<", page("docs/assets/demo.svg"))
    )
    assert (round(ours, -1), round(sliding, -1)) == (90, 20)
