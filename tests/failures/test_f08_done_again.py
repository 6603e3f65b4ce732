"""F8: completed work is started again, a failed attempt is retried for ever, the plan is planned again."""

from __future__ import annotations

import fanfold
from fanfold.strategies.prompting import prompt
from fanfold.testing import called, replied, returned, said

from .naive import compacted, loop

WORK = [
    said("Release version 2."),
    replied("I build.", called("b", "build", target="wheel")),
    returned("b", "built dist/shop-2.whl"),
    replied("I publish.", called("p", "publish", file="dist/shop-2.whl")),
    returned("p", '{"success": false, "error": "PermissionError: token expired"}'),
    replied("I decided to wait for a new token. Next step: publish dist/shop-2.whl."),
    said("Meanwhile, look around."),
]


def test_the_naive_window_knows_nothing_of_what_was_done() -> None:
    left = str(compacted([*WORK, *loop(20)], lambda _: "They worked on the release."))
    assert "dist/shop-2.whl" not in left
    assert "PermissionError" not in left


def test_a_digest_carries_outcomes_errors_and_what_is_next() -> None:
    with fanfold.open("run", window=2_500, filters=()) as chat:
        chat.merge([*WORK, *loop(20)[1:]])
        chat.compact(force=True)
        (text,) = [row.messages[0].text for row in chat.view().rows if row.kind == "fold"]
    sections = {part.partition("]\n")[0]: part for part in text.split("\n[")}
    failed = sections["failures, and what became of them"]
    assert "publish dist/shop-2.whl" in failed
    assert "PermissionError: token expired" in failed
    assert "wait for a new token" in sections["found, decided and reported, in the agent's words"]


def test_every_prompt_asks_for_outcomes_failures_and_the_next_step() -> None:
    for name in ("summary", "snapshot", "sections"):
        words = prompt(name).lower()
        assert "fail" in words
        assert any(word in words for word in ("next step", "current_plan"))
