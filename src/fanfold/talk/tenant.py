"""A tenant: sessions that share entries. Nothing is shared between tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanfold.log import Tree

if TYPE_CHECKING:
    from fanfold.talk.state import State


class Tenant:
    """The entries of one tenant, and its open sessions by name."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.states: dict[str, State] = {}


_tenants: dict[str, Tenant] = {}


def tenant(name: str) -> Tenant:
    """The tenant with this name, in this process."""
    return _tenants.setdefault(name, Tenant())
