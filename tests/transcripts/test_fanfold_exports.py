"""What `fanfold export` writes can be replayed like any other recording."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import transcripts
from fanfold.replay import replay
from fanfold.testing import called, replied, response
from fanfold.transcripts import Conversation

LONG = "\n".join(f"row {n}: the disk hums" for n in range(60))
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def exported(**given: Any) -> bytes:
    """A session that was reduced, as a file."""
    store, file = fanfold.Memory(), BytesIO()
    with fanfold.open("run", store=store, window=4_000, system="Be brief.", **given) as chat:
        chat.say("Begin.")
        for step in range(12):
            chat.request(max_tokens=300)
            chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}"))))
            chat.answer(f"c{step}", f"file {step}\n{LONG}")
        assert chat.stats()["edits"]
    fanfold.export_session(store, "run", file)
    return file.getvalue()


def read(data: bytes) -> Conversation:
    (found,) = transcripts.read(BytesIO(data))
    return found


def test_everything_that_was_said_is_read_and_no_edit() -> None:
    found = read(exported(model="gpt-5.2", tools=TOOLS))
    assert (found.id, found.format, found.dialect, found.model) == (
        "run",
        "fanfold",
        "openai.chat",
        "gpt-5.2",
    )
    roles = [message["role"] for message in found.messages]
    assert roles == ["system", "user", *["assistant", "tool"] * 12]
    outputs = [message["content"] for message in found.messages if message["role"] == "tool"]
    assert outputs == [f"file {step}\n{LONG}" for step in range(12)]
    assert found.frame["tools"] == TOOLS
    assert found.times[0] is None
    assert all(found.times[1:])


def test_a_file_of_its_own_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(exported(model="gpt-5.2", tools=TOOLS))
    played = replay(tmp_path / "run.jsonl", ["default", "drop_oldest"], window=3_000, workers=1)
    assert [(one.policy, bool(one.changes)) for one in played] == [("default", True), ("drop_oldest", True)]


def test_a_file_that_is_damaged_says_so() -> None:
    lines = exported(model="gpt-5.2").splitlines(keepends=True)
    with pytest.raises(fanfold.FanfoldError):
        read(b"".join(lines[:-3]))
