"""Whatever pattern a model writes, a search ends in time, says so, and holds nobody up (19.18)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from output_builders import give, opened

from fanfold import BadInput, Call, Output, TooSlow
from fanfold.outputs import grep as searching
from fanfold.outputs import recall as tools
from fanfold.outputs.grep import Patience, Pattern
from fanfold.outputs.source import BlobBytes, Held

SLOW = "(a?){900}a{900}b"
"""The library takes 25 µs a byte for it, and cannot be interrupted."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 4 KiB for such a pattern, which take a tenth of a second each."""
    monkeypatch.setattr(searching, "_WORK", 1)


def held(data: bytes) -> Output:
    return Output("o1", len(data), data.count(b"\n"), "text/plain", Held(data))


def searched(name: str, output: str, **arguments: object) -> str:
    chat = opened()
    give(chat, "c1", output)
    return chat.recall(Call("r", f"tool_output_cache{name}", json.dumps(arguments)))


def test_a_pattern_that_takes_minutes_on_one_long_line_is_stopped() -> None:
    """(19.18)"""
    began = time.monotonic()
    with pytest.raises(TooSlow, match=r"longer than 0\.2 s and was stopped. Search for a simpler pattern"):
        list(held(b"a" * 5_000_000).grep(SLOW, timeout=0.2))
    assert time.monotonic() - began < 60  # the time of one block; all of them take two minutes


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("around", [0, 1])
def test_what_was_found_in_time_is_given_out_first(around: int) -> None:
    """(19.18)"""
    rest = iter(held(b"needle\n" + b"a" * 400_000).grep(f"needle|{SLOW}", before=around, timeout=0.2))
    assert next(rest).line == 1
    with pytest.raises(TooSlow):
        list(rest)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "arguments"), [("_grep", {"ref_id": "o1"}), ("_search", {})], ids=["one output", "all outputs"]
)
def test_a_model_is_told_what_was_found_so_far_and_that_the_search_was_stopped(
    name: str, arguments: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """(19.18)"""
    monkeypatch.setattr(tools, "SECONDS", 0.2)
    text = searched(name, "needle\n" + "a" * 400_000, pattern=f"needle|{SLOW}", **arguments)
    found, last = text.split("\n")
    assert found.endswith("1:needle")
    assert "so far" in last
    assert "took longer than 0.2 s and was stopped. Search for a simpler pattern" in last
    nothing = searched(name, "a" * 400_000, pattern=SLOW, **arguments)
    assert "so far" in nothing
    assert "matches" not in nothing


@pytest.mark.usefixtures("small")
def test_all_outputs_together_have_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """(19.18)"""
    monkeypatch.setattr(tools, "SECONDS", 0.2)
    chat = opened()
    for number in range(30):
        give(chat, f"c{number}", "a" * 4_000 + str(number))
    text = chat.recall(Call("r", "tool_output_cache_search", json.dumps({"pattern": SLOW})))
    assert "took longer than 0.2 s" in text  # each of them takes half of it


def test_the_time_that_a_caller_takes_for_the_hits_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, now = [], [0.0]
    monkeypatch.setattr(searching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for hit in held(b"a\n" * 5).grep("a", timeout=0.05):
        now[0] += 1
        lines.append(hit.line)
    assert lines == [1, 2, 3, 4, 5]


def test_a_store_that_reads_slowly_counts_as_slow() -> None:
    def fetch(start: int, stop: int) -> Iterator[bytes]:
        time.sleep(0.06)
        yield b"x" * (stop - start - 1) + b"\n"

    size = 4 * searching.BLOCK
    output = Output("o1", size, 4, "text/plain", BlobBytes(size, fetch))
    with pytest.raises(TooSlow):
        list(output.grep("nowhere", timeout=0.1))


def test_without_a_limit_a_search_goes_on_to_its_end() -> None:
    assert [hit.line for hit in held(b"a" * 4_000 + b"b\n").grep(SLOW, timeout=None)] == [1]


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_limit_without_time_is_refused(timeout: float) -> None:
    with pytest.raises(BadInput, match="needs some time"):
        Patience(timeout)


@pytest.mark.parametrize("pattern", [SLOW, r"\pL{50}x.{900}y", r"(\pL\pN){90}", "needle", "a.*b"])
def test_the_more_a_pattern_takes_at_each_byte_the_smaller_are_the_blocks(pattern: str) -> None:
    """(19.18) The library cannot be interrupted within a block, so no block may take long."""
    program = Pattern(pattern).program
    source = Held(b"a" * (1 << 20))
    sizes = [block.end - block.start for block in searching.blocks(source, program=program)]
    assert max(sizes) <= max(4_096, (1 << 26) // program) or program <= 64
    if program <= 64:
        assert len(sizes) == 1


def test_a_match_in_a_long_line_is_found_however_small_the_blocks_are() -> None:
    line = b"x" * 300_000 + b"a" * 901 + b"b" + b"x" * 300_000
    pattern = f"(c?){{900}}{SLOW}"
    assert [hit.line for hit in held(b"first\n" + line + b"\nlast").grep(pattern, timeout=None)] == [2]


def test_a_limit_of_hits_is_kept_from_block_to_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "BLOCK", 1_000)
    data = b"a line\n" * 3_000
    assert [hit.line for hit in held(data).grep("line", limit=1_500)] == [*range(1, 1_501)]
    assert len(list(held(data).grep("line"))) == 3_000
