"""Stores: where records and blobs are kept. Here is what somebody needs who writes one."""

from typing import TYPE_CHECKING

from fanfold.core.record import versions
from fanfold.stores.store import (
    Batch,
    Blob,
    Hold,
    Scrub,
    Store,
    Stored,
    Tenants,
    bounds,
    name_of,
    no_blob,
    referred_to,
    refuse_stubs,
    summing,
    written_first,
)

if TYPE_CHECKING:
    from fanfold.stores.coding import Coding

__all__ = [
    "Batch",
    "Blob",
    "Coding",
    "Hold",
    "Scrub",
    "Store",
    "Stored",
    "Tenants",
    "bounds",
    "name_of",
    "no_blob",
    "referred_to",
    "refuse_stubs",
    "summing",
    "versions",
    "written_first",
]


def __getattr__(name: str) -> object:
    """What writes records as bytes, imported by stores that keep bytes."""
    if name == "Coding":
        from fanfold.stores.coding import Coding

        return Coding
    raise AttributeError(f"module 'fanfold.stores' has no attribute {name!r}")
