"""The laws of design.md, as properties."""

import os

from hypothesis import settings


def fewer(quick: int) -> settings:
    """For a law whose examples are long: so many of them in `make test`, as many as ever in `make test-all`."""
    thorough = os.environ.get("FANFOLD_THOROUGH") == "1"
    return settings(max_examples=settings.default.max_examples if thorough else quick)
