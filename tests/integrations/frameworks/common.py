"""What the tests of all frameworks share."""

from __future__ import annotations

import subprocess
import sys

SEAM = frozenset(("adapter", "laying", "requirement", "telling"))
"""The files that every integration stands on."""


def imported_with(name: str) -> set[str]:
    """Which files of `fanfold.integrations` are loaded by an import of one, but for itself and the seam."""
    code = f"import sys, fanfold.integrations.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before = "fanfold.integrations."
    loaded = {each.removeprefix(before) for each in done.stdout.split() if each.startswith(before)}
    assert name in loaded
    return loaded - SEAM - {name}
