"""Names that tell conversations apart."""

from __future__ import annotations

from fanfold.replay.reading import TalkName, told_apart


def test_names_that_differ_stay() -> None:
    assert told_apart([TalkName("x", "a/run.json"), TalkName("y", "b/run.json")]) == ["x", "y"]


def test_names_that_are_alike_get_as_much_of_the_path_as_makes_them_differ() -> None:
    near = [TalkName("run.json#1", "/t/a/run.json"), TalkName("run.json#1", "/t/b/run.json")]
    assert told_apart(near) == ["a/run.json#1", "b/run.json#1"]
    far = [
        TalkName("run.json", "/t/a/x/run.json"),
        TalkName("run.json", "/t/b/x/run.json"),
        TalkName("run.json", "run.json"),
    ]
    assert told_apart(far) == ["a/x/run.json", "b/x/run.json", "run.json"]
    assert told_apart([TalkName("s1", "a/p.jsonl"), TalkName("s1", "a/q.jsonl")]) == [
        "p.jsonl: s1",
        "q.jsonl: s1",
    ]


def test_names_that_are_alike_in_one_file_are_numbered() -> None:
    known = [TalkName("s1", "a.jsonl"), TalkName("s1", "a.jsonl"), TalkName("s2", "a.jsonl")]
    assert told_apart(known) == [
        "s1",
        "s1 (2)",
        "s2",
    ]
