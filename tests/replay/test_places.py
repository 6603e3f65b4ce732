"""Where traces are looked for."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from fanfold.replay import places, replay, traces
from fanfold.testing import replied, said

TALK = json.dumps([said("Hello."), replied("Hello.")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in a folder with a link to it."""
    (tmp_path / "talk.json").write_text(TALK)
    (tmp_path / "link.json").symlink_to("talk.json")
    return tmp_path / "talk.json"


def test_one_origin_need_not_be_a_list(file: Path) -> None:
    for one in (file, str(file), io.BytesIO(TALK.encode())):
        assert [played.policy for played in replay(one, "none", workers=1)] == ["none"]


def test_a_file_is_read_once_by_whatever_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    os.link(file, "hard.json")
    assert len(places([".", "talk.json", "t*.json", file, "link.json"])) == 1
    assert len(list(traces([io.StringIO(TALK), io.StringIO(TALK)]))) == 2


def test_it_is_told_how_much_is_done(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"messages": {TALK}}}\n' * 3)
    parts: list[float | None] = []
    replay(tmp_path, "none", workers=1, done=lambda played, part: parts.append(part))
    assert parts == sorted(parts)
    assert (len(parts), parts[-1]) == (6, 1.0)
    parts.clear()
    (tmp_path / "c.json").write_text(TALK)
    replay(
        tmp_path / "c.json", ["none", "drop_oldest"], workers=1, done=lambda played, part: parts.append(part)
    )
    assert parts == [0.5, 1.0]
    replay(io.StringIO(TALK), "none", workers=1, done=lambda played, part: parts.append(part))
    assert parts[-1] is None
