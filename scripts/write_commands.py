"""Write the reference of all commands into docs/cli.md, from the commands themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fanfold.cli.app import COMMANDS, fanfold

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
MARK = "## Every command\n"


def reference() -> str:
    """Every command with its options."""
    return "\n".join([MARK, *(_command(name) for name in COMMANDS)])


def _command(name: str) -> str:
    command = fanfold.get_command(click.Context(fanfold), name)
    assert command is not None
    words, _, example = (command.help or "").partition("\b\n")
    arguments = " ".join(_argument(param) for param in command.params if isinstance(param, click.Argument))
    lines = [f"### `fanfold {' '.join(filter(None, (name, arguments)))}`", "", " ".join(words.split()), ""]
    lines += [f"- {_option(param)}" for param in command.params if isinstance(param, click.Option)]
    return "\n".join([*lines, "", f"`{example.strip().removeprefix('Example: ')}`", ""])


def _argument(argument: click.Argument) -> str:
    name = argument.human_readable_name.upper() + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {(option.type.name or '').upper()}"
    return f"`{', '.join(option.opts)}{value}`: {option.help}"


def written(page: str) -> str:
    """The page with the reference as it should be."""
    return page[: page.index(MARK)] + reference()


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(text != written(text))
    PAGE.write_text(written(text), encoding="utf-8")
