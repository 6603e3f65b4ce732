"""An environment for each peer, because what they depend on clashes. A peer's file says at its top what it needs."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
PLACE = ROOT / ".venv-peers"
_HEAD = re.compile(r"^# /// script\n(.*?)^# ///$", re.MULTILINE | re.DOTALL)


class Needs(NamedTuple):
    """What a peer's file says it needs."""

    packages: tuple[str, ...]
    python: tuple[int, int]
    """The oldest Python that will do."""


def needs(source: str) -> Needs | None:
    """The head of a script, as PEP 723 writes it."""
    found = _HEAD.search(source)
    if found is None:
        return None
    lines = (line.removeprefix("#").removeprefix(" ") for line in found[1].splitlines())
    head = tomllib.loads("\n".join(lines))
    version = re.findall(r"\d+", head.get("requires-python", ">=3.11"))
    return Needs(tuple(head["dependencies"]), (int(version[0]), int(version[1])))


def peers() -> dict[str, Path]:
    """Every peer's file, by its name."""
    files = {path.stem: path for path in sorted(HERE.glob("*.py"))}
    return {name: path for name, path in files.items() if needs(path.read_text()) is not None}


def policies(source: str) -> list[str]:
    """The names of a peer's policies: the keys of `POLICIES` in its file."""
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="POLICIES")], value=ast.Dict(keys=keys)):
                return [str(ast.literal_eval(key)) for key in keys if key is not None]
    return []


def command(peer: str) -> list[str]:
    """How a peer's process is started, in the folder `ROOT`."""
    return [str(PLACE / peer / "bin" / "python"), "-m", f"bench.peers.{peer}"]


def make(peer: str) -> None:
    """Make a peer's environment, unless it is there; a stamp in it says what is installed."""
    wanted = needs(peers()[peer].read_text())
    assert wanted is not None
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    packages = [*wanted.packages, *core]
    stamp = PLACE / peer / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(packages):
        return
    print(f"installing {peer}", file=sys.stderr)
    subprocess.run([_python(wanted.python), "-m", "venv", PLACE / peer], check=True)
    quiet = ["--quiet", "--quiet", "--disable-pip-version-check"]
    install = [PLACE / peer / "bin" / "python", "-m", "pip", "install", *quiet, *packages]
    subprocess.run(install, check=True)
    stamp.write_text("\n".join(packages))


def _python(oldest: tuple[int, int]) -> str:
    """A Python that is new enough: this one, or one on the path."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    for minor in range(oldest[1], oldest[1] + 5):
        found = shutil.which(f"python{oldest[0]}.{minor}")
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    raise LookupError(f"it needs Python {oldest[0]}.{oldest[1]}, and there is none here")
