"""What can be answered from nothing but a reduced request?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanfold.cli.commands.replay import found_traces
from fanfold.cli.saying import as_json, columns, many, progress, say
from fanfold.cli.sizes import size
from fanfold.core.errors import BadSetting

if TYPE_CHECKING:
    from fanfold.replay.exam import Result, Work

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command
@click.argument("traces", nargs=-1, callback=found_traces)
@click.option(
    "--write",
    "folder",
    type=FOLDER,
    help="The folder for questions, answers and grades; a second run continues there.",
)
@click.option("--read", type=FOLDER, help="Print the results of the exam in this folder, and ask nobody.")
@click.option(
    "--policy",
    default="default,drop_oldest",
    show_default=True,
    help="Policies, separated by commas, as in `replay`.",
)
@click.option("--window", type=size, default="32k", show_default=True, help="The window, such as 32k.")
@click.option(
    "--sessions",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="How many conversations to examine.",
)
@click.option(
    "--questions",
    type=click.IntRange(4),
    default=16,
    show_default=True,
    help="How many questions about each conversation.",
)
@click.option("--model", help="The model that asks, answers and grades; without one, people fill the files.")
@click.option("--asks", help="Another model for the questions.")
@click.option("--answers", help="Another model for the answers.")
@click.option("--grades", help="Another model for the grades.")
@click.option("--yes", is_flag=True, help="Do not ask me to confirm the cost.")
@as_json
def exam(
    traces: list[Path],
    folder: Path | None,
    read: Path | None,
    policy: str,
    window: int,
    sessions: int,
    questions: int,
    model: str | None,
    asks: str | None,
    answers: str | None,
    grades: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Examine what can be answered from nothing but a reduced request.

    Questions are written from the whole conversation, answered from what a policy would have sent, and
    graded by somebody who does not know which policy it was: by models, or by anybody who fills the files
    in the folder.

    \b
    Example: fanfold exam runs/ --policy default,drop_oldest --window 32k --write exam --model claude-opus-4-5
    """
    from fanfold import replay as replaying  # late: few commands need it
    from fanfold.replay import exam as exams

    place = read or folder
    if place is None or (read and folder):
        raise BadSetting("Name one folder: --write FOLDER to hold an exam, --read FOLDER to see its results.")
    waiting: list[str] = []
    if read is None:
        if traces:
            chosen = exams.chosen(replaying.traces(traces), window, sessions)
            names = [name.strip() for name in policy.split(",") if name.strip()]
            with progress("replaying …") as told:
                exams.prepare(chosen, names, place, window=window, count=questions, done=told)
        who = {"asks": asks or model, "answers": answers or model, "grades": grades or model}
        _tell_costs(exams.left(place), who, yes)
        with progress("asking …") as told:
            waiting = exams.hold(place, **who, done=told)
    found = exams.results(place)
    say(_plain(found, waiting), "\n".join(_lines(found, waiting)), as_json)


def _tell_costs(left: list[Work], who: dict[str, str | None], yes: bool) -> None:
    """Say what the models that are named will be asked, and go on if that is all right."""
    names = dict(zip((work.stage for work in left), who.values(), strict=True))
    asked = [(work, name) for work in left if (name := names[work.stage]) and work.calls]
    if not asked:
        return
    for work, name in asked:
        price = work.dollars(name)
        dollars = "price unknown" if price is None else f"about ${price:.2f}"
        tokens = f"about {work.reads:,} tokens read, {work.writes:,} written"
        click.echo(f"{work.stage}: {many(work.calls, 'call')} of {name}, {tokens}, {dollars}", err=True)
    if not yes:
        click.confirm("Go on?", abort=True, err=True)


def _lines(found: list[Result], waiting: list[str]) -> list[str]:
    from fanfold.replay.exam import exam_rows, unanswered

    lines = []
    if found:
        rows = exam_rows(found)
        lines.append(columns(rows, right=range(1, len(rows[0]))))
        lines += [
            f"Nobody could answer: {one.question} ({one.right}; {one.session})" for one in unanswered(found)
        ]
    if waiting:
        lines += ["To be filled, then run the same command again:", *(f"  {line}" for line in waiting)]
    return lines or ["Nothing is graded yet."]


def _plain(found: list[Result], waiting: list[str]) -> dict[str, Any]:
    from fanfold.replay.exam import exam_rows

    head, *rows = exam_rows(found)
    return {
        "policies": [dict(zip(head, row, strict=True)) for row in rows],
        "answers": found,
        "to be filled": waiting,
    }
