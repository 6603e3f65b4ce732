"""Standard streams as commands need them: open, and able to print every text."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from types import FrameType

PLAINER = dict(zip("→…█░■✓✗·▸≡⋯", ">~#.*+x->=~", strict=True))
"""Signs that a terminal without UTF-8 is shown instead of ours; one for one, so that columns line up."""


def prepare() -> None:
    """Make the streams fit for use; a closed one is an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # its number must not go to a store's file
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plainer")


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAINER.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("plainer", _plainer)


def leave_when_told() -> None:
    """Let SIGTERM and a lost terminal end a command as an interrupt does: what it began is cleared away."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
