"""Gemini CLI's plain functions: the cases are written from its document."""

from __future__ import annotations

from typing import Any

import pytest

from fanfold import BadInput
from fanfold.systems import compress, estimate_tokens, find_split_point, gemini_cli
from fanfold.systems.gemini_cli import CompressionStatus
from scripts import write_systems

Content = dict[str, Any]


def said(role: str, text: str = "0123456789") -> Content:
    return {"role": role, "parts": [{"text": text}]}


def called() -> Content:
    return {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}


def answered() -> Content:
    return {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {}}}]}


def talk(turns: int) -> list[Content]:
    return [said(role) for _ in range(turns) for role in ("user", "model")]


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.1, float("nan")])
def test_a_fraction_lies_strictly_between_0_and_1(fraction: float) -> None:
    with pytest.raises(BadInput, match="Fraction must be between 0 and 1"):
        find_split_point(talk(3), fraction)


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(
    ("contents", "fraction", "point"),
    [
        ([], 0.5, 0),
        ([said("user")], 0.5, 0),
        ([said("model")], 0.5, 1),
        (talk(5), 0.7, 8),  # 7 of 10 are behind the target only at the next user message
        (talk(5), 0.01, 2),
        (talk(5), 0.95, 10),  # no user message after the target, and the model had the last word
        ([*talk(2), said("user")], 0.9, 4),
        ([*talk(2), said("user"), called()], 0.99, 4),  # a call is under way: up to the last legal split
        ([said("user"), called(), answered(), called(), answered()], 0.7, 0),
        ([answered(), answered()], 0.5, 0),
        ([said("user"), called(), answered(), said("model")], 0.7, 4),
        ([{"role": "user"}, {"role": "model", "parts": None}], 0.5, 2),
        (
            [*talk(1), {"role": "user", "parts": [{"functionResponse": {}}]}],
            0.5,
            0,
        ),  # empty, and there all the same
        ([*talk(1), {"role": "model", "parts": [{"functionCall": {}}]}], 0.9, 0),
        ([*talk(1), {"role": "model", "parts": [{"text": "so", "functionCall": None}]}], 0.9, 3),
    ],
)
def test_where_a_history_is_split(contents: list[Content], fraction: float, point: int) -> None:
    assert find_split_point(contents, fraction) == point


@pytest.mark.requirement("D4")
def test_a_split_may_lie_exactly_at_the_target() -> None:
    contents = [said("user", "a" * 8), said("user", "a" * 8), said("user", "b" * 8), said("user", "b" * 8)]
    assert [find_split_point(contents, fraction) for fraction in (0.25, 0.5, 0.500001, 0.75)] == [1, 2, 3, 3]


@pytest.mark.requirement("D4")
def test_characters_are_counted_as_javascript_counts_them() -> None:
    wide = said("user", "𝄞" * 20)  # two units each
    assert find_split_point([wide, said("user", "x" * 40), said("user", "")], 0.38) == 1


@pytest.mark.requirement("D1")
def test_limits_of_models() -> None:
    names = ("gemini-1.5-pro", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "another", None)
    assert [gemini_cli.token_limit(name) for name in names] == [2_097_152, *[1_048_576] * 5]
    assert (gemini_cli.COMPRESSION_THRESHOLD, gemini_cli.PRESERVE_THRESHOLD) == (0.5, 0.3)


@pytest.mark.requirement("D2")
def test_estimates_by_script() -> None:
    assert estimate_tokens([], "gemini_cli") == 0
    assert estimate_tokens([{"text": "abcdefgh"}], "gemini_cli") == 2
    assert estimate_tokens([{"text": "東京" * 5}], "gemini_cli") == 13
    assert estimate_tokens([{"text": "abc"}, {"text": "東"}], "gemini_cli") == 2, "0.75 + 1.3, cut down once"
    assert gemini_cli.estimate_tokens([{"text": "東京" * 5}], other=1.5) == 15
    assert estimate_tokens([{"functionCall": {"name": "ls", "args": {}}}], "gemini_cli") == 10
    assert estimate_tokens([{}, {"text": ""}, {"text": None}], "gemini_cli") == 3


@pytest.mark.requirement("D2")
@pytest.mark.parametrize(
    ("request_", "tokens"),
    [("", 0), ("abcdefghijkl", 3), ("ab東京", 3), (["ab", {"text": "東京"}], 3), ({"text": "abcdefgh"}, 2)],
)
def test_a_request_may_be_a_text_a_part_or_several(request_: Any, tokens: int) -> None:
    assert estimate_tokens(request_, "gemini_cli") == tokens


@pytest.mark.requirement("D3")
def test_a_request_of_more_than_95_percent_of_what_remains_is_due() -> None:
    assert not gemini_cli.nearly_full(950, 1_000)
    assert gemini_cli.nearly_full(951, 1_000)


@pytest.mark.requirement("D6")
def test_each_model_has_its_compression_model() -> None:
    names = ("gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gpt-5")
    assert [gemini_cli.compression_model(name) for name in names] == [
        "chat-compression-3-pro",
        "chat-compression-2.5-pro",
        "chat-compression-2.5-flash",
        "chat-compression-2.5-flash-lite",
        "chat-compression-default",
    ]
    assert gemini_cli.compression_model("gpt-5", {"gpt-5": "mine"}) == "mine"


class Generated:
    """Answers with a text, and keeps what was asked."""

    def __init__(self, text: str = "short") -> None:
        self.text = text
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        self.asked.append(request)
        return {"candidates": [{"content": {"parts": [{"text": self.text}]}}]}


def status(result: dict[str, Any]) -> str:
    return str(result["info"]["compressionStatus"])


@pytest.mark.requirement("D3", "D7", "D8")
def test_a_history_of_half_the_window_is_compressed() -> None:
    generate = Generated("the summary")
    history = talk(10)
    result = compress(history, generate, model="gemini-2.5-pro", original_token_count=524_288)
    assert result["newHistory"] == [
        said("user", "the summary"),
        said("model", "Got it. Thanks for the additional context!"),
        *history[14:],
    ]
    assert result["info"] == {
        "originalTokenCount": 524_288,
        "newTokenCount": gemini_cli.estimate_tokens(
            [part for content in result["newHistory"] for part in content["parts"]]
        ),
        "compressionStatus": CompressionStatus.COMPRESSED,
    }


@pytest.mark.requirement("D3")
def test_one_token_less_than_half_is_left_alone_unless_forced() -> None:
    generate = Generated()
    result = compress(talk(10), generate, original_token_count=524_287)
    assert (status(result), result["newHistory"], generate.asked) == ("noop", None, [])
    assert status(compress(talk(10), generate, original_token_count=524_287, force=True)) == "compressed"
    assert status(compress(talk(10), generate, original_token_count=524_287, threshold=0.49)) == "compressed"


@pytest.mark.requirement("D8")
@pytest.mark.parametrize("history", [[], [said("user")], [said("user"), called(), answered()]])
def test_a_history_without_anything_to_compress_is_left_alone(history: list[Content]) -> None:
    generate = Generated()
    result = compress(history, generate, force=True, original_token_count=100)
    assert (status(result), result["newHistory"], generate.asked) == ("noop", None, [])


@pytest.mark.requirement("D8")
def test_after_a_failure_only_force_tries_again() -> None:
    kwargs = {"original_token_count": 600_000, "has_failed_compression_attempt": True}
    assert status(compress(talk(10), Generated(), **kwargs)) == "noop"
    assert status(compress(talk(10), Generated(), force=True, **kwargs)) == "compressed"


@pytest.mark.requirement("D8")
@pytest.mark.parametrize(
    ("after", "ended"), [(99, "compressed"), (100, "compressed"), (101, "failed-inflated")]
)
def test_a_result_that_is_larger_is_refused(after: int, ended: str) -> None:
    result = compress(
        talk(10), Generated(), force=True, original_token_count=100, count_tokens=lambda parts: after
    )
    assert (status(result), result["newHistory"] is None) == (ended, ended != "compressed")
    assert result["info"]["newTokenCount"] == after


@pytest.mark.requirement("D8")
def test_a_counter_that_fails_keeps_the_old_history() -> None:
    def broken(parts: list[dict[str, Any]]) -> int:
        raise OSError("no network")

    generate = Generated()
    result = compress(talk(10), generate, force=True, original_token_count=100, count_tokens=broken)
    assert (status(result), result["newHistory"]) == ("failed-count-error", None)
    assert result["info"]["originalTokenCount"] == result["info"]["newTokenCount"] == 100
    result = compress(talk(10), generate, force=True, count_tokens=broken)
    assert (status(result), result["newHistory"]) == ("failed-count-error", None)
    assert len(generate.asked) == 1, "what cannot be counted before is not compressed"


@pytest.mark.requirement("D5", "D6")
def test_the_summary_is_asked_for_as_a_snapshot_after_a_scratchpad() -> None:
    generate = Generated()
    compress(talk(10), generate, model="gemini-2.5-flash", force=True)
    (request,) = generate.asked
    assert request["modelConfigKey"] == {"model": "chat-compression-2.5-flash"}
    assert request["contents"][:-1] == talk(10)[:14]
    assert request["contents"][-1] == said(
        "user", "First, reason in your scratchpad. Then, generate the <state_snapshot>."
    )
    for element in ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"):
        assert f"<{element}>" in request["systemInstruction"]["text"]


@pytest.mark.requirement("D5")
def test_the_plain_function_keeps_the_reply_as_the_documents_own_code_does_scratchpad_included() -> None:
    """(19.25) What keeps the snapshot alone is the preset; the page says so."""
    reply = "<scratchpad>hm</scratchpad><state_snapshot>s</state_snapshot>"
    result = compress(talk(10), lambda request: reply, force=True)
    assert result["newHistory"][0] == said("user", reply)
    listed = write_systems.requirements()["D5"]
    assert "fanfold.systems.compress" not in listed["code"]
    assert "scratchpad" in listed["differs"]


@pytest.mark.requirement("D9")
def test_a_hook_is_told_before_whether_it_was_asked_for() -> None:
    told: list[str] = []
    compress(talk(10), Generated(), force=True, before_compress=told.append)
    compress(talk(10), Generated(), original_token_count=600_000, before_compress=told.append)
    compress(talk(10), Generated(), original_token_count=1, before_compress=told.append)
    assert told == ["manual", "auto"]
