"""The `fanfold` command: a table of commands, and one place where errors become sentences and exit codes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from fanfold.cli import streams
from fanfold.core.errors import (
    BadInput,
    BadSetting,
    Corrupt,
    DoesNotFit,
    FanfoldError,
    NotFound,
    UnknownModel,
)

SECTIONS = {
    "Begin": {"demo": "demo:demo", "init": "init:init", "completion": "completion:completion"},
    "Files": {
        "fit": "fit:fit",
        "stats": "stats:stats",
        "replay": "replay:replay",
        "exam": "exam:exam",
        "models": "models:models",
    },
    "Look": {
        "ls": "looking:ls",
        "show": "looking:show",
        "why": "looking:why",
        "diff": "looking:diff",
        "cache": "looking:cache",
        "inspect": "inspecting:inspect",
    },
    "Find again": {"cat": "finding:cat", "grep": "finding:grep", "search": "finding:search"},
    "Change what is shown; all of it can be taken back": {
        "compact": "changing:compact",
        "fold": "changing:fold",
        "undo": "changing:undo",
        "redo": "changing:redo",
        "release": "changing:release",
        "pin": "changing:pin",
        "unpin": "changing:unpin",
        "note": "changing:note",
    },
    "Move in time": {"rewind": "moving:rewind", "forward": "moving:forward", "fork": "moving:fork"},
    "Keep a store": {
        "import": "keeping:bring",
        "export": "keeping:export",
        "gc": "keeping:gc",
        "erase": "keeping:erase",
        "doctor": "keeping:doctor",
        "rekey": "keeping:rekey",
    },
    "Serve": {"serve": "serving:serve", "requests": "requests:requests", "mcp": "serving:mcp"},
}
"""Where each command stands in `fanfold.cli.commands`, in the order in which `fanfold --help` lists them."""
COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}
"""Every command, and its module and function."""

USAGE, FAILED, TOO_SMALL, INTERRUPTED, CLOSED_PIPE = 2, 3, 4, 130, 141
"""Exit codes beside 0, all is well, and 1, the answer is no (nothing found, something is damaged)."""
_REWORDED = (
    (r"`view\(\)`", "`fanfold show`"),
    (r"`(model|window|name)=`", r"`--\1`"),
    (
        r"\b(window)=…; or register it in code, .*?; or in fanfold\.toml,",
        r"--\1 …, or write in fanfold.toml:",
    ),
    (r"(No entry here begins with '[^']*')\.", r"\1: `fanfold show SESSION --ids` prints the ids."),
    (r"say `through=True`", "give --through"),
    (r"`say` or `note` it first", "`fanfold note` it first"),
    (r"give its `key`, or put it into FANFOLD_KEY", "put its key into FANFOLD_KEY"),
)
"""What the library's errors say to programmers, and what a command says to people instead."""


class Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"fanfold.cli.commands.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; where there is none, those that are spelled alike are named."""
        alike = get_close_matches(args[0], COMMANDS, 3)
        if args[0] not in COMMANDS and alike and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, alike))}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by section, each with its first sentence."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                commands = {name: self.get_command(ctx, name) for name in section}
                formatter.write_dl(
                    [(name, command.get_short_help_str(80)) for name, command in commands.items() if command]
                )


def _say_version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"fanfold, version {import_module('fanfold').__version__}")
        ctx.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_version,
    help="Say the version.",
)
@click.pass_context
def fanfold(ctx: click.Context) -> None:
    """Keep an LLM agent's conversation inside its model's window, and lose nothing.

    Begin with `fanfold demo`. Commands on a store look for it in --store or FANFOLD_STORE, else in
    sqlite:agent.db.

    \b
    Exit codes: 0 all is well, 1 the answer is no (nothing found, something is damaged), 2 wrong usage
    or input, 3 a file or store failed, 4 it cannot fit the window, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors become one sentence on standard error."""
    streams.prepare()
    try:
        code = fanfold.main(
            list(arguments) if arguments is not None else None, "fanfold", standalone_mode=False
        )
        sys.stdout.flush()
    except click.ClickException as error:
        return _fail(_usage(error), USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted; nothing was left half-written.", INTERRUPTED)
    except BrokenPipeError:
        return _close_output()
    except SystemExit as end:  # click says so when the pipe is closed, and at the end of a completion
        return CLOSED_PIPE if "Pacify" in type(sys.stdout).__name__ else int(end.code or 0)
    except BadSetting as error:
        return [_fail(_reword(line), _code(error)) for line in str(error).splitlines()][-1]  # a line for each
    except FanfoldError as error:
        return _fail(_reword(str(error)) + _way_on(error), _code(error))
    except OSError as error:
        return _fail(_sentence(error), FAILED)
    return code if isinstance(code, int) else 0


def _usage(error: click.ClickException) -> str:
    """What was wrong with how it was called, and where to read how it is right."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx else "fanfold"
    wrong = error.format_message()
    return f"{wrong}{'' if wrong.endswith(('.', '?')) else '.'} See `{path} --help`."


def _fail(text: str, code: int) -> int:
    """Say in one line what went wrong; returns the exit code."""
    click.echo(f"fanfold: {' '.join(text.split())}", err=True)
    return code


def _reword(text: str) -> str:
    """An error's text with commands and options in the place of calls and arguments."""
    for pattern, words in _REWORDED:
        text = re.sub(pattern, words, text)
    return text


def _way_on(error: FanfoldError) -> str:
    """What to do about damage, where the error itself does not say it."""
    said = str(error)
    if not isinstance(error, Corrupt) or "fanfold" in said or "Bring back" in said:
        return ""
    return (
        " `fanfold doctor` says what else is, and `fanfold export SESSION --readable` saves what can be read."
    )


def _code(error: FanfoldError) -> int:
    if isinstance(error, DoesNotFit):
        return TOO_SMALL
    return USAGE if isinstance(error, BadInput | NotFound | UnknownModel) else FAILED


def _sentence(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{(error.strerror or str(error)).lower()}."


def _close_output() -> int:
    """Whoever read our output went away. Python writes to it once more when it exits, so let it write to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE
