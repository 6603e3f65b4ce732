"""Real clients behind the gateway, in a network of loopback only: `make test-clients`.

Needs npm once, to fetch the clients into `.clients`, and Linux with network namespaces. Where one of them is not there,
it says so and ends well.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".clients"
CLIENTS = {
    "@openai/codex": "0.169.0",
    "@anthropic-ai/claude-code": "2.1.326",
    "@google/gemini-cli": "0.61.0",
    "opencode-ai": "1.18.33",
    "ai": "7.0.173",
    "@ai-sdk/anthropic": "4.0.104",
    "@ai-sdk/openai": "4.0.118",
}
PATIENCE = 600


def main() -> None:
    """Fetch what is missing, and run the tests where nothing but loopback can be reached."""
    reason = why_not()
    if reason:
        print(f"no client was tried: {reason}", file=sys.stderr)
        return
    tests = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/clients", *sys.argv[1:]]
    inside = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", *tests]
    here = {**os.environ, "FANFOLD_CLIENTS": str(FOLDER / "node_modules" / ".bin")}
    sys.exit(subprocess.run([*namespace(), *inside], cwd=ROOT, env=here, check=False).returncode)


def why_not() -> str:
    """Why clients cannot be tried here; nothing where they can."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "unshare and ip (Linux, packages util-linux and iproute2) are not there"
    if subprocess.run(
        [*namespace(), "ip", "link", "set", "lo", "up"], capture_output=True, check=False
    ).returncode:
        return "network namespaces are not allowed here"
    return fetch()


def namespace() -> list[str]:
    """The command that begins a network of its own; who is not root is root in it."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]


def fetch() -> str:
    """Install the clients, unless these versions are there; why that failed, if it did."""
    wanted = {"private": True, "dependencies": CLIENTS}
    listed = FOLDER / "package.json"
    if (FOLDER / "node_modules").exists() and listed.exists() and json.loads(listed.read_text()) == wanted:
        return ""
    if shutil.which("npm") is None:
        return "npm is not there"
    print(f"fetching {', '.join(CLIENTS)}")
    FOLDER.mkdir(exist_ok=True)
    listed.write_text(json.dumps(wanted))
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--no-package-lock"]
    try:
        subprocess.run(install, cwd=FOLDER, check=True, timeout=PATIENCE)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        listed.unlink()
        return f"npm could not fetch them ({type(error).__name__})"
    return ""


if __name__ == "__main__":
    main()
