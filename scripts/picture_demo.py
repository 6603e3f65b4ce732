"""Draw docs/assets/demo.svg: the demo as it ends in a terminal.

python scripts/picture_demo.py

The demo reads the library of the Python that runs it, so the picture says which one that was.
"""

from __future__ import annotations

import io
import platform
import re
import sys
from html import unescape
from pathlib import Path

from fanfold import demo

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "demo.svg"
PYTHON = f"Python {platform.python_version()}"


def main() -> int:
    """Run the demo, and write what it draws, unless only the seconds that it took are others."""
    drawn = io.BytesIO()
    ended = demo.main(fast=True, record=drawn)
    picture = sign(drawn.getvalue().decode())
    if words(picture) != words(PICTURE.read_text(encoding="utf-8")):
        PICTURE.write_text(picture, encoding="utf-8")
    return ended


def sign(picture: str) -> str:
    """The picture, with the Python that it was drawn by."""
    return picture.replace("</svg>", f"<desc>{PYTHON}</desc></svg>") if "<desc>" not in picture else picture


def words(picture: str) -> list[str]:
    """All that stands in it, but for the seconds that it took."""
    found = re.findall(r"<(?:text|desc)[^>]*>([^<]*)</", picture)
    return [re.sub(r"^[\d.]+ s,", "… s,", unescape(text).replace("\xa0", " ")) for text in found]


if __name__ == "__main__":
    sys.exit(main())
