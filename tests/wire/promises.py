"""What a loop through a session promises; each function is one promise, judged by the provider's own books."""

from fanfold import Session
from fanfold.session.bill import is_believable
from fanfold.testing.provider.cache import chain
from fanfold.testing.provider.paths import APIS
from fanfold.testing.provider.tokens import quarter
from laws import holds

from .loops import ROOM, Run

STEP = {"chat": 128, "responses": 128}
"""OpenAI reads prompts from the cache in steps of so many tokens."""


def nothing_was_rejected(run: Run) -> None:
    assert [(each.rule, each.reason) for each in run.provider.rejected] == []


def every_request_fits(run: Run) -> None:
    """By the provider's own count, not the session's."""
    assert max(each.tokens for each in run.requests) <= ROOM


def every_bill_can_be_true(run: Run) -> None:
    """(19.8) The scripted provider counts as its models do, so that sessions believe it."""
    state = run.chat._state
    assert len(state.log.sent) == len(run.requests)
    for sent, request in zip(state.log.sent, run.requests, strict=True):
        assert is_believable(state, sent, request.tokens), f"{request.tokens} billed, {sent.tokens} counted"


def the_window_forced_edits(run: Run, least: int) -> None:
    assert sum(run.edited) >= least


def nothing_is_lost(run: Run) -> None:
    """Everything that was said stands on the path, in order, as it was said."""
    tree = run.chat._state.log.tree
    assert [tree[id].message for id in tree.path(run.chat.head)] == run.said


def every_entry_is_covered_once(run: Run) -> None:
    holds.every_entry_is_covered_once(Session(run.chat._state))


def a_prompt_without_an_edit_only_grows(run: Run) -> None:
    """Law `prefix`, on the blocks that the provider reads."""
    prompts = [chain(APIS[each.api].blocks(each.body, quarter)) for each in run.requests]
    for number, edited in enumerate(run.edited[1:], 1):
        before, now = prompts[number - 1], prompts[number]
        assert edited or now[: len(before)] == before, f"request {number} changed what was sent before"


def a_prompt_without_an_edit_is_read_from_the_cache(run: Run) -> None:
    """All of the last prompt, as far as the provider's steps go."""
    requests = run.requests
    for number, edited in enumerate(run.edited[1:], 1):
        before, now = requests[number - 1], requests[number]
        step = STEP.get(now.api, 1)
        assert edited or now.cached >= before.tokens // step * step, f"request {number}: {now.cached}"


def all_but_the_price(run: Run, edits: int) -> None:
    """What holds whatever the model does."""
    nothing_was_rejected(run)
    every_request_fits(run)
    every_bill_can_be_true(run)
    the_window_forced_edits(run, edits)
    nothing_is_lost(run)
    every_entry_is_covered_once(run)
    a_prompt_without_an_edit_only_grows(run)
