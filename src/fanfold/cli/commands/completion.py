"""What a shell needs to complete commands, models, sessions and their entries."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fanfold.cli.saying import as_json, say

_FILES = {
    "bash": 'eval "$(fanfold completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(fanfold completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "fanfold completion fish | source    # in ~/.config/fish/config.fish",
}


@click.command
@click.argument("shell", type=click.Choice(tuple(_FILES)))
@as_json
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the lines that let your shell complete what you type.

    Sessions, entries and edits are completed too, from the store that is named on the line or in FANFOLD_STORE.

    \b
    Example: fanfold completion bash >> ~/.bashrc
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three shells"
    script = kind(ctx.find_root().command, {}, "fanfold", "_FANFOLD_COMPLETE").source()
    say({"shell": shell, "script": script}, f"# {_FILES[shell]}\n{script}", as_json)
