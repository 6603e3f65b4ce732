"""The demo."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from fanfold.cli.files import FILE, atomic_file
from fanfold.core.errors import BadInput


@click.command
@click.option("--fast", is_flag=True, help="Show only the end.")
@click.option(
    "--steps", type=click.IntRange(20), default=200, show_default=True, help="How long the task is."
)
@click.option("--gateway", is_flag=True, help="Play it with a plain SDK loop behind `fanfold serve`.")
@click.option("--record", type=FILE, help="Write the last picture to this SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON, and no picture.")
def demo(fast: bool, steps: int, gateway: bool, record: Path | None, as_json: bool) -> None:
    """Watch an agent work for a long time in a small window. No key, no network.

    With --gateway the agent is a plain loop with OpenAI's SDK: only its base URL is changed. That needs
    fanfold[serve,openai].

    \b
    Example: fanfold demo
    """
    from fanfold.demo import figures, gateway_figures, main, main_gateway  # late: few look at pictures

    if gateway:
        if record:
            raise BadInput("--record draws the demo without --gateway: leave one of them out.")
        code = gateway_figures(steps) if as_json else main_gateway(fast=fast, steps=steps)
        click.get_current_context().exit(code)
    with ExitStack() as stack:  # the file is tried before the long task, and written after it
        picture = stack.enter_context(atomic_file(record)) if record and not as_json else None
        code = figures(steps) if as_json else main(fast=fast, steps=steps, record=picture)
    click.get_current_context().exit(code)
