"""Commands that serve: mcp."""

from __future__ import annotations

import click

import fanfold
from fanfold.cli.saying import say
from fanfold.cli.sessions import on_session


@click.command
@on_session
def mcp(chat: fanfold.Session, as_json: bool) -> None:
    """Serve a session's recall tools to an MCP client.

    Over standard input and output. With --json the tools are printed, and nothing is served.

    \b
    Example: fanfold mcp run-42 --store sqlite:agent.db
    """
    import asyncio

    from fanfold.integrations.mcp import definitions, serve  # late: few serve

    if as_json:
        say(definitions(), "", True)
    else:
        asyncio.run(serve(chat))
