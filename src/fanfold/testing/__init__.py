"""What fanfold ships for the tests of its users: a fake model, small conversations, and checks of plug-ins.

The scripted provider is in `fanfold.testing.provider`, hypothesis strategies in `fanfold.testing.generators`.
"""

from fanfold.testing.checks import check_dialect, check_strategy
from fanfold.testing.integrations import check_integration
from fanfold.testing.models import FakeModel
from fanfold.testing.stores import check_store
from fanfold.testing.talks import called, picture, replied, response, returned, said, talk

__all__ = [
    "FakeModel",
    "called",
    "check_dialect",
    "check_integration",
    "check_store",
    "check_strategy",
    "picture",
    "replied",
    "response",
    "returned",
    "said",
    "talk",
]
