"""What an integration needs of its framework is named: the package, the right version, the extra."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from fanfold.core.errors import MissingExtra
from fanfold.integrations.mcp import server
from fanfold.integrations.requirement import require

NEEDS = {
    "langchain": ("langchain", "langchain"),
    "openai_agents": ("openai-agents", "openai-agents"),
    "pydantic_ai": ("pydantic-ai-slim", "pydantic-ai"),
    "litellm": ("litellm", "litellm"),
    "adk": ("google-adk", "adk"),
    "strands": ("strands-agents", "strands"),
    "agent_framework": ("agent-framework-core", "agent-framework"),
    "inspect_ai": ("inspect-ai", "inspect-ai"),
    "llama_index": ("llama-index-core", "llama-index"),
    "otel": ("opentelemetry-api", "otel"),
    "mcp": ("mcp", "mcp"),
}
"""The package and the extra of each integration."""
EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def anew(name: str) -> None:
    """Use an integration for the first time: mcp says what it needs when a server is made, others when imported."""
    if name == "mcp":
        server(object())  # type: ignore[arg-type]
    sys.modules.pop(f"fanfold.integrations.{name}", None)
    importlib.import_module(f"fanfold.integrations.{name}")


@pytest.mark.parametrize("name", NEEDS)
def test_a_package_that_is_missing_is_named_with_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    package, extra = NEEDS[name]
    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(MissingExtra) as raised:
        anew(name)
    assert f"fanfold[{extra}] needs {package} " in str(raised.value)
    assert f"which is not installed: pip install 'fanfold[{extra}]'" in str(raised.value)


def test_every_error_about_an_extra_ends_with_the_command_that_installs_it() -> None:
    """Pip adds an extra to the fanfold that is installed, also to one from a copy of the repository."""
    source = Path(__file__).parents[2] / "src" / "fanfold"
    calls = [
        ast.unparse(node.args[0])
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "MissingExtra"
    ]
    commands = [re.search(r"pip install 'fanfold\[([^]]+)\]'.$", call.replace("\\'", "'")) for call in calls]
    assert len(calls) > 8
    assert [call for call, command in zip(calls, commands, strict=True) if command is None] == []
    assert {found[1] for found in commands if found and "{" not in found[1]} < set(EXTRAS)


@pytest.mark.parametrize("name", NEEDS)
def test_a_version_that_is_too_old_is_named_with_the_right_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, extra = NEEDS[name]
    monkeypatch.setattr(metadata, "version", lambda _: "0.0.1")
    with pytest.raises(MissingExtra) as raised:
        anew(name)
    said = str(raised.value)
    assert f"0.0.1 is installed: pip install 'fanfold[{extra}]'" in said
    least = said.partition(f"fanfold[{extra}] needs {package} ")[2].split()[0]
    assert f"{package}>={least}" in EXTRAS[extra], "the extra asks for the same version"


@pytest.mark.parametrize(
    ("there", "right"), [("1.9", False), ("1.10", True), ("1.10.0rc1", True), ("2.0", True)]
)
def test_versions_are_compared_by_their_numbers(
    there: str, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: there)
    if right:
        require("package", "1.10", "extra")
    else:
        with pytest.raises(MissingExtra, match=r"package 1\.10 or later; 1\.9 is installed"):
            require("package", "1.10", "extra")


@pytest.mark.parametrize("name", ["adk", "otel", "mcp"])
def test_importing_one_integration_imports_no_other(name: str) -> None:
    pytest.importorskip({"adk": "google.adk", "otel": "opentelemetry", "mcp": "mcp"}[name])
    code = f"import sys, fanfold.integrations.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {each for each in done.stdout.split() if each.startswith("fanfold.integrations.")}
    shared = {f"fanfold.integrations.{each}" for each in (name, "adapter", "laying", "requirement")}
    assert others <= shared
