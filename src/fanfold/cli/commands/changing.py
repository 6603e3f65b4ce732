"""Commands that change what is shown: compact, fold, undo, redo, release, pin, unpin, note. All can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from logging import getLogger

import click
from msgspec import to_builtins

import fanfold
from fanfold.cli.completing import edit_ids, returnable_ids, row_ids
from fanfold.cli.saying import many, say
from fanfold.cli.sessions import on_session, strategy_option
from fanfold.cli.views import command_on, how_to_bring_back, within_terminal
from fanfold.core.edit import Decision, Note, Pin, Undo, covers_of
from fanfold.core.errors import DoesNotFit, NotFound
from fanfold.core.view import View
from fanfold.session.look import summary_of
from fanfold.session.preview import Preview
from fanfold.session.stored import edit_meant, names_message, opening_of

_LOOKED_AT, _NAMED, _LISTED = 100, 2, 3
"""So many messages that came back are looked at, so many are named that are still shortened, and so many edits."""


@click.command
@on_session
@strategy_option
@click.option("--focus", help="Keep rows that contain these names and words.")
@click.option("--force", is_flag=True, help="Reduce even if the view is small enough.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
def compact(
    chat: fanfold.Session,
    focus: str | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Reduce what is shown, if it is above its target.

    It reduces as the session's agent would. A strategy that the agent has from code is not known here: then the default
    reduces, and that is said. Exit code 4 if the session cannot be made to fit; then nothing is changed.

    \b
    Example: fanfold compact run-42 --focus "the parser bug" --dry-run
    """
    with _silent():
        outcome = chat.compact(force=force, dry_run=True, focus=focus)
        if outcome.status == "does-not-fit":
            raise DoesNotFit(_say_what_fits(chat, outcome))
        if not dry_run:
            outcome = chat.compact(force=force, focus=focus)
    own = "" if click.get_current_context().params["strategy"] else opening_of(chat).coded
    made = many(len(outcome.decisions), "edit")
    tokens = f"{outcome.before:,} → {outcome.after:,} tokens"
    done = f"{made} would be made: {tokens}. Nothing was changed." if dry_run else f"{made} made: {tokens}."
    nothing = _say_why_not(chat) if force else "There is nothing to reduce; --force tries it in any case."
    told = done if outcome.decisions else outcome.error or nothing
    why = (
        f"{outcome.error}; {outcome.strategy} did it instead." if outcome.decisions and outcome.error else ""
    )
    lines = (told, why, _say_whose(own, outcome))
    said = {**to_builtins(outcome), "dry_run": dry_run, **({"own_strategy": own} if own else {})}
    say(said, "\n".join(filter(None, lines)), as_json)


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing is logged meanwhile: the command says it in its own words, with the command that helps."""
    logger = getLogger("fanfold")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def _say_what_fits(chat: fanfold.Session, outcome: fanfold.Outcome) -> str:
    """Why no reduction helps: how much would be left, how much fits, and what would have to change."""
    fits, name = chat.pressure(), chat.name
    ways = ["Give a larger --window"]
    ways += ["unpin something"] if fits.pinned else []
    ways += (
        [f"`fanfold release` what was brought back ({fits.brought_back:,} tokens)"]
        if fits.brought_back
        else []
    )
    return (
        f"{name} cannot be made to fit: about {outcome.after:,} tokens would be left, and {fits.room:,} fit beside "
        f"{fits.reserve:,} for the reply. {', or '.join(ways)}. Nothing was changed."
    )


def _say_whose(own: str, outcome: fanfold.Outcome) -> str:
    """That the agent's own strategy had no part in this, where it has one that is known to its code alone."""
    if not own or not outcome.decisions:
        return ""
    return (
        f"The session's own strategy ({own}) is in its agent's code, so {outcome.strategy or 'the default'} did this; "
        "--strategy names another."
    )


def _say_why_not(chat: fanfold.Session) -> str:
    """Why nothing was reduced although somebody insisted, and what can be done."""
    exempt, view = chat.view().exempt, chat.view()
    held = sum(row.id in exempt for row in view.rows)
    undone = [one.decision.id for one in chat.edits() if one.fate == "undone" and not one.free]
    if held and undone:
        release = command_on(chat, undone[-1], "release")
        rows = "1 row that was brought back is" if held == 1 else f"{held:,} rows that were brought back are"
        return f"Nothing can be reduced: {rows} left alone until you say so: {release}"
    return (
        "Nothing can be reduced: no edit of the strategy would save enough in so small a view. "
        "`fanfold fold` folds rows by hand, and --window makes it work for a smaller window."
    )


@click.command
@on_session
@click.argument("first", shell_complete=row_ids)
@click.argument("last", shell_complete=row_ids)
@click.argument("text")
@click.option("--dry-run", is_flag=True, help="Say what it would save, and change nothing.")
def fold(chat: fanfold.Session, first: str, last: str, text: str, dry_run: bool, as_json: bool) -> None:
    """Fold the rows FIRST to LAST into a text of your own.

    Rows are named by their ids (`show --ids`).

    \b
    Example: fanfold fold run-42 7be1c0 91ab02 "Looked for the bug in vain." --dry-run
    """
    covers = _between(chat.view(), first, last)
    if not dry_run:
        _change(chat, lambda: (chat.fold(covers, text),), as_json)
        return
    tried = chat.fold(covers, text, dry_run=True)
    tokens = f"{tried.before:,} → {tried.after:,} tokens"
    said = {"decisions": (tried,), "before": tried.before, "after": tried.after, "dry_run": True}
    say(said, f"{many(len(covers), 'row')} would be folded: {tokens}. Nothing was changed.", as_json)


def _between(view: View, first: str, last: str) -> tuple[str, ...]:
    start, end = _place(view, first), _place(view, last)
    if end < start:
        raise NotFound(f"The row {last!r} stands before {first!r}; name the older one first.")
    return tuple(row.id for row in view.rows[start : end + 1] if row.kind != "note")


def _place(view: View, name: str) -> int:
    exact = [i for i, row in enumerate(view.rows) if row.id == name]
    found = exact or [i for i, row in enumerate(view.rows) if row.id.startswith(name)]
    if len(found) != 1:
        many = "No row" if not found else "More than one row"
        raise NotFound(f"{many} in view begins with {name!r}; `fanfold show --ids` lists them.")
    return found[0]


@click.command
@on_session
@click.argument("what", required=False, shell_complete=returnable_ids)
@click.option("--through", is_flag=True, help="Also undo the edits on top of it.")
@click.option("--dry-run", is_flag=True, help="Say what it would do, and change nothing.")
def undo(chat: fanfold.Session, what: str | None, through: bool, dry_run: bool, as_json: bool) -> None:
    """Take an edit back, or bring one message back.

    WHAT is an edit (`e7`), the id of a message, or an output (`o4`). Without WHAT, the
    newest change is taken back, be it your own or all that one reduction hid; do it again for the change before. A
    message comes back alone: what was folded with it stays folded. To hide it again, use `undo` without WHAT right
    after it came back. Automatic edits do not touch what comes back, until `release`.

    \b
    Example: fanfold undo run-42 e7
    """
    if dry_run:
        told = chat.preview("undo", what, through=through)
        tokens = f"{told.before:,} → {told.after:,} tokens"
        names = _names_of([one.edit.edit for one in told.decisions if isinstance(one.edit, Undo)])
        again = [covers_of(one.edit) for one in told.decisions if not isinstance(one.edit, Undo)]
        rest = (
            "The message would come back; what was hidden with it would stay hidden: "
            f"{many(len(again[0]), 'row')} would be folded again."
            if again
            else _coming(chat, told)
        )
        lines = (f"{names} would be undone: {tokens}.", rest, _ahead(told), "Nothing was changed.")
        said = {"decisions": told.decisions, "before": told.before, "after": told.after, "dry_run": True}
        say(said, " ".join(filter(None, lines)), as_json)
        return
    alone = what is not None and names_message(chat, what)
    remark = partial(_after_return, what) if alone else partial(_after_undo, chat.view())
    _change(chat, lambda: chat.undo(what, through=through), as_json, remark)


@click.command
@on_session
@click.argument("edit", required=False, shell_complete=edit_ids)
def redo(chat: fanfold.Session, edit: str | None, as_json: bool) -> None:
    """Make an undone edit again; without a name, all that was undone last.

    \b
    Example: fanfold redo run-42
    """
    _change(chat, lambda: chat.redo(edit), as_json, partial(_after_redo, chat.view()))


@click.command
@on_session
@click.argument("edit", shell_complete=returnable_ids)
def release(chat: fanfold.Session, edit: str, as_json: bool) -> None:
    """Let automatic edits touch again what undoing EDIT brought back.

    EDIT is an edit that was undone, or the id of a message that was brought back.

    \b
    Example: fanfold release run-42 e7
    """
    chat.release(edit)
    say({"released": edit}, f"{edit} is released: what came back may be reduced again.", as_json)


@click.command
@on_session
@click.argument("what", required=False, shell_complete=row_ids)
def pin(chat: fanfold.Session, what: str | None, as_json: bool) -> None:
    """Keep an entry, by its id, or lines of text verbatim in view.

    Without WHAT, it lists what is pinned.

    \b
    Example: fanfold pin run-42 "Never touch vendor/."
    """
    if what is None:
        pins = chat.pins()
        lines = [f"{id}  {_pinned_in_words(chat.view(), edit)}" for id, edit in pins.items()]
        say(pins, "\n".join(within_terminal(lines)) or "Nothing is pinned.", as_json)
        return
    with _silent():
        _change(chat, lambda: (chat.pin(what),), as_json, _pinned_short)


def _pinned_in_words(view: View, pin: Pin) -> str:
    """The text that is pinned, or the id of the message and how it begins."""
    if pin.entry is None:
        return f"{'text':<8}  {pin.text}"
    row = view.row(pin.entry)
    return f"{pin.entry[:8]:<8}  {row.line.excerpt if row else ''}".rstrip()


@click.command
@on_session
@click.argument("what", shell_complete=row_ids)
def unpin(chat: fanfold.Session, what: str, as_json: bool) -> None:
    """Let go of a pin.

    \b
    Example: fanfold unpin run-42 "Never touch vendor/."
    """
    _change(chat, lambda: (chat.unpin(what),), as_json)


@click.command
@on_session
@click.argument("name")
@click.argument("text")
def note(chat: fanfold.Session, name: str, text: str, as_json: bool) -> None:
    """Show a piece of state beside the conversation.

    A later note of the same name replaces it.

    \b
    Example: fanfold note run-42 plan "1. reproduce 2. repair"
    """
    _change(chat, lambda: (chat.note(name, text),), as_json)


Remark = Callable[[fanfold.Session, Sequence[Decision]], str]


def _change(
    chat: fanfold.Session, make: Callable[[], Sequence[Decision]], as_json: bool, remark: Remark | None = None
) -> None:
    """Make a change, and say what it was, with the tokens before and after it, and what to know about it."""
    before = chat.view().tokens
    decisions = make()
    after = chat.view().tokens
    names = "; ".join(f"{decision.id} {summary_of(decision.edit)}" for decision in decisions)
    if len(decisions) > _LISTED and all(isinstance(one.edit, Undo) for one in decisions):
        names = f"{decisions[0].id} to {decisions[-1].id} undid {len(decisions):,} edits"
    said = {"decisions": decisions, "before": before, "after": after}
    lines = (f"{names}   {before:,} → {after:,} tokens", remark(chat, decisions) if remark else "")
    say(said, "\n".join(filter(None, lines)), as_json)


def _after_undo(before: View, chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """What came back, what other edits still hide or shorten, and what the next request does."""
    if again := _after_redo(before, chat, decisions):
        return again
    back = _say_taken_back(before, chat, decisions)
    ahead = _ahead(chat.preview(), command_on(chat, "", "redo"))
    return "\n".join(filter(None, (back, _still_short(chat, decisions), ahead)))


def _say_taken_back(before: View, chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """In one sentence: what was taken back, and what the model sees again."""
    made = {one.decision.id: one.decision for one in chat.edits()}
    undone = [
        made[one.edit.edit] for one in decisions if isinstance(one.edit, Undo) and one.edit.edit in made
    ]
    if not undone:
        return ""
    first, seen = undone[0], "; ".join(_seen_again(before, chat.view())) or "what the model sees is the same"
    match first.edit:
        case Note(name=name) if len(undone) == 1:
            left = any(row.kind == "note" and row.name == name for row in chat.view().rows)
            seen = "the one before it stands again" if left else "it is no longer shown"
            return f"The note {name!r} ({first.id}) is taken back: {seen}."
        case Pin():
            return f"The pin {first.id} is taken back: what it kept may be reduced again."
    return f"{_kind_of(undone)} taken back: {seen}."


def _kind_of(undone: Sequence[Decision]) -> str:
    """What kind of decision it was, with its names and a verb."""
    first, several, names = undone[0], len(undone) > 1, _names_of([one.id for one in reversed(undone)])
    if any(one.by != first.by for one in undone):
        return f"{names} are"
    match first.by:
        case "auto":
            return f"The reduction {names} is"
        case "pass":
            return f"What the filter {first.why} left out ({names}) is"
    return f"{names} are" if several else f"The {type(first.edit).__name__.lower()} {names} is"


def _names_of(edits: Sequence[str]) -> str:
    """Some edits by name; of many, the first and the last one."""
    if len(edits) <= _LISTED:
        return ", ".join(edits)
    oldest, *_, newest = sorted(edits, key=lambda one: (len(one), one))
    return f"{oldest} to {newest} ({len(edits):,} edits)"


def _seen_again(before: View, now: View) -> Iterator[str]:
    """How many messages came back, how many are whole again, and how many only longer."""
    were = {row.id: row for row in before.rows}
    entries = [row for row in now.rows if row.kind == "entry"]
    came = sum(row.id not in were for row in entries)
    longer = [row for row in entries if row.id in were and row.tokens > were[row.id].tokens]
    whole = sum(row.was is None for row in longer)
    for number, state in (
        (came, "in view again"),
        (whole, "shown whole again"),
        (len(longer) - whole, "shown longer again"),
    ):
        if number:
            yield f"{many(number, 'message')} {'is' if number == 1 else 'are'} {state}"


def _after_return(what: str | None, chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """The same of one message that came back, and how to hide it again."""
    again = [one for one in decisions if not isinstance(one.edit, Undo)]
    rest = f"; what was hidden with it stays hidden by {again[0].id}" if again else ""
    held = f"Automatic edits leave it alone until: {command_on(chat, str(what), 'release')}"
    first = next(one.edit.edit for one in decisions if isinstance(one.edit, Undo))
    back = f"To hide it again: {command_on(chat, first, 'redo')}"
    return "\n".join(filter(None, (f"The message is back{rest}.", held, _ahead(chat.preview()), back)))


def _say_again(chat: fanfold.Session, decisions: Sequence[Decision], stands: str = "stands") -> str:
    """Which edits stand again where undos were undone, the last one first."""
    made = [one.edit.edit for one in reversed(decisions) if isinstance(one.edit, Undo)]
    meant = {edit_meant(chat, id): id for id in made}
    dead = {one.decision.id for one in chat.edits() if one.fate == "undone"}
    again = [id for id, undone in meant.items() if id != undone and (id in dead) == (stands != "stands")]
    verb = stands if stands != "stands" else "stands" if len(again) == 1 else "stand"
    names = " and ".join(again) if len(again) < _LISTED else _names_of(again)
    return f"{names} {verb} again." if again else ""


def _say_hidden(before: View, now: View) -> str:
    """How many messages of a view are no longer in a later one."""
    left = {row.id for row in now.rows}
    gone = sum(row.kind == "entry" and row.id not in left for row in before.rows)
    return f"{many(gone, 'message')} {'is' if gone == 1 else 'are'} hidden again." if gone else ""


def _after_redo(before: View, chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """Which edits stand again, and what they hide."""
    again = _say_again(chat, decisions)
    return " ".join(filter(None, (again, again and _say_hidden(before, chat.view()))))


def _coming(chat: fanfold.Session, told: Preview) -> str:
    """What would stand again, or how much would come back into view."""
    if again := _say_again(chat, told.decisions, "would stand"):
        return again
    edits = {one.decision.id for one in chat.edits()}
    rows = many(len(told.came), "row" if edits.intersection(told.came) else "message")
    return f"{rows} would come back into view." if told.came else ""


def _still_short(chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """Which edits still hide or shorten what was brought back."""
    undone = [one.edit.edit for one in decisions if isinstance(one.edit, Undo)]
    entries = dict.fromkeys(entry for edit in undone for entry in chat.why(edit).hides[:_LOOKED_AT])
    left = [found for entry in entries if (found := chat.why(entry)).way_back]
    if not left:
        return ""
    commands = [
        command_on(chat, name, "undo") for name in dict.fromkeys(n for one in left for n in one.undos)
    ]
    more = f"; {len(commands) - _NAMED:,} more in the same way" if len(commands) > _NAMED else ""
    if len(entries) == 1:
        return f"It is still shortened or hidden by another edit: {commands[0]}"
    were = "was shortened before and still is" if len(left) == 1 else "were shortened before and still are"
    back = f"To bring it back: {'; '.join(commands[:_NAMED])}{more}"
    return f"{len(left):,} of these {len(entries):,} messages {were}. {back}"


def _ahead(told: Preview, back: str = "") -> str:
    """What the next request does if the view is too large for it, and the command that hides it `back` again."""
    if told.problem:
        size, colon, _ = told.problem.partition(": ")
        way_out = f" To hide it again: {back}" if back else ""
        known = f"{size}.{way_out}" if colon and " fit" in size else told.problem
        return f"The next request cannot be sent so: {known}"
    if not told.due or (told.reduced is not None and told.reduced >= told.after):
        return ""  # nothing more can be reduced, and it fits
    to = f" to about {told.reduced:,} tokens" if told.reduced is not None else ""
    return (
        f"The next request is reduced{to} first, because {told.reason}: "
        "something else is shortened, not what you brought back."
    )


def _pinned_short(chat: fanfold.Session, decisions: Sequence[Decision]) -> str:
    """What to do if only a short text of an entry was pinned."""
    pinned = decisions[0].edit
    found = chat.why(pinned.entry) if isinstance(pinned, Pin) and pinned.entry else None
    if found is None or not found.shortened_by:
        return ""
    short = (
        f"{found.entry[:8]} is shortened by {', '.join(found.shortened_by)}, and pinned as the model sees it."
    )
    return f"{short} {how_to_bring_back(chat, found)}"
