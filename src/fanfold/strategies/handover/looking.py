"""Looking: commands that change nothing: they list, show, search and ask for a state.

What they found is told by those who ran them, or is looked up; that they ran says little.
"""

from __future__ import annotations

from fanfold.text.patterns import pattern

_LOOKS = pattern(
    r"(?:ls|cat|head|tail|nl|wc|rg|grep|egrep|find|fd|tree|pwd|which|type|file|stat|du|df|ps|env|date|echo|printf|true|"
    r"jq|sort|uniq|cut|tr|awk|diff|cmp|less|more|column|basename|dirname|realpath|cd|export|test|\[|"
    r"sed(?!\s+(?:-\w*i|--in-place))|xargs (?:-\S+ )*(?:rg|grep|cat|head|wc|ls)|"
    r"git (?:-\S+ (?:[^-\s]\S* )?)*(?:status|diff|log|show|ls-files|ls-tree|ls-remote|rev-parse|blame|grep|"
    r"remote(?: -v|(?=\s*\Z))|"
    r"branch (?:-[avr]+|--show-current|--list|--contains)|worktree list|config --get|merge-base|rev-list|reflog|fetch|"
    r"cat-file|describe|for-each-ref|name-rev|stash list|tag -l)|"
    r"(?:gh|glab) (?:pr|mr|issue|run|repo|release) (?:view|list|diff|status|checks)|"
    r"(?:docker|kubectl|systemctl) (?:ps|logs|images|get|describe|inspect|status))(?:\s|\Z)"
)
_QUOTED = pattern(r"'[^']*'|\"[^\"]*\"")
_PARTS = pattern(r"\s*(?:&&|\|\||[;|\n])\s*")
_WRITES = pattern(r"(?<![0-9&=-])>{1,2}\s*(?!/dev/null|&)[\w./~$\"'-]|\btee\b|\s-(?:delete|exec)\b")
"""What makes a command write after all."""
_MOST = 600
"""Characters of a command that are looked at; longer ones do more than look."""


def only_looks(command: str) -> bool:
    """Whether a command changes nothing, as far as its words show."""
    plain = _QUOTED.sub("''", command.strip())
    if len(command) > _MOST or "$(" in command or "`" in command or _WRITES.search(plain):
        return False
    parts = [part for part in _PARTS.split(plain) if part.strip()]
    return bool(parts) and all(_LOOKS.match(part) for part in parts)
