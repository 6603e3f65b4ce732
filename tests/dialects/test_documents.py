"""Documents and pictures, carried from every dialect to both of OpenAI's."""

from __future__ import annotations

from typing import Any

import pytest

from fanfold.core.message import Document, Image, Message
from fanfold.dialects.registry import dialect_named

PDF = "data:application/pdf;base64,JVBERg=="
FILES: dict[str, Any] = {
    "openai.chat": {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
    "openai.responses": {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
    "anthropic": {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
    },
}
READ = Document("application/pdf", "JVBERg==", name="a.pdf")


def written(dialect: str, *parts: Document | Image) -> Any:
    """The blocks of a user's message, as a dialect writes them."""
    (body,) = dialect_named(dialect).wire(Message("user", parts))
    return body["content"]


@pytest.mark.parametrize("dialect", FILES)
def test_a_file_is_read_as_its_bytes_and_written_as_it_came(dialect: str) -> None:
    message = dialect_named(dialect).message({"role": "user", "content": [FILES[dialect]]})
    assert message.parts == (READ,)
    assert written(dialect, READ) == [FILES[dialect]]


@pytest.mark.parametrize("there", ["openai.chat", "openai.responses"])
@pytest.mark.parametrize("here", FILES)
def test_a_file_carries_over_with_one_data_address(here: str, there: str) -> None:
    (part,) = dialect_named(here).message({"role": "user", "content": [FILES[here]]}).parts
    assert written(there, part) == [FILES[there]]


def test_a_file_that_openai_keeps_goes_by_its_id_in_both_of_its_dialects() -> None:
    block = {"type": "file", "file": {"file_id": "file-1"}}
    (part,) = dialect_named("openai.chat").message({"role": "user", "content": [block]}).parts
    assert written("openai.chat", part) == [block]
    assert written("openai.responses", part) == [{"type": "input_file", "file_id": "file-1"}]


def test_what_chat_completions_cannot_get_at_becomes_a_note_that_names_it() -> None:
    parts = (
        Document(url="https://x.test/a.pdf"),
        Document("audio/wav", "AAAA"),
        Image(url="gs://bucket/a.png"),
        Image(),
    )
    assert written("openai.chat", *parts).splitlines() == [
        "[a document that cannot be shown here: https://x.test/a.pdf]",
        "[a document that cannot be shown here: audio/wav]",
        "[an image that cannot be shown here]",
        "[an image that cannot be shown here]",
    ]
    assert written("openai.responses", *parts[:2]) == [
        {"type": "input_file", "file_url": "https://x.test/a.pdf"},
        {"type": "input_text", "text": "[a document that cannot be shown here: audio/wav]"},
    ]
