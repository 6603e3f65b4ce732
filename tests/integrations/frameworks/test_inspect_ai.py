"""The compaction strategy in agents of Inspect AI, with the real client that talks to the scripted provider."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import as_tool, react
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentData,
    ContentDocument,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
    Model,
    ResponseSchema,
    compaction,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolCallError, ToolDef, ToolInfo
from inspect_ai.util import JSONSchema

import fanfold
from fanfold.dialects.registry import dialect_named
from fanfold.integrations.inspect_ai import CHAT, CLAUDE, FanfoldCompaction
from fanfold.testing import check_integration
from fanfold.testing.integrations import Trial, look
from fanfold.testing.provider import Provider, Turn
from fanfold.tokens.vocabulary import counter
from tests.integrations.frameworks.common import imported_with

COUNT = counter("o200k")


async def count_text_tokens(text: str) -> int:
    """Inspect counts so too, but first fetches the table from the network."""
    return int(COUNT(text) * 1.1)


def openai(base_url: str) -> Model:
    model = get_model(
        "openai/gpt-4o", base_url=base_url, api_key="any", memoize=False, responses_api=False, max_retries=0
    )
    model.api.count_text_tokens = count_text_tokens
    return model


def mock() -> Model:
    model = get_model("mockllm/model", memoize=False)
    model.api.count_text_tokens = count_text_tokens
    return model


def tool_of(function: Any) -> Any:
    return ToolDef(function, parameters={"number": "Which one."})


class InspectAgent:
    """An agent of Inspect's for the check."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.fold = FanfoldCompaction(store=trial.store, window=trial.window) if trial.store else None
        self.histories: dict[str, list[Any]] = {}

    def run(self, thread: str, text: str, mode: str) -> str:
        async def read(number: int) -> str:
            """Look at a page."""
            return look(number)

        recall = self.fold.tools() if self.fold else []
        look_tool = ToolDef(read, name="look", parameters={"number": "Which page."})
        agent = react(prompt="You read.", tools=[look_tool, *recall], compaction=self.fold, submit=False)
        sample = evaluated(agent, openai(self.trial.openai_base_url), text, thread)
        self.histories[thread] = sample.messages
        return str(sample.output.completion)

    def history(self, thread: str) -> str:
        return "\n".join(message.text for message in self.histories[thread])

    def close(self) -> None:
        if self.fold is not None:
            self.fold.close()


def evaluated(agent: Any, model: Model, text: str, id: str = "s1") -> Any:
    task = Task(dataset=[Sample(input=text, id=id)], solver=agent, name="reading")
    log = eval(task, model=model, log_dir=mkdtemp(), display="none")[0]
    assert log.status == "success", log.error
    return log.samples[0]


def test_an_agent_keeps_every_promise() -> None:
    check_integration(InspectAgent, every_request=False)


# The strategy by itself, as Inspect's own loop asks it


def calling(*numbers: int, thought: str = "") -> ChatMessageAssistant:
    calls = [
        ToolCall(id=f"call_{number}", function="look", arguments={"number": number}) for number in numbers
    ]
    thoughts = [ContentReasoning(reasoning=thought, signature="sealed")] if thought else []
    return ChatMessageAssistant(content=[*thoughts, ContentText(text="I look.")], tool_calls=calls)


def answering(number: int, text: str = "") -> ChatMessageTool:
    return ChatMessageTool(content=text or look(number), tool_call_id=f"call_{number}", function="look")


def history(steps: int) -> list[Any]:
    begin = [ChatMessageSystem(content="You read."), ChatMessageUser(content="Read every page.")]
    return [*begin, *(one for number in range(steps) for one in (calling(number), answering(number)))]


TOOLS = [ToolInfo(name="look", description="Look at a page.")]


def compact(fold: FanfoldCompaction, messages: list[Any], model: Model | None = None) -> list[Any]:
    sent, added = asyncio.run(fold.compact(model or mock(), messages, TOOLS))
    assert added is None
    return sent


def test_the_history_stays_whole_though_the_model_got_less() -> None:
    messages = history(30)
    texts = [message.text for message in messages]
    sent = compact(FanfoldCompaction(window=6_000), messages)
    assert [message.text for message in messages] == texts
    assert sum(len(message.text) for message in sent) < sum(map(len, texts)) / 2


def test_untouched_messages_are_the_identical_objects_and_changed_ones_have_ids_of_their_own() -> None:
    messages = history(30)
    sent = compact(FanfoldCompaction(window=6_000), messages)
    assert sent[0] is messages[0]
    assert sent[-2:] == messages[-2:]
    assert all(a is b for a, b in zip(sent[-2:], messages[-2:], strict=True))
    changed = [message for message in sent if not any(message is own for own in messages)]
    assert changed
    assert {message.id for message in changed}.isdisjoint(message.id for message in messages)


def test_what_was_returned_is_known_again_when_it_comes_with_more_behind_it() -> None:
    fold, messages = FanfoldCompaction(window=6_000), history(30)
    first = compact(fold, messages)
    more = [one for number in range(30, 60) for one in (calling(number), answering(number))]
    second = compact(fold, [*first, *more])
    with fold.session(fold.session_of(messages)) as chat:
        assert chat.branches == ()
        assert chat.stats()["entries"] == len(messages) + len(more) - 1
    assert len(second) < len(first) + len(more)


def test_messages_that_inspect_joined_are_known_again() -> None:
    fold, messages = FanfoldCompaction(window=6_000), history(30)
    first = compact(fold, messages)
    joined = ChatMessageUser(content="both", metadata={"combined_from": [first[1].id, first[2].id]})
    compact(fold, [first[0], joined, *first[3:], calling(30), answering(30)])
    with fold.session(fold.session_of(messages)) as chat:
        assert chat.stats()["entries"] == len(messages) + 2 - 1


def test_it_is_shortened_though_fanfold_alone_would_find_that_it_fits() -> None:
    messages = history(30)
    sent = compact(FanfoldCompaction(window=100_000), messages)
    assert sum(len(message.text) for message in sent) < sum(len(message.text) for message in messages)


def test_asked_again_with_nothing_new_it_shortens_more() -> None:
    fold, messages = FanfoldCompaction(window=16_000), history(40)
    first = compact(fold, messages)
    second = compact(fold, first)
    assert sum(len(message.text) for message in second) < sum(len(message.text) for message in first)


def called(messages: list[Any]) -> list[str]:
    return [call.id for message in messages for call in getattr(message, "tool_calls", None) or ()]


def entries(fold: FanfoldCompaction, messages: list[Any]) -> int:
    """How many messages the conversation has that was asked for last, without the system prompt."""
    with fold.session(fold.session_of(messages)) as chat:
        return sum(len(row.covers) for row in chat.view().rows)


def test_going_back_in_time_forks_and_both_ways_go_on() -> None:
    fold, messages = FanfoldCompaction(window=6_000), history(30)
    first = compact(fold, messages)
    more = [one for number in range(60, 90) for one in (calling(number), answering(number))]
    other = [*messages[:20], *more]
    second = compact(fold, other)
    assert second[-1] is other[-1]
    assert set(called(second)) <= set(called(other)), "what was taken back is not sent"
    assert entries(fold, messages) == len(other) - 1
    later = [one for number in range(30, 50) for one in (calling(number), answering(number))]
    third = compact(fold, [*first, *later])
    assert set(called(third)) <= set(called([*messages, *later]))
    assert entries(fold, messages) == len(messages) + len(later) - 1


def test_asked_twice_it_answers_the_same_and_records_nothing_twice() -> None:
    """Inspect tries a request again inside its model; where an agent asks again, its loop knows the answer."""

    async def main() -> None:
        fold, messages = FanfoldCompaction(window=8_000), history(40)
        handler = compaction(fold, messages[:2], TOOLS, mock())
        one, two = [(await handler.compact_input(messages))[0] for _ in range(2)]
        assert [message.id for message in one] == [message.id for message in two]
        async with fold.session(fold.session_of(messages)) as chat:
            figures = await chat.stats()
            assert (figures["entries"], chat.branches) == (len(messages) - 1, ())

    asyncio.run(main())


def test_the_schema_of_a_structured_reply_is_counted() -> None:
    reply = JSONSchema(type="object", properties={"why": JSONSchema(description="Say why. " * 500)})
    counted = []
    for schema in (None, ResponseSchema(name="reply", json_schema=reply)):
        fold, messages, model = FanfoldCompaction(window=100_000), history(3), mock()
        model.config.response_schema = schema
        compact(fold, messages, model)
        with fold.session(fold.session_of(messages)) as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


def test_calls_that_could_not_be_read_stay_paired() -> None:
    broken = ToolCall(id="call_9", function="look", arguments={"raw": '{"number": '}, parse_error="no JSON")
    answer = ChatMessageTool(
        content="", tool_call_id="call_9", function="look", error=ToolCallError("parsing", "no JSON")
    )
    messages = [*history(30), ChatMessageAssistant(content="", tool_calls=[broken]), answer]
    sent = compact(FanfoldCompaction(window=6_000), messages)
    assert sent[-2:] == messages[-2:]
    assert called(sent) == [message.tool_call_id for message in sent if message.role == "tool"]


def test_parallel_calls_and_failures_stay_paired() -> None:
    failed = answering(2)
    failed.error = ToolCallError("timeout", "It took too long.")
    steps = [calling(1, 2), answering(1, "a line of words\n" * 9_000), failed]
    messages = [ChatMessageUser(content="Look."), calling(3), answering(3), *steps]
    sent = compact(FanfoldCompaction(window=8_000), messages)
    answered = [message.tool_call_id for message in sent if message.role == "tool"]
    assert called(sent) == answered == ["call_3", "call_1", "call_2"]
    assert next(message for message in sent if getattr(message, "tool_call_id", "") == "call_2").error


def test_a_shortened_failure_is_still_a_failure() -> None:
    own = answering(1)
    own.error = ToolCallError("timeout", "It took too long.")
    shown = fanfold.Message("user", (fanfold.Result("call_1", (fanfold.Text("short"),)),))
    built = CHAT.build(shown, None, own)
    assert built.error == ToolCallError("timeout", "short")
    assert own.error.message == "It took too long."


def test_thoughts_pictures_and_their_signatures_are_told() -> None:
    thinking = CLAUDE.body(calling(1, thought="hm"))["content"]
    assert thinking[0] == {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    picture = ChatMessageUser(
        content=[ContentText(text="See."), ContentImage(image="data:image/png;base64,AA==")]
    )
    assert CLAUDE.body(picture)["content"][1]["source"]["data"] == "AA=="
    assert CHAT.body(picture)["content"][1]["image_url"]["url"] == "data:image/png;base64,AA=="


def test_an_agent_of_claude_that_thinks_keeps_its_thoughts_in_the_running_loop() -> None:
    messages = [ChatMessageUser(content="Read.")]
    for number in range(30):
        messages += [calling(number, thought=f"page {number}?"), answering(number)]
    model = get_model("anthropic/claude-sonnet-4-6", api_key="any", memoize=False)
    sent = compact(FanfoldCompaction(window=8_000), messages, model)
    first = next(message for message in sent if message.role == "assistant")
    assert isinstance(first.content[0], ContentReasoning)
    assert first.content[0].signature == "sealed"


def test_inspect_s_own_loop_accepts_it_again_and_again() -> None:
    """`compaction()` is what agents other than react use; it raises where too little was taken away."""

    async def main() -> tuple[int, int]:
        fold = FanfoldCompaction(window=8_000)
        begin = history(0)
        handler, messages, most = compaction(fold, begin, TOOLS, mock()), list(begin), 0
        for number in range(60):
            messages += [calling(number), answering(number)]
            sent, added = await handler.compact_input(messages)
            assert added is None
            most = max(most, await mock().count_tokens(sent))
        return most, len(messages)

    most, kept = asyncio.run(main())
    assert most < 8_000
    assert kept == 122


def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    """Inspect's checkpoint has what was sent last; references in it are looked up as before."""
    store = f"sqlite:{tmp_path / 'a.db'}"
    first = FanfoldCompaction(store=store, window=6_000)
    messages = history(30)
    sent = compact(first, messages)
    first.close()
    later = FanfoldCompaction(store=store, window=6_000)

    async def main() -> str:
        more = [one for number in range(30, 50) for one in (calling(number), answering(number))]
        await later.compact(mock(), [*sent, *more], TOOLS)
        read = next(tool for tool in later.tools() if ToolDef(tool).name == "tool_output_cache")
        return str(await read(ref_id="o1"))

    assert "page-000 begins" in asyncio.run(main())


def test_samples_and_sub_agents_have_sessions_of_their_own(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    fold = FanfoldCompaction(store=store, window=6_000)
    done = [0]

    def script(request: Any) -> Turn:
        chief = "You lead." in str(request.body)
        steps = sum(message["role"] == "assistant" for message in request.body["messages"])
        if chief and steps < 1:
            return Turn(calls=[("seeker", {"input": "Seek."})])
        if done[0] < 40 and not chief:
            done[0] += 1
            return Turn(calls=[("look", {"number": done[0]})])
        if chief and done[0] < 80:
            done[0] += 1
            return Turn(calls=[("look", {"number": done[0]})])
        return Turn("Done.")

    async def read(number: int) -> str:
        """Look at a page."""
        return look(number)

    page = ToolDef(read, name="look", parameters={"number": "Which page."})
    seeker = react(
        name="seeker", description="Seeks.", prompt="You seek.", tools=[page], compaction=fold, submit=False
    )
    chief = react(prompt="You lead.", tools=[page, as_tool(seeker)], compaction=fold, submit=False)
    with Provider(script, window=100_000) as provider:
        evaluated(chief, openai(provider.openai_base_url), "Go.")
    fold.close()
    names = [summary.name for summary in fanfold.Pool(store).summaries()]
    assert len(names) == 2
    assert all(name.startswith("reading/s1/1/") for name in names)


def test_before_anything_was_trimmed_the_recall_tools_say_so() -> None:
    read = FanfoldCompaction(window=6_000).tools()[0]
    assert "Nothing of this conversation was trimmed yet" in asyncio.run(read(ref_id="o1"))


def test_tools_are_counted() -> None:
    counted = []
    for tools in (TOOLS, [ToolInfo(name="look", description="Look at a page. " * 500)]):
        fold = FanfoldCompaction(window=100_000)
        messages = history(3)
        asyncio.run(fold.compact(mock(), messages, tools))
        with fold.session(fold.session_of(messages)) as chat:
            counted.append(chat.sent(0)[0].tokens)
    assert counted[1] > counted[0] + 300


@pytest.mark.parametrize(
    ("given", "threshold"), [({}, 0.85), ({"window": 16_000}, 13_600), ({"threshold": 0.5}, 0.5)]
)
def test_the_threshold_follows_the_window(given: Any, threshold: float) -> None:
    assert FanfoldCompaction(**given).threshold == threshold


def test_importing_it_imports_no_other_integration() -> None:
    assert not imported_with("inspect_ai")


def test_the_example_runs() -> None:
    path = Path(__file__).parents[3] / "examples" / "integrations" / "inspect_ai_task.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "82 messages in the log" in done.stdout


@pytest.mark.parametrize("converter", [CHAT, CLAUDE])
def test_pictures_and_files_in_results_are_told_and_stay_beside_shorter_words(converter: Any) -> None:
    others = [
        ContentImage(image="data:image/png;base64,AA=="),
        ContentVideo(video="data:video/mp4;base64,AA==", format="mp4"),
        ContentDocument(document="data:application/pdf;base64,AA==", filename="x.pdf"),
        ContentData(data={"any": "thing"}),
    ]
    own = ChatMessageTool(
        content=[ContentText(text="See. " * 99), *others], tool_call_id="c1", function="look"
    )
    dialect = dialect_named(converter.dialect)
    read = dialect.message(converter.body(own))
    assert not dialect.faults(read)
    parts = (fanfold.Text("short"), *read.results[0].parts[1:])
    built = converter.build(fanfold.Message("tool", (fanfold.Result("c1", parts),)), None, own)
    assert built.content[0].text == "short"
    assert all(a is b for a, b in zip(built.content[1:], others, strict=True))
