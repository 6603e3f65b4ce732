"""codelia's requirements that only a real session can meet."""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import fanfold
from fanfold.config.events import Event, Reducing
from fanfold.session.loop import POINTS, Point, run
from fanfold.systems import codelia
from fanfold.testing import FakeModel, called, replied, response, said
from fanfold.testing.provider import Provider, Turn

MEBIBYTE = 1 << 20


@pytest.mark.requirement("A8")
def test_reading_and_searching_a_long_output_takes_little_memory(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        for block in range(64):
            yield (f"block {block} ".encode() + b"." * 100 + b"\n") * 9_000

    with fanfold.open("run", preset="codelia", window=90_000, store=f"sqlite:{tmp_path / 'a.db'}") as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        tracemalloc.start()
        chat.answer("c1", chunks())
        output = chat.outputs()[0]
        assert output.size > 60 * MEBIBYTE
        assert output.lines(500_000, 2)[0].startswith("block 55 ")
        assert next(iter(output.grep("block 63 "))).line == 567_001
        assert tracemalloc.get_traced_memory()[1] < 24 * MEBIBYTE
        tracemalloc.stop()


@pytest.mark.requirement("A8")
def test_pictures_among_the_outputs_are_kept_whole() -> None:
    with fanfold.open("run", preset="codelia", window=90_000) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "shot")))
        chat.answer("c1", [fanfold.Image(media="image/png", data="iVBORw0KGgo=")])
        (result,) = [result for message in chat.view().messages for result in message.results]
        assert result.parts == (fanfold.Image(media="image/png", data="iVBORw0KGgo="),)


@pytest.mark.requirement("A14")
def test_an_unanswered_call_at_the_end_makes_a_provider_answer_400_unless_it_is_prepared() -> None:
    history: list[dict[str, Any]] = [said("go"), replied("I look.", called("c1", "ls"))]
    interrupt = said("Sum it up.")
    with (
        Provider(Turn("fine")) as provider,
        openai.OpenAI(api_key="none", base_url=provider.openai_base_url) as client,
    ):
        with pytest.raises(openai.BadRequestError, match="tool_call"):
            client.chat.completions.create(model="gpt-4o", messages=[*history, interrupt])
        prepared = codelia.prepare_for_summary(history)
        assert client.chat.completions.create(model="gpt-4o", messages=[*prepared, interrupt]).choices


@pytest.mark.requirement("A14")
def test_a_question_to_a_model_never_holds_an_unanswered_call() -> None:
    model = FakeModel("<summary>s</summary>")
    with fanfold.open("run", preset="codelia", window=20_000, summarizer=model) as chat:
        for i in range(4):
            chat.say(f"question {i} " + "word " * 40)
            chat.add(replied(f"answer {i} " + "word " * 40))
        chat.add(replied("I look.", called("c1", "ls")))
        chat.compact(force=True)
    (question,) = model.asked
    assert not any(message.calls for message in question.messages)


BIG = "word " * 2_500
LOOKS = replied("I look.", called("c1", "look"))


def reductions(points: Collection[Point], *replies: dict[str, Any], output: str = "nothing") -> list[str]:
    """When a loop reduced: what had been [s]ent and [r]un by then, or that a request was under [p]ressure."""
    happened: list[str] = []
    begun: list[str] = []

    def send(request: dict[str, Any]) -> Any:
        happened.append("s")
        return replies[happened.count("s") - 1]

    def look() -> str:
        happened.append("r")
        return output

    def told(event: Event) -> None:
        if isinstance(event, Reducing):
            begun.append("".join(happened))

    hooks = fanfold.Hooks(on_pressure=lambda _: happened.append("p"), on_event=told)
    model = FakeModel("<summary>s</summary>")
    with fanfold.open("run", preset="codelia", window=6_000, summarizer=model, hooks=hooks) as chat:
        for number in range(3):
            chat.say(f"old {number} " + "word " * 900)
            chat.add(replied("Noted."))
        chat.say("go")
        assert run(chat, send, {"look": look}, points=points, max_tokens=200).done
    return begun


@pytest.mark.requirement("A18")
@pytest.mark.parametrize(
    ("points", "begun"), [(("reply",), ["s"]), (("tools",), ["sr"]), (("end",), ["srp"]), ((), ["srp"])]
)
def test_after_a_reply_that_fills_the_window(points: Collection[Point], begun: list[str]) -> None:
    replies = response({**LOOKS, "content": BIG}), response(replied("Done."))
    assert reductions(points, *replies) == begun


@pytest.mark.requirement("A18")
@pytest.mark.parametrize(("points", "begun"), [(POINTS, ["sr"]), (("tools",), ["sr"]), (("reply",), ["srp"])])
def test_after_tools_that_fill_the_window(points: Collection[Point], begun: list[str]) -> None:
    replies = response(LOOKS), response(replied("Done."))
    assert reductions(points, *replies, output="word\n" * 2_000) == begun


@pytest.mark.requirement("A18")
@pytest.mark.parametrize(
    ("points", "begun"), [(POINTS, ["s"]), (("end",), ["s"]), (("tools",), []), ((), [])]
)
def test_once_before_the_final_return(points: Collection[Point], begun: list[str]) -> None:
    assert reductions(points, response(replied(BIG))) == begun


@pytest.mark.requirement("A10", "A18")
@pytest.mark.parametrize(("prompt", "begun"), [(3_200, []), (4_900, ["s"])])
def test_it_is_judged_by_the_last_usage(prompt: int, begun: list[str]) -> None:
    """Counted, the view is far below its 4,800 tokens; only the bill may say that they are reached."""
    assert reductions(("reply",), response(replied("Done."), prompt=prompt)) == begun


@pytest.mark.requirement("A7")
def test_an_output_that_a_compaction_left_without_a_reference_is_deleted_if_told() -> None:
    model = FakeModel("<retain>the log is o1</retain><summary>both were read</summary>")
    with fanfold.open("run", preset="codelia", window=40_000, summarizer=model) as chat:
        for number in (1, 2):
            chat.say(f"Read file {number}.")
            chat.add(replied(None, called(f"c{number}", "cat")))
            chat.answer(f"c{number}", f"file {number}\n" + "word\n" * 20_000)
            chat.add(replied("Read."))
        first, second = sorted(output.ref for output in chat.outputs())
        assert not chat.gc(), "both are shown"
        chat.say("Go on.")
        chat.compact(force=True)
        (garbage,) = chat.gc().hidden
        assert garbage.refs == (f"run/{second}",), "the summary names the other"
        assert chat.output(second).text().startswith("file 2"), "listed, not deleted"
        assert not chat.gc(delete=True), "an undo may want it back"
        assert chat.gc(delete=True, hidden=True).hidden == (garbage,)
        assert not chat.gc()
        with pytest.raises(fanfold.Gone):
            chat.output(second).text()
        assert chat.output(first).text().startswith("file 1")
