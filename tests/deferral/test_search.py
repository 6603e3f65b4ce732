"""The search for tools: by name always, by what they do nearly always."""

from typing import Any

import pytest

from fanfold.core.record import Frame
from fanfold.deferral.catalog import Catalog
from fanfold.deferral.meanings import stem
from fanfold.deferral.search import split_words
from fanfold.deferral.sounds import sounds_of_english, sounds_of_katakana

from . import fresh, written
from .everyday import HELD_OUT, SERVERS, Known, define, served, tools
from .held import HELD
from .later import LATER
from .queries import ENGLISH, JAPANESE
from .unseen import JAPANESE as UNSEEN_JAPANESE
from .unseen import UNSEEN


def catalog(known: list[Known]) -> Catalog:
    return Catalog(
        Frame((), tuple(define(one, "anthropic") for one in known), "anthropic"), "anthropic", every=True
    )


def share_found(found: Catalog, asked: list[Known]) -> float:
    """The share of tools that a paraphrase finds among the first three."""
    hits = [one.name in [name for name, _ in found.search.find(one.asked)[:3]] for one in asked]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("count", [10, 94, 400])
def test_every_tool_is_found_by_its_name(count: int) -> None:
    known = tools(count)
    found = catalog(known)
    assert [one.name for one in known if found.find({"name": one.name}) != (one.name,)] == []
    assert [
        one.name for one in known if one.name not in found.find({"query": one.name.replace("_", " ")})[:3]
    ] == []


@pytest.mark.parametrize("count", [10, 94, 400])
def test_by_name_or_paraphrase_a_tool_is_among_the_first_three(count: int) -> None:
    known = tools(count)
    found = catalog(known)
    named = [one.name in found.find({"name": one.name})[:3] for one in known]
    asked = [one.name in [name for name, _ in found.search.find(one.asked)[:3]] for one in known]
    assert sum(named + asked) >= 0.98 * len(named + asked)


@pytest.mark.parametrize(("count", "least"), [(10, 1.0), (94, 0.97), (400, 0.99)])
def test_nearly_every_tool_is_found_by_a_paraphrase(count: int, least: float) -> None:
    known = tools(count)
    assert share_found(catalog(known), known) >= least


def test_paraphrases_that_nobody_tuned_the_search_for_are_found_as_well() -> None:
    held = served(HELD_OUT)
    assert share_found(catalog(served(SERVERS) + held), held) >= 0.92


@pytest.mark.parametrize(("asked", "least"), [(ENGLISH, 0.97), (JAPANESE, 0.95)])
@pytest.mark.parametrize("count", [94, 400])
def test_queries_of_somebody_who_knows_the_tools(count: int, asked: dict[str, str], least: float) -> None:
    found = catalog(tools(count)).search
    hits = [name in [hit for hit, _ in found.find(query)[:3]] for name, query in asked.items()]
    assert sum(hits) / len(hits) >= least


@pytest.mark.parametrize(("asked", "least"), [(None, 0.8), (UNSEEN_JAPANESE, 0.95)])
def test_hard_queries_for_other_tools(asked: dict[str, str] | None, least: float) -> None:
    known = served(UNSEEN)
    found = catalog(tools(94) + known).search
    asked = asked or {one.name: one.asked for one in known}
    hits = [name in [hit for hit, _ in found.find(query)[:3]] for name, query in asked.items()]
    assert sum(hits) / len(hits) >= least


NEW = {one.name: one.asked for one in served(written.NEW)}


@pytest.mark.parametrize(
    ("asked", "more", "least"),
    [(written.EVERYDAY, {}, 0.98), (written.EVERYDAY_JAPANESE, {}, 0.96), (NEW, written.NEW, 0.95)],
    ids=["english", "japanese", "new tools"],
)
def test_what_a_model_writes_that_sees_the_index_is_found_and_loaded(
    asked: dict[str, str], more: dict[str, Any], least: float
) -> None:
    found = catalog(tools(94) + served(more))
    first = [name in [hit for hit, _ in found.search.find(query)[:3]] for name, query in asked.items()]
    loaded = [name in found.find({"query": query}) for name, query in asked.items()]
    assert sum(first) >= least * len(asked)
    assert sum(loaded) >= least * len(asked)


def asked_in(servers: dict[str, list[tuple[str, str, str, str, str]]], language: int) -> list[Known]:
    return served(
        {server: [(*tool[:3], tool[3 + language]) for tool in listed] for server, listed in servers.items()}
    )


@pytest.mark.parametrize(
    ("servers", "language", "least"),
    [
        (fresh.ENGLISH, 0, 0.83),
        (fresh.ENGLISH, 1, 0.95),
        (fresh.JAPANESE, 0, 0.93),
        (fresh.JAPANESE, 1, 0.86),
        (LATER, 0, 0.69),
        (LATER, 1, 0.76),
        (HELD, 0, 0.7),
        (HELD, 1, 0.76),
    ],
    ids=[
        "english",
        "english in japanese",
        "japanese",
        "japanese in other words",
        "later",
        "later in japanese",
        "held back",
        "held back in japanese",
    ],
)
def test_queries_for_servers_that_no_other_set_has(servers: Any, language: int, least: float) -> None:
    asked = asked_in(servers, language)
    group = () if servers in (LATER, HELD) else (fresh.ENGLISH, fresh.JAPANESE)
    others = [tool for one in group if one is not servers for tool in asked_in(one, 0)]
    assert share_found(catalog(tools(94) + others + asked), asked) >= least


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("repositry を fork", "mcp__github__fork_repository"),
        ("screnshot", "mcp__playwright__browser_take_screenshot"),
        ("スクリーンショット", "mcp__playwright__browser_take_screenshot"),
        ("ワークフローの一覧", "mcp__github__list_workflow_runs"),
    ],
)
def test_misspelt_words_and_words_that_sound_alike_are_understood(query: str, name: str) -> None:
    assert name in catalog(tools(94)).find({"query": query})[:3]


@pytest.mark.parametrize(
    ("english", "katakana"),
    [
        ("pipeline", "パイプライン"),
        ("collection", "コレクション"),
        ("schedule", "スケジュール"),
        ("message", "メッセージ"),
        ("workspace", "ワークスペース"),
        ("widget", "ウィジェット"),
        ("metrics", "メトリクス"),
        ("thread", "スレッド"),
    ],
)
def test_katakana_sound_like_the_word_that_they_are_from(english: str, katakana: str) -> None:
    assert not set(sounds_of_english(english)).isdisjoint(sounds_of_katakana(katakana))
    assert set(sounds_of_english("calendar")).isdisjoint(sounds_of_katakana(katakana))


def test_a_name_is_understood_by_its_end_and_in_any_case() -> None:
    found = catalog(tools(94))
    assert found.find({"name": "merge_pull_request"}) == ("mcp__github__merge_pull_request",)
    assert found.find({"query": "MCP__SLACK__ADD_REACTION, browser_click"}) == (
        "mcp__slack__add_reaction",
        "mcp__playwright__browser_click",
    )


def test_what_nothing_has_to_do_with_finds_nothing() -> None:
    assert catalog(tools(94)).find({"query": "xyzzy"}) == ()
    assert catalog(tools(94)).find({}) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("created", "creation"), ("queries", "query"), ("running", "runs"), ("issues", "issue")],
)
def test_forms_of_a_word_are_one_word(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_names_are_split_and_japanese_goes_by_pairs_of_letters() -> None:
    assert split_words("getUserById") == [stem("get"), stem("user"), "id", "getuserbyid"]
    assert split_words("残業時間") == ["残業", "業時", "時間"]
    assert split_words("JavaScript")[-1] == "javascript"


def test_an_end_that_several_names_have_is_searched_for_and_not_guessed() -> None:
    names = [f"mcp__{server}__list_items" for server in ("shop", "notes", "todo")]
    found = catalog([Known(name, "List them.", (), "") for name in names])
    assert found.name_of("list_items") is None
    assert set(found.find({"name": "list_items"})) == set(found.waiting)
