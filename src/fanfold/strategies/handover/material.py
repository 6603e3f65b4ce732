"""Material: what stands in a message of the user that nobody said: files, pages and outputs that a client put there.

Clients put such things into tags, or behind a heading of their own. Where their words end, only the client could say,
so a tag ends where it is closed for the last time: what stands in a file cannot close it early and go on as a person.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.text.patterns import pattern

_TAG = pattern(r"<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,400})?>")
_CLOSING = pattern(r"</([A-Za-z][\w:.-]{0,60})>")
_SPEECH = (
    "task tasks user user_query userquery user_request userrequest user_prompt user_input userinput user_message "
    "usermessage human request query question prompt instruction instructions goal goals objective objectives feedback "
    "answer ask rule rules requirement requirements constraint constraints guideline guidelines important critical "
    "role plan step steps issue problem problem_statement pr_description issue_description task_description "
    "description command-args command-name command-message uploaded_files"
)
_SPOKEN = frozenset(_SPEECH.split())
"""Tags in which a person speaks, or whoever writes the tasks of a benchmark."""
_PAGES = (
    "a b body br button code div em form h1 h2 h3 h4 h5 h6 head html i img input kbd label li ol option p pre s script "
    "section select span strong style sub sup svg table tbody td textarea th thead title tr u ul"
)
_MARKUP = frozenset(_PAGES.split())
"""Tags of pages; in one line, somebody talks about them."""
_CUT = pattern(
    r"file|attach|content|context|document|output|result|resource|snippet|transcript|remind|notif|observ", 2
)
"""In the name of a tag that is never closed, because what stands in it was cut: the rest is material."""
_HEADINGS = (
    (r"^-{3,} ?Content from referenced files ?-{3,}[ \t]*$", r"^-{3,} ?End of content ?-{3,}[ \t]*$"),
    (
        r"\b(?:following|retrieved|provided|given)\b[^\n]{0,40}\b(?:context|documents|passages|sources|snippets|"
        r"search results)\b[^\n]*\n+(?:Context|Documents|Passages|Sources|Search results)[ \t]*:",
        r"^(?:Question|Query|User|Human|Task|Request|質問|依頼)[ \t]*[:：]",
    ),
    (
        r"\A\s*(?:(?:Tool|Function|Command|Execution|Code|Cell|Terminal|Shell)(?: call| use)? "
        r"(?:results?|outputs?|response)(?: (?:of|for|from) [^\n:]{1,200})?[ \t]*:|"
        r"\[(?:Tool|Function)(?: use| call| result)?: ?[^\]\n]{1,100}\]|"
        r"Output of [^\n:]{1,200}:[ \t]*$|exitcode: -?\d+ \(|\[Current state starts here\]|"
        r"Called the \w+ tool with the)",
        None,
    ),
    (r"^-{3,} ?(?:Forwarded|Original) message ?-{3,}[ \t]*$", None),
    (r"^From: [^\n]+\n(?:(?:To|Cc|Subject|Date|Sent|Reply-To): [^\n]*\n){1,6}", None),
    (r"\A\s*(?:\w+ hook (?:feedback|blocking error|additional context)\b|\[SYSTEM NOTIFICATION\b)", None),
)
"""Headings behind which material stands, each with what ends it; None: nothing does."""
_BOUNDS = tuple((pattern(start, 8), pattern(end, 8) if end else None) for start, end in _HEADINGS)


def set_apart(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is material."""
    at = 0
    for start, end in _spans(text):
        if start >= at and text[start:end].strip():
            yield text[at:start], False
            yield text[start:end], True
            at = end
    yield text[at:], False


def _spans(text: str) -> list[tuple[int, int]]:
    """Where material stands, from the first place on; what begins within another is a part of it."""
    found = [*_tagged(text)] if "<" in text else []
    for opening, closing in _BOUNDS:
        if start := opening.search(text):
            ends = [one.start() for one in closing.finditer(text, start.end())] if closing else []
            found.append((start.end() if closing else start.start(), ends[-1] if ends else len(text)))
    return sorted(found, key=lambda span: (span[0], -span[1]))


def _tagged(text: str) -> Iterator[tuple[int, int]]:
    """Where tags hold material; a tag within another is a part of it."""
    closed = {tag[1]: tag.start() for tag in _CLOSING.finditer(text)}
    at = 0
    for tag in _TAG.finditer(text):
        name, end = tag[1], closed.get(tag[1], -1)
        if tag.start() < at or name.lower() in _SPOKEN:
            continue
        if end < tag.end():
            cut = _CUT.search(name) and not text[: tag.start()].rpartition("\n")[2].strip()
            end = len(text) if cut else -1
        if end >= 0 and not (name.lower() in _MARKUP and "\n" not in text[tag.end() : end]):
            yield tag.end(), end
            at = end
