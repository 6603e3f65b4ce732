"""The measure of `bench/integrations`: what counts as the name of a step."""

from __future__ import annotations

import json

import pytest

from bench.integrations.run import pages_in


@pytest.mark.parametrize(
    "text",
    [
        "Pages that were read: page-007",
        json.dumps({"arguments": json.dumps({"number": 7})}),
        json.dumps({"input": {"number": 7}}),
        "{'number': 7}",
        "- look 7 (o8)",
        "look(7)",
        "look(number=7)",
        'look {"number": 7}',
        json.dumps(json.dumps('look({"number": 7})')),
        "look: 7",
    ],
)
def test_a_step_counts_in_whatever_notation_a_manager_names_it(text: str) -> None:
    assert pages_in(text) == {7}


@pytest.mark.parametrize("text", ["7 pages were read", "looked at 7", "look, then 7", "(o7)"])
def test_a_number_alone_is_no_step(text: str) -> None:
    assert pages_in(text) == set()
