"""The pictures of the pages show what the code does today; `make pages` draws them anew."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPTS / f"{name}.py")))


picture_concepts, bench_all = script("picture_concepts"), script("bench_all")


@pytest.mark.parametrize("name", ["flow", "log", "reduction", pytest.param("cache", marks=pytest.mark.slow)])
def test_a_picture_is_not_stale(name: str) -> None:
    drawn = "\n".join(picture_concepts.PICTURES[name]())
    assert drawn == picture_concepts.place(name).read_text(encoding="utf-8"), "`make pages` draws it anew"
    ElementTree.fromstring(drawn)


def test_a_reduction_takes_three_quarters_away_and_ends_with_a_hand_over() -> None:
    steps = [
        picture_concepts.by_kind(picture_concepts.reduced(part))
        for part in ([], list(picture_concepts.STEPS.values()))
    ]
    assert steps[0].total() > 4 * steps[1].total()
    assert steps[1]["handover"] > 0


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
