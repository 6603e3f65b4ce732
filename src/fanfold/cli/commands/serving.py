"""Commands that serve: mcp."""

from __future__ import annotations

import click

import fanfold
from fanfold.cli.sessions import on_session


@click.command
@on_session
def mcp(chat: fanfold.Session, as_json: bool) -> None:
    """Serve the recall tools of a session to an MCP client over standard input and output.

    \b
    Example: fanfold mcp run-42 --store sqlite:agent.db
    """
    import asyncio

    from fanfold.integrations.mcp import serve

    asyncio.run(serve(chat))
