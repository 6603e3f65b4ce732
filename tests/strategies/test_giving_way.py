"""What gives way before words and calls do: thinking of finished turns, old reads, repeated lines (issue 21)."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import Budget, Elide, Fold, Session
from fanfold.core.errors import BadSetting
from fanfold.strategies import auto, drop_thinking, shorten_arguments, shorten_reads, shorten_repeats
from fanfold.text.json_text import to_json
from tests.builders import asks, calls, gives, says

THOUGHT = "I weigh the one against the other and find nothing. " * 40
SMALL = Budget(window=8_000, trigger=0.1, target=0.05)


def turns(dialect: str) -> list[Any]:
    """Two finished turns and a running one, each with thinking before its words and its call."""
    return [body for number in range(3) for body in _turn(dialect, number)]


def _turn(dialect: str, number: int) -> list[Any]:
    thought, id = f"Thought {number}. {THOUGHT}", f"toolu_{number}"
    match dialect:
        case "anthropic":
            thinking = {"type": "thinking", "thinking": thought, "signature": f"sig{number}"}
            call = {"type": "tool_use", "id": id, "name": "read", "input": {}}
            result = {"type": "tool_result", "tool_use_id": id, "content": "fine"}
            return [
                asks(f"Look at part {number}."),
                {"role": "assistant", "content": [thinking, {"type": "text", "text": "I look."}, call]},
                {"role": "user", "content": [result]},
                *([] if number == 2 else [says("It is fine.")]),
            ]
        case "gemini":
            call = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}
            spoken = [{"text": thought, "thought": True}, {"text": "I look."}, call]
            answer = {"functionResponse": {"name": "read", "response": {"output": "fine"}}}
            return [
                {"role": "user", "parts": [{"text": f"Look at part {number}."}]},
                {"role": "model", "parts": spoken},
                {"role": "user", "parts": [answer]},
                *([] if number == 2 else [{"role": "model", "parts": [{"text": "It is fine."}]}]),
            ]
        case _:
            said = {**calls(id, text="I look."), "reasoning_content": thought}
            return [
                asks(f"Look at part {number}."), said, gives(id, "fine"),
                *([] if number == 2 else [says("It is fine.")]),
            ]  # fmt: skip


def opened(strategy: Any, dialect: str = "openai.chat", **options: Any) -> Session:
    return fanfold.open("run", dialect=dialect, model="x", strategy=strategy, budget=SMALL, **options)


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "openai.chat"])
def test_thinking_of_finished_turns_goes_and_that_of_the_running_loop_stays(dialect: str) -> None:
    params: dict[str, Any] = {}
    if dialect == "anthropic":
        params = {"max_tokens": 2_000, "thinking": {"type": "enabled", "budget_tokens": 1_024}}
    with opened(drop_thinking(), dialect) as chat:
        chat.merge(turns(dialect))
        sent = str(chat.request(**params))
        assert ["Thought 0." in sent, "Thought 1." in sent, "Thought 2." in sent] == [False, False, True]
        assert sent.count("I look.") == 3
        assert {row.reason for row in chat.view().rows if row.why} == {"drop_thinking"}
        chat.undo("e1")
        assert "Thought 0." in str(chat.request(**params))


def test_the_newest_finished_turns_can_keep_their_thinking() -> None:
    with opened(drop_thinking(keep_turns=1)) as chat:
        chat.merge(turns("openai.chat"))
        sent = str(chat.request())
        assert ["Thought 0." in sent, "Thought 1." in sent, "Thought 2." in sent] == [False, True, True]
    with pytest.raises(BadSetting, match="zero or more"):
        drop_thinking(keep_turns=-1)


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "openai.chat"])
def test_no_strategy_can_leave_out_what_the_running_loop_is_bound_to(dialect: str) -> None:
    refused: list[str | None] = []

    def greedy(view: Any, budget: Budget) -> Any:
        for row in view.rows:
            if row.is_reply and len(row.messages[0].parts) > 1:
                view = yield Elide(f"{row.id}#0", "")
                refused.append(view.refused)

    with opened(greedy, dialect) as chat:
        chat.merge(turns(dialect))
        chat.compact(force=True)
        assert refused == [None, None, "the running loop is bound to its thinking"]


def test_thinking_that_is_a_message_of_its_own_is_left_alone() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": THOUGHT}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
    with opened([drop_thinking()], "openai.responses") as chat:
        chat.merge([asks("Is it?"), reasoning, said, asks("Sure?")])
        before = chat.view().tokens
        assert chat.compact(force=True).after == before


def read(id: str, path: str, text: str, **more: Any) -> list[Any]:
    arguments = to_json({"path": path, **more})
    return [calls(id, name="read_file", arguments=arguments), gives(id, text)]


FILE = "".join(f"def part_{number}(): return {number}\n" for number in range(90))


def shown(chat: Session) -> dict[str, str]:
    """What the view shows of each output, by its call."""
    return {one.call: one.text for message in chat.view().messages for one in message.results}


def test_a_read_goes_when_the_file_is_read_again_or_rewritten() -> None:
    written = calls("w", name="write_file", arguments='{"path": "b.py", "content": "new"}')
    reads = [
        *read("r1", "a.py", FILE), *read("r2", "b.py", FILE), *read("r3", "c.py", FILE),
        *read("r4", "a.py", FILE, offset=10), *read("r5", "a.py", FILE),
    ]  # fmt: skip
    with opened(shorten_reads(keep=0)) as chat:
        chat.merge([asks("Go on."), *reads, written, gives("w", "ok"), says("Done."), asks("And now?")])
        chat.request()
        left = shown(chat)
        assert "a.py was read again later" in left["r1"]
        assert "90 lines" in left["r1"] or "91 lines" in left["r1"]
        assert "b.py was written later" in left["r2"]
        assert left["r3"] == FILE
        assert "a.py was read again later" in left["r4"], "the whole file was read behind it"
        assert left["r5"] == FILE
        ref = left["r1"].partition("ref=")[2].partition(";")[0]
        assert chat.output(ref).text() == FILE


def test_a_read_stays_where_only_a_part_of_the_file_was_read_or_changed_later() -> None:
    changed = calls("w", name="edit", arguments='{"path": "a.py", "old_string": "x", "new_string": "y"}')
    talk = [
        asks("Go on."), *read("r1", "a.py", FILE), *read("r2", "a.py", FILE, offset=10), changed, gives("w", "ok"),
        says("Done."), asks("And now?"),
    ]  # fmt: skip
    for edits in (False, True):
        with opened(shorten_reads(keep=0, edits=edits)) as chat:
            chat.merge(talk)
            chat.compact(force=True)
            assert ("was changed later" in shown(chat)["r1"]) is edits
    with opened(shorten_reads(keep=3)) as chat:
        chat.merge([*talk[:-1], *read("r3", "a.py", FILE), says("Done."), asks("And now?")])
        chat.compact(force=True)
        assert "was read again later" in shown(chat)["r1"]
        assert shown(chat)["r2"] == FILE, "it is among the newest three"


WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


@pytest.mark.parametrize("digits", [{}, WIDE], ids=["plain", "wide"])
def test_lines_that_differ_in_numbers_only_become_two_and_a_count(digits: dict[int, int]) -> None:
    lines = [f"  fetched {number} of 85 packages".translate(digits) for number in range(1, 86)]
    log = "\n".join(["start", *lines, "finished"])
    with opened(shorten_repeats(keep=0)) as chat:
        chat.merge([asks("Go on."), calls("c"), gives("c", log), says("Done."), asks("And now?")])
        chat.request()
        first, *rest = shown(chat)["c"].split("\n")
        assert rest == ["start", *lines[:2], "… 83 more like this", "finished"]
        assert chat.output(first.partition("ref=")[2].rstrip("]")).text() == log


def test_lines_that_a_later_output_shows_too_are_left_out_of_the_older_one() -> None:
    later = f"more\n{FILE}"
    talk = [
        asks("Go on."), calls("c1"), gives("c1", f"{FILE}the end"), calls("c2"), gives("c2", later), says("Done."),
        asks("And now?"),
    ]  # fmt: skip
    with opened(shorten_repeats(keep=1, alike=1_000)) as chat:
        chat.merge(talk)
        chat.request()
        assert shown(chat)["c1"].split("\n")[1:] == ["… 90 lines as in a later output", "the end"]
        assert shown(chat)["c2"] == later
    with opened(shorten_repeats(keep=2)) as chat:
        chat.merge(talk)
        chat.compact(force=True)
        assert shown(chat)["c1"] == f"{FILE}the end"


@pytest.mark.parametrize(
    "make",
    [lambda: shorten_reads(keep=-1), lambda: shorten_repeats(alike=2), lambda: shorten_repeats(same=1)],
)
def test_settings_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(BadSetting):
        make()


def test_long_arguments_of_old_calls_become_their_first_lines_and_the_newest_stay() -> None:
    def write(id: str) -> list[Any]:
        arguments = to_json({"path": f"{id}.py", "content": FILE})
        return [calls(id, name="write_file", arguments=arguments), gives(id, "ok")]

    with opened(shorten_arguments()) as chat:
        chat.merge(
            [asks("Go on."), *write("w1"), *write("w2"), *write("w3"), says("Done."), asks("And now?")]
        )
        chat.request()
        raw = {call.id: call.raw for message in chat.view().messages for call in message.calls}
        assert "part_0" in raw["w1"]
        assert "part_89" not in raw["w1"]
        assert "part_89" in raw["w3"]


def test_what_a_later_hand_over_takes_is_not_shortened_before() -> None:
    outcomes: list[Any] = []
    hooks = fanfold.Hooks(after_edit=outcomes.append)
    with fanfold.open("run", model="x", window=8_000, strategy=auto(), hooks=hooks) as chat:
        chat.add(asks("Read all of them."))
        for number in range(120):
            chat.add(calls(f"r{number}", name="read_file", arguments=to_json({"path": f"src/f{number}.py"})))
            chat.add(gives(f"r{number}", FILE[: 600 + 40 * (number % 9)]))
            chat.request()
    assert len(outcomes) > 3
    for outcome in outcomes[1:]:
        covered = [id for one in outcome.decisions if isinstance(one.edit, Fold) for id in one.edit.covers]
        elided = [one.edit.address for one in outcome.decisions if isinstance(one.edit, Elide)]
        assert not [address for address in elided if address.partition("#")[0] in covered]


def test_the_default_reads_as_a_list_of_what_gives_way() -> None:
    assert [step.__name__ for step in auto().steps] == [  # type: ignore[attr-defined]
        "shorten_outputs", "shorten_arguments", "drop_thinking", "shorten_reads", "shorten_repeats", "digest",
    ]  # fmt: skip


def test_each_can_be_named_in_settings() -> None:
    spec = ["drop_thinking", {"name": "shorten_reads", "keep": 2}, {"name": "shorten_repeats", "alike": 4}]
    with fanfold.open("run", window=8_000, strategy=spec) as chat:
        chat.merge(turns("openai.chat"))
        assert chat.request()
