"""Words: who speaks in a message of the user, and which words are a person's own.

Clients put much into the user's mouth: instructions of a repository, skills, notices, their own summaries. People paste
documents, code and logs. None of that is what a person said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from fanfold.core.message import Message, Text
from fanfold.strategies.handover.material import set_apart
from fanfold.strategies.handover.pasting import pasted
from fanfold.strategies.handover.ruling import rules, strict
from fanfold.strategies.handover.tongue import cite
from fanfold.text.cutting import short
from fanfold.text.patterns import pattern

Speaker = Literal["person", "context", "summary", "notice"]
_SUMMARY = pattern(
    r"\A\s*(?:```\w*\s*)?(?:<(?:scratchpad|analysis)>[\s\S]{0,60000}?</(?:scratchpad|analysis)>\s*)?"
    r"(?:This session is being continued from a previous conversation|<state_snapshot>|<conversation_summary>|"
    r"You were originally given instructions from a user over one or more turns|##? Conversation Summary\b|"
    r"## Goal\n[\s\S]{0,20000}?\n## (?:Discoveries|Accomplished|Progress|Key Decisions)\b|"
    r"<summary>|\[summary of [\d,]+ messages?|<CONVERSATION SUMMARY>|"
    r"Another language model started to solve this problem and produced a summary|"
    r"(?:#+ )?(?:Conversation |Session )?Summary (?:of|from) (?:the |our )?(?:previous|earlier|prior|conversation)|"
    r"Here is a summary of (?:the|our) (?:previous |earlier )?conversation|"
    r"The (?:conversation|context) (?:so far )?(?:was|has been) (?:compacted|summarized)|"
    r"これまでの会話の要約|以下は(?:、)?これまでの(?:会話|作業)の要約)"
)
_CONTEXT = pattern(
    r"\A\s*(?:# AGENTS\.md instructions|<INSTRUCTIONS>|<user_instructions>|<environment_context>|<session_context>|"
    r"<environment_details>|<permissions instructions>|"
    r"This is the Gemini CLI\. We are setting up|# (?:CLAUDE|GEMINI)\.md\b|Contents of \S+\.md\b)"
)
_NOTICE = pattern(
    r"\A\s*(?:<local-command-|<command-(?:name|message|contents)>|\[Request interrupted by user|"
    r"Caveat: The messages below|<task-notification>|<bash-(?:input|stdout|stderr)>|<skill\b|"
    r"Base directory for this skill:|<turn_aborted>|"
    # What clients without tool calls put into the user's mouth: the output of a command that the agent wrote.
    r"(?:Call id: \S{1,80}\s+)?(?:OBSERVATION|Observation):\s|EXECUTION RESULT of \[|"
    r"<(?:observation|function_results|tool_response|tool_result|returncode)\b|\[\w+ for '[^\n]{0,400}\] Result:)"
)
_ARGUMENTS = pattern(
    r"\A\s*<command-(?:name|message)>(?:(?!<command-contents>).)*?<command-args>(.*?)</command-args>", 16
)
"""What the person wrote behind a command; not what stands in its output or in the file that it is made from."""
_INSERTED = pattern(
    r"<(system-reminder|environment_details|ide_\w+|environment_context|local-command-\w+|editor_context)>"
    r"(?:(?!<\1>).)*</\1>",
    16,
)
"""What a client puts in; where more of them close than open, what stands between is not the person's either."""
_FENCE = pattern(r"```.*?(?:```|\Z)", 16)
_HEADING = pattern(r"^#{1,4} \S", 8)
_CODE = pattern(
    r"[{};]\s*$|^\s*(?:[|<>+@$]|//|/\*|\*/|#!|import |from \S+ import|def |class |const |let |var |function |return\b|"
    r"export |public |private |at \S+ \()|=>|\bE?(?:rror|xception): |^\s*\d{4}-\d\d-\d\d[T ]|^\[[\w: .-]+\] ?|"
    r"^\s*(?:\d+[→:|]|[\w.-]+/[\w./-]+:\d+)|\w\(\)|={3,}|^\s*[\"'}\]),]"
)
"""What stands in a line that nobody says: code, tables, logs, diffs."""
_MATERIAL = 1_500
"""Characters of a request from which on it is looked at for what somebody pasted into it."""
_BEGINNING = 200
"""Characters of what a client put in that are quoted."""
_HEAD, _TAIL = 700, 300
"""Characters of a long request, from each end, in which its writer speaks."""


class Words(msgspec.Struct, frozen=True, gc=False):
    """What stands in a message of the user."""

    speaker: Speaker
    text: str
    """All of it, but for what the client put in; of files, pages and outputs among it the beginning, quoted."""
    own: str = ""
    """What the person wrote, without documents, code and logs."""
    document: bool = False
    """Whether most of it is a document, or something pasted."""

    rules: tuple[str, ...] = ()
    """The sentences in which the person commands or forbids."""
    demands: tuple[str, ...] = ()
    """The lines of a client's document that command or forbid: not a person's rules, but what its reader must know."""


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Those lines that somebody says: no code, no log, no row of a table."""
    return (line for line in lines if not _CODE.search(line))


def words_said(message: Message) -> Words:
    """What a message of the user says, and who; what a client put in as a part of its own is left out."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    own = [text for text in texts if not _is_inserted(text)] if len(texts) > 1 else texts
    return _words(own or texts)


def _is_inserted(text: str) -> bool:
    """Whether all of a text is what a client put in, whatever its words open and close between."""
    found = _INSERTED.match(text.strip())
    return found is not None and text.rstrip().endswith(f"</{found[1]}>")


def words_of(text: str) -> Words:
    """What a message of the user says, and who says it."""
    return _words([text])


def _words(texts: Sequence[str]) -> Words:
    """What the parts of a message say: each is looked at by itself, for what stands in one cannot end in another."""
    text = "\n".join(texts)
    if _NOTICE.match(text):
        given = _ARGUMENTS.search(text)
        said = given[1].strip() if given else ""
        return _person(said, said) if said else Words("notice", text.strip())
    if _SUMMARY.match(text):
        return Words("summary", _told(text))
    if _CONTEXT.match(text):
        demands = (line for line in sentences(rules([text.strip()])) if strict(line))
        return Words("context", text.strip(), demands=tuple(demands))
    apart = [(piece, given) for one in texts for piece, given in (*set_apart(_plain(one)), ("\n", False))]
    plain = "".join(
        cite(short(piece, _BEGINNING)) if given else _marked(piece) for piece, given in apart
    ).strip()
    if not plain:
        return Words("notice", text.strip())
    own = _FENCE.sub("\n", "".join(_unquoted(piece) for piece, given in apart if not given)).strip()
    if len(own) <= _MATERIAL:
        return _person(plain, own, document=len(own) < len(plain) // 2)
    return _person(plain, _spoken(own), document=True)


def _marked(text: str) -> str:
    """A text of a person's, in which lines of logs, diffs and other people stand in marks; a fence is one already."""
    if "```" in text:
        return text
    return "".join(f"{said}{cite(other)}" for said, other in pasted(text))


def _unquoted(text: str) -> str:
    """The same without such lines."""
    return text if "```" in text else "".join("" if other else said for said, other in pasted(text))


def _plain(text: str) -> str:
    return _INSERTED.sub("", text) if "<" in text else text


def _person(text: str, own: str, *, document: bool = False) -> Words:
    return Words(
        speaker="person",
        text=text,
        own=own,
        document=document,
        rules=tuple(dict.fromkeys(sentences(rules([own])))),
    )


def _spoken(text: str) -> str:
    """What the writer of a long request says: all of it that is prose, of a document what stands before it."""
    heading = _HEADING.search(text)
    if heading is not None and heading.start() <= _HEAD:
        return text[: heading.start()]
    lines = [line for line in text.splitlines() if line.strip()]
    prose = [line for line in lines if not _CODE.search(line[:400])]
    if heading is None and 2 * len(prose) > len(lines):
        return "\n".join(prose)
    head, tail = text[:_HEAD].splitlines(), text[-_TAIL:].splitlines()[1:]
    return "\n".join(line for line in (*head, *tail) if not _CODE.search(line))


def _told(text: str) -> str:
    """What a client's summary tells, without the thoughts that some put before it."""
    for mark in ("\nSummary:\n", "</analysis>", "\nSummary:"):
        _, found, rest = text.partition(mark)
        if found and len(rest) > 200:
            return rest.replace("<summary>", "").replace("</summary>", "").strip()
    return text.strip()
