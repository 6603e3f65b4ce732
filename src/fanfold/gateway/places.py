"""What the settings name on this machine: whether it can be used just now. Only `fanfold serve --check` looks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fanfold.core.errors import FanfoldError
from fanfold.gateway.mistakes import Mistake
from fanfold.gateway.settings import ServeSettings
from fanfold.session.pool import Pool
from fanfold.stores.opening import open_store, parse_name

_COMMON = "gpt-5.2"


def unusable(settings: ServeSettings) -> Iterator[Mistake]:
    """A store or a journal that cannot be written, and a budget that cannot be kept.

    A server is not asked: it may be up only when the gateway is.
    """
    yield from _check_store(settings.store)
    if settings.journal:
        yield from _check_folder("journal", Path(settings.journal))
    yield from _check_budget(settings)


def _check_store(name: str) -> Iterator[Mistake]:
    try:
        parsed = parse_name(name)
        if parsed.file is not None:
            yield from _check_folder("store", parsed.file)
        elif not parsed.is_server:
            open_store(name)
    except FanfoldError as error:
        yield Mistake(("serve", "store"), str(error))


def _check_folder(what: str, file: Path) -> Iterator[Mistake]:
    folder, here = file.absolute().parent, ("serve", what)
    if not folder.is_dir():
        told = f"The {what} is {file}, and there is no folder {folder}. Make it, or name another file."
        yield Mistake(here, told)
    elif not os.access(file if file.exists() else folder, os.W_OK):
        yield Mistake(
            here, f"The {what} is {file}, which cannot be written. Change its rights, or name another file."
        )


def _check_budget(settings: ServeSettings) -> Iterator[Mistake]:
    """Open a session as the gateway would, with all else that the file says."""
    windows = {settings.window, *(key.window for key in settings.keys.values())}
    try:
        with Pool("memory") as pool:
            for number, window in enumerate(windows):
                given: dict[str, Any] = {} if window is None else {"window": window}
                with pool.session(f"check {number}", model=_COMMON, **given):
                    pass
    except FanfoldError as error:
        yield Mistake(("budget",), str(error))
