"""What the screens of requests, the time line, trials and health say, and that it is so."""

from __future__ import annotations

import re

import fanfold
from fanfold.stores.memory import Memory
from fanfold.testing import replied, response
from fanfold.testing.provider import Provider
from tests.browser import opened
from tests.gateway.gate import Gate
from tests.gateway.looping import run, script
from tests.inspector.sights import figure, looking
from tests.inspector.world import open_worked

BREAKS = "the next cache break"


def open_folded(store: Memory) -> fanfold.Session:
    """A session in which a fold broke the provider's cache before the last two requests."""
    chat = open_worked(store, window=400_000, strategy="auto")
    for step in range(2):
        chat.fold(
            tuple(row.id for row in chat.view().rows[1 + step : 5 + step]), f"Looked at disks, part {step}."
        )
        sent = chat.request(max_tokens=500).sent
        chat.receive(response(replied("All is well."), prompt=sent.tokens + 4_000))
        chat.say("And now?")
    return chat


def test_a_request_says_what_differs_why_the_cache_broke_and_how_far_the_estimate_was_off() -> None:
    store = Memory()
    chat = open_folded(store)
    number = chat.requests()[-1].number
    broken, differs = chat.cache(number).broken, chat.diff(number - 1, number)
    assert broken is not None
    assert broken.cause == "edit"
    with looking(store, f"s/run/request/{number}") as (_, seen):
        sight = seen.page
        sight.get_by_text("Where did the cached beginning end, and why?").wait_for()
        sight.get_by_text("An edit changed an earlier row.").wait_for()
        titles = sight.get_by_role("heading", level=3).all_inner_texts()
        counts = {"New here": differs.came, "No longer here": differs.gone, "Changed": differs.changed}
        assert titles == [f"{title}: {len(ids)}" for title, ids in counts.items() if ids]
        counted, billed = chat.sent(number)[1].tokens, chat.cache(number).prompt
        assert figure(sight, "Estimate") == f"{counted:,}"
        assert figure(sight, "Billed") == f"{billed:,}"
        assert figure(sight, "Estimate off by") == f"{(counted / billed - 1) * 100:.1f} %"


def test_what_left_the_window_is_not_said_to_be_new() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    chat.fold(tuple(row.id for row in chat.view().rows[1:5]), "Looked at two disks.")
    chat.request(max_tokens=500)
    last = chat.requests()[-1].number
    with looking(store, f"s/run/request/{last}") as (_, seen):
        seen.page.get_by_role("heading", name="No longer here: 4").wait_for()
        seen.page.get_by_role("heading", name="New here: 1").wait_for()


def test_the_lines_that_are_as_in_the_request_before_are_dimmed_and_no_others() -> None:
    store = Memory()
    open_worked(store)
    with looking(store, "s/run/request/1") as (_, seen):
        same = seen.page.evaluate("fetch('/inspector/api/sessions/run/requests/1').then(r => r.json())")[
            "same"
        ]
        seen.page.locator(".long .line").first.wait_for()
        tones = seen.page.eval_on_selector_all(
            ".long .line",
            "all => all.map(one => [one.firstChild.textContent, one.classList.contains('same')])",
        )
        assert tones
        assert [dim for _, dim in tones] == [int(number) <= same for number, _ in tones]
        assert same > 0


def test_dragging_over_the_bars_shows_the_request_below_and_the_buttons_lead_to_what_happened() -> None:
    store = Memory()
    chat = open_folded(store)
    count = len(chat.requests())
    breaks = [2, 3, 4, 5, 7]  # the provider forgot, and then there was a fold
    with looking(store, "s/run/time/0") as (_, seen):
        sight = seen.page
        sight.get_by_role("heading", name="Request 0: ").wait_for()
        chart = sight.get_by_role("img", name=f"Tokens of {count} requests")
        assert (
            chart.locator("path.cached, path.fresh").evaluate_all(
                "all => all.map(one => one.getAttribute('d').split('M').length - 1).reduce((a, b) => a + b, 0)"
            )
            >= count - 1
        )
        area = chart.bounding_box()
        assert area is not None

        def over(number: int) -> tuple[float, float]:
            return area["x"] + area["width"] * (number + 0.5) / count, area["y"] + area["height"] / 2

        sight.mouse.move(*over(1))
        sight.mouse.down()
        sight.get_by_role("heading", name="Request 1: ").wait_for()
        sight.mouse.move(*over(4))
        sight.get_by_role("heading", name="Request 4: ").wait_for()
        sight.mouse.up()
        tokens = chat.cache(4).prompt
        assert sight.get_by_role("slider", name="Request").get_attribute("aria-valuetext") == (
            f"Request 4, {tokens:,} tokens"
        )
        sight.get_by_role("slider", name="Request").fill("0")
        sight.get_by_role("heading", name="Request 0: ").wait_for()
        for number in breaks:
            sight.get_by_role("button", name=f"Go to {BREAKS}").click()
            sight.get_by_role("heading", name=f"Request {number}: ").wait_for()


def test_health_tells_each_figure_from_its_own_count() -> None:
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(gate)
        metrics = gate.gateway.metrics
        with opened(f"{gate.url}/?token={gate.gateway.inspection.token()}#/health") as seen:
            seen.page.get_by_role("heading", name="Upstreams").wait_for()
            names = {"Managed": "managed", "Reduced": "edited", "Hidden rounds": "hidden_rounds"}
            shown = {title: figure(seen.page, title) for title in names}
            assert shown == {title: f"{metrics.count(name):,}" for title, name in names.items()}
            assert shown["Reduced"] != shown["Hidden rounds"]
            seen.page.get_by_role("heading", name=re.compile("All is well: ")).wait_for()
            gate.post(
                "/v1/chat/completions", b'{"model":"gpt-5.2","messages":[{"role":"user","content":"hi"}]}'
            )
            seen.page.get_by_text("at most 1", exact=True).wait_for()


def test_a_miss_after_several_edits_names_the_others_too() -> None:
    chat = open_worked(Memory(), window=400_000, strategy="auto")
    rows = [row.id for row in chat.view().rows]
    one = chat.fold(tuple(rows[1:5]), "Looked at two disks.")
    chat.fold(tuple(rows[5:9]), "Looked at two more.")
    chat.note("plan", "go on")
    chat.request(max_tokens=500)
    broken = chat.cache().broken
    assert broken is not None
    assert broken.where == one.id
    assert broken.what == "together with e2 and 1 more"


def test_more_edits_than_are_named_end_with_how_many_there_are() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    for n in range(11):
        chat.note(f"plan {n}", "go on")
    chat.request(max_tokens=500)
    last = chat.requests()[-1]
    assert len(last.edits) == 11
    with looking(store, f"s/run/time/{last.number}") as (_, seen):
        seen.page.get_by_text("… and 3 more").wait_for()
