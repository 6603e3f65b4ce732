"""What the screens tell of requests, trials and a gateway is what happened, in words and figures."""

from __future__ import annotations

import pytest

import fanfold
from fanfold.inspector.safety import Grant
from fanfold.stores.memory import Memory
from fanfold.testing import called, replied, response
from tests.inspector.sights import figure, looking
from tests.inspector.world import open_handed_over, work

WORDS = "The disk hums and all is well. " * 300
BILLED = 10, 7, 12, 9
"""How many tokens more than were counted each request is billed."""


def broken(store: Memory) -> fanfold.Session:
    """Four requests; before the third one, messages were folded that the second had sent."""
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=400_000)
    first = chat.say(WORDS)
    for number, more in enumerate(BILLED):
        if number == 2:
            chat.fold((first.id,), "It hums.")
        prompt = chat.request(max_tokens=500).sent.tokens + more
        body = response(replied(f"Reply {number}: {WORDS}"), prompt=prompt)
        read = {1: 1_920, 3: 1_024}.get(number, 0)
        body["usage"]["prompt_tokens_details"] = {"cached_tokens": read}
        chat.receive(body)
        chat.say(f"And now {number}? {WORDS}")
    return chat


def test_a_request_says_what_it_was_billed_and_why_the_cached_beginning_ended() -> None:
    store = Memory()
    chat = broken(store)
    edit = chat.edits()[0].decision.id
    bill = chat.requests()[2]
    counted = chat.sent(2)[1].tokens
    with looking(store, "s/run/request/2") as (_, seen):
        sight = seen.page
        sight.get_by_text("An edit changed an earlier row.").wait_for()
        assert sight.get_by_role("link", name=f"Edit {edit}").get_attribute("href") == f"#/s/run/edit/{edit}"
        assert figure(sight, "Billed") == f"{chat.cache(2).prompt:,}"
        assert figure(sight, "Estimate off by") == f"{(counted / chat.cache(2).prompt - 1) * 100:.1f} %"
        assert figure(sight, "Cost") == f"${bill.cost:.4f}"
        sight.evaluate("location.hash = '#/s/run/request/0'")
        sight.get_by_text("It was the first request.").wait_for()


LISTENS_LATE = """
const add = window.addEventListener;
window.addEventListener = function (type, ...rest) {
  if (type === "hashchange") history.replaceState(null, "", "#/s/run/request/0");
  return add.call(this, type, ...rest);
};
"""
"""The address changes after the page has read it, and before it hears of such changes."""


def test_an_address_that_changed_before_the_page_listened_is_gone_to() -> None:
    store = Memory()
    broken(store)
    with looking(store, "s/run/request/2") as (_, seen):
        seen.page.get_by_role("heading", name="Request 2").wait_for()
        seen.page.add_init_script(LISTENS_LATE)
        seen.page.reload()
        seen.page.get_by_text("It was the first request.").wait_for(timeout=10_000)


def test_a_request_says_what_differs_from_the_one_before() -> None:
    store = Memory()
    chat = broken(store)
    differs, (one, two) = chat.diff(1, 2), (chat.sent(n)[1].tokens for n in (1, 2))
    with looking(store, "s/run/request/2") as (_, seen):
        sight = seen.page
        sight.get_by_role("heading", name=f"Compared with request 1: {one:,} → {two:,} tokens").wait_for()
        told = [
            sight.get_by_role("heading", name=name).inner_text() for name in ("New here", "No longer here")
        ]
        assert told == [f"New here: {len(differs.came)}", f"No longer here: {len(differs.gone)}"]
        assert (len(differs.came), len(differs.gone)) == (3, 1)
        gone = sight.locator("h3", has_text="No longer here").locator("xpath=following-sibling::div[1]")
        assert "The disk hums" in gone.inner_text()


def test_the_time_line_is_dragged_to_a_request_and_jumps_to_what_happened() -> None:
    store = Memory()
    chat = broken(store)
    at = next(n for n, one in enumerate(chat.requests()) if one.edits)
    with looking(store, "s/run/time/0") as (_, seen):
        sight = seen.page
        sight.get_by_role("heading", name="Request 0:").wait_for()
        area = sight.locator("svg.chart").bounding_box()
        sight.mouse.move(area["x"] + area["width"] * 0.1, area["y"] + 40)
        sight.mouse.down()
        sight.mouse.move(area["x"] + area["width"] * 0.6, area["y"] + 40, steps=4)
        sight.get_by_role("heading", name="Request 2:").wait_for()
        sight.mouse.move(area["x"] + area["width"] * 0.9, area["y"] + 40, steps=4)
        sight.mouse.up()
        sight.get_by_role("heading", name="Request 3:").wait_for()
        sight.get_by_role("button", name="Go to the next edit").click()
        sight.get_by_role("heading", name=f"Request {at}:").wait_for()
        assert at == 2
        sight.get_by_text("An edit changed an earlier row.").wait_for()
        assert sight.locator(".chart .edit").get_attribute("d").count("z") == 1


def test_every_request_has_a_bar_with_what_of_it_came_from_the_cache() -> None:
    store = Memory()
    broken(store)
    with looking(store, "s/run/time") as (_, seen):
        bars = {
            kind: seen.page.locator(f".chart path.{kind}").get_attribute("d").count("z")
            for kind in ("guess", "fresh", "cached")
        }
    assert bars == {"guess": 0, "fresh": 4, "cached": 2}


@pytest.mark.parametrize(("window", "word"), [(9_000, "cheaper"), (2_000_000, "more expensive")])
def test_the_headline_of_a_trial_says_whether_it_would_be_cheaper(window: int, word: str) -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=20_000)
    for number in range(14):
        chat.say(f"Question {number}. {WORDS}")
        chat.request(max_tokens=500)
        chat.receive(response(replied(f"Answer {number}: {WORDS}")))
    with looking(store, "s/run/try") as (page, seen):
        sight = seen.page
        sight.get_by_label("Window, in tokens").fill(str(window))
        sight.get_by_role("button", name="Try it").click()
        heading = sight.get_by_role("heading", name="than now")
        heading.wait_for()
        now, tried, _ = page.enter(page.inspector.access.add(Grant(("default",)))).ask("sessions/run/trials")[
            "trials"
        ][0]["results"]
        share = abs(tried["dollars"] / now["dollars"] - 1)
        assert heading.inner_text().startswith(f"{round(share * 100)} % {word} than now")
        assert (tried["dollars"] < now["dollars"]) == (word == "cheaper")


def test_the_headline_of_a_trial_says_that_more_of_the_trail_would_be_lost() -> None:
    store = Memory()
    chat, _ = open_handed_over(store)
    work(chat, 8)
    with looking(store, "s/run/try") as (page, seen):
        sight = seen.page
        sight.get_by_label("Strategy").select_option("drop_oldest")
        sight.get_by_role("button", name="Try it").click()
        heading = sight.get_by_role("heading", name="than now")
        heading.wait_for()
        asked = page.enter(page.inspector.access.add(Grant(("default",)))).ask("sessions/run/trials")
        now, tried, _ = asked["trials"][0]["results"]
        assert tried["trail"] < now["trail"] - 0.05
        kept = f"{round(tried['trail'] * 100)} % of the trail of work kept instead of {round(now['trail'] * 100)} %"
        assert kept in heading.inner_text()
        assert "nothing more is lost" not in heading.inner_text()


def test_what_is_asked_of_a_session_that_is_not_there_is_answered_in_words_on_every_screen() -> None:
    with looking(Memory()) as (_, seen):
        seen.settle()  # a page that is not drawn yet does not hear that its address changed
        for screen in ("now", "hidden", "time", "outputs", "try", "request/0", "edit/e1", "message/abc"):
            seen.page.evaluate(f"location.hash = '#/s/nobody/{screen}'")
            seen.page.get_by_role("alert").get_by_text("no session 'nobody' here").first.wait_for()
            seen.settle()
        seen.complaints.clear()  # the browser tells of every 404


def test_a_long_line_says_that_it_is_cut_and_is_read_whole() -> None:
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    chat.say("A" * 6_000 + "TAIL")
    counted = chat.request(max_tokens=500).sent.tokens
    chat.receive(response(replied("I look.", called("c1", "look", "{}")), prompt=counted))
    chat.answer("c1", "B" * 6_000 + "END\nshort")
    with looking(store, "s/run/request/0") as (_, seen):
        for place, tail in (("request/0", "TAIL"), ("outputs/o1", "END")):
            seen.page.evaluate(f"location.hash = '#/s/run/{place}'")
            seen.page.get_by_role("button", name="whole").click()
            seen.page.get_by_role("dialog").get_by_text(tail).wait_for()
            seen.page.get_by_role("button", name="Close", exact=True).click()
            seen.page.get_by_role("dialog").wait_for(state="detached")
            assert seen.page.get_by_role("button", name="whole").count() == 1
