"""Files, folders, compression and damage, whatever the format."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_builders import asked, document, every_format, gemini_session, lines, only, read, said, texts

import fanfold
from fanfold import transcripts
from fanfold.core.errors import BadInput, MissingExtra
from fanfold.transcripts import FORMATS

TALK = lines([asked("u1", None, "hi"), said("a1", "u1", "hello")])
EVERY = every_format()


@pytest.mark.parametrize("name", EVERY)
def test_the_format_is_known_by_content(name: str) -> None:
    assert {found.format for found in read(EVERY[name])} == {name.split()[0]}


def test_the_format_may_be_named() -> None:
    assert only(TALK, format="claude-code").format == "claude-code"


def test_an_unknown_name_of_a_format_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match="Known are fanfold, claude-code"):
        transcripts.read(io.BytesIO(TALK), format="telegram")


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_an_empty_file_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="empty"):
        read(data)


def test_binary_data_is_refused() -> None:
    with pytest.raises(BadInput, match="binary"):
        read(b"\x7fELF\x00\x01\x02")


def test_a_store_is_refused_with_the_command_that_writes_a_session_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.db"
    with fanfold.open("run", window=1_000, store=f"sqlite:{file}") as chat:
        chat.say("Hello.")
    with pytest.raises(BadInput, match=f"fanfold export SESSION --store sqlite:{file} -o session.jsonl"):
        list(transcripts.read(file))


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=f"Known are {', '.join(FORMATS)}"):
        read(lines([{"weather": "fine"}]))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nothing\.jsonl: cannot be read"):
        list(transcripts.read(tmp_path / "nothing.jsonl"))


def test_gzip_is_taken_off() -> None:
    assert texts(only(gzip.compress(TALK))) == ["hi", "hello"]


def test_cut_gzip_is_refused() -> None:
    with pytest.raises(BadInput, match="ends early"):
        read(gzip.compress(TALK)[:-12])


def test_zstandard_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("zstandard", "compression.zstd", "compression"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"fanfold\[zst\]"):
        read(b"\x28\xb5\x2f\xfd" + b"\0" * 20)


def test_zstandard_is_taken_off() -> None:
    zstandard = pytest.importorskip("zstandard")
    frames = [zstandard.ZstdCompressor().compress(part) for part in TALK.splitlines(keepends=True)]
    assert texts(only(b"".join(frames))) == ["hi", "hello"]


def test_cut_zstandard_is_refused_after_what_could_be_read() -> None:
    zstandard = pytest.importorskip("zstandard")
    whole = b"".join(lines([{"messages": [{"role": "user", "content": f"{n}"}]}]) for n in range(20_000))
    stream = transcripts.read(io.BytesIO(zstandard.ZstdCompressor().compress(whole)[:-9]))
    assert next(stream).messages
    with pytest.raises(BadInput, match="ends early"):
        list(stream)


def test_a_byte_order_mark_is_no_content() -> None:
    assert texts(only(b"\xef\xbb\xbf" + TALK)) == ["hi", "hello"]


def test_a_half_written_last_line_is_tolerated_and_told() -> None:
    found = only(TALK + b'{"type":"user","uu')
    assert texts(found) == ["hi", "hello"]
    assert found.meta["cut"] is True


def test_a_broken_line_is_an_error_with_line_and_column() -> None:
    with pytest.raises(BadInput, match="-: line 2, column 10: "):
        read(lines([asked("u1", None, "hi")]) + b'{"type": nope}\n' + TALK)


def test_a_broken_line_may_be_left_out_and_counted() -> None:
    found = only(
        lines([asked("u1", None, "hi")]) + b"{nope}\n" + lines([said("a1", "u1", "hello")]), strict=False
    )
    assert texts(found) == ["hi", "hello"]
    assert found.meta["skipped"] == 1


def test_a_broken_first_line_may_be_left_out_too() -> None:
    assert only(b'{"type": nope}\n' + TALK, strict=False).meta["skipped"] == 1


def test_a_broken_document_is_an_error_with_line_and_column() -> None:
    broken = document(gemini_session())[:-3] + b"nope}"
    with pytest.raises(BadInput, match=r"-: line \d+, column \d+: "):
        read(broken)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        read(b"[" * 100_000 + b"]" * 100_000)


def test_lone_surrogates_survive() -> None:
    assert texts(only(rb'{"role":"user","content":"\ud800!"}')) == ["\ud800!"]


def test_huge_numbers_survive() -> None:
    found = only(lines([{"role": "user", "content": "x", "n": 10**40, "f": 1}]))
    assert found.messages[0]["n"] == 10**40


@pytest.mark.parametrize(("written", "kept"), [("NaN", "NaN"), ("1e999", "1e999"), ("9" * 5000, "9" * 5000)])
def test_numbers_that_are_none_are_kept_as_text(written: str, kept: str) -> None:
    found = only(f'{{"role":"user","content":"x","n":{written}}}'.encode())
    assert found.messages[0]["n"] == kept


def test_a_text_file_and_standard_input_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(list(transcripts.read(io.StringIO(TALK.decode())))) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TALK)))
    (found,) = transcripts.read("-")
    assert found.source == "-"


def test_a_folder_is_walked_in_order_and_other_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.jsonl.gz").write_bytes(gzip.compress(TALK))
    (tmp_path / "a.jsonl").write_bytes(TALK)
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "README.md").write_text("# Sessions\n\nA few.\n")
    (tmp_path / "photo").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "empty").touch()
    found = [Path(conversation.source).name for conversation in transcripts.read(tmp_path)]
    assert found == ["a.jsonl", "2.jsonl.gz"]


def test_a_broken_transcript_in_a_folder_is_an_error_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(TALK)[:-12])
    (tmp_path / "b.jsonl").write_bytes(TALK)
    with pytest.raises(BadInput, match=r"a\.jsonl"):
        list(transcripts.read(tmp_path))
    assert len(list(transcripts.read(tmp_path, strict=False))) == 1


def test_conversations_come_before_the_rest_is_read() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            row = lines([{"messages": [{"role": "user", "content": "x" * 100}]}])
            buffer[: len(row)] = row
            return len(row)

    stream = transcripts.read(io.BufferedReader(Endless()))
    assert next(stream).messages


def attempt(data: bytes, **options: Any) -> None:
    with contextlib.suppress(BadInput, MissingExtra):
        read(data, **options)


@given(st.binary(max_size=400), st.sampled_from([b"", b"{", b"[", b"\x1f\x8b\x08", b"PK\x03\x04"]))
@settings(max_examples=150, deadline=None)
def test_random_bytes_raise_nothing_but_bad_input(data: bytes, start: bytes) -> None:
    attempt(start + data)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_recordings_raise_nothing_but_bad_input(data: st.DataObject) -> None:
    whole = bytearray(EVERY[data.draw(st.sampled_from(sorted(EVERY)))])
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        attempt(bytes(whole[:place]))
    else:
        whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        attempt(bytes(whole), strict=data.draw(st.booleans()))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_recordings_with_values_of_the_wrong_kind_raise_nothing_but_bad_input(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in sorted(EVERY) if "zip" not in name]))
    try:
        rows = [json.loads(EVERY[name])]
    except ValueError:
        rows = [json.loads(line) for line in EVERY[name].splitlines()]
    here: Any = rows
    while isinstance(here, dict | list) and here:
        keys = list(here) if isinstance(here, dict) else range(len(here))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or not here[key] or data.draw(st.integers(0, 3)) == 0:
            here[key] = data.draw(VALUES)
            break
        here = here[key]
    attempt(lines(rows), format=data.draw(st.sampled_from([None, *FORMATS])))
