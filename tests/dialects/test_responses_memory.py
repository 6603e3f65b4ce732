"""What a client leaves to the server's memory is put back from the log, or refused with a way out."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import BadInput


def reply(id: str, text: str) -> dict[str, object]:
    item = {
        "type": "message",
        "id": f"msg_{id}",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    return {"id": f"resp_{id}", "object": "response", "status": "completed", "output": [item]}


def open_chat() -> fanfold.Session:
    chat = fanfold.open("memory", window=8_000, dialect="openai.responses")
    chat.say("What is in the box?")
    chat.request()
    chat.receive(reply("1", "A cat."))
    return chat


def test_a_previous_response_is_replaced_by_what_was_said() -> None:
    chat = open_chat()
    merged = chat.merge({"previous_response_id": "resp_1", "input": [{"role": "user", "content": "Alive?"}]})
    assert (merged.known, merged.new) == (2, 1)
    assert [message.text for message in chat.view().messages] == ["What is in the box?", "A cat.", "Alive?"]
    assert "previous_response_id" not in chat.request()


def test_an_item_reference_is_replaced_by_the_item() -> None:
    chat = open_chat()
    chat.merge(
        [{"role": "user", "content": "What is in the box?"}, {"type": "item_reference", "id": "msg_1"}]
    )
    assert [message.text for message in chat.view().messages] == ["What is in the box?", "A cat."]


@pytest.mark.parametrize("body", [
    {"previous_response_id": "resp_9", "input": "Hello"},
    {"input": [{"type": "item_reference", "id": "msg_9"}]},
    {"conversation": "conv_1", "input": "Hello"},
])  # fmt: skip
def test_what_is_not_recorded_is_refused_with_a_way_out_and_changes_nothing(body: dict[str, object]) -> None:
    chat = open_chat()
    head = chat.head
    with pytest.raises(BadInput, match="Send the whole input each time"):
        chat.merge(body)
    assert chat.head == head
    with pytest.raises(BadInput, match="Send the whole input each time"):
        fanfold.fit(body, window=8_000, dialect="openai.responses")
