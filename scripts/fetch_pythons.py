"""Newer Pythons than this machine has, to install the wheel with: as Debian's newest packages carry them.

Needs apt on an x86-64 machine, and no rights of an administrator: packages are unpacked into `.pythons`, and nothing
is installed. Where there is none of it, the wheel is tried with the Pythons of this machine, and that is said.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_release import FETCHED, OLDEST, interpreters

SUITE = "sid"
PATIENCE = 300
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "usr/lib64/ld-linux-x86-64.so.2"


class Unreachable(Exception):
    """No newer Python can be had here."""


class Packages:
    """Debian's newest packages, asked for beside what is installed here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb {mirror()} {SUITE} main\n", encoding="utf-8")
        run(*self._apt("apt-get"), "--quiet", "update")

    def pythons(self) -> list[str]:
        """The packages of Pythons that fanfold supports and this machine does not have."""
        names = run(*self._apt("apt-cache"), "pkgnames", "python3.").split()
        minors = sorted(int(found[1]) for name in names if (found := re.fullmatch(r"python3\.(\d+)", name)))
        had = interpreters()
        return [f"python3.{minor}" for minor in minors if minor >= OLDEST and f"3.{minor}" not in had]

    def unpack(self, names: list[str], into: Path) -> None:
        """Fetch these packages, with all that they need, and unpack them."""
        options = ("--quiet", "--yes", "--download-only", "--no-install-recommends")
        run(*self._apt("apt-get"), *options, "install", *names)
        for package in sorted((self._folder / "cache/archives").glob("*.deb")):
            run("dpkg-deb", "--extract", str(package), str(into))
        for link in into.rglob("*"):
            if link.is_symlink() and (place := link.readlink()).is_absolute():
                link.unlink()  # it means a place in the root of a whole system
                link.symlink_to(FETCHED / place.relative_to("/"))

    def _apt(self, command: str) -> list[str]:
        folder = self._folder
        settings = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State": folder,
            "Dir::State::status": folder / "status",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",  # otherwise apt's own user fetches, who may not enter this folder
        }
        return [command, *(f"--option={name}={value}" for name, value in settings.items())]


def main() -> None:
    """Fetch what is missing, say what came of it, and leave a stamp: once is enough."""
    try:
        print(fetch(), file=sys.stderr)
    except Unreachable as reason:
        print(f"no newer Python than this machine has is tried: {reason}", file=sys.stderr)
        return
    FETCHED.mkdir(exist_ok=True)
    for stamp in sys.argv[1:]:
        Path(stamp).touch()


def fetch() -> str:
    """Every Python that Debian has and this machine lacks, in `.pythons`."""
    if platform.machine() != "x86_64" or not all(map(shutil.which, ("apt-get", "dpkg-deb"))):
        raise Unreachable("there is no apt here, or it is not an x86-64 machine")
    with tempfile.TemporaryDirectory() as folder:
        packages = Packages(Path(folder, "apt"))
        names = packages.pythons()
        if not names:
            return "Debian has no Python that this machine lacks"
        half = Path(folder, "root")
        packages.unpack([*names, "libstdc++6"], half)
        shutil.rmtree(FETCHED, ignore_errors=True)
        shutil.copytree(half, FETCHED, symlinks=True)
    for name in names:
        settle(FETCHED / "usr/bin" / name)
    return f"fetched {', '.join(names)}"


def settle(python: Path) -> None:
    """Start a program by its own loader and libraries, which are newer than those of this machine."""
    program = python.with_suffix(f"{python.suffix}.program")
    python.rename(program)
    loader = f'"{FETCHED / LOADER}" --library-path "{FETCHED / LIBRARIES}" --argv0 "$0"'
    python.write_text(f'#!/bin/sh\nexec {loader} "{program}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)


def mirror() -> str:
    """Where this machine has Debian's packages from."""
    shown = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)").splitlines()
    found = [line.split() for line in shown if line.startswith("Debian ")]
    plain = [place for _, suite, place in found if "-" not in suite]
    if not plain:
        raise Unreachable("this machine has no list of Debian's packages (apt-get update makes one)")
    return plain[0]


def run(*command: str) -> str:
    """What a command says."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise Unreachable(f"{command[0]} failed: {' '.join(said)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(str(error)) from error
    return done.stdout


if __name__ == "__main__":
    main()
