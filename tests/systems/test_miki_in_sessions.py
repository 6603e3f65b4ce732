"""Miki's preset: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from talking import talk

import fanfold
from builders import texts
from fanfold import BadSetting, presets, strategies, systems
from fanfold.dialects.gemini.dialect import GeminiContents
from fanfold.outputs.filters.prune import TOOLS
from fanfold.strategies.importance import score
from fanfold.testing import called, replied


@pytest.mark.requirement("C2", "C3")
@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 24), ({"profile": "short"}, 16), ({"profile": "complex"}, 40), ({"max_messages": 30}, 30)],
)
def test_miki_never_sends_more_than_its_messages(options: dict[str, Any], most: int) -> None:
    preset = presets.miki(**options)
    sent: list[int] = []
    with fanfold.open("run", preset=preset, window=100_000) as chat:
        for i in range(60):
            chat.say(f"step {i} {'error: it broke' if i == 3 else 'and so on'} " + "x" * 200)
            chat.add(replied(f"ok {i}"))
            sent.append(len(chat.request()["messages"]))
        assert most - 1 <= max(sent) <= most
        newest = [" ".join(text.split()[:2]) for text in texts(chat)[-6:]]
        assert newest == [text for i in range(57, 60) for text in (f"step {i}", f"ok {i}")]
        assert any(text.startswith("step 3 error") for text in texts(chat))
    with pytest.raises(BadSetting, match=r"There is no profile 'shrt'\. Did you mean 'short'"):
        presets.miki(profile="shrt")


def step(chat: fanfold.Session, kind: str, number: int, size: int) -> None:
    """One step of an agent: words, calls at once, or a note beside them."""
    if kind == "calls":
        ids = [f"c{number}.{i}" for i in range(size % 4 + 1)]
        chat.add(replied(None, *(called(id, "click") for id in ids)))
        for id in ids:
            chat.answer(id, "x" * size)
        return
    chat.add(replied("ok" + "x" * size))
    chat.say("go" + "x" * size)
    if kind == "note":
        chat.note("snapshot", f'{{"goal":"{number}"}}')


@pytest.mark.requirement("C3")
@given(
    st.lists(
        st.tuples(st.sampled_from(("words", "calls", "note")), st.sampled_from((0, 1, 9, 90))), max_size=40
    )
)
@example([("words", 0), ("words", 0), ("words", 0), ("calls", 90), ("words", 0), ("calls", 90)])
def test_a_short_task_sends_sixteen_messages_at_most_whatever_they_are(steps: list[tuple[str, int]]) -> None:
    """(19.24) Messages of a word save nothing when they leave; the limit holds for them too."""
    with fanfold.open("run", preset=presets.miki(profile="short"), window=100_000) as chat:
        chat.say("go")
        for number, (kind, size) in enumerate(steps):
            step(chat, kind, number, size)
            assert len(chat.request()["messages"]) <= 16


@pytest.mark.requirement("C3")
def test_a_short_task_of_the_shortest_messages_sends_sixteen_at_most() -> None:
    """(19.24) It sent 45."""
    with fanfold.open("run", preset=presets.miki(profile="short"), window=100_000) as chat:
        sent = []
        for _ in range(60):
            chat.say("go")
            sent.append(len(chat.request()["messages"]))
            chat.add(replied("ok"))
        assert max(sent) <= 16
        assert texts(chat)[-3:] == ["ok", "go", "ok"]


PARTS: dict[str, dict[str, Any]] = {
    "words": {"text": "hello"},
    "a thought in words": {"text": "I think so"},
    "a plan in words": {"text": "my plan"},
    "an error": {"text": "エラー"},
    "completion": {"text": "完了"},
    "planning": {"functionCall": {"name": "think", "args": {"phase": "planning"}}},
    "thinking": {"functionCall": {"name": "think", "args": {"phase": "executing"}}},
    "a dump asked for": {"functionCall": {"name": "elementsJson", "args": {}}},
    "another call": {"functionCall": {"name": "click", "args": {"on": "error"}}},
    "the end": {"functionCall": {"name": "done", "args": {}}},
    "a dump": {"functionResponse": {"name": "webElements", "response": {"elements": []}}},
    "a failure": {"functionResponse": {"name": "click", "response": {"error": "no such button"}}},
    "a picture": {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
}


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("pair", list(combinations_with_replacement(PARTS, 2)), ids="+".join)
def test_the_presets_scorer_agrees_with_the_document(pair: tuple[str, str]) -> None:
    """(19.24) The plain function does what the document says; so does what the preset ranks by."""
    role = "user" if any("functionResponse" in PARTS[name] for name in pair) else "model"
    body = {"role": role, "parts": [PARTS[name] for name in dict.fromkeys(pair)]}
    assert score(GeminiContents().message(body)) == systems.importance(body)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    ("words", "document", "preset"),
    [
        ("An error.", 0.8, 0.8),
        ("エラーです", 0.8, 0.8),
        ("完了しました", 0.8, 0.8),
        ("It failed.", 0.5, 0.8),
        ("Traceback (most recent call last)", 0.5, 0.8),
        ("I am done with the search.", 0.5, 0.8),
        ("An error occurred, and the work is finished.", 0.8, 1.1),
        ("It was a night of terror.", 0.8, 0.5),
        ("I see two errors.", 0.8, 0.5),
        ("I think so.", 0.5, 0.5),
    ],
)
def test_the_presets_scorer_knows_more_words_and_only_whole_ones(
    words: str, document: float, preset: float
) -> None:
    """(19.24) The page on Miki says where the two differ, and this is all."""
    body = {"role": "model", "parts": [{"text": words}]}
    assert systems.importance(body) == document
    assert score(GeminiContents().message(body)) == preset


@pytest.mark.requirement("C2")
def test_miki_sends_whole_blocks() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.say("go")
        for i in range(40):
            chat.add(replied(None, called(f"c{i}", "click")))
            chat.answer(f"c{i}", "ok" if i % 7 else "error: no such button")
            chat.request()
        shown = chat.view().messages
        assert [c.id for m in shown for c in m.calls] == [r.call for m in shown for r in m.results]


@pytest.mark.requirement("C1")
def test_a_scorer_that_fails_keeps_no_request_from_going_out() -> None:
    def failing(message: fanfold.Message) -> float:
        raise KeyError("score")

    told: list[fanfold.Outcome] = []
    with fanfold.open("run", preset=presets.miki(scorer=failing), window=3_000, on_edit=told.append) as chat:
        talk(chat, 40)
        chat.say("next")
        chat.request(max_tokens=100)
        assert chat.pressure().tokens <= 2_900
    assert told[0].error is not None
    assert "KeyError: 'score'" in told[0].error, "and it is told"


@pytest.mark.requirement("C4")
def test_miki_prunes_ui_trees_and_clips_other_data() -> None:
    tree = {
        "elements": [{"role": "AXButton", "title": str(i), "help": "h", "children": []} for i in range(300)]
    }
    with fanfold.open("run", preset="miki", window=1_000_000) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", TOOLS[0]), called("c2", "cat")))
        chat.answer("c1", json.dumps(tree))
        chat.answer("c2", "word\n" * 4_000)
        first, second = (result.text for message in chat.view().messages for result in message.results)
        assert first.count("AXButton") == 200
        assert '"help"' not in first
        assert len(second) <= 2_000


@pytest.mark.requirement("C3")
@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("東京都の天気\n" * 285, 1_995),
        ("東" * 1_000, 1_000),
        ("東" * 1_001, 1_250),
        ("東京都の天気\n" * 286, 2_000),
        ("word\n" * 1_000_000, 2_000),
        (iter([b"word\n" * 1_000] * 1_000), 2_000),
    ],
    ids=["as much as fits", "a whole line", "a long line", "a little more", "much more", "a stream"],
)
def test_miki_shows_two_thousand_characters_of_data_in_any_script(output: Any, shown: int) -> None:
    with fanfold.open("run", preset="miki", window=1_000_000) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        chat.answer("c1", output)
        (result,) = [result.text for message in chat.view().messages for result in message.results]
        assert shown * 0.7 <= len(result) <= shown


@pytest.mark.requirement("C5")
def test_a_snapshot_survives_every_reduction_and_can_be_read_back() -> None:
    with fanfold.open("run", preset="miki", window=20_000) as chat:
        chat.say("Open Safari and search.")
        chat.note("snapshot", strategies.updated(chat.view(), goal="search", completed_actions=[]))
        talk(chat, 20)
        chat.request()
        chat.note("snapshot", strategies.updated(chat.view(), completed_actions=["osa", "click"]))
        talk(chat, 20)
        chat.compact(force=True)
        assert strategies.noted(chat.view()) == {"goal": "search", "completed_actions": ["osa", "click"]}
        assert "osa" in "".join(texts(chat)), "and the model sees it"


@pytest.mark.requirement("C6")
def test_miki_counts_a_quarter_of_the_characters() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.say("x" * 40)
        assert chat.pressure().tokens == 10
        assert chat.stats()["entries"] == 1


@pytest.mark.requirement("C8")
def test_a_reset_starts_a_new_task_cleanly() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.pin(chat.say("Never touch lexer.py.").id)
        talk(chat, 20)
        chat.note("snapshot", '{"goal":"old"}')
        chat.add(replied(None, called("c1", "click")))
        chat.request()
        chat.reset()
        assert (texts(chat), chat.stats()["snapshot"], chat.pressure().pinned) == ([], False, 0)
        with pytest.raises(fanfold.NotFound, match="No call 'c1' waits"):
            chat.answer("c1", "too late")
        chat.say("a new task")
        assert texts(chat) == ["a new task"]
        assert chat.compact(force=True).status == "noop"
