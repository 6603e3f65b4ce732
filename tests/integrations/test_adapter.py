"""The seam of all integrations, with a small framework of the tests' own."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai import BadRequestError

import fanfold
from fanfold.core.message import Message
from fanfold.integrations.adapter import Adapter, Heard, Outgoing, as_function
from fanfold.testing import check_integration, talk
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Fail, Provider, Turn
from tests.integrations.pad import Converted, Hook, Leaf, Pad, make_pad

BIG = "word " * 1_500


def leaves(*bodies: dict[str, Any]) -> list[Leaf]:
    """Chat messages as the framework has them."""
    return [
        Leaf(
            body["role"],
            body.get("content") or "",
            tuple(
                (one["id"], one["function"]["name"], one["function"]["arguments"])
                for one in body.get("tool_calls") or ()
            ),
            body.get("tool_call_id", ""),
        )
        for body in bodies
    ]


def outgoing(messages: list[Leaf], session: str = "t1", **more: Any) -> Outgoing[Leaf]:
    return Outgoing(session=session, messages=messages, converter=Converted(), **more)


@pytest.mark.parametrize(
    ("steps", "window"), [(50, 8_000), pytest.param(120, 16_000, marks=pytest.mark.slow)]
)
def test_the_check_passes_for_an_integration_of_a_page(steps: int, window: int) -> None:
    check_integration(make_pad, modes=("run", "arun"), steps=steps, window=window)


class NamesSteps(Hook):
    """Has a session whose name tells of steps: another one after thirty, so that the cache is not what is missed."""

    def outgoing(self, pad: Pad, thread: str) -> Outgoing[Leaf]:
        made = super().outgoing(pad, thread)
        return msgspec.structs.replace(made, session=f"{thread}-{len(made.messages) // 60}")

    def recall(self, thread: str, name: str, arguments: dict[str, Any]) -> str:
        return self.adapter.recall(self.adapted[-1].outgoing.session, name, arguments)


class OneForAll(Hook):
    """Has one session for all threads."""

    def outgoing(self, pad: Pad, thread: str) -> Outgoing[Leaf]:
        return msgspec.structs.replace(super().outgoing(pad, thread), session="t1")

    def recall(self, thread: str, name: str, arguments: dict[str, Any]) -> str:
        return self.adapter.recall("t1", name, arguments)


class CountsNoTools(Hook):
    """Tells fanfold of no tools."""

    def outgoing(self, pad: Pad, thread: str) -> Outgoing[Leaf]:
        return msgspec.structs.replace(super().outgoing(pad, thread), tools=())


class Meddling(Hook):
    """Changes the framework's own messages when a run is over."""

    def call(self, pad: Pad, thread: str) -> Leaf:
        reply = super().call(pad, thread)
        if not reply.calls and len(pad.threads[thread]) > 20:
            self.meddle(pad.threads[thread])
        return reply

    def meddle(self, leaves: list[Leaf]) -> None:
        raise NotImplementedError


class Reorders(Meddling):
    def meddle(self, leaves: list[Leaf]) -> None:
        leaves[1:3], leaves[3:5] = leaves[3:5], leaves[1:3]


class DropsTheTask(Meddling):
    def meddle(self, leaves: list[Leaf]) -> None:
        del leaves[0]


class DropsWords(Meddling):
    def meddle(self, leaves: list[Leaf]) -> None:
        leaves[7] = replace(leaves[7], text="")


class Doubles(Meddling):
    def meddle(self, leaves: list[Leaf]) -> None:
        leaves.insert(3, leaves[2])


class KeepsWhatWasSent(Hook):
    """Writes fanfold's view into the framework's own state."""

    def _send(self, pad: Pad, adapted: Any) -> Any:
        pad.threads["t1"][:] = adapted.messages
        return super()._send(pad, adapted)


class SendsInAnotherOrder(Hook):
    def _send(self, pad: Pad, adapted: Any) -> Any:
        sent = adapted.messages
        if len(sent) > 6:
            sent[1:3], sent[3:5] = sent[3:5], sent[1:3]
        return super()._send(pad, adapted)


class SendsLess(Hook):
    def _send(self, pad: Pad, adapted: Any) -> Any:
        if len(adapted.messages) > 6:
            del adapted.messages[1:3]
        return super()._send(pad, adapted)


class LearnsNoBills(Hook):
    @staticmethod
    def _heard(reply: tuple[Leaf, Any]) -> Heard[Leaf]:
        return Heard(messages=[reply[0]])


class LooksNothingUp(Hook):
    def recall(self, thread: str, name: str, arguments: dict[str, Any]) -> str:
        return "Nothing."


class OffersNoLookUp(Hook):
    @property
    def tools(self) -> list[dict[str, Any]]:
        return []


class TriesOnce(Hook):
    """Ends where the provider says "too long"."""

    def call(self, pad: Pad, thread: str) -> Leaf:
        adapted = self.adapter.fit(self.outgoing(pad, thread))
        reply = self._send(pad, adapted)
        self.adapter.receive(adapted, self._heard(reply))
        return reply[0]


FOUND_AT_ONCE = [
    (NamesSteps, r"One thread has \d+ sessions"),
    (Reorders, "is not in its place"),
    (SendsLess, "where all fits, another request is sent"),
    (LearnsNoBills, "0 tokens billed in the record"),
]
"""Some of what the check finds, in the quick run: one of each part of it."""
FOUND = [
    (OneForAll, "Sessions of two threads"),
    (CountsNoTools, "system prompt and tools have to be in it"),
    (DropsTheTask, "lacks 'Read every page"),
    (DropsWords, "lacks 'Step 3.'"),
    (Doubles, "has 'page-000 begins.* 2 times"),
    (KeepsWhatWasSent, "lacks "),
    (SendsInAnotherOrder, "where all fits, another request is sent"),
    (LooksNothingUp, "answer of the recall tool did not reach the model"),
    (OffersNoLookUp, "No recall tool was offered"),
    (TriesOnce, "maximum context length"),
]


@pytest.mark.parametrize(
    ("broken", "said"), [*FOUND_AT_ONCE, *(pytest.param(*each, marks=pytest.mark.slow) for each in FOUND)]
)
def test_the_check_finds_what_is_wrong_with_an_integration(broken: type[Hook], said: str) -> None:
    def make(trial: Trial) -> Pad:
        hook = broken(trial.store, window=trial.window) if trial.store else None
        return Pad(trial.openai_base_url, dict(trial.tools), hook)

    # TriesOnce ends with the error of the provider's client, before the check can say anything.
    raised = BadRequestError if broken is TriesOnce else AssertionError
    with pytest.raises(raised, match=said):
        check_integration(make, steps=50, window=8_000)


def test_what_is_untouched_goes_on_as_the_identical_object() -> None:
    history = leaves(*talk(3, 2))
    adapted = Adapter(window=100_000).fit(outgoing(history))
    assert all(sent is own for sent, own in zip(adapted.messages, history, strict=True))
    assert not adapted.changed


def test_in_a_small_window_only_changed_messages_are_built_anew() -> None:
    history = leaves(*talk(6, 8, words=120))
    adapted = Adapter(window=6_000).fit(
        outgoing(history, tools=[as_function(t) for t in Adapter().recall_tools])
    )
    assert adapted.changed
    own = {id(leaf) for leaf in history}
    kept = [leaf for leaf in adapted.messages if id(leaf) in own]
    assert len(kept) > 5
    assert kept[-1] is history[-1]
    assert adapted.request is not None
    bodies = [Converted().body(leaf) for leaf in adapted.messages]
    sent = [{**body, "content": body.get("content")} for body in adapted.request["messages"]]
    assert bodies == sent, "what is built says what the dialect says"


def test_the_framework_s_own_history_is_never_changed() -> None:
    history = leaves(*talk(6, 8, words=120))
    before = [(leaf, leaf.text) for leaf in history]
    Adapter(window=6_000).fit(outgoing(history))
    assert all(leaf is was and leaf.text == text for leaf, (was, text) in zip(history, before, strict=True))


def test_the_same_history_twice_gives_the_same_and_records_nothing(tmp_path: Path) -> None:
    adapter, history = Adapter(f"sqlite:{tmp_path / 'a.db'}", window=6_000), leaves(*talk(6, 8, words=120))
    first = adapter.fit(outgoing(history))
    with adapter.session("t1") as chat:
        before = chat.stats()
    second = adapter.fit(outgoing(history))
    with adapter.session("t1") as chat:
        assert chat.stats() == before
    assert json.dumps(first.request) == json.dumps(second.request)


def test_a_reply_that_comes_twice_is_recorded_once() -> None:
    adapter, history = Adapter(window=100_000), leaves(*talk(1, 1))[:-1]
    adapted = adapter.fit(outgoing(history))
    usage = fanfold.TokenUsage(input=200, output=5)
    for _ in range(2):
        adapter.receive(adapted, Heard(messages=[Leaf("assistant", "Done.")], usage=usage))
    with adapter.session("t1") as chat:
        assert chat.stats()["entries"] == len(history) + 1
        assert chat.stats()["billed_tokens"] == 200


def test_a_reply_that_the_framework_throws_away_is_left_as_a_branch() -> None:
    adapter, history = Adapter(window=100_000), leaves(*talk(1, 1))[:-1]
    adapted = adapter.fit(outgoing(history))
    adapter.receive(adapted, Heard(messages=[Leaf("assistant", "No good.")]))
    again = adapter.fit(outgoing(history))
    assert again.messages == history
    adapter.receive(again, Heard(messages=[Leaf("assistant", "Better.")]))
    with adapter.session("t1") as chat:
        assert chat.view().messages[-1].text == "Better."


def test_going_back_in_time_forks_and_the_edits_go_along() -> None:
    adapter, history = Adapter(window=6_000), leaves(*talk(6, 8, words=120))
    adapter.fit(outgoing(history))
    other = [*history[:-1], Leaf("assistant", "Otherwise."), Leaf("user", "And now?")]
    adapted = adapter.fit(outgoing(other))
    assert adapted.messages[-1] is other[-1]
    assert len(adapted.messages) < len(other), "what was folded stays folded"


def test_two_conversations_at_once_in_one_session_never_get_each_other_s_messages() -> None:
    adapter = Adapter(window=100_000)
    histories = [[Leaf("user", f"I am number {number}.")] for number in range(6)]

    async def main() -> list[Any]:
        return await asyncio.gather(*(adapter.afit(outgoing(history)) for history in histories))

    for adapted, history in zip(asyncio.run(main()), histories, strict=True):
        assert adapted.messages == history
        assert adapted.messages[0] is history[0]


def fitted_between(adapter: Adapter, mine: list[Leaf], others: list[list[Leaf]]) -> tuple[Any, int]:
    """What `mine` becomes where each of `others` is adopted between a merge and its request; and how many merges."""
    waiting, merges = iter(others), 0
    with adapter.session("t1") as chat:
        steps = adapter._fit(chat, outgoing(mine))
        do: Any = next(steps)
        while True:
            merges += do.func == chat.merge
            other = next(waiting, None) if do.func == chat.request else None
            if other is not None:
                chat.merge([Converted().body(leaf) for leaf in other])
            try:
                do = steps.send(do())
            except StopIteration as end:
                return end.value, merges


def test_a_history_that_another_one_displaced_before_its_request_is_adopted_again() -> None:
    adapter, mine = Adapter(window=100_000, dialect="openai.chat"), [Leaf("user", "I am number 1.")]
    adapted, merges = fitted_between(adapter, mine, [[Leaf("user", "I am number 2.")]])
    assert adapted.messages[0] is mine[0]
    assert [body["content"] for body in adapted.request["messages"]] == ["I am number 1."]
    assert merges == 2


def test_a_session_that_never_settles_is_told_to_have_several_conversations() -> None:
    adapter, others = (
        Adapter(window=100_000, dialect="openai.chat"),
        [[Leaf("user", f"I am number {number}.")] for number in range(2, 40)],
    )
    with pytest.raises(fanfold.BadInput, match="several conversations at once"):
        fitted_between(adapter, [Leaf("user", "I am number 1.")], others)


def test_a_huge_output_is_built_anew_with_a_reference_and_read_again_by_it() -> None:
    adapter = Adapter(window=6_000)
    history = leaves(*talk(1, 1)[:-1])
    history[-1] = Leaf("tool", "first line\n" + BIG * 20, (), history[-1].answers)
    adapted = adapter.fit(outgoing(history, tools=[as_function(tool) for tool in adapter.recall_tools]))
    assert len(adapted.messages[-1].text) < 30_000
    assert adapted.messages[-1].extra is history[-1].extra, "what no dialect knows goes along"
    assert "o2" in adapted.messages[-1].text
    answer = adapter.recall("t1", "tool_output_cache", {"ref_id": "o2", "limit": 1})
    assert "first line" in answer


def test_results_that_a_repair_only_joined_go_on_as_they_are() -> None:
    class Claude(Converted):
        dialect = "anthropic"

        def body(self, message: Leaf) -> dict[str, Any]:
            if message.answers:
                block = {"type": "tool_result", "tool_use_id": message.answers, "content": message.text}
                return {"role": "user", "content": [block]}
            calls = [
                {"type": "tool_use", "id": id, "name": name, "input": json.loads(raw)}
                for id, name, raw in message.calls
            ]
            return {"role": message.kind, "content": [{"type": "text", "text": message.text}, *calls]}

    calls = (("c1", "look", '{"number": 1}'), ("c2", "look", '{"number": 2}'))
    history = [
        Leaf("user", "Look."), Leaf("assistant", "Yes.", calls), Leaf("tool", "one", (), "c1"),
        Leaf("tool", "two", (), "c2"),
    ]  # fmt: skip
    adapter = Adapter(window=100_000)
    adapted = adapter.fit(Outgoing(session="t1", messages=history, converter=Claude()))
    assert adapted.request is not None
    assert len(adapted.request["messages"]) == 3, "the provider wants both results in one message"
    assert [sent is own for sent, own in zip(adapted.messages, history, strict=True)] == [True] * 4
    history[2:] = [Leaf("tool", BIG * 20, (), "c1"), Leaf("tool", "two", (), "c2")]
    shorter = Adapter(window=6_000).fit(Outgoing(session="t1", messages=history, converter=Claude()))
    assert len(shorter.messages[2].text) < len(BIG)
    assert shorter.messages[3] is history[3], "the other one of the two stays"


def test_a_model_that_is_too_small_for_what_fanfold_believes_is_sent_less() -> None:
    script = [Turn(calls=[("look", {"number": number})]) for number in range(30)]
    with Provider([*script, Turn("Done.")], window=6_000) as provider:
        pad = Pad(provider.openai_base_url, {"look": look}, Hook(window=12_000))
        assert pad.run("t1", "Look.") == "Done."
        assert 0 < len(provider.rejected) < 5


def test_another_error_is_the_framework_s() -> None:
    script = [Turn(calls=[("look", {"number": number})]) for number in range(8)]
    with Provider([*script, Fail.server_error()]) as provider:
        hook = Hook(window=12_000)
        pad = Pad(provider.openai_base_url, {"look": look}, hook)
        with pytest.raises(Exception, match="server had an error"):
            pad.run("t1", "Look.")
        assert len(provider.requests) == len(script) + 1, "it is not asked again with less"
        with hook.adapter.session("t1/pad") as chat:
            assert chat.pressure().room > 6_000, "and the window is not believed to be smaller"


def test_schemas_for_structured_replies_are_counted() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"description": BIG}}}
    plain = Adapter(window=20_000).fit(outgoing(leaves(*talk(1, 1))))
    with_schema = Adapter(window=20_000).fit(
        outgoing(leaves(*talk(1, 1)), params={"response_format": schema})
    )
    assert plain.request is not None
    assert with_schema.request is not None
    assert with_schema.request.sent.tokens > plain.request.sent.tokens + 1_000


def test_what_was_erased_is_not_sent_though_the_framework_still_has_it() -> None:
    adapter, history = (
        Adapter(window=100_000),
        [Leaf("user", "My number is 4711."), Leaf("assistant", "Fine.")],
    )
    adapter.fit(outgoing(history))
    with adapter.session("t1") as chat:
        chat.erase(chat.view().rows[0].id, "asked for")
    adapted = adapter.fit(outgoing(history))
    assert "4711" not in adapted.messages[0].text
    assert adapted.messages[1] is history[1]


def test_a_session_goes_on_in_a_new_process(tmp_path: Path) -> None:
    history = leaves(*talk(6, 8, words=120))
    store = f"sqlite:{tmp_path / 'a.db'}"
    first = Adapter(store, window=6_000)
    sent = first.fit(outgoing(history)).request
    first.close()
    assert json.dumps(Adapter(store, window=6_000).fit(outgoing(history)).request) == json.dumps(sent)


def test_an_empty_history_goes_on_as_it_is() -> None:
    assert Adapter(window=6_000).fit(outgoing([])).messages == []


def test_the_options_of_the_user_win_over_what_the_framework_knows() -> None:
    adapter = Adapter(window=6_000)
    adapter.fit(outgoing(leaves(*talk(1, 1)), options={"model": "gpt-4o", "window": 99_000}))
    with adapter.session("t1") as chat:
        assert chat.pressure().room < 6_000


def test_build_gets_parts_and_wire() -> None:
    seen: list[tuple[Message, Any]] = []

    class Watched(Converted):
        def build(self, shown: Message, wire: Any, was: Leaf | None) -> Leaf:
            seen.append((shown, wire))
            return super().build(shown, wire, was)

    Adapter(window=6_000).fit(
        Outgoing(session="t", messages=leaves(*talk(6, 8, words=120)), converter=Watched())
    )
    assert seen
    assert all(wire["role"] == shown.role for shown, wire in seen)
