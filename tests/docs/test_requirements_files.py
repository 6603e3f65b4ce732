"""The pinned requirements install with pip alone: a pin names the extras that other pinned packages ask for.

Without them, the pip that comes with Python 3.11 refuses a file with hashes once a newer release of the package exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINS = Path(__file__).parents[2] / "requirements" / "test.txt"


def pinned() -> dict[str, set[str]]:
    """The packages of the file, and the extras of each."""
    lines = re.findall(r"^([\w.-]+)(?:\[([^\]]*)\])?==", PINS.read_text(encoding="utf-8"), re.M)
    return {canonicalize_name(name): set(filter(None, extras.split(", "))) for name, extras in lines}


def wanted(names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """What installed packages of these names ask for with extras."""
    for name in names:
        try:
            asked = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        for requirement in map(Requirement, asked):
            if requirement.extras and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
                yield canonicalize_name(requirement.name), requirement.extras


def test_a_pin_names_the_extras_that_other_packages_ask_for() -> None:
    pins = pinned()
    asked = list(wanted(set(pins)))
    assert len(asked) > 1
    assert [(name, extras) for name, extras in asked if not extras <= pins.get(name, extras)] == []
