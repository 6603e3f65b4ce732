"""Outputs are read and searched in ranges; what is found does not depend on blocks, chunks or positions."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections.abc import Iterator

import pytest

from fanfold.core.errors import BadInput
from fanfold.outputs import grep as searching
from fanfold.outputs import source as indexing
from fanfold.outputs.grep import Hit
from fanfold.outputs.output import Output
from fanfold.outputs.source import BlobBytes, Held, LineIndex, LineIndexer


def output(data: bytes, chunk: int = 1000) -> Output:
    """An output that is read in small ranges through its index."""
    watched = LineIndexer()
    for at in range(0, len(data), chunk):
        watched.feed(data[at : at + chunk])

    def fetch(start: int, stop: int) -> Iterator[bytes]:
        return (data[at : min(at + chunk, stop)] for at in range(start, stop, chunk))

    source = BlobBytes(len(data), fetch)
    return Output("o1", watched.size, watched.lines, "text/plain", source, watched.index)


def held(text: str) -> Output:
    data = text.encode()
    return Output("o1", len(data), text.count("\n"), "text/plain", Held(data))


def log(lines: int, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    words = ["error", "ok", "café", "retry 12345", "", "x" * 300]
    return "\n".join(f"{i} {rng.choice(words)}" for i in range(1, lines + 1)).encode()


@pytest.mark.parametrize("offset", [1, 2, 500, 2_999, 3_000])
def test_any_lines_are_the_lines_of_the_text(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STEP", 512)
    data = log(3_000)
    assert output(data).lines(offset, 7) == data.decode().split("\n")[offset - 1 : offset + 6]


def test_lines_past_the_end_are_none() -> None:
    assert output(log(10)).lines(11) == []


def test_a_last_newline_ends_a_line_and_begins_none() -> None:
    assert output(b"a\nb\n").lines() == ["a", "b"]
    assert output(b"a\nb\n").line_count == 2


def test_empty_lines_are_lines() -> None:
    assert output(b"\n\na\n\n").lines() == ["", "", "a", ""]


def test_an_empty_output_has_no_lines() -> None:
    assert output(b"").lines() == []


def test_a_line_of_a_gigantic_length_is_cut_while_it_is_read() -> None:
    assert [len(line) for line in output(b"x" * 100_000 + b"\ny").lines(longest=50)] == [50, 1]


def test_counting_from_zero_is_refused() -> None:
    with pytest.raises(BadInput, match="counted from 1"):
        output(b"a").lines(0)


def test_reading_in_the_middle_fetches_little(monkeypatch: pytest.MonkeyPatch) -> None:
    data = log(60_000)
    fetched: list[int] = []

    def fetch(start: int, stop: int) -> Iterator[bytes]:
        fetched.append(stop - start)
        return iter((data[start:stop],))

    whole = output(data)
    Output("o1", len(data), 60_000, "", BlobBytes(len(data), fetch), whole.load).lines(30_000, 100)
    assert sum(fetched) < 4 * indexing.STEP


def test_an_index_that_grows_too_long_is_thinned_and_still_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STEP", 64)
    monkeypatch.setattr(indexing, "MOST_POINTS", 8)
    data = log(5_000)
    found = output(data)
    assert found.index is not None
    assert len(found.index.lines) <= 8
    assert found.lines(4_321, 2) == data.decode().split("\n")[4_320:4_322]


def test_an_index_survives_being_written_and_read() -> None:
    index = output(log(9_000)).index
    assert index is not None
    assert LineIndex.unpacked(index.packed()) == index


def found_line_by_line(data: bytes, pattern: str) -> list[Hit]:
    lines = data.decode().removesuffix("\n").split("\n") if data else []
    return [Hit(i, line) for i, line in enumerate(lines, 1) if re.search(pattern, line, re.ASCII)]


PATTERNS = ["error", "ok|retry", "[0-9]", r"^\d+ $", "^", "$", "x{250}", "é", "nothing", r"\b12345\b", "x*"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_search_finds_what_a_search_line_by_line_finds(
    pattern: str, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "BLOCK", 4_096)
    data = log(700) + end
    assert list(output(data).grep(pattern)) == found_line_by_line(data, pattern)


def long_lines(seed: int) -> str:
    """Lines of which some are longer than what is searched at once."""
    rng = random.Random(seed)
    words = ["error", "é", "ab", " ", "12345", "x" * 30]
    lines = ["".join(rng.choices(words, k=rng.choice((0, 3, 40, 90, 300)))) for _ in range(40)]
    return "\n".join(lines) + rng.choice(("", "\n"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that lines of some hundred bytes are longer than what is searched at once."""
    for name, size in (("BLOCK", 100), ("LONG", 400), ("OVERLAP", 40)):
        monkeypatch.setattr(searching, name, size)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "pattern", ["error", "^", "$", "^ab", "12345$", "é", r"\b12345\b", "x{30} ?ab", "^$"]
)
@pytest.mark.usefixtures("small")
def test_a_very_long_line_is_found_once_and_begins_and_ends_once(pattern: str, seed: int) -> None:
    text = long_lines(seed)
    expected = [hit.line for hit in found_line_by_line(text.encode(), pattern)]
    for one in (output(text.encode()), held(text)):
        assert [hit.line for hit in one.grep(pattern)] == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 2), (3, 3)])
@pytest.mark.usefixtures("small")
def test_context_around_very_long_lines_is_right(before: int, after: int, seed: int) -> None:
    text = long_lines(seed)
    lines = text.removesuffix("\n").split("\n")
    hits = {i for i, line in enumerate(lines, 1) if re.search("12345$|^error", line)}
    near = {n for i in hits for n in range(i - before, i + after + 1) if 1 <= n <= len(lines)}
    found = list(output(text.encode()).grep("12345$|^error", before, after))
    assert [(hit.line, hit.match) for hit in found] == [(n, n in hits) for n in sorted(near)]
    assert all(hit.text.replace("\ufffd", "") in lines[hit.line - 1] for hit in found)


def test_a_match_as_long_as_a_line_of_megabytes_is_found() -> None:
    text = "short\nbegin " + "x" * 3_000_000 + " end\nshort\n"
    assert [hit.line for hit in held(text).grep("^begin .* end$")] == [2]
    assert len(list(held(text).grep("x"))) == 1


def test_bytes_that_are_no_text_do_not_hide_hits() -> None:
    data = b"".join(b"\xff\xfe line %d\n" % i for i in range(200))
    assert len(list(output(data).grep("line"))) == 200


@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 2), (3, 3), (50, 50)])
def test_context_is_shown_once_and_in_order(before: int, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "BLOCK", 2_048)
    data = log(400, seed=3)
    lines = data.decode().split("\n")
    hits = {i for i, line in enumerate(lines, 1) if "retry" in line}
    near = {n for i in hits for n in range(i - before, i + after + 1) if 1 <= n <= len(lines)}
    expected = [Hit(n, lines[n - 1], n in hits) for n in sorted(near)]
    assert list(output(data).grep("retry", before, after)) == expected


def test_a_search_stops_at_its_limit_and_shows_the_context_of_the_last_hit() -> None:
    found = held("a\nb\na\nc\na\n").grep("a", after=1, limit=2)
    assert [(hit.line, hit.match) for hit in found] == [(1, True), (2, False), (3, True), (4, False)]


def test_case_can_be_ignored() -> None:
    assert [hit.line for hit in held("Error\nfine\n").grep("ERROR", ignore_case=True)] == [1]


def test_a_long_line_is_cut_around_its_hit() -> None:
    (hit,) = held("a" * 5_000 + "needle" + "b" * 5_000).grep("needle", width=100)
    assert "needle" in hit.text
    assert len(hit.text) <= 102


def test_a_line_longer_than_a_block_is_searched_in_overlapping_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searching, "BLOCK", 1_000)
    monkeypatch.setattr(searching, "LONG", 1_000)
    monkeypatch.setattr(searching, "OVERLAP", 100)
    data = b"a" * 998 + b"needle" + b"b" * 3_000 + b"\nlast\n"
    assert [hit.line for hit in output(data, 500).grep("needle")] == [1]
    assert [hit.line for hit in output(data, 500).grep("last")] == [2]


def test_windows_line_ends_are_not_shown() -> None:
    assert [hit.text for hit in held("one\r\ntwo\r\n").grep("o")] == ["one", "two"]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(?=a)", "Look-around"),
        (r"(a)\1", "Backreferences"),
        ("a(", "backslash"),
        ("[z-a]", "backslash"),
        ("a)|(?:b", "backslash"),
        (r"a\Cb", "Write a dot"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_what_to_do_instead(pattern: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        held("a").grep(pattern)


def test_a_backslash_before_a_capital_c_is_found() -> None:
    assert [hit.line for hit in held("one\nC:\\Code\n").grep(r"C:\\\\Code")] == []
    assert [hit.line for hit in held("one\nC:\\Code\n").grep(r"C:\\Code")] == [2]


@pytest.mark.parametrize("pattern", [r"\Qa.b", r"\Qa.b\E", r"^\Qa.", r"x|\Q.b", r"a\Q\E\Q.b"])
def test_a_quotation_is_found_as_it_stands_and_need_not_be_closed(pattern: str) -> None:
    assert [hit.line for hit in held("aXb\na.b\n").grep(pattern)] == [2]


@pytest.mark.parametrize(
    ("pattern", "plain"), [(r"\A\d+ ok", r"^\d+ ok"), (r"ok\z", "ok$"), (r"\A1\d+ \z", r"^1\d+ $")]
)
def test_the_ends_of_a_text_are_those_of_a_line(
    pattern: str, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "BLOCK", 4_096)
    data = log(700)
    assert list(output(data).grep(pattern)) == found_line_by_line(data, plain) != []


def test_a_backslash_at_the_end_of_a_quotation_is_one() -> None:
    assert [hit.line for hit in held("a\nC:\\\n").grep("\\QC:\\")] == [2]


def test_a_hostile_pattern_takes_no_longer_than_another() -> None:
    assert list(held("a" * 50_000).grep("(a+)+$")) != []
    assert list(held("a" * 50_000 + "!").grep("^(a|aa)+$")) == []


def test_context_of_very_long_lines_takes_little_memory() -> None:
    line = b"a" * ((2 << 20) - 1) + b"\n"

    def fetch(start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            piece = line[start % len(line) :][: stop - start]
            yield piece
            start += len(piece)

    size = 30 * len(line)
    long = Output("o1", size, 30, "text/plain", BlobBytes(size, fetch))
    tracemalloc.start()
    assert list(long.grep("z", before=30, width=100)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 << 20


def test_context_from_an_earlier_block_is_cut_and_says_so() -> None:
    text = "a" * 2_000_000 + "\n" + "needle " + "b" * 2_000_000
    first, second = held(text).grep("needle", before=1, width=100)
    assert first == Hit(1, "a" * 100 + "…", False)
    assert second.text == "needle " + "b" * 93 + "…"


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("done$", [1, 3]),
        ("^$", [2]),
        (r"done\z", [1, 3]),
        ("[$]", [4]),
        (r"\$5$", [4]),
        ("[[:alpha:]$]$", [1, 3]),
    ],
)
def test_a_dollar_is_the_end_of_a_line_whichever_way_lines_end(pattern: str, lines: list[int]) -> None:
    for text in ("is done\r\n\r\ndone\r\nfor $5\r\n", "is done\n\ndone\nfor $5\n"):
        assert [hit.line for hit in held(text).grep(pattern)] == lines


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("Müller", r'{"name": "M\u00fcller"}'),
        ("Müller", r'{"name": "M\u00FCller"}'),
        ("(?i)müller", r'{"name": "Müller"}'),
        ("^.*Mü+ller", r'{"body": "{\"name\": \"M\\u00fcller\"}"}'),
        ("設.ファイル", r'["\u8a2d定\u30d5\u30a1\u30a4\u30eb"]'),
        ("😀$", r"well \ud83d\ude00"),
    ],
)
def test_a_sign_that_json_escapes_is_found_as_it_reads(pattern: str, line: str) -> None:
    assert list(held(f"one\n{line}\nthree").grep(pattern)) == [Hit(2, line)]


def test_a_sign_that_json_escapes_is_found_in_either_case() -> None:
    line = r'{"name": "M\u00dcLLER"}'
    assert list(held(line).grep("müller", ignore_case=True)) == [Hit(1, line)]
    assert list(held(line).grep("müller")) == []
