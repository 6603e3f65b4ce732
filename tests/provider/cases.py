"""What the tables of rules are made of."""

from dataclasses import dataclass, field, replace
from typing import Any

from fanfold.testing.provider import Limits
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check

SMALL = Limits(images=1, image_bytes=8, text=20, tools=1)


@dataclass(frozen=True)
class Case:
    """A rule, a body it refuses with words of the provider, and one much like it that passes."""

    rule: str
    refused: dict[str, Any]
    passed: dict[str, Any]
    words: str
    model: str = ""
    terms: JudgeTerms = field(default_factory=lambda: JudgeTerms(""))

    def judge(self, api: str, body: dict[str, Any]) -> str:
        """The name of the rule that refuses the body; empty if none does."""
        refused = self.refusal(api, body)
        return refused.rule if refused else ""

    def refusal(self, api: str, body: dict[str, Any]) -> Any:
        return check(api, body, replace(self.terms, model=self.model or body.get("model", "")))


def case(rule: str, refused: Any, passed: Any, words: str, **more: Any) -> Case:
    limits = more.pop("limits", Limits())
    return Case(rule, refused, passed, words, terms=JudgeTerms("", limits=limits), **more)


def name(of: Case) -> str:
    return of.rule
