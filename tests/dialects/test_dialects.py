"""Whoever adds a dialect is told here what is still missing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fanfold.asking import sdks
from fanfold.core.record import Frame
from fanfold.dialects import registry
from fanfold.dialects.dialect import decode, encode
from fanfold.dialects.registry import DIALECTS, DialectName, dialect_named
from fanfold.testing.provider.paths import APIS

FOLDER = Path(registry.__file__).parent
NAMES = "|".join(dialect.rpartition(".")[2] for dialect in DIALECTS)


def test_every_folder_is_a_dialect_of_the_one_table_and_has_the_files_that_are_found_through_it() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/dialect.py")}
    assert folders == {dialect.rpartition(".")[2] for dialect in DIALECTS}
    for name in (
        "facts.py",
        "tools.py",
        "read.py",
        "write.py",
        "rules.py",
        "stream.py",
        "tell.py",
        "hear.py",
        "splice.py",
        "settings.py",
    ):
        assert {path.parent.name for path in FOLDER.glob(f"*/{name}")} == folders, name


def test_no_file_outside_of_its_folder_imports_the_code_of_a_dialect() -> None:
    imports = re.compile(rf"^from fanfold\.dialects\.(?:{NAMES})\b", re.MULTILINE)
    assert [path.name for path in FOLDER.glob("*.py") if imports.search(path.read_text("utf-8"))] == []


def test_no_dialect_imports_the_code_of_another_and_each_says_where_to_begin() -> None:
    for folder in (path.parent for path in FOLDER.glob("*/dialect.py")):
        text = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
        imported = set(re.findall(rf"fanfold\.dialects\.({NAMES})\b", text))
        assert imported == {folder.name}
        assert 10 <= len((folder / "README.md").read_text("utf-8").splitlines()) <= 30


@pytest.mark.parametrize("dialect", DIALECTS)
def test_something_gives_every_dialect_away(dialect: DialectName) -> None:
    known = registry.facts(dialect)
    assert known.request or known.likely
    assert known.most_bytes > 10**7


def test_nothing_gives_two_dialects_away() -> None:
    for what in ("request", "likely", "message", "blocks", "block_fields"):
        keys = [key for dialect in DIALECTS for key in getattr(registry.facts(dialect), what)]
        assert len(keys) == len(set(keys)), what


def test_every_dialect_has_an_sdk_to_ask_through() -> None:
    known = (sdks.OpenAI, sdks.Responses, sdks.Anthropic, sdks.Gemini)
    assert {sdk.dialect for sdk in known} == set(DIALECTS)


def test_weighing_one_message_loads_one_dialect() -> None:
    code = (
        "import sys, fanfold; chat = fanfold.open('run', window=8_000); chat.say('Hello.'); chat.request();"
        "print(*(name for name in sys.modules if name.startswith('fanfold.dialects.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [name.split(".")[2:] for name in done.stdout.split()]
    assert ["chat", "dialect"] in loaded
    others = [name for name in loaded if name[0] in ("responses", "anthropic", "gemini")]
    assert {tuple(name[1:]) for name in others} == {(), ("facts",)}


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
