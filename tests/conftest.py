"""How hard the laws are tried: `ci` for `make test`, `thorough` for `make test-all` (FANFOLD_THOROUGH=1)."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fanfold import models

os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))
"""Whom clients trust, here and in processes that tests start, whatever the machine says: nobody on loopback shows a
certificate, and to read those of the machine takes each client longer than most tests take."""

THOROUGH = os.environ.get("FANFOLD_THOROUGH") == "1"
_CALM = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}

settings.register_profile("ci", max_examples=25, stateful_step_count=25, derandomize=True, **_CALM)
settings.register_profile("thorough", max_examples=250, stateful_step_count=50, **_CALM)
settings.load_profile("thorough" if THOROUGH else "ci")


gc.disable()


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _registered_models() -> Iterator[None]:
    """What a test registers, the next one does not know."""
    before = dict(models._registered)
    yield
    if models._registered != before:
        models._registered.clear()
        models._registered.update(before)
        models._keys.cache_clear()
        models._find.cache_clear()
