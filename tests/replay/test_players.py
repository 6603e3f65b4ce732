"""What a session would have sent, as it is scored: counted by hand on small conversations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fanfold.core.plan import Ask
from fanfold.replay import Played, Player, Recall, SessionPlayer, Trace, play, policy, traces
from fanfold.replay.player import refused
from fanfold.session import request as requesting
from fanfold.strategies import digest, drop_oldest, elide, summarize
from fanfold.testing import called, replied, returned, said

ORDER = "a81f2c9d-1111-4222-8333-abcdefabcdef"
FILLER = "\n".join(["nothing here"] * 120)


def talk(first: str = "Look through the shop.", *, found: str = f"order {ORDER}\n{FILLER}") -> list[Any]:
    """An order number in the first output; the last call needs it."""
    messages = [said(first)]
    for step in range(20):
        messages.append(replied("", called(f"c{step}", "find", json.dumps({"page": step}))))
        messages.append(returned(f"c{step}", FILLER if step else found))
    return [*messages, replied("", called("last", "cancel", json.dumps({"order": ORDER})))]


@pytest.fixture
def recorded(tmp_path: Path) -> Any:
    """From messages to a trace."""

    def record(messages: list[Any], **rest: Any) -> Trace:
        path = tmp_path / "talk.json"
        path.write_text(json.dumps({"messages": messages, **rest}))
        (trace,) = traces([path])
        return trace

    return record


def played(trace: Trace, room: int, *strategies: Any, **options: Any) -> Played:
    """The trace under these strategies."""

    def chosen(trace: Trace, room: int) -> Player:
        return SessionPlayer(trace, room, strategies, **options)

    return play(trace, "chosen", room, chosen)


def test_without_a_policy_everything_is_sent_as_it_is(recorded: Any) -> None:
    long = "\n".join(f"line {i} /srv/data/x{i}/y" for i in range(4_000))
    calls = [called("c0", "read", "{}"), called("c1", "show", '{"path": "/srv/data/x2000/y"}')]
    trace = recorded([said("Go."), replied("", calls[0]), returned("c0", long), replied("", calls[1])])
    player = policy("none")(trace, 1_000)
    shown = player.show(3)
    assert long in shown.text
    assert shown.over
    assert "tool_output_cache" not in json.dumps(player.inner.chat.request())  # type: ignore[attr-defined]
    player.close()
    assert (shown.edits, shown.refs) == (0, ())


def test_a_request_that_a_provider_would_refuse_is_one(recorded: Any) -> None:
    orphan = {"messages": [said("Go."), returned("c9", "ok")]}
    assert refused("openai.chat", orphan)
    assert not refused("openai.chat", {"messages": [said("Go.")]})
    twice = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    ] * 2
    assert refused("anthropic", {"messages": [said("Go."), *twice]})
    assert not refused("anthropic", {"messages": [said("Go.")]})


class Careless(SessionPlayer):
    """Leaves out what the model said, so that results stand there without their calls."""

    def _request(self) -> tuple[dict[str, Any] | None, bool, int]:
        request, *rest = super()._request()
        assert request is not None
        kept = [message for message in request["messages"] if message["role"] != "assistant"]
        return {**request, "messages": kept}, *rest  # type: ignore[return-value]


def test_a_policy_that_breaks_a_rule_is_found_out(recorded: Any) -> None:
    trace = recorded(talk())
    assert played(trace, 4_000, drop_oldest()).score.faults == 0
    careless = play(trace, "careless", 4_000, lambda trace, room: Careless(trace, room, [drop_oldest()]))
    assert careless.score.faults == 20  # all but the first call, before which nobody had called a tool


def test_what_the_session_itself_finds_broken_counts_too(
    recorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = recorded(talk())
    monkeypatch.setattr(requesting, "violations", lambda *_: ["a rule"])
    score = played(trace, 4_000, drop_oldest()).score
    assert (score.faults, score.over) == (21, 0)


def test_summary_calls_are_counted_with_their_tokens(recorded: Any) -> None:
    questions: list[Ask] = []

    def ask(question: Ask) -> str:
        questions.append(question)
        return "The shop was looked through."

    score = played(recorded(talk()), 4_000, summarize(), summarizer=ask).score
    assert score.asked == len(questions) > 0
    assert score.asking > 500 * score.asked
    assert score.cost == 1.25 * (score.prompt - score.cached + score.asking) + 0.1 * score.cached


def test_no_edit_is_made_where_none_is_enough(recorded: Any) -> None:
    messages = [{"role": "system", "content": "Be brief. " * 800}, *talk()]
    trace = recorded(messages)
    (before, *_), score = trace.calls, played(trace, 2_000, drop_oldest()).score
    assert before.before == 1
    assert score.over == score.calls == 21
    assert score.edits == 0
    assert played(recorded(talk()), 60_000, drop_oldest()).score.edits == 0


def test_choosing_takes_time(recorded: Any) -> None:
    assert 0.0 < played(recorded(talk()), 4_000, drop_oldest()).score.seconds < 60.0


def orders(count: int) -> str:
    """So many order numbers, a line each, the one that is needed in the middle."""
    lines = [f"order {number:08x}-1111-4222-8333-abcdefabcdef" for number in range(count)]
    return "\n".join([*lines[: count // 2], f"order {ORDER}", *lines[count // 2 :]])


@pytest.mark.parametrize("strategy", [elide(), digest()])
def test_a_placeholder_or_a_line_of_a_digest_keeps_it_one_call_away(recorded: Any, strategy: Any) -> None:
    score = played(recorded(talk(found=orders(150))), 9_000, strategy).score
    assert score.fresh == Recall(needed=1, visible=0, near=1)


def test_outputs_without_names_are_within_reach_too(recorded: Any) -> None:
    trace = recorded(talk())
    player = SessionPlayer(trace, 9_000, [digest()])
    shown = [player.show(call.before) for call in trace.calls][-1]
    player.close()
    listed = [ref for ref in shown.refs if re.search(rf"[( ]{ref}[,)]", shown.text)]
    assert listed == list(shown.refs)
    assert len(listed) > 3


@pytest.mark.parametrize(
    "first", ["Compare the models.", "Compare the models o1 and o3.", "Read ref=o1 again."]
)
def test_a_word_like_a_reference_brings_nothing_back(recorded: Any, first: str) -> None:
    score = played(recorded(talk(first)), 4_000, drop_oldest()).score
    assert score.fresh == Recall(needed=1)


def test_what_was_clipped_away_is_one_call_away_while_the_note_stands(recorded: Any) -> None:
    clipped = played(recorded(talk(found=orders(2_000))), 200_000, drop_oldest()).score
    assert clipped.fresh == Recall(needed=1, visible=0, near=1)
    dropped = played(recorded(talk(found=orders(2_000))), 9_000, drop_oldest()).score
    assert dropped.fresh == Recall(needed=1, visible=0, near=0)
