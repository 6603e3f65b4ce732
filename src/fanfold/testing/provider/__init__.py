"""A scripted provider for tests: four APIs on loopback, with their rules, their errors and their bills.

    with Provider([Turn(calls=[("grep", {"pattern": "x"})]), Turn("Done.")], window=32_000) as provider:
        client = openai.OpenAI(base_url=provider.openai_base_url, api_key="any")

It imports nothing else of fanfold: the rules are stated anew from the providers' documentation, so
that a mistake made in one place is not made in the other.
"""

from .provider import Provider
from .rejection import Limits, Rejection
from .request import Received
from .rules import RULES
from .script import Fail, Turn

__all__ = ["RULES", "Fail", "Limits", "Provider", "Received", "Rejection", "Turn"]
