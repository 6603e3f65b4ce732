"""Look over what a release would ship, and say what is not right.

    python scripts/check_release.py            all of it: what has to hold before a release
    python scripts/check_release.py --wheels   build wheel and sdist, and install them into empty environments

Each check is a line: a tick, a cross, or a dash for a Python that this machine does not have, or that a dependency has
no wheel for yet. The exit code is 1 if one of them fails. The first form empties `dist/` and builds into it: what is
uploaded is what was checked. If a check fails, `dist/` is removed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SMOKE = """
import fanfold
messages = [{"role": "user", "content": f"Question {n}: what is {n} squared?"} for n in range(500)]
short = fanfold.fit(messages, window=2_000)
assert 0 < len(short) < 500, len(short)
with fanfold.open("smoke", window=2_000, store="sqlite:smoke.db") as chat:
    chat.say("Hello")
    chat.request()
assert fanfold.__version__ == "%s", fanfold.__version__
"""
UV = str(Path(sys.executable).with_name("uv"))
DIST = ROOT / "dist"
FETCHED = ROOT / ".pythons"
"""Where `scripts/fetch_pythons.py` puts those that this machine lacks."""
OLDEST, LATEST = 11, 20
"""Interpreters are looked for from 3.11 to 3.20."""


class Wrong(Exception):
    """A release must not go out like this."""


class NotTried(Exception):
    """A Python that this machine lacks, or a newer one for which somebody else has to release first."""


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built anew."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_contents(wheel: Path) -> str:
    """The wheel has the package, its data and its licences, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    info = f"fanfold-{PROJECT['version']}.dist-info/"
    if strangers := [name for name in names if not name.startswith(("fanfold/", info))]:
        raise Wrong(f"the wheel has files that are none of the package: {strangers[:3]}")
    tracked = _run(["git", "ls-files", "src"], cwd=ROOT).split("\n")
    missing = {name.removeprefix("src/") for name in tracked if name} - set(names)
    if missing:
        raise Wrong(f"the wheel lacks {sorted(missing)[:3]}")
    tests = [name for name in names if re.search(r"(^|/)(tests?/|test_|conftest)", name)]
    if tests:
        raise Wrong(f"the wheel has tests: {tests[:3]}")
    vendored = {name.rpartition("/")[0] for name in names if "/vendor/" in name}
    for folder in vendored:
        if not any(name.startswith(f"{folder}/LICENSE") for name in names):
            raise Wrong(f"{folder} has no licence text")
    return f"{len(names):,} files, {wheel.stat().st_size / 1024:,.0f} KB"


def check_metadata(wheel: Path) -> str:
    """The wheel says what it is, where it comes from, and under which licence."""
    name = f"fanfold-{PROJECT['version']}.dist-info/METADATA"
    told = Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())
    for field in ("License-Expression", "Requires-Python", "Summary", "Keywords"):
        if not told[field]:
            raise Wrong(f"{field} is missing in the metadata")
    urls = told.get_all("Project-URL") or []
    kinds = {url.partition(",")[0] for url in urls}
    if lacking := {"Documentation", "Source", "Changelog", "Issues"} - kinds:
        raise Wrong(f"pyproject.toml has no URL for {', '.join(sorted(lacking))}")
    supported = {
        kind.rpartition(" ")[2] for kind in told.get_all("Classifier") or [] if "Python :: 3." in kind
    }
    return f"{len(urls)} URLs, Python {', '.join(sorted(supported))}"


def check_version() -> str:
    """The version of the package is that of pyproject.toml."""
    import fanfold

    number = PROJECT["version"]
    if fanfold.__version__ != number:
        raise Wrong(
            f"the package says {fanfold.__version__}, pyproject.toml {number}; run `make clean` first"
        )
    return str(number)


def check_changelog(changes: str) -> str:
    """The newest section is about exactly this version, has the day of its release, and says something."""
    number = PROJECT["version"]
    heading, _, rest = changes.partition("\n## ")[2].partition("\n")
    said, _, day = heading.partition(" ")
    if said.strip("[]") not in (number, number.removesuffix(".0")):
        raise Wrong(f"the newest section of CHANGELOG.md is {heading!r}, not {number}")
    if not re.fullmatch(r"\(?\d{4}-\d\d-\d\d\)?", day):
        raise Wrong(f"CHANGELOG.md has no day for {said}: `## {said} ({date.today()})`")
    told = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("- ")]
    if not told:
        raise Wrong(f"CHANGELOG.md says nothing about {said}")
    return f"{heading}, {len(told)} points"


def check_papers() -> str:
    """What people look for beside the code is there."""
    papers = ("LICENSE", "SECURITY.md", "CITATION.cff", "CONTRIBUTING.md", "RELEASING.md")
    if missing := [paper for paper in papers if not (ROOT / paper).is_file()]:
        raise Wrong(f"{', '.join(missing)} is missing")
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    if f"version: {PROJECT['version']}" not in cited:
        raise Wrong(f"CITATION.cff names another version than {PROJECT['version']}")
    return ", ".join(papers)


def check_docs() -> str:
    """The documentation builds, and every link in it leads somewhere. Nothing is installed for it here."""
    _run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT)
    return f"{len(list((ROOT / 'site').rglob('*.html')))} pages"


def check_install(archive: Path, python: str, resolution: str = "highest") -> str:
    """The archive installs into an empty environment, and works there."""
    with tempfile.TemporaryDirectory() as folder:
        _run([UV, "venv", "--quiet", "--python", python, folder])
        scripts = Path(folder, "Scripts" if os.name == "nt" else "bin")
        chosen = ["--python", str(scripts / "python"), "--resolution", resolution]
        if archive.suffix == ".whl":  # the sdist is built here; nothing else ever is
            chosen.append("--only-binary=:all:")
        _run([UV, "pip", "install", "--quiet", *chosen, str(archive)])
        _run([str(scripts / "python"), "-c", SMOKE % PROJECT["version"]], cwd=folder)
        installed = _run([UV, "pip", "list", "--quiet", "--python", str(scripts / "python")]).strip()
        return f"{len(installed.splitlines()) - 2} packages"


def check_newer(wheel: Path, python: str) -> str:
    """The wheel installs on a Python that is not promised yet, unless a dependency has none for it."""
    try:
        return check_install(wheel, python)
    except Wrong as wrong:
        if lacking := re.search(r"([a-z][\w-]+)\S*\s+ha(?:ve|s) no usable wheels", str(wrong)):
            raise NotTried(f"{lacking[1]} has no wheel for it yet") from wrong
        raise


def promised(python: str) -> bool:
    """Whether pyproject.toml says that this version of Python is supported."""
    return f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]


def interpreters() -> dict[str, str]:
    """Every Python from 3.11 on that this machine has or that was fetched, by version."""
    found: dict[str, str] = {}
    homes = [Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python"]
    kept = [path for home in homes if home.is_dir() for path in sorted(home.glob("*/bin"))]
    for minor in range(OLDEST, LATEST + 1):
        places = [*map(str, kept), None, str(FETCHED / "usr/bin")]  # None is the path of the shell
        found_here = (shutil.which(f"python3.{minor}", path=place) for place in places)
        named = next(filter(None, found_here), None)
        if named:
            found[f"3.{minor}"] = named
    return found or {f"3.{sys.version_info.minor}": sys.executable}


def missing(found: Iterable[str]) -> list[str]:
    """The versions of Python that are promised, but are not among these."""
    every = (f"3.{minor}" for minor in range(OLDEST, LATEST + 1))
    return [python for python in every if promised(python) and python not in found]


def not_tried(python: str) -> str:
    """A version that nothing was installed with."""
    raise NotTried(f"not tried, because this machine has no Python {python}")


def _run(command: list[str], cwd: str | Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-6:]
        raise Wrong(f"`{' '.join(command[:4])} …` failed: {' / '.join(last)}")
    return done.stdout


def checks(wheel: Path, sdist: Path, everything: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each check and what it is called."""
    yield "what is in the wheel", lambda: check_contents(wheel)
    yield "the wheel's metadata", lambda: check_metadata(wheel)
    pythons = interpreters()
    for number, python in pythons.items():
        check = check_install if promised(number) else check_newer
        title = f"the wheel in an empty environment of Python {number}"
        yield title, lambda check=check, python=python: check(wheel, python)
    for number in missing(pythons):
        title = f"the wheel in an empty environment of Python {number}"
        yield title, lambda number=number: not_tried(number)
    oldest = next(iter(pythons.values()))
    yield "the sdist in an empty environment", lambda: check_install(sdist, oldest)
    yield "the lowest versions of dependencies", lambda: check_install(wheel, oldest, "lowest-direct")
    yield "the version", check_version
    yield "the papers", check_papers
    if everything:
        yield "the changelog", lambda: check_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        yield "the documentation", check_docs


def main() -> int:
    """Say how each check ended."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheels", action="store_true", help="leave the documentation and the changelog out")
    if parser.parse_args().wheels:
        with tempfile.TemporaryDirectory() as folder:
            return 1 if failures(Path(folder), everything=False) else 0
    shutil.rmtree(DIST, ignore_errors=True)
    if failures(DIST, everything=True):
        shutil.rmtree(DIST)
        return 1
    print("dist/ has what was checked.")
    return 0


def failures(folder: Path, *, everything: bool) -> int:
    """Build into a folder and look at what was built; how many checks failed."""
    failed = 0
    wheel, sdist = build(folder)
    with tarfile.open(sdist) as packed:
        print(f"built {wheel.name} and {sdist.name} ({len(packed.getnames()):,} files)", flush=True)
    for title, check in checks(wheel, sdist, everything):
        try:
            print(f"✓ {title}: {check()}", flush=True)
        except NotTried as reason:
            print(f"– {title}: {reason}", flush=True)
        except Wrong as wrong:
            failed += 1
            print(f"✗ {title}: {wrong}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
