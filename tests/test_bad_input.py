"""Bad input: a named error that says what and where and what to do, and the log is as it was before."""

import json
import math
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import fanfold
from fanfold import (
    BadArguments,
    BadBudget,
    BadEdit,
    BadInput,
    BadMessage,
    BadSetting,
    Budget,
    Call,
    Closed,
    Image,
    Message,
    NotFound,
    Opaque,
    Text,
    UnknownModel,
)
from fanfold.dialects.dialect import Reply
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.stores.coding import Coding
from fanfold.systems import budgets
from fanfold.testing import called, replied, response, returned, said, talk


class Nothing:
    """Something that is no JSON."""


def nested(levels: int, inside: object = 0) -> Any:
    """Something inside so many lists and dicts, by turns."""
    for level in range(levels):
        inside = [inside] if level % 2 else {"in": inside}
    return inside


NO_MESSAGES = [
    (None, "message is NoneType, not a message: give a dict with role and content"),
    (42, "message is int, not a message: give a dict"),
    ("hello", "message is str, not a message: give a dict"),
    ([said("Hi.")], "message is list, not a message: give a dict"),
    ({}, "message has the role None; known roles are system, developer, user"),
    ({"role": "robot", "content": "x"}, "has the role 'robot'; known roles are"),
    ({"role": ["user"], "content": "x"}, "known roles are"),
    ({"role": "user", "content": 7}, "message.content is int; it must be a text, a list of parts or null"),
    ({"role": "user", "content": {"text": "x"}}, "message.content is dict; it must be a text"),
    (
        {"role": "user", "content": ["x", 3]},
        r"message.content\[\d\] is (str|int); a part is a dict with a `type`",
    ),
    ({"role": "user", "content": Nothing()}, "holds something that is no JSON.*Give plain dicts"),
    ({"role": "user", "content": "x", "n": 10**5_000}, "holds .*: an integer of more than 4,000 digits"),
    ({"role": "user", "content": "x", "n": nested(128)}, "holds .*: .* nested more than 128 levels deep"),
    ({"role": "user", "content": "x", "n": nested(600, math.nan)}, "nested more than 128 levels deep"),
    ({"role": "user", "content": "x", "n": nested(340, "\ud800")}, "nested more than 128 levels deep"),
    ({"role": "user", "content": "x", "n": nested(100_000)}, "nested more than 128 levels deep"),
    (
        {"role": "assistant", "content": "x", "tool_calls": "c1"},
        "message.tool_calls is str; it must be a list",
    ),
]
CONTRADICTIONS = [
    (returned("c-nobody", "x"), "No call 'c-nobody' waits for an answer here .*Record the call first"),
    (returned("c1", "x"), "No call 'c1' waits for an answer here"),
    (replied(None, called("open-1")), "The call id 'open-1' is taken; every call needs its own"),
    (replied(None, called("d"), called("d")), "The call id 'd' is taken"),
    (Message("user", [1]), "A message's parts are a tuple"),  # type: ignore[arg-type]
]


def talking() -> fanfold.Session:
    """A session with an answered call and an open one."""
    chat = fanfold.open("run", window=9_000)
    chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "out")])
    chat.add(replied(None, called("open-1")))
    return chat


def remembered(chat: fanfold.Session) -> Any:
    """Everything a failed verb must leave as it was."""
    state = chat._state
    return list(state.log.records), dict(state.log.tree.entries), state.view().rows, dict(state.open_calls)


def refuses(
    chat: fanfold.Session, error: type[Exception], words: str, verb: str, /, *args: Any, **more: Any
) -> None:
    before = remembered(chat)
    with pytest.raises(error, match=words) as caught:
        getattr(chat, verb)(*args, **more)
    assert str(caught.value).endswith(".")
    after = remembered(chat)
    assert after[:2] == before[:2]
    assert [row.id for row in after[2]] == [row.id for row in before[2]]
    assert after[3] == before[3]


@pytest.mark.parametrize(("body", "words"), NO_MESSAGES)
def test_what_is_no_message_is_not_added(body: Any, words: str) -> None:
    refuses(talking(), BadMessage, words, "add", body)


@pytest.mark.parametrize(("body", "words"), NO_MESSAGES)
def test_a_transcript_with_something_else_in_it_is_not_merged(body: Any, words: str) -> None:
    where = words.replace("message is", r"messages\[2\] is").replace("message has", r"messages\[2\] has")
    where = where.replace("message.", r"messages\[2\]\.")
    refuses(talking(), BadMessage, where, "merge", [said("Go."), said("Now."), body, said("More.")])


@pytest.mark.parametrize("transcript", [None, 7, "hello", {"model": "x"}, {"messages": "hello"}, Nothing()])
def test_what_is_no_transcript_is_not_merged(transcript: Any) -> None:
    refuses(talking(), BadMessage, "A transcript is a list of messages", "merge", transcript)


@pytest.mark.parametrize(("body", "words"), CONTRADICTIONS)
def test_what_contradicts_the_conversation_is_not_added(body: Any, words: str) -> None:
    refuses(talking(), BadMessage, words, "add", body)


STALE = "its wire form says something else than its parts. Build it with wire=None"
"""A message that was changed beside its wire form, which would be sent and not counted."""


@pytest.mark.parametrize(
    "changed",
    [{"parts": (Text("short"),)}, {"parts": ()}, {"role": "assistant"}],
    ids=["parts", "none", "role"],
)
def test_a_message_whose_wire_form_says_something_else_is_not_recorded(changed: dict[str, Any]) -> None:
    chat = talking()
    message = structs.replace(chat.fork("other").add(said("word " * 300)).message, **changed)
    refuses(chat, BadMessage, STALE, "add", message)
    refuses(chat, BadMessage, STALE, "receive", Reply((message,)))
    chat.add(structs.replace(message, wire=None))


def test_a_wire_form_of_another_dialect_has_to_agree_as_well() -> None:
    message = dialect_named("anthropic").message({"role": "user", "content": "word " * 300})
    refuses(talking(), BadMessage, STALE, "add", structs.replace(message, parts=(Text("short"),)))


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses", "anthropic", "gemini"])
@pytest.mark.parametrize("to", ["openai.chat", "openai.responses", "anthropic", "gemini"])
def test_what_another_session_recorded_goes_in_whatever_it_speaks(dialect: str, to: str) -> None:
    odd = {"type": "odd", "figure": math.nan, "half": "\ud83d"}
    with (
        fanfold.open("run", window=9_000, dialect=dialect) as chat,
        fanfold.open("to", window=9_000, dialect=to) as there,
    ):
        chat.say("Look.", Image(media="image/png", data="iVBORw0KGgo="), Opaque(dialect, odd))
        first = chat.request()[chat._state.dialect.field]
        for body in first if isinstance(first, list) else [first]:
            chat.add(body)
        entries, coding = list(chat._state.log.tree.entries.values()), Coding()
        for entry in entries:
            there.add(coding.read_entry(entry.id, entry.parent, coding.entry(entry)).message)
        assert len(there.view().rows) == len(entries) > 1
        assert there.request()


@pytest.mark.parametrize("reply", [None, 7, {}, {"choices": []}, {"choices": ["x"]}])
def test_what_is_no_response_is_not_received(reply: Any) -> None:
    refuses(talking(), BadMessage, "The response has no `choices`", "receive", reply)


def test_a_response_without_a_message_is_not_received() -> None:
    words = r"response.choices\[0\].message is NoneType, not a message"
    refuses(talking(), BadMessage, words, "receive", {"choices": [{"message": None}]})


@pytest.mark.parametrize("call", ["nobody", "c1", "", None, 7, Call("gone", "run", "{}")])
def test_only_a_call_that_waits_can_be_answered(call: Any) -> None:
    refuses(
        talking(), NotFound, r"No call .* waits for an answer here \(waiting: 'open-1'\)", "answer", call, "x"
    )


def test_an_output_that_cannot_be_written_down_is_refused() -> None:
    refuses(
        talking(),
        BadInput,
        "An output is text, .* or something JSON can write",
        "answer",
        "open-1",
        Nothing(),
    )


@pytest.mark.parametrize("parts", [(), (7,), ("x", None), ({"type": "text"},)])
def test_a_person_says_texts_images_and_documents(parts: Any) -> None:
    refuses(talking(), BadMessage, "Say something|A person says texts, images and documents", "say", *parts)


@pytest.mark.parametrize("inside", [[10**5_000], nested(128), nested(600, math.nan)])
def test_a_part_that_cannot_be_written_is_not_said(inside: object) -> None:
    part = fanfold.Opaque("openai.chat", {"type": "input_audio", "input_audio": {"data": inside}})
    refuses(talking(), BadMessage, "This Opaque holds what it cannot hold: ", "say", part)
    refuses(
        talking(), BadMessage, "This message holds what it cannot hold: ", "add", Message("user", (part,))
    )


@pytest.mark.parametrize("inside", [[0], ["\ud800"], [math.nan], [10**30], [-(10**3_999)]])
def test_what_is_nested_as_deep_as_may_be_is_recorded_and_sent(inside: object) -> None:
    chat = fanfold.open("run", window=99_000)
    chat.add({"role": "user", "content": "x", "n": nested(126, inside)})
    sent = repr(chat.request()["messages"][0]["n"])
    assert sent.count("{") + sent.count("[") == 127


@pytest.mark.parametrize("raw", ["{", "[1]", "NaN", "text", '"text"', '{"x": 1} tail'])
def test_arguments_that_are_no_json_object_are_kept_and_named_when_read(raw: str) -> None:
    chat = talking()
    reply = chat.receive(response(replied(None, called("c9", "grep", raw))))
    with pytest.raises(
        BadArguments, match=r"The arguments of grep\(c9\) are no JSON object: .*Write them as one"
    ):
        _ = reply.calls[0].args
    assert reply.calls[0].raw == raw
    chat.answer(reply.calls[0], "It could not be run.")
    assert chat.request()["messages"][-2]["tool_calls"][0]["function"]["arguments"] == raw


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"window": math.nan}, "window is nan; it must be a whole number of at least 1"),
        ({"window": -5}, "window is -5"),
        ({"window": 0}, "window is 0"),
        ({"window": 8_000.5}, "window is 8000.5"),
        (
            {"window": "8x"},
            "window is '8x'; it must be a whole number of at least 1, or a size such as '16k'",
        ),
        ({"window": "0k"}, "window is '0k'"),
        ({"window": 1_000, "trigger": "120%"}, "trigger is '120%'"),
        ({"window": True}, "window is True"),
        (
            {"window": 1_000, "reserve": 1_000},
            "A reserve of 1,000 leaves nothing of a window of 1,000.*raise the window",
        ),
        ({"window": 1_000, "reserve": 5_000}, "A reserve of 5,000 leaves nothing"),
        ({"window": 1_000, "reserve": -1}, "reserve is -1; it must be a whole number of at least 0"),
        ({"window": 1_000, "trigger": math.nan}, "trigger is nan; it must be a share between 0 and 1"),
        ({"window": 1_000, "target": math.inf}, "target is inf"),
        ({"window": 1_000, "trigger": 0}, "trigger is 0"),
        (
            {"window": 1_000, "trigger": 0.3, "target": 0.5},
            "The target .* lies above the trigger.*Lower the target",
        ),
        ({"window": 1_000, "gain": math.nan}, "gain is nan"),
        ({"window": 1_000, "max_bytes": 0}, "max_bytes is 0"),
    ],
)
def test_limits_that_make_no_sense_are_no_budget(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(BadBudget, match=words):
        Budget(**limits)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: budgets.at_percent(Budget(window=1_000), math.nan), "percent is nan; it must lie above 0"),
        (lambda: budgets.at_percent(Budget(window=1_000), math.inf), "percent is inf"),
        (lambda: budgets.at_percent(Budget(window=1_000), -5), "percent is -5"),
        (lambda: budgets.codelia(math.nan), "limit is nan; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: budgets.codelia(None), "limit is None"),  # type: ignore[arg-type]
        (lambda: budgets.codelia(1_000, None), "threshold_ratio is None"),  # type: ignore[arg-type]
        (lambda: budgets.gemini_cli(math.nan), "limit is nan"),  # type: ignore[arg-type]
        (lambda: budgets.openstarry(math.nan), "window is nan"),  # type: ignore[arg-type]
        (lambda: budgets.roo_code(None), "window is None"),  # type: ignore[arg-type]
        (lambda: budgets.roo_code(100_000, math.nan), "max_tokens is nan"),  # type: ignore[arg-type]
    ],
)
def test_thresholds_of_nothing_are_no_budget(made: Callable[[], Budget], words: str) -> None:
    with pytest.raises(BadBudget, match=words):
        made()


@pytest.mark.parametrize("window", [-1, 0, math.nan, "big"])
def test_a_window_that_makes_no_sense_opens_nothing(window: Any) -> None:
    store = fanfold.Memory()
    with pytest.raises(BadBudget, match="window is"):
        fanfold.open("run", window=window, store=store)
    assert store.sessions("default") == []


@pytest.mark.parametrize("max_tokens", [9_000, 10**9, -1, math.nan, "many"])
def test_a_reply_that_leaves_no_room_is_refused(max_tokens: Any) -> None:
    refuses(talking(), BadBudget, "reserve", "request", max_tokens=max_tokens)


def test_a_model_nobody_knows_needs_a_window() -> None:
    with pytest.raises(UnknownModel, match="window="):
        fanfold.open("run", model="hal-9000")
    assert fanfold.open("run", model="hal-9000", window=1_000).view().tokens >= 0


def test_neither_model_nor_window_opens_nothing() -> None:
    with pytest.raises(BadInput, match="give `model=` or `window=`"):
        fanfold.open("run")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dialect": "morse"}, "There is no dialect 'morse'. Known are: openai.chat"),
        ({"meter": "inches"}, "There is no meter 'inches'. Known are"),
        ({"strategy": "drop_oldst"}, "There is no strategy 'drop_oldst'. Did you mean 'drop_oldest'?"),
        ({"strategy": 5}, "A strategy is a function"),
        ({"filters": ["clipp"]}, "There is no filter 'clipp'. Did you mean 'clip'?"),
        ({"preset": "gemini"}, "There is no preset 'gemini'. Did you mean 'gemini_cli'?"),
        ({"strategy": [None]}, "A strategy is a function"),
        ({"model": 5}, "model is the name of one, such as gpt-5.2, not 5"),
        ({"budget": Budget(window=2_000)}, "Give `window=` or `budget=`, not both"),
        ({"meter": 5}, "A meter is one, or the name of one, not 5"),
        ({"tools": 5}, "tools is a list, not 5"),
        ({"tools": "grep"}, "tools is a list, not 'grep'"),
        ({"fallback": 5}, "fallback is a list of functions .*, not 5"),
        ({"system": 5}, "system is a text, or a list of messages, not 5"),
        ({"clock": 5}, "clock is a function that returns seconds, not 5"),
        ({"summarizer": 5}, "summarizer is the name of a model, a client of its SDK, .*, not 5"),
        ({"summarizer": " "}, "summarizer is the name of a model, .*, not ' '"),
        ({"ask": len}, "The option `ask` is called `summarizer` now"),
        ({"recall": "x"}, "recall is True or False, not 'x'"),
        ({"dialect": 5}, "dialect is the name of one, such as openai.chat, not 5"),
        ({"dialect": ["anthropic"]}, "dialect is the name of one"),
        ({"profile": 5}, "profile is the name of one in the settings file, not 5"),
        ({"store": 5}, "store is one, or its name such as sqlite:agent.db, not 5"),
        ({"store": fanfold.Memory}, "store is one, or its name such as sqlite:agent.db, not <class"),
        ({"fallback": None}, r"fallback is a list of functions `\(view, budget\) -> edits`, not None"),
        ({"fallback": [5]}, r"fallback is a list of functions .*, not \[5\]"),
        ({"system": {"a": "b"}}, "system is a text, or a list of messages, not {'a': 'b'}"),
        ({"tools": False}, "tools is a list, not False"),
        ({"tools": {"type": "function"}}, "tools is a list, not {'type'"),
        ({"hooks": {"after_edit": print}}, r"hooks is a fanfold.Hooks, such as Hooks\(after_edit=…\), not {"),
        ({"hooks": []}, r"hooks is a fanfold.Hooks, .*, not \[\]"),
        ({"on_edit": "x"}, "on_edit is a function of an Outcome, not 'x'"),
        (
            {"summarizer_window": -5},
            "summarizer_window is a whole number of tokens, at least 1, or a size such as 16k, not -5",
        ),
        ({"summarizer_window": 0}, "summarizer_window is a whole number"),
        ({"summarizer_window": 1.5}, "summarizer_window is a whole number"),
        ({"summarizer_window": "x"}, "summarizer_window is a whole number"),
        ({"summarizer_window": True}, "summarizer_window is a whole number"),
        ({"strategi": "auto"}, "There is no option 'strategi'. Did you mean 'strategy'?"),
        (
            {"reserve": 600},
            r"There is no option 'reserve': .* `budget=fanfold.Budget\(window=…, reserve=…\)`",
        ),
        (
            {"trigger": 0.5},
            r"There is no option 'trigger': .* `budget=fanfold.Budget\(window=…, trigger=…\)`",
        ),
    ],
)
def test_a_setting_nobody_knows_is_named(settings: dict[str, Any], words: str) -> None:
    for opened in (fanfold.open, fanfold.aopen):
        with pytest.raises(BadSetting, match=words) as caught:
            opened("run", window=1_000, **settings)  # type: ignore[operator]
        assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "size", [{"window": 5}, {"window": "7"}, {"budget": fanfold.Budget(window=20, reserve=15)}]
)
def test_a_window_that_holds_no_word_is_refused_at_once(size: dict[str, Any], tmp_path: Path) -> None:
    for opened in (fanfold.open, fanfold.aopen):
        with pytest.raises(
            fanfold.BadBudget, match=r"holds no request: one word alone takes 8\. Did you mean"
        ):
            opened("run", store=f"sqlite:{tmp_path}/run.db", **size)
    assert not list(tmp_path.iterdir())
    with fanfold.open("run", window=8) as chat:
        chat.say("Hi")
        assert chat.request()["messages"]


def test_what_is_wrong_is_told_before_a_store_across_a_network_is_opened() -> None:
    with pytest.raises(BadSetting, match="summarizer_window is a whole number"):
        fanfold.aopen("run", window=1_000, store="postgresql://nobody.invalid/x", summarizer_window=-5)


class Names(StrEnum):
    """Names as enumerations hold them."""

    MODEL = "gpt-4o"
    DIALECT = "anthropic"
    TENANT = "acme"


def test_options_may_be_members_of_an_enumeration(tmp_path: Path) -> None:
    options: Any = {"model": Names.MODEL, "dialect": Names.DIALECT, "tenant": Names.TENANT}
    with fanfold.open("run", store=f"sqlite:{tmp_path}/run.db", **options) as chat:
        chat.say("Hello.")
        assert type(chat.request(max_tokens=9)["model"]) is str


def test_a_hook_is_a_function() -> None:
    with pytest.raises(BadSetting, match="before_edit is a function, not 'x'"):
        fanfold.Hooks(before_edit="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"strategi": "auto"}, "There is no option 'strategi'. Did you mean 'strategy'?"),
        ({"budget": 5}, "There is no option 'budget'.* Known are: window, model"),
        ({"max_tokens": 790}, "There is no option 'max_tokens'. Known are: "),
        ({"dialect": 5}, "dialect is the name of one, such as openai.chat, not 5"),
        ({"to": 5}, "to is the name of a dialect, such as anthropic, not 5"),
        ({"system": 5}, "system is a text, or a list of messages, not 5"),
        ({"tools": 5}, "tools is a list, not 5"),
        ({"store": 5}, "store is one, or its name such as sqlite:agent.db, not 5"),
        ({"summarizer": 5}, "summarizer is the name of a model, a client of its SDK, .*, not 5"),
        ({"summarizer": " "}, "summarizer is the name of a model, .*, not ' '"),
        ({"ask": len}, "The option `ask` is called `summarizer` now"),
        ({"model": []}, "model is the name of one, such as gpt-5.2, not "),
    ],
)
def test_a_setting_of_fit_that_nobody_knows_is_named(settings: dict[str, Any], words: str) -> None:
    for messages in ([said("Hello.")], []):
        with pytest.raises(BadSetting, match=words):
            fanfold.fit(messages, **{"window": 800, **settings})


@pytest.mark.parametrize("stream", [None, 5, lambda: 0, Nothing()])
def test_what_is_no_stream_is_not_listened_to(stream: Any) -> None:
    refuses(talking(), BadInput, "Listen to a provider's stream: .* not to", "listen", stream)
    chat = fanfold.aopen("other", window=900)
    with pytest.raises(BadInput, match=r"Listen to a provider's stream: .* not to"):
        chat.listen(stream)


@pytest.mark.parametrize("now", [datetime.now(), "noon", None, math.nan, True])
def test_a_clock_gives_seconds(now: Any) -> None:
    chat = fanfold.open("run", window=1_000, clock=lambda: now)
    refuses(
        chat, BadSetting, "The clock gives seconds as a number, as `time.time` does, not", "say", "Hello."
    )


@pytest.mark.parametrize("name", ["", None])
def test_a_session_needs_a_name(name: Any) -> None:
    with pytest.raises(BadInput, match="A session needs a name"):
        fanfold.open(name, window=1_000)


def test_a_name_of_the_wrong_type_is_repeated() -> None:
    with pytest.raises(BadInput, match=r"A session's name is a text, not 42\."):
        fanfold.open(42, window=1_000)  # type: ignore[arg-type]


def test_a_fold_that_shows_no_text_is_refused_where_it_is_made() -> None:
    with pytest.raises(BadEdit, match=r"A fold shows a text or a tuple of messages, not 3\."):
        fanfold.Fold((), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "body", [{"error": {"message": "nope"}}, {"error": "nope"}, [{"error": {"message": "nope"}}]]
)
def test_an_error_in_the_place_of_a_reply_is_repeated(dialect: Any, body: Any) -> None:
    chat = fanfold.open("run", window=9_000, dialect=dialect)
    chat.say("Hello.")
    with pytest.raises(BadMessage, match="the provider's error: 'nope'"):
        chat.receive(body)


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (lambda view: [], r"Let it take them: `def <lambda>\(view, budget\)`"),
        (list, r"If list makes one, give what it makes: list\(…\)"),
        (lambda *, keep=3: [], r"If <lambda> makes one, give what it makes: <lambda>\(…\)"),
    ],
)
def test_only_what_may_be_a_factory_is_taken_for_one(function: Any, way: str) -> None:
    with pytest.raises(BadSetting, match=way):
        fanfold.open("run", window=9_000, strategy=function)


def test_only_a_session_is_inspected() -> None:
    with pytest.raises(BadInput, match=r"give what `fanfold.open` returned, not 'x'"):
        fanfold.inspect("x")  # type: ignore[arg-type]


def test_a_file_that_is_given_for_a_store_is_taken_for_a_slip() -> None:
    with pytest.raises(BadSetting, match=r"Did you mean `sqlite:agent.db`\?"):
        fanfold.open("run", window=9_000, store="agent.db")


@pytest.mark.parametrize(
    ("error", "words", "verb", "args", "more"),
    [
        (NotFound, "There is no edit 'e9'", "undo", ("e9",), {}),
        (NotFound, "There is no edit to undo", "undo", (), {}),
        (NotFound, r"There is no edit \[1\]", "undo", ([1],), {}),
        (NotFound, r"There is no edit \[1\]", "redo", ([1],), {}),
        (NotFound, r"There is no edit \[1\]", "release", ([1],), {}),
        (BadInput, "time is a number of seconds, not '2024'", "rewind", (), {"time": "2024"}),
        (NotFound, "No entry here begins with '5'", "forward", (5,), {}),
        (NotFound, "No entry here begins with '5'", "why", (5,), {}),
        (NotFound, "No entry here begins with '5'", "erase", (5, "why not"), {}),
        (NotFound, "Nothing is pinned as '5'", "unpin", (5,), {}),
        (BadInput, "Say which rows to fold", "fold", (None, "x"), {}),
        (BadInput, "Give the model's call", "recall", (5,), {}),
        (BadInput, "Give the model's call", "recall", (Call(5, 6, 7),), {}),  # type: ignore[arg-type]
        (NotFound, r"There is no output '\[\]' in this conversation", "output", ([],), {}),
        (BadInput, "A session needs a name", "fork", (None,), {}),
        (BadSetting, "dialect is the name of one", "fork", ("other",), {"dialect": 5}),
        (BadSetting, "model is the name of one", "spawn", ("open-1",), {"model": 5}),
        (BadSetting, "There is no option 'modle'. Did you mean 'model'?", "fork", ("other",), {"modle": "x"}),
        (NotFound, "There is no undone edit", "redo", (), {}),
        (NotFound, "There is no edit 'e9'", "release", ("e9",), {}),
        (NotFound, "No entry here begins with 'zzz'", "rewind", ("zzz",), {}),
        (NotFound, "There is no message 99; the path has 4", "rewind", (99,), {}),
        (NotFound, "The path has 1 turn; 3 cannot be gone back", "rewind", (), {"turns": 3}),
        (BadInput, "Say where to go back to", "rewind", (), {}),
        (BadInput, "Say where to go back to", "rewind", (1,), {"turns": 1}),
        (NotFound, "Nothing was recorded at or before", "rewind", (), {"time": -1.0}),
        (NotFound, "There is no rewind to go forward from", "forward", (), {}),
        (NotFound, "'not here' stands nowhere in the view", "pin", ("not here",), {}),
        (BadInput, "Pin an entry's id or some text", "pin", ("  ",), {}),
        (NotFound, "Nothing is pinned as 'x'", "unpin", ("x",), {}),
        (BadInput, "A note has a name and a text", "note", ("", "x"), {}),
        (BadEdit, "This fold cannot be made: it does not cover whole rows", "fold", (("nobody",), "x"), {}),
        (BadEdit, "This fold cannot be made: it covers nothing", "fold", ((), "x"), {}),
        (NotFound, "No entry here begins with 'zzz'", "erase", ("zzz", "why not"), {}),
        (NotFound, "There is no request 5", "sent", (5,), {}),
        (BadInput, "context is a text, not int", "request", (), {"context": 7}),
        (BadInput, "messages: the session sends these itself", "request", (), {"messages": []}),
        (BadInput, "There is a session named 'run' already", "fork", ("run",), {}),
        (BadInput, "A session's name is a text, not 5", "spawn", ("open-1",), {"name": 5}),
        (NotFound, "No call 5 waits", "spawn", (5,), {}),
        (NotFound, "No call 'None' waits", "answer", (None, "x"), {}),
        (BadInput, "error says whether the tool failed", "answer", ("open-1", "out"), {"error": "boom"}),
        (BadInput, "Say in words why it is erased, not None", "erase", ("zzz", None), {}),
        (BadInput, "Say in words why it is erased, not ''", "erase", ("zzz", ""), {}),
        (NotFound, "No entry here begins with", "erase", ([], "why not"), {}),
        (NotFound, "There is no edit ''", "redo", ("",), {}),
        (BadInput, "not True", "rewind", (True,), {}),
        (BadInput, "not True", "rewind", (), {"time": True}),
        (NotFound, "True cannot be gone back", "rewind", (), {"turns": True}),
        (BadInput, r"as a tuple, such as \('nobody',\)", "fold", ("nobody", "x"), {}),  # 19.21
        (BadInput, "Say which rows to fold, by their ids; not 5", "fold", (5, "x"), {}),
        (BadInput, r"Say which rows to fold, by their ids; not \(5,\)", "fold", ((5,), "x"), {}),
        (BadInput, "Say in words what stands in the place", "fold", (("nobody",), 5), {}),
        (BadMessage, "This reply holds what it cannot hold", "receive", (Reply((Message("robot"),)),), {}),  # type: ignore[arg-type]
    ],
)
def test_a_verb_that_cannot_be_done_says_why(
    error: type[Exception], words: str, verb: str, args: Any, more: dict[str, Any]
) -> None:
    refuses(talking(), error, words, verb, *args, **more)


def test_half_a_pair_cannot_be_folded_by_a_person_either() -> None:
    chat = talking()
    call = chat.view().rows[1].id
    refuses(chat, BadEdit, "it would part a call from its result", "fold", (call,), "x")


def test_a_closed_session_says_so() -> None:
    chat = talking()
    chat.close()
    with pytest.raises(Closed, match="The session 'run' is closed; open it again"):
        chat.say("Hello?")


def test_a_session_that_is_open_is_not_opened_twice() -> None:
    store = fanfold.Memory()
    chat = fanfold.open("run", window=1_000, store=store)
    with pytest.raises(BadInput, match="is open already; close it, or fork it"):
        fanfold.open("run", window=1_000, store=store)
    chat.close()


def test_nothing_is_sent_before_something_was_said() -> None:
    with fanfold.open("run", window=1_000) as chat:
        refuses(chat, NotFound, "There is nothing to send yet: say something first", "request")


def test_after_every_refusal_the_conversation_goes_on() -> None:
    chat = talking()
    for body, _ in [*NO_MESSAGES, *CONTRADICTIONS]:
        with pytest.raises(BadMessage):
            chat.add(body)
    chat.answer("open-1", "done")
    chat.merge([*chat.request()["messages"], *talk(1)])
    assert chat.request()["messages"][-1]["content"] == "Task 0 is done."


def test_a_reply_of_no_tokens_is_none() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.say("Hello.")
        with pytest.raises(BadInput, match="A reply of 0 tokens is none"):
            chat.request(max_tokens=0)


ODD = {"x": math.nan, "deep": [math.inf, {"y": -math.inf}], "huge": 2**70, "none": None}
WORDS = {"x": "NaN", "deep": ["Infinity", {"y": "-Infinity"}], "huge": 2**70, "none": None}
ODDLY_CALLED: dict[str, list[Any]] = {
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": ODD}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
    ],
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "run", "args": ODD}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"output": "ok"}}}]},
    ],
    "openai.responses": [
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"], "more": ODD}},
        {"type": "shell_call_output", "call_id": "c1", "output": []},
    ],
    "openai.chat": [said("Go on."), {"role": "assistant", "content": "So.", "more": ODD}, said("And?")],
}


@pytest.mark.parametrize("dialect", ODDLY_CALLED)
def test_numbers_that_json_has_no_word_for_are_sent_as_words_and_recorded_as_they_came(dialect: str) -> None:
    with fanfold.open("run", dialect=dialect, window=90_000) as chat:
        chat.say("Go.")
        entries = [chat.add(body) for body in ODDLY_CALLED[dialect]]
        sent = json.dumps(chat.request(max_tokens=900), allow_nan=False)
        recorded = [entry.message.wire.body for entry in entries if entry.message.wire]
    assert json.dumps(WORDS) in sent
    assert ": NaN" in json.dumps(recorded)


def test_a_tool_with_such_numbers_is_sent_as_json_too() -> None:
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "maximum": math.inf}}}
    ]
    with fanfold.open("run", window=9_000, tools=tools) as chat:
        chat.say("Go.")
        assert '"maximum": "Infinity"' in json.dumps(chat.request(), allow_nan=False)


class Halves:
    """A meter that counts in halves, or not at all."""

    name, overhead = "halves", 0

    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens

    def text(self, text: str) -> Any:
        return self.tokens

    def message(self, message: Message) -> Any:
        return self.tokens

    def frame(self, frame: Any) -> Any:
        return 0


def test_a_meter_that_counts_in_halves_counts_whole_tokens(tmp_path: Path) -> None:
    options: Any = {"window": 1_000, "meter": Halves(30.5), "store": f"sqlite:{tmp_path}/run.db"}
    with fanfold.open("run", **options) as chat:
        chat.merge([said("Go."), replied("Done.")])
        chat.request()
        assert chat.view().tokens == 62
    with fanfold.open("run", **options) as chat:
        assert chat.stats()["sent_tokens"] == 62


@pytest.mark.parametrize("tokens", [None, "many", math.nan, math.inf, -1, True])
def test_a_meter_that_does_not_count_is_named(tokens: Any) -> None:
    chat = fanfold.open("run", window=1_000, meter=Halves(tokens))
    chat.say("Hello.")
    with pytest.raises(BadSetting, match="The meter halves counts tokens, 0 or more, not"):
        chat.view()
