"""Making the materials of an exam: which conversations, their histories, and what each policy would have sent."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from fanfold.asking.question import transcript
from fanfold.config.defaults import meter_for
from fanfold.core.errors import BadInput
from fanfold.core.ids import digest
from fanfold.replay.exam.paper import CATEGORIES, Folder, Paper, PolicyRequest, Question, Sitting
from fanfold.replay.player import TRIGGER
from fanfold.replay.policy import policy
from fanfold.replay.shown import Policy, Shown
from fanfold.replay.trace import Trace, unreduced

SEED = 9
_SUMMARIZED = re.compile(
    r"\A\s*(?:This session is being continued|<state_snapshot>|Another language model started)"
)
"""How clients begin a summary of their own: what stood before it is not in the recording."""
Told = Callable[[str, float | None], object]

README = """# A take-over exam

1. `history/` holds whole conversations. Write questions about each into `questions/`: {count} for each conversation,
   {each} of each category ({categories}), spread over the whole of it, each with its answer.
2. Run `fanfold exam --write` again: `answers/` gets a file for each reduced request in `requests/`. Somebody who has
   seen nothing else answers from that request alone; what it does not say is "unknown".
3. Run it again: `grades/` gets sheets with all answers, shuffled and anonymous. Somebody who does not know which answer
   is whose writes right, half, false or unknown behind each.
4. `fanfold exam --read` of this folder prints the table.
"""


def chosen(traces: Iterable[Trace], window: int, sessions: int | None = None) -> list[Trace]:
    """Some conversations that have to be reduced and are recorded from their beginning; the same ones every time."""
    fit = [trace for trace in traces if _is_long(trace, window) and not _is_summarized(trace)]
    if sessions is None or sessions >= len(fit):
        return fit
    return [fit[i] for i in sorted(random.Random(SEED).sample(range(len(fit)), sessions))]


def _is_long(trace: Trace, window: int) -> bool:
    return unreduced(trace)[trace.calls[-1].before] > TRIGGER * window


def _is_summarized(trace: Trace) -> bool:
    return any(message.is_request and _SUMMARIZED.match(message.text) for message in trace.messages)


def prepare(
    traces: Sequence[Trace],
    policies: Sequence[str] | Mapping[str, Policy],
    place: Path | str,
    *,
    window: int,
    count: int = 16,
    done: Told | None = None,
) -> Paper:
    """Write the materials into a folder; files that exist already stay as they are."""
    folder = Folder(place)
    made = dict(policies) if isinstance(policies, Mapping) else {name: policy(name) for name in policies}
    before = folder.paper
    if before is not None and (before.window, before.count) != (window, count):
        raise BadInput(
            f"{place} holds an exam with a window of {before.window:,} tokens and {before.count} questions. "
            "Choose another folder."
        )
    known = {sitting.name: sitting for sitting in before.sittings} if before else {}
    found = dict(known)
    for number, trace in enumerate(traces, 1):
        one = known.get(trace.name)
        found[trace.name] = _sitting(folder, len(found) + 1, trace, made, window, one)
        if done is not None:
            done(trace.name, number / len(traces))
    sittings = tuple(found.values())
    if not sittings:
        raise BadInput(
            f"No conversation is longer than a window of {window:,} tokens and recorded from its beginning."
        )
    paper = Paper(window, count, sittings)
    folder.write_paper(paper)
    for sitting in sittings:
        if not folder.has(f"questions/{sitting.stem}.json"):
            folder.write_questions(
                sitting, [Question(CATEGORIES[n * len(CATEGORIES) // count]) for n in range(count)]
            )
    words = README.format(count=count, each=count // len(CATEGORIES), categories=", ".join(CATEGORIES))
    folder.write_text("README.md", words)
    return paper


def _sitting(
    folder: Folder,
    number: int,
    trace: Trace,
    policies: Mapping[str, Policy],
    window: int,
    known: Sitting | None,
) -> Sitting:
    end = trace.calls[-1].before
    stem = (
        known.stem if known else f"{number:02}-{re.sub(r'[^A-Za-z0-9]+', '-', trace.name)[-60:].strip('-')}"
    )
    if known is None:
        folder.write_text(f"history/{stem}.txt", transcript(trace.messages[:end]))
    requests = {request.policy: request for request in known.requests} if known else {}
    for name, chosen_policy in policies.items():
        if name not in requests:
            shown = _last(trace, chosen_policy, window)
            code = digest(f"{SEED} {stem} {name}".encode())[:12]
            folder.write_text(f"requests/{code}.txt", written(shown))
            requests[name] = PolicyRequest(name, code, sum(shown.tokens))
    tokens = sum(map(meter_for(None, trace.model).message, trace.messages[:end]))
    return Sitting(trace.name, stem, tokens, tuple(requests.values()))


def _last(trace: Trace, chosen_policy: Policy, window: int) -> Shown:
    """What a policy would have sent at the last call; it is fed call by call, as it would have been."""
    player = chosen_policy(trace, window)
    try:
        for call in trace.calls:
            shown = player.show(call.before)
        return shown
    finally:
        player.close()


def written(shown: Shown) -> str:
    """A request as a text."""
    return transcript(shown.messages) if shown.messages else "\n\n".join(shown.texts)
