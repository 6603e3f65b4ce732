"""The providers' rules, stated anew from their documentation: one function is one rule."""

from collections.abc import Sequence
from dataclasses import replace

from fanfold.testing.provider.rejection import JudgeTerms, Rejection, Rule
from fanfold.testing.provider.wire import Wire

from . import anthropic, chat, gemini, responses

RULES: dict[str, Sequence[Rule]] = {
    "chat": chat.RULES,
    "responses": responses.RULES,
    "anthropic": anthropic.RULES,
    "gemini": gemini.RULES,
}


def check(api: str, body: Wire, terms: JudgeTerms) -> Rejection | None:
    """The first rule's no, with the rule's name, or nothing."""
    for rule in RULES[api]:
        refused = rule(body, terms)
        if refused is not None:
            return replace(refused, rule=rule.__name__)
    return None
