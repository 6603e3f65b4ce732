"""The command that opens the inspector: a page that shows what the model saw, and brings back what was left out."""

from __future__ import annotations

import shlex

import click

from fanfold.cli.saying import as_json, say
from fanfold.cli.sessions import default_store, default_tenant, existing_store
from fanfold.stores.opening import open_store


@click.command
@click.argument("store", envvar="FANFOLD_STORE", default=default_store)
@click.option("--write", is_flag=True, help="Offer changes too: undo, pin, note, fold, rewind, fork, erase.")
@click.option(
    "--tenant",
    "tenants",
    multiple=True,
    help="Whose sessions; by default that of the settings, else `default`.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; this machine only.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=4142, show_default=True, help="0 chooses a free one."
)
@click.option("--browse", is_flag=True, help="Open the page in the browser.")
@as_json
def inspect(
    store: str, write: bool, tenants: tuple[str, ...], host: str, port: int, browse: bool, as_json: bool
) -> None:
    """Show the sessions of a store in a page.

    The link that is printed works once, in one browser. Nothing is changed unless --write is given.

    \b
    Example: fanfold inspect sqlite:agent.db --write
    """
    from fanfold.inspector.answer import NextLink
    from fanfold.inspector.app import Inspector  # late: few look
    from fanfold.inspector.safety import new_token
    from fanfold.inspector.serve import address, listen, make_server

    kept, token = open_store(existing_store(store, "after `inspect`")), new_token()
    shown = Inspector(
        kept,
        {token: tenants or (default_tenant(),)},
        write=write,
        title=store.rpartition("/")[2],
        renewal=NextLink(command=_again(store, write, tenants)),
    )
    server = make_server(shown)
    with listen(host, port) as bound:
        url = address(bound, token)
        say(
            {"url": url, "store": store, "write": write},
            f"Open {url}\n{'Changes are offered' if write else 'Nothing can be changed'}; Ctrl-C ends it.",
            as_json,
        )
        if browse:
            click.launch(url)
        server.run([bound])


def _again(store: str, write: bool, tenants: tuple[str, ...]) -> str:
    """The same command; the address of a server is left out, for it may hold a password."""
    named = store if store.startswith("sqlite:") else "STORE"
    options = [word for tenant in tenants for word in ("--tenant", tenant)] + ["--write"] * write
    return f"fanfold inspect {shlex.join([named, *options])}"
