"""Saying: what a sentence of the agent's is: a finding, an announcement of what it does next, or no more than a word.

A hand-over tells findings first. That a file will be read next is told by the call that reads it; and "I found the
issue." says nothing without the sentence behind it.
"""

from __future__ import annotations

from fanfold.text.patterns import pattern

_SENTENCE = pattern(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\n+")
_FENCE = pattern(r"```[^\n]*\n.*?(?:```|\Z)", 16)
"""Code, as somebody shows it in a message."""
_TELLING = pattern(
    r"\b(?:found|finding|because|root cause|turns out|decid\w+|chose|choos\w+|instead of|rather than|confirmed|"
    r"verified|fix(?:ed|es)|works?\b|pass(?:es|ed)?|fail(?:s|ed|ing)?|the (?:issue|problem|bug|reason|cause)|so I|"
    r"implemented|added|removed|renamed|moved|updated|pushed|committed|merged|created|completed?|done|"
    r"recommend\w*|should|conclu\w+|decisions?|not needed|no longer|remaining|next step|blocked|depends on|"
    r"open question)\b"
    r"|原因|決め|決定|結論|採用|方針|ため|修正|実装|追加|削除|更新|完了|成功|失敗|確認|問題|判明|必要|残り|次に|変更|作成",
    2,
)
"""A sentence in which somebody concludes, chooses or reports."""
_MARKED = pattern(
    r"[*_`]*(?:decisions?|conclusions?|results?|findings?|important|warning|caution|note|answer|root cause|verdict|"
    r"決定|結論|結果|重要|注意|警告|原因)[*_`]*\s*[:：]",
    2,
)
"""A sentence that its speaker marks as one to remember; what follows need have no such word: "DECISION: refund her"."""
_OPENING = (
    r"(?:(?:perfect|great|good(?: (?:question|point|catch|idea|news)s?)?|excellent|nice|ok(?:ay)?|alright|yes|sure|"
    r"(?:you['’]re (?:\w+ )?)?right|got it|understood|now|next|then|first|finally|also|and|so|all (?:clean|good|done)|"
    r"done|better|progress)\b[!,.:;–—-]* *)*"
)
_WILL = pattern(
    _OPENING
    + r"(?:let me|let['’]s|lets|i['’]ll|i will|i['’]m (?:going|about) to|i am going to|i(?: now)? (?:need|want) to|"
    r"i (?:should|have to)|we(?:['’]ll| will| need to)|i(?:['’]m| am)(?: now| also| just)? \w+ing|time to)\b",
    2,
)
"""What somebody will do."""
_BARE = pattern(_OPENING + r"[^\W\d_]{0,12}[!.,…]*\Z", 2)
"""A word, or what people say before they say something: "Again.", "Great, now then!"."""
_DOES = pattern(
    r"(?:now|next|then|lastly|still|waiting|no\b.*\byet|step|part|phase|item|task|section|chunk)\b|.*\bstill \w+ing\b|"
    + _OPENING
    + r"(?:i (?:now |also )?(?!see\b))?(?:add|apply|build|change|check|clean|commit|continue|convert|create|delete|"
    r"double-check|edit|examine|extract|find|fix|get|implement|improve|inspect|install|list|load|look|make|mark|move|"
    r"open|proceed|push|read|refactor|remove|rename|replace|rerun|re-run|review|rewrite|run|scan|search|see|set|"
    r"simplify|start|switch|test|trace|try|update|use|verify|view|wire|write)\b|"
    + _OPENING
    + r"(?!nothing|everything|something|anything|missing|string|during|according|existing|failing|interesting|"
    r"regarding|assuming|depending|including|being|having|warning)[a-z-]{2,14}ing\b",
    2,
)
"""What is being done, without who does it: "Reading part 7.", "Now the tests.", "Step 5: the database"."""
_WHY = pattern(
    r"\b(?:because|since|so that|instead of|rather than|no longer|not needed|turns out|which (?:means|causes|is why)|"
    r"due to|in order to|decided|chose)\b|ではなく|代わりに|原因|判明|不要|方針|採用",
    2,
)
"""A reason; with one, an announcement is a decision."""
_LIMITS = pattern(
    r"\b(?:however|otherwise|unless|although|even though|except|only|instead|avoid\w*|lacks?|stale|not|never|cannot|"
    r"without|unlike|still)\b|n['’]t\b|, so |, but |しかし|ただし|一方|ません|ではない|ていない|なかった|"
    r"できない|のみ|だけ",
    2,
)
"""What limits something, or what follows from it."""
_OUTCOME = pattern(
    r"\b(?:found|fixed|works?|worked|pass(?:es|ed)?|fail(?:s|ed|ures?)|errors?|bugs?|broken|confirmed|verified|wrong|mismatch|"
    r"conflicts?|unexpected\w*|already|completed?|finished|succeeded|successful\w*|shows?|showed|returned|is|are|was|were|"
    r"has|have|had)\b",
    2,
)
"""What became of something."""
_WILL_DO = pattern(
    r".*(?<!あり)(?<!い)(?<!おり)(?<!でき)(?<!なり)(?<!違い)(?<!思い)(?<!分かり)(?<!わかり)(?<!られ)(?<!され)"
    r"(?:ます|ましょう)[。．.！!:：]*\Z",
    16,
)
"""What somebody will do, in Japanese: what is and what was end otherwise."""
_GOES_ON = pattern(r".*て(?:い(?:き|く)|み|お(?:き|く))ます[。．.！!:：]*\Z", 16)
_LABEL = pattern(r"[A-Za-z0-9_./@`\"'()#\[\]-]+[:：]?\Z")
"""One word, such as the name of a file."""
_EXACT = pattern(r"[`\d]|\w[./_]\w|[a-z][A-Z]")
"""Something that is named to the letter, or counted."""
_DONE = 9
"""Characters of a word that ends something."""
_LONG = 400
"""Characters of a sentence that says more than what comes next."""
_HOLLOW, _WORD = 48, 17
"""Characters of a sentence that may say nothing by itself, and of one that is no more than a word or two."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, without tables, code, marks of lists, and headings of one word behind the first."""
    plain = _FENCE.sub("\n", text) if "```" in text else text
    pieces = (piece.strip(" \t*#>-") for piece in _SENTENCE.split(plain if plain.strip() else text))
    first, *others = [piece for piece in pieces if len(piece) > 3 and not piece.startswith(("```", "|"))] or [
        ""
    ]
    return [first, *(piece for piece in others if not _LABEL.match(piece))] if first else []


def tells(sentence: str) -> bool:
    """Whether somebody concludes, chooses or reports in a sentence, or marks it as one to remember."""
    if _MARKED.match(sentence):
        return True
    return _width(sentence) > 12 and _TELLING.search(sentence) is not None and not announces(sentence)


def reasons(sentence: str) -> bool:
    """Whether somebody says in a sentence why, or marks it as one to remember."""
    marked = _MARKED.match(sentence) is not None
    return marked or (_width(sentence) > _HOLLOW and _WHY.search(sentence) is not None)


def intends(sentence: str) -> bool:
    """Whether somebody says in a sentence what he will do, whatever the reason."""
    return _WILL.match(sentence) is not None


def limits(sentence: str) -> bool:
    """Whether a sentence says what is not so, what is missing, or what follows."""
    return _width(sentence) > _HOLLOW and _LIMITS.search(sentence) is not None


def is_exact(sentence: str) -> bool:
    """Whether a sentence names something to the letter, or counts."""
    return _EXACT.search(sentence) is not None


def reports(sentence: str) -> bool:
    """Whether a sentence says that something came out; "Done." says nothing."""
    return _width(sentence) > _DONE and _TELLING.search(sentence) is not None


def announces(sentence: str) -> bool:
    """Whether a sentence says no more than what is done next, or that something goes on."""
    if len(sentence) > _LONG or _WHY.search(sentence) or _MARKED.match(sentence):
        return False
    if _WILL.match(sentence) or _LABEL.match(sentence):
        return True
    if _GOES_ON.match(sentence) or _WILL_DO.match(sentence):
        return True
    return _DOES.match(sentence) is not None and not _OUTCOME.search(sentence)


def is_word(sentence: str) -> bool:
    """Whether a sentence is no more than a word or two, such as "Perfect!"."""
    return _width(sentence) < _WORD


def is_bare(sentence: str) -> bool:
    """Whether a sentence says nothing at all."""
    return _BARE.match(sentence) is not None and not reports(sentence)


def is_hollow(sentence: str) -> bool:
    """Whether a sentence says little without the next: it leads to a list, or names nothing."""
    if sentence.endswith((":", "：")):
        return True
    return _width(sentence) <= _HOLLOW and not _EXACT.search(sentence)


def _width(sentence: str) -> int:
    """Its length in letters of which a word has several; a Japanese sign says as much as two of them."""
    return len(sentence) + (0 if sentence.isascii() else sum(sign > "\u3000" for sign in sentence))
