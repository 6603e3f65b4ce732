"""Meters: the documented estimates (systems.md A1, C6, D2, E8) and the exact count."""

from __future__ import annotations

import bpe_openai
import pytest

from fanfold import BadSetting, Call, Document, Image, Message, Opaque, Result, Text, meter
from fanfold.core.message import Part, user
from fanfold.core.record import Frame
from fanfold.systems.meters import by_script


def cost(name: str, *parts: Part) -> int:
    return meter.named(name).message(Message("user", parts))


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é", 1), ("漢字", 2)]
)
def test_a1_without_a_tokenizer_a_token_is_four_bytes(text: str, tokens: int) -> None:
    assert meter.named("bytes/4").text(text) == tokens


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字漢字", 1)])
def test_c6_a_token_is_four_characters(text: str, tokens: int) -> None:
    assert meter.named("characters/4").text(text) == tokens


def test_c6_a_picture_is_100_tokens() -> None:
    assert cost("characters/4", Image(data="A" * 4_000)) == 100
    assert cost("characters/4", Text("abcd"), Image(url="a.png")) == 101


def test_c6_calls_and_results_count_by_their_json() -> None:
    call = '{"id":"c1","name":"run","args":"{}"}'
    result = '{"id":"c1","output":"done"}'
    assert cost("characters/4", Call("c1", "run", "{}")) == len(call) // 4
    assert cost("characters/4", Result("c1", (Text("done"),))) == -(-len(result) // 4)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("漢", 2), ("漢字", 3), ("ab漢", 2), ("漢" * 10, 13)],
)
def test_d2_an_ascii_character_is_a_quarter_and_any_other_1_3(text: str, tokens: int) -> None:
    assert meter.named("by script").text(text) == tokens


def test_d2_the_weights_are_parameters() -> None:
    assert by_script(other=1.5).text("漢字") == 3
    assert by_script(ascii=1.0).text("abc") == 3
    for weights in ({"other": -1.0}, {"ascii": 0.0}, {"other": float("nan")}):
        with pytest.raises(BadSetting, match="above 0"):
            by_script(**weights)


def independent(family: str, text: str) -> int:
    return len(bpe_openai.get_encoding(f"{family}_base").encode_ordinary(text))


def o200k(text: str) -> int:
    return independent("o200k", text)


@pytest.mark.parametrize("text", ["", "Hello", "def parse(x):\n    return x", "構文解析器"])
def test_e8_text_is_o200k_times_one_and_a_half_rounded_up(text: str) -> None:
    assert meter.named("roo_code").text(text) == -(-o200k(text) * 3 // 2)


def test_e8_an_empty_message_costs_nothing() -> None:
    assert cost("roo_code") == 0


@pytest.mark.parametrize(
    ("data", "tokens"), [("A" * 10_000, 150), ("A" * 10_001, 152), ("A", 2), (None, 450)]
)
def test_e8_a_picture_is_the_root_of_its_base64_and_300_if_unknown(data: str | None, tokens: int) -> None:
    assert cost("roo_code", Image(data=data)) == tokens


def test_e8_a_call_is_counted_as_two_lines() -> None:
    expected = o200k('Tool: run\nArguments: {"x":1}')
    assert cost("roo_code", Call("c1", "run", '{"x":1}')) == -(-expected * 3 // 2)


def test_e8_a_failed_result_says_so_and_pictures_in_it_are_named() -> None:
    part = Result("c1", (Text("no"), Image(data="A" * 400), Document(data="QUJD")), error=True)
    plain = Result("c1", (Text("no"),))
    assert cost("roo_code", part) > cost("roo_code", plain)
    assert cost("roo_code", plain) == -(-o200k("Tool Result (c1)\nno") * 3 // 2)


ODD = [
    "",
    " ",
    "\n\n\n",
    "Hello, world!",
    "<|endoftext|> and <|im_start|>user",
    "構文解析器が最後の字句を忘れた。",
    "👩‍👩‍👧‍👦 family",
    "a" * 3_000,
    " " * 3_000,
    "1234567890" * 50,
    "def f(x):\n\treturn x  # \u00a0nbsp\r\n",
    "שלום مرحبا नमस्ते",
    "\x00\x01\x7f",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=" * 20,
]


@pytest.mark.parametrize("family", ["o200k", "cl100k"])
@pytest.mark.parametrize("text", ODD)
def test_the_exact_count_agrees_with_an_independent_tokenizer(family: str, text: str) -> None:
    assert meter.named(family).text(text) == independent(family, text)


def test_a_lone_surrogate_counts_as_what_is_sent_for_it() -> None:
    exact = meter.named("o200k")
    assert exact.text("a\ud800b") == exact.text("a\ufffdb")


@pytest.mark.parametrize("name", ["o200k", "bytes/4", "characters/4", "by script", "roo_code"])
def test_system_prompt_and_tools_are_counted(name: str) -> None:
    meters = meter.named(name)
    system = (user("You fix bugs. " * 10),)
    tool = {"type": "function", "function": {"name": "grep", "description": "finds a pattern " * 10}}
    nothing, spoken, both = (meters.frame(f) for f in (Frame(), Frame(system), Frame(system, (tool,))))
    assert nothing == 0 < spoken < both


@pytest.mark.parametrize("name", ["o200k", "bytes/4", "characters/4", "by script"])
def test_a_block_nobody_knows_is_counted_too(name: str) -> None:
    assert cost(name, Opaque("openai.chat", {"type": "odd", "words": "word " * 50})) > 40


def test_e8_a_block_nobody_knows_costs_its_name() -> None:
    expected = o200k("[Unsupported content block: odd]")
    assert cost("roo_code", Opaque("openai.chat", {"type": "odd"})) == -(-expected * 3 // 2)


def test_a_meter_nobody_knows_is_told_with_those_that_are_known() -> None:
    with pytest.raises(BadSetting, match=r"no meter 'abacus'.*characters/4.*o200k"):
        meter.named("abacus")
