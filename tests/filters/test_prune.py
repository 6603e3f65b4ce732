"""Prune: C3's limits, C4's rules, depth counted in levels of nodes."""

from __future__ import annotations

import json
from typing import Any

from fanfold.outputs.filters import apply_filters, prune


def node(role: str = "AXButton", **fields: Any) -> dict[str, Any]:
    return {"role": role, "title": "Submit", "position": {"x": 100, "y": 200}, **fields}


def pruned(value: Any, tool: str = "elementsJson", **limits: Any) -> Any:
    found = apply_filters(json.dumps(value), tool, {}, [prune(**limits)], "o1")
    return json.loads(found.text.split("\n")[0]) if found else value


def test_c4_the_documents_own_example() -> None:
    first = node(
        description="Click this button to submit the form",
        help="Press enter to activate",
        children=[node() for _ in range(50)],
    )
    shown = pruned({"elements": [first, *(node() for _ in range(300))]})
    assert shown["elements"][0] == node(children=[node() for _ in range(20)])
    assert len(shown["elements"]) == 200


def test_c4_a_third_level_of_nodes_becomes_truncated_and_plain_fields_stay() -> None:
    deep = node(children=[node(children=[node(children=[node()])])])
    shown = pruned([deep])
    assert shown[0]["children"][0]["children"] == "[truncated]"
    assert shown[0]["children"][0]["position"] == {"x": 100, "y": 200}


def test_c4_long_strings_end_in_truncated() -> None:
    shown = pruned([node(value="v" * 1_500)])
    assert shown[0]["value"] == "v" * 1_000 + "...[truncated]"


def test_c4_a_single_root_counts_as_the_first_level() -> None:
    shown = pruned(node("AXWindow", children=[node(children=[node()] * 5)] * 5))
    assert shown["children"][0]["children"] == "[truncated]"


def test_c4_other_tools_are_pruned_by_their_shape() -> None:
    shown = pruned({"root": node(children=[node(help="x" * 200) for _ in range(60)])}, tool="snapshot")
    assert len(shown["root"]["children"]) == 20


def test_ordinary_json_is_left_alone() -> None:
    rows = {"rows": [{"id": i, "name": "n", "type": "user", "tags": ["a"] * 30} for i in range(400)]}
    assert apply_filters(json.dumps(rows), "sql", {}, [prune()], "o1") is None


def test_a_tree_kept_as_text_in_a_field_is_pruned_inside() -> None:
    body = {"webElements": json.dumps([node(help="h" * 500) for _ in range(300)]), "url": "http://x"}
    shown = pruned(body, tool="look")
    assert len(shown["webElements"]) == 200
    assert shown["url"] == "http://x"


def test_limits_and_dropped_fields_can_be_set() -> None:
    shown = pruned([node(a11y="z" * 300) for _ in range(30)], nodes=3, dropped=["a11y"])
    assert shown == [node()] * 3


def test_what_is_within_the_limits_is_not_rewritten() -> None:
    assert apply_filters(json.dumps([node()], indent=4), "elementsJson", {}, [prune()], "o1") is None


def test_html_loses_what_a_reader_does_not_see() -> None:
    page = (
        "<!DOCTYPE html><html><head><style>" + "x{}" * 500 + "</style></head><body>"
        "<script>alert(1)</script><p class='a b' style='color:red' id='p1'>Hello</p><svg><path d='M0'/></svg>"
        "</body></html>"
    )
    found = apply_filters(page, "browse", {}, [prune()], "o1")
    assert found is not None
    assert found.text.split("\n")[0] == '<html><body><p id="p1">Hello</p></body></html>'


def test_html_shows_the_first_of_many_siblings() -> None:
    page = "<html><body><ul>" + "".join(f"<li>{i}</li>" for i in range(500)) + "</ul></body></html>"
    found = apply_filters(page, "browse", {}, [prune()], "o1")
    assert found is not None
    assert "<li>19</li>[more <li> truncated]</ul>" in found.text


def test_an_accessibility_outline_shows_the_first_children_of_each_node() -> None:
    outline = "- main:\n" + "".join(f'  - link "Item {i}" [ref=e{i}]\n' for i in range(300))
    found = apply_filters(outline, "snapshot", {}, [prune()], "o1")
    assert found is not None
    assert found.text.count("link") == 20
    assert "  [truncated]" in found.text


def test_a_markdown_list_is_no_accessibility_outline() -> None:
    text = "".join(f"- Note {i} about the plan\n  - more words here\n" for i in range(200))
    assert apply_filters(text, "read", {}, [prune()], "o1") is None


def test_json_that_is_nested_too_deeply_is_left_alone() -> None:
    assert apply_filters("[" * 100_000 + "]" * 100_000, "elementsJson", {}, [prune()], "o1") is None


def note_of(text: str) -> str:
    found = apply_filters(text, "look", {}, [prune()], "o1")
    assert found is not None
    assert found.text is not None
    return found.text.split("\n")[-1]


def test_the_note_says_what_was_done_to_json() -> None:
    text = json.dumps([node(children=[node()] * 30)] * 300)
    assert note_of(text) == (
        "[pruned to 200 items of a list, 20 children of a node and 2 levels of nodes, some fields left out; "
        "whole as ref=o1]"
    )


def test_the_note_says_what_was_done_to_a_page() -> None:
    text = f"<html><body><script>{'x' * 900}</script>{'<p>a</p>' * 50}</body></html>"
    assert note_of(text) == (
        "[pruned to what is seen of the page and 20 children of a kind, most attributes left out; whole as ref=o1]"
    )


def test_the_note_says_what_was_done_to_an_outline() -> None:
    text = "- main\n" + "".join(f'  - button "b{i}" [ref=e{i}]\n' for i in range(60))
    assert note_of(text) == "[pruned to 20 children of a node and 8 levels of nodes; whole as ref=o1]"


def test_items_of_a_page_that_nobody_closed_are_siblings() -> None:
    items = "".join(f"<li>item {i}\n" for i in range(500))
    found = apply_filters(
        f"<html><body><ul>{items}</ul></p></p></p></body></html>", "look", {}, [prune()], "o1"
    )
    assert found is not None
    assert str(found.text).count("<li>item") == 20
