"""A settings file to begin with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from fanfold.cli.files import atomic_file
from fanfold.cli.saying import as_json, say
from fanfold.config.settings_file import NAME
from fanfold.core.errors import BadInput


@click.command
@click.option("--force", is_flag=True, help="Replace the file that is there.")
@as_json
def init(force: bool, as_json: bool) -> None:
    """Write a commented fanfold.toml into this folder.

    \b
    Example: fanfold init
    """
    target = Path(NAME)
    if target.exists() and not force:
        raise BadInput(f"{NAME} is there already; --force replaces it.")
    with atomic_file(target) as file:
        file.write(files("fanfold.cli").joinpath("fanfold.toml").read_bytes())
    say({"file": NAME}, f"{NAME} is written: every setting is in it, commented out.", as_json)
