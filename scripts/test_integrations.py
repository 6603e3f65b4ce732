"""Run the tests of integrations, each framework in an environment of its own, because what they depend on clashes.

    python scripts/test_integrations.py                 all of them
    python scripts/test_integrations.py langchain -x    one, with options for pytest

The environments lie in `.venv-integrations/`. One that cannot be made is told in a sentence, and its tests are skipped;
that is a failure for a framework that was named. The last line says what was skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINS = ROOT / "requirements" / "integrations"
PLACE = ROOT / ".venv-integrations"
TESTS = ROOT / "tests" / "integrations" / "frameworks"


def main(given: list[str]) -> int:
    """Test the frameworks that are named, or all; the number of those that failed."""
    known = sorted(path.stem for path in PINS.glob("*.txt"))
    first = next((at for at, word in enumerate(given) if word.startswith("-")), len(given))
    named, options = given[:first], given[first:]
    unknown = [name for name in named if name not in known]
    if unknown:
        print(f"There is no integration {unknown[0]!r}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    verdicts = {name: passes(name, options) for name in named or known}
    skipped = [name for name, verdict in verdicts.items() if verdict is None]
    if skipped:
        print(f"Not tested, because they cannot be installed here: {', '.join(skipped)}.", flush=True)
    return sum(verdict is False for verdict in verdicts.values()) + (len(skipped) if named else 0)


def passes(name: str, options: list[str]) -> bool | None:
    """Whether a framework's tests pass; None where it cannot be installed."""
    python = environment(name)
    if python is None:
        return None
    print(f"== {name}", flush=True)
    began = time.monotonic()
    tests = [str(TESTS / f"test_{name}.py"), "--confcutdir", str(TESTS), "-p", "no:cacheprovider", *options]
    done = subprocess.run([python, "-m", "pytest", *tests], cwd=ROOT, env=variables(name))
    print(f"   {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def environment(name: str) -> Path | None:
    """The Python of a framework's environment, made unless it is there; None where it cannot be made."""
    pins, place = PINS / f"{name}.txt", PLACE / name
    stamp, python = place / "installed", place / "bin" / "python"
    if stamp.exists() and stamp.read_text() == pins.read_text():
        return python
    print(f"installing {name}", file=sys.stderr, flush=True)
    quiet = ["--quiet", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        install = [python, "-m", "pip", "install", *quiet, "--require-hashes", "--requirement", pins]
        subprocess.run(install, check=True)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"skipped: {name} cannot be installed here ({error}).", file=sys.stderr, flush=True)
        return None
    stamp.write_text(pins.read_text())
    return python


def variables(name: str) -> dict[str, str]:
    """The environment variables of a run: fanfold as it stands here, and no telemetry of anybody's."""
    quiet = {
        "LANGSMITH_TRACING": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    here = {"PYTHONPATH": paths, "FANFOLD_FRAMEWORK": name, "FANFOLD_PYTHON": sys.executable}
    return {**os.environ, **quiet, **here}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
