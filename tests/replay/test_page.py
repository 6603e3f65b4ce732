"""The page of a replay, looked at in a real browser."""

from __future__ import annotations

import json
from copy import copy
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from fanfold.replay import KINDS, Comparison, Played, Recall, Score, replay, totals
from fanfold.replay.page import About, headline, page
from fanfold.replay.page.frontier import frontier, unbeaten
from fanfold.replay.page.plot import ticks
from fanfold.replay.page.summary import MEANING
from fanfold.replay.page.tables import LOST, MISSED, SPENT, TRAIL
from fanfold.replay.report import HEAD
from fanfold.replay.trail import Trail
from fanfold.replay.trail.kept import Share
from fanfold.testing import called, replied, returned, said
from tests.browser import opened

ORDER = "a81f2c9d-1111-4222-8333-abcdefabcdef"
POLICIES = ["none", "drop_oldest"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Two conversations whose last call needs what stood in the first output; one has an awkward name."""
    folder = tmp_path_factory.mktemp("talks")
    for name, steps in (("talk & <b>.json", 20), ("long.json", 120)):
        messages = [said("Look through the shop.")]
        for step in range(steps):
            messages.append(
                replied(f"I look at page {step}.", called(f"c{step}", "find", json.dumps({"page": step})))
            )
            messages.append(
                returned(f"c{step}", f"<i>order</i> {ORDER}" if not step else "nothing here " * 60)
            )
        last = replied("There it was.", called("last", "cancel", json.dumps({"order": ORDER})))
        (folder / name).write_text(json.dumps([*messages, last]))
    return replay([folder], POLICIES, window=2_500, workers=1)


class Tags(HTMLParser):
    """The names of all elements, and what they fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one."""
        self.names.add(tag)
        self.fetched += [str(value) for name, value in attrs if name in ("src", "href")]


def test_a_report_is_one_line_in_a_terminal_and_the_page_in_a_notebook(played: list[Played]) -> None:
    assert repr(played) == f"<Comparison of 2 policies, 4 replays: {headline(totals(played))}>"
    (frame,) = Frames(played._repr_html_()).found  # type: ignore[attr-defined]
    assert frame["srcdoc"] == page(played, totals(played), 2_500)
    assert "sandbox" in frame


def test_a_report_of_nothing_is_one_line_too() -> None:
    assert repr(Comparison([], 2_500)) == "<Comparison of 0 policies, 0 replays>"


class Frames(HTMLParser):
    """The frames in a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one."""
        self.found += [dict(attrs)] if tag == "iframe" else []


def test_the_page_has_pictures_no_script_and_fetches_nothing(played: list[Played]) -> None:
    text = page(played, totals(played), 2_500, ["Nothing <expires>."])
    tags = Tags(text)
    assert {"svg", "polyline", "circle", "details", "table"} <= tags.names
    assert "script" not in tags.names
    assert tags.fetched == ["data:,"]
    assert "Nothing &lt;expires&gt;." in text


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_browser_shows_it_without_complaint(played: list[Played], tmp_path: Path, colours: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(played, totals(played), 2_500), encoding="utf-8")
    with opened(path.as_uri(), color_scheme=colours) as seen:
        sight = seen.page
        assert sight.locator("#frontier circle.point").count() == 2
        edge = sight.locator("#frontier polyline.edge")
        assert len((edge.get_attribute("points") or "").split()) == len(unbeaten(totals(played))) > 1
        assert edge.bounding_box()["height"] > 10

        bars = sight.locator("#trail tr.hue1 .bar b").all()
        shares = [bar.bounding_box()["width"] / bar.locator("..").bounding_box()["width"] for bar in bars]
        trail = totals(played)[POLICIES[1]].trail
        assert shares[:-1] == pytest.approx(
            [part for kind in KINDS if (part := trail.share(kind)) is not None], abs=0.02
        )
        assert shares[-1] == pytest.approx(trail.mean, abs=0.02)
        assert min(shares) < 0.9

        first, second = sight.locator("#windows > details").all()
        assert "long.json" in first.inner_text()
        assert first.locator("polyline.line:visible").count() == 2
        assert not second.locator("svg").first.is_visible()
        second.locator("summary").first.click()
        assert second.locator("svg").first.is_visible()
        assert "talk & <b>.json" in second.inner_text()
        edits = first.locator("details.edits").first
        assert first.locator("figure").nth(1).locator("circle.edit").count() == len(played[1].changes) > 3
        assert not edits.locator("li").first.is_visible()
        edits.locator("summary").click()
        assert "call" in edits.locator("li").first.inner_text()

        loss = sight.locator("#losses details").first
        assert not loss.locator("code").first.is_visible()
        loss.locator("summary").click()
        assert loss.locator("code").first.inner_text() == ORDER
        assert loss.locator("mark").first.inner_text() == ORDER
        assert "<i>order</i>" in loss.inner_text()

        ink, paper = (_colour(sight, name) for name in ("color", "background-color"))
        assert (sum(ink) < sum(paper)) == (colours == "light")
        assert sight.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]


def test_the_page_says_what_was_found_in_words_and_what_was_run(played: list[Played]) -> None:
    scores = totals(played)
    cheaper = 1 - scores["drop_oldest"].cost / scores["none"].cost
    kept = scores["drop_oldest"].trail.mean
    assert kept is not None
    over = scores["none"].over
    scores["none"].over = 0
    said = headline(scores).replace("\N{NO-BREAK SPACE}", " ")
    scores["none"].over = over
    words = "cheaper" if cheaper >= 0 else "more expensive"
    assert said == (
        f"drop_oldest is {abs(cheaper):.0%} {words} than sending everything, "
        f"and keeps {kept:.0%} of the trail of work"
    ).replace("%", " %")
    about = About(command="fanfold replay 'my talks' --window 2500", date="3 May 2026")
    text = page([msgspec.structs.replace(one, model="gpt-5.2") for one in played], scores, 2_500, about=about)
    for told in (
        "fanfold replay &#x27;my talks&#x27; --window 2500",
        "3 May 2026",
        "gpt-5.2",
        "window of 2,500 tokens",
    ):
        assert told in text
    assert headline({"none": scores["none"]}) == "What it costs to send everything"


def test_the_page_compares_with_nothing_that_does_not_fit(played: list[Played]) -> None:
    scores = totals(played)
    scores["none"].over, scores["drop_oldest"].over = 3, 0
    kept = f"and keeps {scores['drop_oldest'].trail.mean:.0%} of the trail of work".replace("%", " %")
    begin = f"Sending everything does not fit in 3 of {scores['none'].calls} calls; "
    cost = f"{scores['drop_oldest'].cost / 1e6:,.2f} M token equivalents"
    said = headline(scores).replace("\N{NO-BREAK SPACE}", " ")
    assert said == f"{begin}drop_oldest costs {cost}, {kept}"
    scores["other"] = copy(scores["none"])
    scores["other"].over = 0
    part = 1 - scores["drop_oldest"].cost / scores["other"].cost
    words = f"{abs(part):.0%} {'cheaper' if part >= 0 else 'more expensive'}".replace("%", " %")
    said = headline(scores).replace("\N{NO-BREAK SPACE}", " ")
    share = f"{scores['other'].trail.mean:.0%}".replace("%", " %")
    assert said == f"{begin}drop_oldest is {words} than other, {kept} (other: {share})"
    del scores["none"]
    said = headline(scores).replace("\N{NO-BREAK SPACE}", " ")
    assert said == f"drop_oldest is {words} than other, {kept} (other: {share})"
    assert not [name for name, text in MEANING.items() if text.startswith("The same")]


def test_every_column_says_what_it_means(played: list[Played]) -> None:
    assert set(MEANING) == set(HEAD)
    text = page(played, totals(played), 2_500)
    for name in HEAD:
        assert f'title="{escape(MEANING[name])}">{escape(name)}</th>' in text
        assert name == "policy" or f"<dt>{escape(name)}</dt><dd>{escape(MEANING[name])}</dd>" in text


def test_it_can_be_read_on_a_phone(played: list[Played], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(played, totals(played), 2_500), encoding="utf-8")
    with opened(path.as_uri(), viewport={"width": 390, "height": 800}) as seen:
        sight = seen.page
        assert sight.evaluate("document.documentElement.scrollWidth <= innerWidth")
        cells = sight.locator("#policies > .wide td").all()
        assert all(cell.bounding_box()["x"] + cell.bounding_box()["width"] <= 390 for cell in cells)
        names = sight.evaluate("getComputedStyle(document.querySelector('#policies td'), '::before').content")
        assert names == '"$"'


def test_the_table_fits_a_desk(played: list[Played], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(played, totals(played), 2_500), encoding="utf-8")
    with opened(path.as_uri(), viewport={"width": 1_280, "height": 800}) as seen:
        box = seen.page.locator("#policies > .wide")
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth")


def _colour(sight: object, name: str) -> list[int]:
    """Red, green and blue of the page itself."""
    written = sight.evaluate(f"getComputedStyle(document.body).getPropertyValue('{name}')")  # type: ignore[attr-defined]
    return [int(part) for part in written.removeprefix("rgb(").removesuffix(")").split(",")]


def test_the_frontier_joins_those_that_none_beats() -> None:
    def score(cost: int, seen: int) -> Score:
        return Score(prompt=cost, fresh=Recall(needed=10, visible=seen))

    some = {"dear": score(30, 9), "worse": score(20, 4), "cheap": score(10, 5), "twin": score(10, 4)}
    assert list(unbeaten(some)) == ["cheap", "dear"]


def test_numbers_at_an_axis_are_round() -> None:
    assert ticks((0.0, 2_430_000.0), 5) == [0, 500_000, 1_000_000, 1_500_000, 2_000_000]
    assert ticks((1.0, 158.0), 5) == [50, 100, 150]
    assert [round(tick, 1) for tick in ticks((0.7, 1.0), 5)] == [0.7, 0.8, 0.9, 1.0]
    assert ticks((0.0, 1.0), 0) == []


def test_both_tables_fit_a_phone_without_being_scrolled(played: list[Played], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(played, totals(played), 2_500), encoding="utf-8")
    with opened(path.as_uri(), viewport={"width": 390, "height": 844}) as seen:
        for place in ("#policies", "#trail"):
            box = seen.page.locator(f"{place} .wide").first
            assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), place
            assert box.evaluate("one => one.scrollHeight <= one.clientHeight"), place
        cell = seen.page.locator("#trail td").first
        assert cell.evaluate("one => getComputedStyle(one, '::before').content") == f'"{KINDS[0]}"'


def test_every_column_of_the_other_tables_says_what_it_means(played: list[Played]) -> None:
    assert tuple(TRAIL) == (*KINDS, "mean")
    text = page(played, totals(played), 2_500)
    for meanings in (TRAIL, SPENT, LOST, MISSED):
        for name, says in meanings.items():
            assert f'title="{escape(says)}">{escape(name)}</th>' in text


def test_where_no_name_was_needed_no_line_is_drawn_at_the_top() -> None:
    scores = {"none": Score(calls=3, prompt=900), "default": Score(calls=3, prompt=500)}
    drawn = frontier(scores, dict.fromkeys(scores, "hue0"))
    assert "<svg" not in drawn
    assert "No call needed a name" in drawn
    scores["default"] = Score(calls=3, prompt=500, fresh=Recall(needed=2, visible=1))
    assert "<svg" in frontier(scores, dict.fromkeys(scores, "hue0"))


def test_where_no_name_was_needed_the_trail_is_drawn() -> None:
    kept = {"none": 1.0, "default": 0.8}
    scores = {
        name: Score(calls=3, prompt=900_000, trail=Trail({"said": Share(1, share)}))
        for name, share in kept.items()
    }
    drawn = frontier(scores, dict.fromkeys(scores, "hue0"))
    assert "↑ trail of work" in drawn
    assert "default: 1.12 M token equivalents, 80.0% of the trail" in drawn


def test_a_curve_that_is_cut_says_so(played: list[Played]) -> None:
    text = page(played, totals(played), 2_500)
    peak = max(tokens for one in played for tokens in one.windows if one.policy == "none")
    assert f"cut here, the longest prompt has {peak:,} tokens" in text
    assert "cut here" not in page(played, totals(played), 2 * peak)


def test_the_worst_losses_have_what_of_the_trail_was_missing(played: list[Played]) -> None:
    assert not [one for one in played if one.policy == "none" and one.missed]
    (one, *_) = (one for one in played if one.policy == "drop_oldest" and one.missed)
    text = page([msgspec.structs.replace(one, lost=())], totals([one]), 2_500)
    worst = text.partition("The worst losses")[2]
    assert "Nothing that a call needed" not in worst
    for missed in one.missed:
        assert escape(missed.text) in worst
        assert f"<td>{missed.calls:,} of {one.tight.calls:,}</td>" in worst
    none = text and page([msgspec.structs.replace(one, lost=(), missed=())], totals([one]), 2_500)
    assert "nothing of the trail was missing" in none
