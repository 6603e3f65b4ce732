"""Write the reference of all commands into docs/cli.md, from the commands themselves."""

from __future__ import annotations

import sys
from collections import Counter
from inspect import cleandoc
from pathlib import Path

import click

from fanfold.cli.app import COMMANDS, SECTIONS, fanfold

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
MARK = "## Every command\n"
MANY = 6
"""An option that so many commands have in the same words is described once."""


def reference() -> str:
    """Every command with its options."""
    blocks = [MARK, "Options that mean the same wherever they are:\n"]
    blocks += ["\n".join(f"- {words}" for words in shared()) + "\n"]
    for title, section in SECTIONS.items():
        blocks += [f"### {title}\n", *(_command(name) for name in section)]
    return "\n".join(blocks)


def shared() -> list[str]:
    """The options that many commands have."""
    found = Counter(_option(option) for name in COMMANDS for option in _options(name))
    return [words for words, number in found.items() if number >= MANY]


def _command(name: str) -> str:
    command = _named(name)
    words, _, example = cleandoc(command.help or "").partition("\b\n")
    arguments = " ".join(_argument(param) for param in command.params if isinstance(param, click.Argument))
    own = [option for option in _options(name) if _option(option) not in shared()]
    also = [f"`{max(option.opts, key=len)}`" for option in _options(name) if option not in own]
    lines = [f"#### `fanfold {' '.join(filter(None, (name, arguments)))}`", "", " ".join(words.split()), ""]
    lines += [f"- {_option(option)}" for option in own]
    lines += [f"- also {', '.join(also)}"] if also else []
    return "\n".join([*lines, "", f"`{example.strip().removeprefix('Example: ')}`", ""])


def _named(name: str) -> click.Command:
    command = fanfold.get_command(click.Context(fanfold), name)
    assert command is not None
    return command


def _options(name: str) -> list[click.Option]:
    return [param for param in _named(name).params if isinstance(param, click.Option)]


def _argument(argument: click.Argument) -> str:
    own = argument.metavar  # as the command's help has it
    several = own.endswith("...") if own else argument.nargs == -1
    name = argument.human_readable_name.upper().removesuffix("...") + ("…" if several else "")
    return name if argument.required else f"[{name}]"


def _option(option: click.Option) -> str:
    shown = option.show_default and isinstance(option.default, int | float)
    default = f" By default {option.default:g}." if shown else ""
    return f"`{', '.join(option.opts)}{_value(option)}`: {option.help}{default}"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return f" {'|'.join(option.type.choices)}"
    return "" if option.is_flag else f" {(option.type.name or '').split()[0].upper()}"


def written(page: str) -> str:
    """The page with the reference as it should be."""
    return page[: page.index(MARK)] + reference()


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(text != written(text))
    PAGE.write_text(written(text), encoding="utf-8")
