"""codelia's requirements that only a real session can meet."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import fanfold
from fanfold.loop import run
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
    with fanfold.open("run", preset="codelia", window=20_000, ask=model) as chat:
        for i in range(4):
            chat.say(f"question {i} " + "word " * 40)
            chat.add(replied(f"answer {i} " + "word " * 40))
        chat.add(replied("I look.", called("c1", "ls")))
        chat.compact(force=True)
    (question,) = model.asked
    assert not any(message.calls for message in question.messages)


@pytest.mark.requirement("A18")
def test_in_a_loop_it_compacts_after_a_reply_after_the_tools_and_before_the_end() -> None:
    """After each of the three, the next request finds the view within its trigger, and reduces nothing itself."""
    big = "word " * 1_500
    replies = [
        response(replied(big, called("c1", "look"))),
        response(replied("more", called("c2", "look"))),
        response(replied(big)),
    ]
    told: list[str] = []
    points: list[str] = []

    def send(request: dict[str, Any]) -> Any:
        points.append("sent")
        return replies[points.count("sent") - 1]

    def look() -> str:
        points.append("ran")
        return big

    def edited(outcome: fanfold.Outcome) -> None:
        told.append("".join(point[0] for point in points))

    with fanfold.open(
        "run", preset="codelia", window=6_000, ask=FakeModel("<summary>s</summary>"), on_edit=edited
    ) as chat:
        chat.say("go " + big)
        chat.add(replied("first " + "word " * 100))
        chat.say("and on")
        reply = run(chat, send, {"look": look})
        assert reply.done
        assert told, "it compacted"
        assert points == ["sent", "ran", "sent", "ran", "sent"]
        assert chat.pressure().tokens < 4_800, "also after the last reply"
        assert told[-1] == "srsrs", "once before the end"
