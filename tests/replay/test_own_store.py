"""Replays, checks and fits leave the store of the settings alone: a session of the same name may be in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fanfold
from fanfold import transcripts
from fanfold.replay import SessionPlayer, play
from fanfold.replay.trace import trace
from fanfold.testing import check_strategy, talk
from fanfold.testing.replaying import replay


def test_nothing_is_written_to_the_store_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = tmp_path / "run.json", tmp_path / "agent.db"
    file.write_text(json.dumps(talk(6, 2)), encoding="utf-8")
    (recorded,) = transcripts.read(file)
    monkeypatch.setenv("FANFOLD_STORE", f"sqlite:{store}")
    play(trace(recorded), "default", 2_000, lambda trace, window: SessionPlayer(trace, window, None))
    check_strategy(fanfold.drop_oldest())
    replay(trace(recorded).messages, dialect="openai.chat", window=4_000)
    assert len(fanfold.fit(talk(6, 2), window=2_000)) < len(talk(6, 2))
    assert not store.exists()
