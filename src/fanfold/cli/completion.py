"""What the shell is told when somebody presses the tab key."""

from __future__ import annotations

from contextlib import suppress

import click

from fanfold.core.errors import FanfoldError


def model_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Models that begin so, those of fanfold.toml too."""
    from fanfold.config.settings_file import register_models
    from fanfold.tokens.models import known

    with suppress(FanfoldError):  # a broken settings file is told by the command, not by the tab key
        register_models()
    return [name for name in known() if name.startswith(incomplete)]


def session_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Sessions that begin so, of the store that the command line or the environment names."""
    from fanfold.cli.sessions import Sessions

    try:
        names = Sessions(ctx.params["store"], ctx.params["tenant"]).names()
    except (FanfoldError, KeyError):
        return []
    return [name for name in names if name.startswith(incomplete)]
