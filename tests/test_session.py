"""Sessions: what users hold."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, long, opened, reply, says, tell, texts
from fanfold import (
    BadEdit,
    BadInput,
    BadMessage,
    BadSetting,
    Budget,
    Call,
    Closed,
    Covered,
    DoesNotFit,
    Drop,
    Fold,
    Gone,
    Hooks,
    Image,
    Memory,
    Message,
    NotFound,
    Opaque,
    PartlyCovered,
    Pressure,
    Session,
    Text,
    UnknownModel,
    View,
)
from fanfold.core.message import Wire
from fanfold.core.plan import Plan
from fanfold.strategies import digest


def talked(window: int = 300, turns: int = 10, **rest: Any) -> Session:
    """Requests and replies of ten tokens each, a request made before every reply."""
    chat = opened(window, **rest)
    for number in range(turns):
        tell(chat, asks(long(f"question {number}", 10)))
        chat.request(max_tokens=10)
        tell(chat, says(long(f"answer {number}", 10)))
    return chat


# ── opening ──


def test_a_session_needs_a_window_or_a_model() -> None:
    with pytest.raises(BadInput, match="give `model=` or `window=`"):
        fanfold.open("run")


def test_a_model_nobody_knows_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownModel, match="no-such-model"):
        fanfold.open("run", model="no-such-model")


def test_a_model_nobody_knows_is_fine_with_a_window() -> None:
    chat = fanfold.open("run", model="no-such-model", window=1_000)
    chat.say("Hello")
    assert chat.request()["model"] == "no-such-model"


@pytest.mark.parametrize("setting", [{"dialect": "morse"}, {"meter": "abacus"}, {"strategy": "tide"}])
def test_a_setting_nobody_knows_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        fanfold.open("run", window=1_000, **setting)


def test_a_session_can_be_opened_again_on_its_store() -> None:
    store = Memory()
    with opened(name="run", store=store) as chat:
        chat.say("Remember me.")
    with opened(name="run", store=store) as chat:
        assert texts(chat) == ["Remember me."]


def test_tenants_share_nothing() -> None:
    store = Memory()
    with opened(name="run", store=store, tenant="a") as chat:
        chat.say("Remember me.")
    with opened(name="run", store=store, tenant="b") as chat:
        assert texts(chat) == []


def test_a_name_that_is_open_already_is_refused() -> None:
    store = Memory()
    with opened(name="run", store=store), pytest.raises(BadInput, match="open already"):
        opened(name="run", store=store)


def test_a_closed_session_says_so() -> None:
    with opened(name="run") as chat:
        pass
    with pytest.raises(Closed, match="'run' is closed"):
        chat.say("Hello")


# ── telling ──


def test_what_is_said_is_sent() -> None:
    chat = opened(system="Rules.")
    chat.say("Look", Image(url="https://example.org/a.png"))
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert chat.request()["messages"] == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
    ]


def test_a_body_is_sent_exactly_as_it_came() -> None:
    odd = {"content": "Hello", "x_unknown": [1, {"deep": None}], "role": "user", "name": "ana"}
    chat = opened()
    chat.add(odd)
    assert list(chat.request()["messages"][0].items()) == list(odd.items())


def test_changing_a_body_after_it_was_told_changes_nothing() -> None:
    body = asks("Hello")
    chat = opened()
    chat.add(body)
    body["content"] = "Goodbye"
    assert texts(chat) == ["Hello"]


def test_changing_a_request_changes_nothing_in_the_session() -> None:
    chat = opened()
    chat.add(asks("Hello"))
    chat.request()["messages"][0]["content"] = "Goodbye"
    assert chat.request()["messages"] == [asks("Hello")]


def test_changing_a_part_after_it_was_told_changes_nothing() -> None:
    block = {"type": "odd", "of": [1]}
    body = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    chat = opened()
    chat.say(Opaque("openai.chat", block))
    chat.add(Message("user", (Text("Hello"),), Wire("openai.chat", body)))
    chat.add(calls("c1"))
    chat.answer("c1", [Opaque("openai.chat", block)])
    before = chat.request()
    block["of"] = body["content"] = []
    assert chat.request() == before
    assert chat.view().rows[0].messages[0].parts == (Opaque("openai.chat", {"type": "odd", "of": [1]}),)


def test_changing_a_parameter_after_the_request_changes_nothing_in_what_was_sent() -> None:
    chat = opened()
    chat.say("Hello")
    told = {"user": {"id": 1}}
    chat.request(metadata=told)
    told["user"]["id"] = 2
    assert chat.sent()[0].params["metadata"] == {"user": {"id": 1}}


@pytest.mark.parametrize("value", [object(), print, {(1, 2): 3}])
def test_a_parameter_that_is_no_json_is_refused(value: Any) -> None:
    chat = opened()
    chat.say("Hello")
    with pytest.raises(BadInput, match="A parameter holds something that is no JSON"):
        chat.request(odd=value)


ODD_PARTS: list[Any] = [
    Text(5),  # type: ignore[arg-type]
    Image(data=5),  # type: ignore[arg-type]
    Opaque("openai.chat", object()),
    Opaque(None, {}),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("part", ODD_PARTS, ids=["text", "image", "opaque body", "opaque dialect"])
def test_a_part_that_holds_what_it_cannot_hold_is_refused_and_the_log_stays_as_it_was(part: Any) -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"))
    before = list(chat._state.log.records)
    for verb, given in (("say", (part,)), ("add", (Message("user", (part,)),)), ("answer", ("c1", part))):
        with pytest.raises(BadMessage, match=r"cannot hold.*\.$"):
            getattr(chat, verb)(*given)
    assert chat._state.log.records == before


@pytest.mark.parametrize(
    "message",
    [
        Message("robot", (Text("x"),)),  # type: ignore[arg-type]
        Message("assistant", (Call("c2", "run", {"a": 1}),)),  # type: ignore[arg-type]
        Message("user", (Text("x"),), Wire("openai.chat", 5)),
        Message("user", (Text("x"),), "wire"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_message_that_was_built_wrongly_is_refused(message: Message) -> None:
    chat = opened()
    with pytest.raises(BadMessage):
        chat.add(message)
    assert chat.head is None


@pytest.mark.parametrize("stop", ["cut", "pause_turn", "compaction"])
def test_a_reply_that_only_paused_is_not_done(stop: str) -> None:
    """Anthropic stops after a compaction of its own, and goes on when it is asked again (19.12)."""
    with fanfold.open(window=8_000, dialect="anthropic") as chat:
        chat.say("Go.")
        content = [{"type": "compaction", "content": "So far."}, {"type": "text", "text": "And"}]
        reply = chat.receive({"role": "assistant", "content": content, "stop_reason": stop})
        assert (reply.stop, reply.done) == (stop, False)


def test_a_reply_tells_its_words_and_calls_and_whether_it_is_done() -> None:
    chat = opened()
    chat.say("Go")
    got = chat.receive(reply(calls("c1", text="I look.", arguments='{"path": "x"}'), stop="tool_calls"))
    assert (got.text, got.calls[0].args, got.done) == ("I look.", {"path": "x"}, False)
    chat.answer(got.calls[0], "found")
    assert chat.receive(reply(says("Done."))).done is True


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        (b"bytes \xff", "bytes \ufffd"),
        ({"a": [1]}, '{"a":[1]}'),
        ({"a": float("nan")}, '{"a":NaN}'),
        ({"a": 2**70}, '{"a":1180591620717411303424}'),
        ({"a": "\ud800"}, '{"a":"\ufffd"}'),
        (7, "7"),
        (None, "null"),
        ("", ""),
    ],
)
def test_an_output_may_be_anything_that_can_be_written(output: Any, text: str) -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"))
    chat.answer("c1", output)
    assert chat.request()["messages"][-1] == gives("c1", text)


def test_an_output_that_cannot_be_written_is_refused() -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"))
    with pytest.raises(BadInput, match="not object"):
        chat.answer("c1", object())


def test_an_answer_to_no_call_is_refused_and_says_who_waits() -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"))
    with pytest.raises(NotFound, match=r"No call 'c2' waits .*'c1'"):
        chat.answer("c2", "found")


def test_a_call_is_answered_once() -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"))
    chat.answer("c1", "found")
    with pytest.raises(NotFound):
        chat.answer("c1", "again")


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        None,
        "text",
        [],
        {"role": "bishop", "content": "x"},
        {"content": "x"},
        gives("c9", "x"),
        calls("a", "a"),
    ],
)
def test_what_is_no_message_is_refused_and_the_log_stays_as_it_was(wrong: Any) -> None:
    chat = opened()
    tell(chat, asks("Go"))
    before = (chat.head, chat.stats())
    with pytest.raises(BadMessage):
        chat.add(wrong)
    assert (chat.head, chat.stats()) == before


def test_saying_nothing_is_refused() -> None:
    with pytest.raises(BadMessage, match="Say something"):
        opened().say()


# ── requesting ──


def test_there_is_nothing_to_send_before_something_is_said() -> None:
    with pytest.raises(NotFound, match="say something first"):
        opened().request()


def test_asked_twice_a_request_is_the_same_and_is_recorded_once() -> None:
    chat = opened()
    chat.say("Hello")
    assert chat.request(temperature=0.5) == chat.request(temperature=0.5)
    assert chat.stats()["requests"] == 1


def test_parameters_are_handed_on() -> None:
    chat = opened(model="gpt-4o")
    chat.say("Hello")
    request = chat.request(max_tokens=50, temperature=0.5)
    assert (request["model"], request["max_tokens"], request["temperature"]) == ("gpt-4o", 50, 0.5)


@pytest.mark.parametrize("name", ["messages", "tools", "system"])
def test_what_the_session_sends_itself_cannot_be_a_parameter(name: str) -> None:
    chat = opened()
    chat.say("Hello")
    with pytest.raises(BadInput, match=name):
        chat.request(**{name: []})


def test_context_stands_at_the_end_of_one_request_only() -> None:
    chat = opened()
    chat.say("What time is it?")
    assert chat.request(context="It is noon.")["messages"][-1] == asks("It is noon.")
    assert chat.request()["messages"][-1] == asks("What time is it?")


def test_inside_a_tool_loop_context_joins_the_last_result() -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"), gives("c1", "found"))
    assert chat.request(context="It is noon.")["messages"][-1] == gives("c1", "found\n\nIt is noon.")


def test_every_request_fits_and_the_rest_is_kept() -> None:
    chat = talked(300, turns=100)
    assert max(chat.sent(n)[0].tokens for n in range(100)) <= 290
    whole = chat.fork("whole", window=100_000, edits=False)
    assert len(whole.view().rows) == 200


def test_between_two_edits_a_request_only_grows_at_its_end() -> None:
    chat, requests, edits = opened(300), [], []
    for number in range(60):
        tell(chat, asks(long(f"question {number}", 10)))
        requests.append(chat.request(max_tokens=10)["messages"])
        edits.append(len(chat.edits()))
        tell(chat, says(long(f"answer {number}", 10)))
    grew = [later[: len(one)] == one for one, later in pairwise(requests)]
    moved = [one != later for one, later in pairwise(edits)]
    assert grew == [not edited for edited in moved]
    assert 1 <= sum(moved) <= 12


def test_a_request_s_own_max_tokens_is_kept_free() -> None:
    chat = opened(300)
    tell(chat, *(body(long("word", 10)) for _ in range(10) for body in (asks, says)), asks("last"))
    chat.request(max_tokens=250)
    assert chat.view().tokens <= 50


@pytest.mark.parametrize(
    "params",
    [{"max_completion_tokens": 250}, {"max_output_tokens": 250}, {"config": {"max_output_tokens": 250}}],
)
def test_a_reply_is_kept_free_by_whatever_name_the_provider_has_for_it(params: dict[str, Any]) -> None:
    chat = opened(300)
    tell(chat, *(body(long("word", 10)) for _ in range(10) for body in (asks, says)), asks("last"))
    chat.request(**params)
    assert chat.view().tokens <= 50


def test_a_system_prompt_that_fills_the_window_does_not_fit_and_says_so() -> None:
    chat = opened(300, system="x" * 4_000)
    chat.say("Hello")
    with pytest.raises(
        DoesNotFit, match=r"1,002 tokens, 270 fit beside a reply of 30: 1,000 for system prompt and tools"
    ):
        chat.request()


def test_a_call_nobody_answered_is_repaired_and_the_repairing_is_recorded() -> None:
    chat = opened()
    tell(chat, asks("Go"), calls("c1"), asks("Never mind."))
    roles = [body["role"] for body in chat.request()["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]
    assert [row.kind for row in chat.view().rows] == ["entry", "mend", "entry"]
    with pytest.raises(BadEdit, match="cannot be undone"):
        chat.undo("e1")


def test_compacting_below_the_target_does_nothing_unless_forced() -> None:
    chat = opened(10_000)
    tell(chat, *(body(long("word", 10)) for _ in range(10) for body in (asks, says)))
    assert chat.compact().status == "noop"
    forced = chat.compact(force=True)
    assert (forced.status, forced.before) == ("reduced", 200)
    assert forced.after < 200


def test_settling_reduces_only_when_the_trigger_is_reached() -> None:
    chat = opened(300)
    tell(chat, asks(long("word", 10)), says("yes"))
    assert chat.settle() is None
    tell(chat, *(body(long("word", 10)) for _ in range(12) for body in (asks, says)))
    outcome = chat.settle()
    assert outcome is not None
    assert outcome.status == "reduced"


def test_a_reduction_that_brought_little_is_not_tried_again_before_the_view_has_grown() -> None:
    tried: list[int] = []
    limits = Budget(window=1_000, reserve=0, trigger=0.5)
    chat = opened(None, budget=limits, strategy=lambda view, budget: tried.append(view.tokens))
    tell(chat, asks(long("one", 600)))
    chat.request()
    chat.request()
    tell(chat, says(long("two", 49)))
    chat.request()
    assert tried == [600]
    tell(chat, asks("more"))
    chat.request()
    assert tried == [600, 650], "a twentieth of the room came on top"


def test_a_reduction_that_brought_little_is_tried_again_after_a_rewind() -> None:
    tried: list[int] = []
    limits = Budget(window=1_000, reserve=0, trigger=0.5)
    chat = opened(None, budget=limits, strategy=lambda view, budget: tried.append(view.tokens))
    ids = tell(chat, asks(long("one", 600)), says(long("two", 40)))
    chat.request()
    chat.rewind(ids[0])
    chat.request()
    assert tried == [640, 600]


class Counting:
    """A meter that keeps what it weighed."""

    name = "counting"
    overhead = 0

    def __init__(self) -> None:
        self.weighed: list[str] = []

    def text(self, text: str) -> int:
        return len(text) // 4

    def message(self, message: Message) -> int:
        self.weighed.append(message.text)
        return self.text(message.text)

    def frame(self, frame: Any) -> int:
        return 0


def test_each_message_is_weighed_once_however_many_requests_are_made() -> None:
    meter = Counting()
    chat = opened(300, meter=meter)
    for number in range(50):
        chat.say(long(f"question {number}", 10))
        chat.request()
        chat.receive(reply(says(long(f"answer {number}", 10)), prompt=20 + number))
    chat.view()
    told = [text for text in meter.weighed if text.startswith(("question", "answer"))]
    assert len(told) == len(set(told)) == 100


def test_what_a_reduction_shows_is_weighed_once() -> None:
    def brief(view: View, budget: Budget) -> list[Fold]:
        return [Fold(view.oldest(leaving=0).covers, "Told in brief.")]

    meter = Counting()
    chat = opened(300, meter=meter, strategy=brief)
    for number in range(20):
        chat.say(long(f"question {number}", 10))
        chat.receive(reply(says(long(f"answer {number}", 10))))
    chat.say("And now?")
    chat.request()
    assert chat.view().rows[0].kind == "fold"
    assert meter.weighed.count("Told in brief.") == 1


# ── learning from bills ──


def test_pressure_follows_what_the_provider_bills() -> None:
    chat = opened(10_000)
    chat.say(long("word", 1_000))
    chat.request()
    chat.receive(reply(says("Noted."), prompt=1_500))
    assert chat.pressure().tokens == pytest.approx(1_500, abs=20)


def test_what_is_billed_higher_reduces_earlier() -> None:
    def requests_until_an_edit(factor: float) -> int:
        chat = opened(2_000)
        for number in range(100):
            chat.say(long(f"question {number}", 50))
            chat.request(max_tokens=100)
            if chat.stats()["edits"]:
                return number
            chat.receive(reply(says("yes"), prompt=int(chat.sent()[0].tokens * factor)))
        return 100

    assert requests_until_an_edit(2.0) < requests_until_an_edit(1.0)


def test_bills_add_up_in_the_figures() -> None:
    chat = opened()
    for prompt in (100, 120):
        chat.say("Hello")
        chat.request()
        chat.receive(reply(says("Yes."), prompt=prompt))
    assert (chat.stats()["billed_tokens"], chat.stats()["output_tokens"]) == (220, 10)


# ── looking ──


def test_why_tells_what_hides_an_entry() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), asks(long("two", 20)), says("yes"))
    chat.fold((ids[0], ids[1]), "both")
    why = chat.why(ids[0])
    assert (why.visible, why.shown_by, [edit.id for edit in why.edits]) == (False, "e1", ["e1"])
    told = f"{ids[0][:8]} is hidden by e1\n  e1 folded 2 rows by a person, 41 → 2 tokens"
    assert str(why) == told + f'\nTo bring it back: chat.undo("{ids[0][:8]}")'


def test_what_went_out_can_be_seen_again() -> None:
    chat = opened()
    tell(chat, asks("one"))
    chat.request()
    tell(chat, says("two"), asks("three"))
    chat.request()
    assert [m.text for m in chat.sent(0)[1].messages] == ["one"]
    assert [m.text for m in chat.sent(-1)[1].messages] == ["one", "two", "three"]
    with pytest.raises(NotFound, match="2 were sent"):
        chat.sent(2)


def test_what_went_out_is_seen_as_it_was_after_later_edits() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)), asks("three"))
    chat.request()
    chat.fold((ids[0], ids[1]), "both")
    assert [row.id for row in chat.sent(0)[1].rows] == ids


def test_a_difference_names_what_went_and_what_came() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)), asks("three"))
    chat.request()
    chat.fold((ids[0], ids[1]), "both")
    chat.request()
    diff = chat.diff(0, 1)
    assert (diff.gone, diff.came, diff.changed) == ((ids[0], ids[1]), ("e1",), ())
    assert (diff.before, diff.after) == (42, 3)


def test_pressure_tells_what_holds_the_room() -> None:
    chat = opened(1_000, system=long("Rules.", 50))
    ids = tell(chat, asks(long("keep", 20)), says(long("old", 30)), asks(long("new", 40)))
    chat.pin(ids[0])
    pressure = chat.pressure()
    assert (pressure.frame, pressure.pinned, pressure.fresh, pressure.rest) == (50, 20, 40, 30)
    assert (pressure.tokens, pressure.room, pressure.trigger, pressure.target) == (140, 900, 765, 360)


def test_hooks_are_told_of_pressure_and_of_the_outcome() -> None:
    told: list[Any] = []
    chat = talked(
        300, turns=20, strategy=digest(), hooks=Hooks(on_pressure=told.append, after_edit=told.append)
    )
    assert isinstance(told[0], Pressure)
    assert told[1].status == "reduced"
    assert len(told) == 2 * len(chat.edits())


# ── changing one's mind ──


def test_undo_brings_back_what_was_there_and_redo_takes_it_away() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)), asks("three"))
    before = texts(chat)
    chat.fold((ids[0], ids[1]), "both")
    assert texts(chat) == ["both", "three"]
    chat.undo()
    assert texts(chat) == before
    chat.redo()
    assert texts(chat) == ["both", "three"]


def test_an_edit_under_another_is_not_undone_alone() -> None:
    chat = opened()
    ids = tell(chat, *(asks(long(f"{n}", 20)) for n in range(4)))
    chat.fold((ids[0], ids[1]), "two")
    chat.fold(("e1", ids[2]), "three")
    with pytest.raises(Covered, match="e1 is covered by e2"):
        chat.undo("e1")
    chat.undo("e1", through=True)
    assert [row.id for row in chat.view().rows] == ids


def test_what_a_person_brought_back_is_left_alone_until_it_is_released() -> None:
    chat = talked(300, turns=14)
    edit = next(row.id for row in chat.view().rows if row.kind == "fold")
    chat.undo(edit)
    back = chat.view().exempt
    chat.compact()
    assert all(chat.view().row(id) for id in back)
    chat.release(edit)
    chat.compact()
    assert not all(chat.view().row(id) for id in back)


def test_undoing_what_is_undone_says_how_to_get_it_back() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)))
    chat.fold(tuple(ids), "both")
    chat.undo("e1")
    with pytest.raises(BadEdit, match="redo e1"):
        chat.undo("e1")


def test_there_may_be_nothing_to_undo_or_redo() -> None:
    with pytest.raises(NotFound, match="no edit to undo"):
        opened().undo()
    with pytest.raises(NotFound, match="no undone edit"):
        opened().redo()


def test_a_fold_of_half_a_pair_is_refused() -> None:
    chat = opened()
    ids = tell(chat, asks(long("go", 20)), calls("c1"), gives("c1", "found"), says("done"))
    with pytest.raises(PartlyCovered, match="part a call from its result"):
        chat.fold((ids[0], ids[1]), "half")


def test_a_rewind_takes_edits_back_with_it_and_forward_brings_them_again() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)), asks("three"), says("four"))
    chat.fold((ids[0], ids[1]), "both")
    chat.rewind(ids[2])
    assert [row.id for row in chat.view().rows] == ids[:3]
    chat.forward()
    assert texts(chat) == ["both", "three", "four"]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({"to": 1}, ["one", "two"]),
        ({"to": -2}, ["one", "two", "three"]),
        ({"to": 1, "inclusive": False}, ["one"]),
        ({"turns": 1}, ["one", "two"]),
        ({"turns": 2}, []),
        ({"turns": 1, "inclusive": False}, []),
        ({"time": 2.5}, ["one", "two"]),
        ({"time": 2.5, "inclusive": False}, ["one"]),
        ({"time": 1.0, "inclusive": False}, []),
        ({"to": 0, "inclusive": False}, []),
    ],
)
def test_one_can_go_back_to_an_index_a_turn_or_a_time(where: dict[str, Any], left: list[str]) -> None:
    ticks = iter(range(1, 100))
    chat = opened(clock=lambda: float(next(ticks)))
    tell(chat, asks("one"), says("two"), asks("three"), says("four"))
    chat.rewind(**where)
    assert texts(chat) == left


def test_turns_go_and_stay_whole() -> None:
    chat = opened()
    ids = tell(chat, *(one for n in range(3) for one in (asks(f"q{n}"), says(f"a{n}"))))
    for where, left in (
        ({"turns": 1}, ["q0", "a0", "q1", "a1"]),
        ({"turns": 1, "inclusive": False}, ["q0", "a0"]),
        ({"turns": 2}, ["q0", "a0"]),
        ({"turns": 2, "inclusive": False}, []),
        ({"turns": 3}, []),
    ):
        chat.rewind(**where)  # type: ignore[arg-type]
        assert texts(chat) == left
        chat.forward(ids[-1])


def test_what_was_said_before_the_first_turn_stays_when_all_turns_go() -> None:
    chat = opened()
    tell(chat, says("Welcome."), asks("one"), says("two"))
    chat.rewind(turns=1)
    assert texts(chat) == ["Welcome."]


@pytest.mark.parametrize(
    "where",
    [{"to": 9}, {"to": "ffffff"}, {"turns": 7}, {"turns": 1, "inclusive": False}, {"time": -1.0}],
)
def test_one_cannot_go_back_to_what_is_not_there(where: dict[str, Any]) -> None:
    chat = opened()
    tell(chat, asks("one"), says("two"))
    with pytest.raises(NotFound):
        chat.rewind(**where)


def test_going_back_needs_one_place_to_go_to() -> None:
    chat = opened()
    tell(chat, asks("one"))
    with pytest.raises(BadInput, match="one of them"):
        chat.rewind()
    with pytest.raises(BadInput, match="one of them"):
        chat.rewind(0, turns=1)


def test_a_reset_starts_afresh_and_forgets_nothing() -> None:
    chat = opened()
    tell(chat, asks("one"), says("two"))
    chat.reset()
    assert texts(chat) == []
    chat.forward()
    assert texts(chat) == ["one", "two"]


def test_a_pinned_entry_survives_every_reduction() -> None:
    chat = opened(300)
    (pinned, _) = tell(chat, asks("Never touch vendor/."), says("Never."))
    chat.pin(pinned)
    for number in range(60):
        tell(chat, asks(long(f"question {number}", 10)))
        chat.request(max_tokens=10)
        tell(chat, says(long(f"answer {number}", 10)))
    assert "Never touch vendor/." in texts(chat)
    chat.unpin(pinned)
    assert chat.view().row(pinned) is not None


def test_pinned_lines_are_put_back_into_a_summary_that_lost_them() -> None:
    chat = opened()
    ids = tell(
        chat, asks("Mind this:\nNever touch vendor/.\n" + "x" * 200), says(long("yes", 30)), asks("go")
    )
    chat.pin("Never touch vendor/.")
    chat.fold((ids[0], ids[1]), "They agreed.")
    assert texts(chat)[0] == "They agreed.\n\n[pinned, verbatim]\nNever touch vendor/."


def test_what_is_not_in_view_cannot_be_pinned() -> None:
    chat = opened()
    tell(chat, asks("one"))
    with pytest.raises(NotFound, match="stands nowhere in the view"):
        chat.pin("something else entirely")


def test_a_note_is_shown_where_it_was_made_and_an_older_one_leaves_at_the_next_reduction() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)))
    chat.note("phase", "looking")
    tell(chat, asks("three"))
    chat.note("phase", "mending")
    assert texts(chat)[2:] == ["[note: phase]\nlooking", "three", "[note: phase]\nmending"]
    chat.fold((ids[0], ids[1]), "both")
    assert texts(chat) == ["both", "three", "[note: phase]\nmending"]


def test_erasing_leaves_a_stub_and_reaches_what_was_made_from_it() -> None:
    chat = opened()
    ids = tell(chat, asks(long("my password is hunter2", 20)), says(long("two", 20)), asks("three"))
    chat.fold((ids[0], ids[1]), "The password is hunter2.")
    chat.erase(ids[0], "a secret")
    assert texts(chat)[0] == "[erased: a secret]"
    chat.undo("e1")
    assert "hunter2" not in "".join(texts(chat))


def test_what_was_erased_is_said_again_only_on_purpose() -> None:
    chat = opened()
    entry = chat.say("hunter2")
    chat.erase(entry.id, "a secret")
    chat.reset()
    with pytest.raises(Gone, match="again=True"):
        chat.say("hunter2")
    chat.say("hunter2", again=True)
    assert texts(chat) == ["hunter2"]


def test_a_fork_has_the_edits_or_none_and_lives_its_own_life() -> None:
    chat = opened()
    ids = tell(chat, asks(long("one", 20)), says(long("two", 20)))
    chat.fold(tuple(ids), "both")
    with_edits, afresh = chat.fork("a"), chat.fork("b", edits=False)
    with_edits.say("only here")
    assert (texts(chat), texts(with_edits)) == (["both"], ["both", "only here"])
    assert [row.id for row in afresh.view().rows] == ids


def test_a_fork_without_edits_shows_the_bodies_that_the_client_sent_last() -> None:
    chat = opened()
    chat.merge([asks("It is Monday."), says("Good."), asks("Go on.")])
    chat.merge([asks("It is Tuesday."), says("Good."), asks("Go on.")])
    assert texts(chat.fork("afresh", edits=False)) == ["It is Tuesday.", "Good.", "Go on."]


@pytest.mark.parametrize("edits", [True, False])
def test_a_fork_knows_when_everything_was_said_and_the_way_forward(edits: bool) -> None:
    chat = opened(clock=iter(range(100, 200)).__next__)
    ids = tell(chat, *(asks(f"{number}") for number in range(6)))
    chat.rewind(4)
    forked = chat.fork("forked", edits=edits)
    assert forked.rewind(time=102) == ids[2]
    assert (forked.forward(), forked.forward()) == (ids[4], ids[5])


def test_a_time_between_messages_of_unknown_times_is_no_place_to_go_back_to() -> None:
    chat = opened(name="one", clock=iter(range(100, 200)).__next__, store=(store := Memory()))
    ids = tell(chat, asks("a"), asks("b"), asks("c"))
    other = opened(name="other", clock=iter(range(200, 300)).__next__, store=store)
    other.forward(ids[1])
    with pytest.raises(NotFound, match="Nothing was recorded at or before 250"):
        other.rewind(time=250)
    last = other.say("d")
    assert other.rewind(time=250) == last.id
    chat.forward(last.id)
    with pytest.raises(NotFound, match="not known when message 2 was said; give an entry or an index"):
        chat.rewind(time=150)
    assert chat.rewind(time=100) == ids[0]


def test_a_sub_agent_belongs_to_an_open_call() -> None:
    chat = opened(name="run")
    tell(chat, asks("Go"), calls("c1"))
    assert chat.spawn("c1").name == "run/c1"
    with pytest.raises(NotFound, match="'c9'"):
        chat.spawn("c9")


# ── re-sent histories ──


def test_the_same_history_twice_writes_nothing_the_second_time() -> None:
    chat = opened()
    history = [asks("one"), says("two"), asks("three")]
    assert chat.merge(history).new == 3
    assert (chat.merge(history).known, chat.merge(history).new) == (3, 0)


def test_what_was_added_to_a_history_is_recorded() -> None:
    chat = opened()
    chat.merge([asks("one")])
    merged = chat.merge([asks("one"), says("two")])
    assert (merged.known, merged.new, merged.forked) == (1, 1, False)
    assert texts(chat) == ["one", "two"]


def test_a_body_changed_in_its_place_is_shown_anew_and_edits_stay() -> None:
    chat = opened()
    history = [asks(long("one", 20)), says(long("two", 20)), asks("It is Monday."), says("four")]
    chat.merge(history)
    rows = chat.view().rows
    chat.fold((rows[0].id, rows[1].id), "both")
    merged = chat.merge([*history[:2], asks("It is Tuesday."), history[3]])
    assert (merged.replaced, merged.forked) == (1, False)
    assert texts(chat) == ["both", "It is Tuesday.", "four"]


def test_a_history_that_ends_otherwise_is_a_fork_that_keeps_edits_of_the_common_part() -> None:
    chat = opened()
    history = [asks(long("one", 20)), says(long("two", 20)), asks("three")]
    chat.merge(history)
    rows = chat.view().rows
    chat.fold((rows[0].id, rows[1].id), "both")
    assert chat.merge([*history[:2], asks("three, otherwise")]).forked is True
    assert texts(chat) == ["both", "three, otherwise"]


# ── twins, threads ──


def test_the_async_session_says_and_shows_the_same() -> None:
    async def main() -> tuple[list[str], dict[str, Any]]:
        async with fanfold.aopen("run", window=1_000, meter="characters/4") as chat:
            await chat.add(asks("Hello"))
            request = await chat.request(max_tokens=5)
            await chat.receive(reply(says("Yes.")))
            return [m.text for m in (await chat.view()).messages], request

    chat = opened()
    tell(chat, asks("Hello"))
    request = chat.request(max_tokens=5)
    chat.receive(reply(says("Yes.")))
    assert asyncio.run(main()) == (texts(chat), request)


def test_threads_that_speak_at_once_are_heard_one_after_the_other() -> None:
    chat = opened(1_000_000)

    def speak(name: int) -> None:
        for number in range(50):
            chat.say(f"{name}/{number}")

    threads = [threading.Thread(target=speak, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts(chat))) == len(texts(chat)) == 200


def test_a_plan_made_while_something_else_was_said_still_holds_or_is_discarded() -> None:
    chat: Session

    def slow(view: View, budget: Budget) -> Plan:
        chat.say("in the meantime")
        yield Drop(view.oldest(leaving=budget.goal).covers)

    chat = opened(300, strategy=slow)
    tell(chat, *(body(long("word", 10)) for _ in range(12) for body in (asks, says)))
    outcome = chat.compact()
    assert outcome.status in ("reduced", "failed")
    assert texts(chat)[-1] == "in the meantime"


def test_parts_may_be_said_as_values() -> None:
    chat = opened()
    chat.say(Text("Hello"))
    assert texts(chat) == ["Hello"]
