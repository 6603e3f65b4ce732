"""Whoever adds a dialect is told here what does not know it yet."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fanfold.asking import sdks
from fanfold.core.record import Frame
from fanfold.dialects import detect
from fanfold.dialects.definitions import FORMS
from fanfold.dialects.dialect import decode, encode
from fanfold.dialects.names import DIALECTS, FIELDS
from fanfold.dialects.registry import BUILT_IN, MOST_BYTES, dialect_named
from fanfold.testing.provider.paths import APIS

TABLES: dict[str, Iterable[str]] = {
    "registry.CODECS": BUILT_IN,
    "registry.MOST_BYTES": MOST_BYTES,
    "codecs.definitions.FORMS": FORMS,
    "dialects.names.FIELDS": FIELDS,
    "codecs.detect": detect.TOLD,
    "asking.sdks": [sdk.dialect for sdk in (sdks.OpenAI, sdks.Responses, sdks.Anthropic, sdks.Gemini)],
}


@pytest.mark.parametrize("table", TABLES)
def test_every_table_knows_every_dialect(table: str) -> None:
    assert set(TABLES[table]) == set(DIALECTS)


def test_the_scripted_provider_has_an_api_for_every_dialect() -> None:
    assert set(APIS) == {dialect.rpartition(".")[2] for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_knows_its_own_name(dialect: str) -> None:
    assert dialect_named(dialect).name == dialect


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_says_under_what_name_a_request_has_its_messages(name: str) -> None:
    dialect = dialect_named(name)
    _, messages, _ = decode(dialect_named("openai.chat"), [{"role": "user", "content": "Hello."}])
    assert len(encode(dialect, Frame(), messages, {})[dialect.field]) == 1
