"""What is charged beside the words, and the meter that suits a model."""

from __future__ import annotations

from base64 import b64encode

import pytest

from fanfold import Call, Document, Image, Message, Opaque, Result, Text, Thinking, meter, models
from fanfold.config.defaults import meter_for
from fanfold.core.message import Part, user
from fanfold.core.record import Frame

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file to read."},
        "mode": {"enum": ["text", "bytes"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["path"],
}
CHAT = {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}}
RESPONSES = {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA}
ANTHROPIC = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}
GEMINI = {"functionDeclarations": [{"name": "read", "description": "Read a file.", "parameters": SCHEMA}]}


def tokens(model: str, *parts: Part) -> int:
    return meter_for(None, model).message(Message("user", parts))


@pytest.mark.parametrize(
    "name", ["gpt-5.2", "gpt-4", "claude-sonnet-4-5", "gemini-2.5-pro", "kimi-k2", "nobody-knows"]
)
def test_every_model_has_a_meter_that_counts(name: str) -> None:
    assert 5 <= tokens(name, Text("Find the parser.")) <= 15


def test_a_model_is_counted_with_its_own_vocabulary() -> None:
    assert meter_for(None, "gpt-4").name == "cl100k"
    assert meter_for(None, "gemini-2.5-pro").name == "gemma"
    assert meter_for(None, "claude-opus-4-7").name == models.find("claude-opus-4-7").tokenizer == "claude-4.7"
    assert meter_for(None, None).name == "unknown"


def test_a_call_and_its_result_cost_claude_some_eighty_tokens_beside_their_words() -> None:
    parts = Call("c1", "read", "{}"), Result("c1", (Text("done"),))
    words = sum(meter.Bpe("claude").text(word) for word in ("read", "{}", "done"))
    assert 75 <= tokens("claude-sonnet-4-5", *parts) - words <= 95


@pytest.mark.parametrize(
    "tool", [CHAT, RESPONSES, ANTHROPIC, GEMINI], ids=["chat", "responses", "anthropic", "gemini"]
)
def test_a_tool_costs_the_same_whatever_dialect_declares_it(tool: object) -> None:
    assert meter.Bpe("o200k").frame(Frame((), (tool,))) == meter.Bpe("o200k").frame(Frame((), (CHAT,)))


def test_openai_shows_tools_as_types() -> None:
    from fanfold.tokens.charges import type_text

    assert type_text(RESPONSES) == (
        "// Read a file.\ntype read = (_: {\n// The file to read.\npath: string,\n"
        'mode?: "text" | "bytes",\nlines?: integer[],\n}) => any;\n\n'
    )


def test_tools_bring_claudes_own_prompt_with_them() -> None:
    claude = meter.for_model("claude", "anthropic")
    assert claude.frame(Frame()) == 0
    assert 346 < claude.frame(Frame((), (ANTHROPIC,))) < 520


@pytest.mark.parametrize(
    "tool", [None, "read", 7, {"function": "odd"}, {"name": 3, "parameters": {"properties": []}}]
)
def test_odd_tools_count_without_an_error(tool: object) -> None:
    assert meter.Bpe("o200k").frame(Frame((), (tool,))) >= 0


def test_a_picture_costs_what_its_provider_says() -> None:
    size = (1024).to_bytes(4, "big") * 2
    picture = Image(
        media="image/png", data=b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8) + size + bytes(9)).decode()
    )
    wanted = {
        "gpt-4o": 765,
        "gpt-5": 630,
        "gpt-4.1-mini": 1659,
        "claude-sonnet-4-5": 1399,
        "gemini-2.5-pro": 1032,
    }
    for name, cost in wanted.items():
        assert tokens(name, picture) - tokens(name) == cost, name


def test_a_document_costs_by_its_pages_and_a_text_by_its_words() -> None:
    pages = b64encode(b"%PDF" + b"/Type /Page " * 4).decode()
    assert tokens("gemini-2.5-pro", Document(data=pages)) - tokens("gemini-2.5-pro") == 4 * 258
    assert tokens("gpt-4o", Document(text="Read me.")) == tokens("gpt-4o", Text("Read me."))


def test_sealed_reasoning_costs_by_its_size_not_by_its_letters() -> None:
    sealed = Opaque("openai.responses", {"type": "reasoning", "encrypted_content": "gAAAA" * 1_100})
    assert 1_000 <= tokens("gpt-5.2", sealed) <= 1_030
    assert tokens("claude-sonnet-4-5", Thinking("I see.", "EqQB" * 200)) < 10


def test_a_sound_costs_by_its_seconds() -> None:
    sound = Opaque(
        "openai.chat", {"type": "input_audio", "input_audio": {"data": "A" * 160_000, "format": "mp3"}}
    )
    assert tokens("gpt-4o", sound) == 4 + 300


def test_roo_code_writes_a_call_that_is_no_json_as_an_error() -> None:
    roo = meter.named("roo_code")
    assert roo.message(Message("assistant", (Call("c1", "run", "{not json"),))) == roo.text(
        "Tool: run\nArguments: [serialization error]"
    )
    assert roo.message(user("")) == 0
