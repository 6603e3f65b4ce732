"""Commands that serve: serve, mcp."""

from __future__ import annotations

from typing import Any

import click

import fanfold
from fanfold.cli.saying import as_json, say
from fanfold.cli.sessions import on_session
from fanfold.cli.sizes import size
from fanfold.core.errors import BadInput


@click.command
@on_session
@click.option("--write", is_flag=True, help="Offer view, why, undo and pin, too.")
def mcp(chat: fanfold.Session, write: bool, as_json: bool) -> None:
    """Serve a session to an MCP client; with --write, let it change things.

    Over standard input and output. With --json the tools are printed, and nothing is served.

    \b
    Example: fanfold mcp run-42 --store sqlite:agent.db
    """
    import asyncio

    from fanfold.integrations.mcp import definitions, serve  # late: few serve

    if as_json:
        say(definitions(write=write), "", True)
    else:
        asyncio.run(serve(chat, write=write))


@click.command
@click.option("--host", help="Where to listen; any host but 127.0.0.1 needs virtual keys.")
@click.option("--port", type=int, help="By default 4141.")
@click.option(
    "--upstream", "upstreams", multiple=True, metavar="PROVIDER=URL", help="Another address of a provider."
)
@click.option(
    "-s",
    "--store",
    help="Where sessions are kept; also from FANFOLD_STORE or fanfold.toml; else sqlite:agent.db.",
)
@click.option(
    "--window", type=size, help="Keep every conversation in so many tokens; by default its model's window."
)
@click.option("--thrift", type=float, help="From 0 (use the whole window) to 1 (as cheap as possible).")
@click.option(
    "--inspector",
    type=click.Choice(["write", "read", "off"]),
    help="What browsers find at /: a page that changes things, only shows them, or nothing; by default write.",
)
@click.option("--otel", is_flag=True, help="Tell OpenTelemetry about every call; needs fanfold[otel].")
@click.option(
    "--defer", is_flag=True, default=None, help="Let clients' tools wait until the model needs them."
)
@click.option("--print", "client", metavar="CLIENT", help="Print what to set in this client, and exit.")
@click.option("--check", is_flag=True, help="Check the settings, and exit.")
@as_json
def serve(
    upstreams: tuple[str, ...], otel: bool, client: str | None, check: bool, as_json: bool, **given: Any
) -> None:
    """Serve the gateway: point any agent at it by its base URL.

    Settings come from [serve] in fanfold.toml; what is given here wins. SIGHUP reads the file again.
    With --json, --print and --check print JSON.

    \b
    Example: fanfold serve --window 64k
    """
    from fanfold.gateway.clients import lines_for  # late: few serve
    from fanfold.gateway.server import serve as listen
    from fanfold.gateway.settings import check_usable, read_settings

    given["upstreams"] = dict(map(_upstream, upstreams))
    settings = read_settings(given)
    url = settings.url
    if client is not None:
        lines = lines_for(client, url) + (_WITH_KEY if settings.keys else "")
        say({"client": client, "lines": lines.splitlines()}, lines, as_json)
    elif check:
        check_usable(settings, given)
        say({"url": url, "store": settings.store}, "The settings are right.", as_json)
    else:
        if otel:
            from fanfold.integrations.otel import instrument

            instrument()
        listen(settings, given)


_WITH_KEY = "\n# and as its API key, a key of [serve.keys]"


def _upstream(text: str) -> tuple[str, str]:
    provider, equals, address = text.partition("=")
    if not equals:
        raise BadInput(f"{text!r} names no address: write --upstream anthropic=http://127.0.0.1:9000.")
    return provider, address
