"""Run every bench, and write what they printed on one page: docs/bench.md, with the machine and the date.

    python scripts/bench_all.py              all of them (an hour on two cores)
    python scripts/bench_all.py speed stores these only; the others stay on the page as they were
    python scripts/bench_all.py missing      those that are not on the page yet, or failed
    python scripts/bench_all.py messages=20000 leaks     a shorter one, where its length counts (requests=… for growth)
    python scripts/bench_all.py print        only print; without those that install something first

The page is written after each bench, so nothing is lost if you stop in between. A bench that fails is named on the page
and in the exit code; what it printed stands there too.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

SIZES = {"messages": 100_000, "requests": 2_000}
"""How long the benches are whose length counts."""
PRINT = "print"
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "bench.md"
OPENING = """\
# Figures you can check

What fanfold costs in time and memory, as ratios measured side by side in one run, so they hold on any machine. Each
block is what the command in its first line printed; `make bench-all` writes this page. Cost, memory and recall beside
other tools are on [replay](replay.md#peers-in-the-same-run), frameworks' own managers on
[integrations](integrations.md).
"""


class Bench(NamedTuple):
    """A command and what a reader learns from it."""

    name: str
    arguments: str
    learns: str
    sized: str = ""
    """What it takes a number of, if any."""
    installs: bool = False
    """Whether it installs something before it starts."""

    def of_size(self, sizes: Mapping[str, int]) -> Bench:
        """The same with as many messages or requests as are wanted, if their number counts."""
        return self._replace(arguments=f"{self.arguments} {sizes[self.sized]}") if self.sized else self

    @property
    def command(self) -> str:
        """As a person would type it."""
        return f"python {self.arguments}"


BENCHES = (
    Bench(
        "speed",
        "bench/speed.py",
        "All the work over a long session, over counting its text once.",
        sized="messages",
    ),
    Bench(
        "session",
        "bench/session.py",
        "What the verbs of a session take, and whether a step grows with the log.",
    ),
    Bench("counting", "bench/counting.py", "Counting tokens, over the raw tokenizer."),
    Bench("dialects", "bench/dialects.py", "Reading a provider's request, over parsing its JSON."),
    Bench("caching", "bench/caching.py", "Tokens and price with the prompt cache, beside a sliding window."),
    Bench("outputs", "bench/outputs.py", "Outputs of a gibibyte, beside grep and copying."),
    Bench("stores", "bench/stores.py", "Stores, beside memory and bare transactions.", sized="messages"),
    Bench("writers", "bench/writers.py", "Many writers at once."),
    Bench("leaks", "bench/leaks.py", "Whether memory grows with the number of requests.", sized="messages"),
    Bench("postgres", "bench/postgres.py", "Postgres: queries of an opening, and many sessions at once."),
    Bench("gateway", "bench/gateway.py", "The gateway, beside a bare pass-through on the same stack."),
    Bench(
        "growth",
        "bench/gateway.py growth",
        "Whether the gateway's memory grows with the number of requests.",
        sized="requests",
    ),
    Bench(
        "inspector", "bench/inspector.py", "The inspector in a browser: much of everything, beside a little."
    ),
    Bench(
        "integrations",
        "-m bench.integrations",
        "fanfold in frameworks, beside their own managers.",
        installs=True,
    ),
)


def main(wanted: list[str]) -> int:
    """Run the benches named, or all, and write the page after each; how many failed is the exit code."""
    sections = read_sections(PAGE.read_text(encoding="utf-8") if PAGE.exists() else "")
    failed, printing = 0, PRINT in wanted
    names = [one for one in wanted if "=" not in one and one != PRINT]
    asked = benches_named(names, sections)
    named = [bench for bench in asked if names or not (printing and bench.installs)]
    for bench in (bench.of_size(sizes_in(wanted)) for bench in named):
        print(f"{bench.name}: {bench.command}", flush=True)
        measured = machine()
        code, printed = run(bench)
        failed += code != 0
        if not printing:
            sections[bench.name] = write_section(bench, measured, code, printed)
            PAGE.write_text(write_page(sections), encoding="utf-8")
    if not printing:
        print(PAGE.relative_to(ROOT))
    return failed


def sizes_in(wanted: list[str]) -> dict[str, int]:
    """How long benches are to be, as `messages=20000` says it."""
    said = dict(one.split("=", 1) for one in wanted if "=" in one)
    if unknown := sorted(said.keys() - SIZES.keys()):
        sys.exit(f"There is no size {unknown[0]}; there are {', '.join(SIZES)}.")
    return {name: int(said.get(name) or size) for name, size in SIZES.items()}


def benches_named(wanted: list[str], sections: Mapping[str, str]) -> list[Bench]:
    """The benches with these names, or all; `missing` stands for those that the page lacks, or that failed."""
    if unknown := sorted(set(wanted) - {"missing", *(bench.name for bench in BENCHES)}):
        sys.exit(f"There is no bench {', '.join(unknown)}; there are {', '.join(b.name for b in BENCHES)}.")
    good = {name for name, section in sections.items() if "\nIt failed (exit " not in section}
    missing = {bench.name for bench in BENCHES} - good if "missing" in wanted else set()
    return [bench for bench in BENCHES if not wanted or bench.name in missing.union(wanted)]


def run(bench: Bench) -> tuple[int, str]:
    """The exit code of a bench and what it printed, without colours and paths of this machine; shown as it comes."""
    started, lines = time.monotonic(), list[str]()
    command = [sys.executable, "-u", *bench.arguments.split()]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True) as going:
            assert going.stdout is not None
            for line in going.stdout:
                lines.append(line)
                print(f"  {line.rstrip()}", flush=True)
        errors.seek(0)
        told = f"\n{errors.read()[-2_000:]}" if going.returncode else ""
    print(f"  {time.monotonic() - started:.0f} s, exit {going.returncode}", flush=True)
    printed = "".join(lines) + told
    return going.returncode, re.sub(r"\x1b\[[0-9;]*m", "", printed).replace(str(ROOT), ".").strip()


def write_section(bench: Bench, measured: str, code: int, printed: str) -> str:
    """A bench on the page."""
    failed = f"\nIt failed (exit {code}).\n" if code else ""
    return (
        f"## {bench.name}\n\n{bench.learns} {measured}\n{failed}\n"
        f"```text\n$ {bench.command}\n{printed}\n```\n"
    )


def machine() -> str:
    """What the figures were measured on, and when."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    today = datetime.now(UTC).date()
    return (
        f"Measured {today} on {os.cpu_count()} cores ({platform.machine()}, {platform.system()}, "
        f"load {load:.1f}), Python {platform.python_version()}."
    )


def read_sections(page: str) -> dict[str, str]:
    """The benches that a page has, by name."""
    found = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {section.split(maxsplit=2)[1]: section.rstrip() + "\n" for section in found}


def write_page(sections: dict[str, str]) -> str:
    """The page, with the benches in the order of the table."""
    return "\n".join([OPENING, *(sections[bench.name] for bench in BENCHES if bench.name in sections)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
