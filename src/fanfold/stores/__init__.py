"""Stores: where records and blobs are kept. Here is what somebody needs who writes one."""

from fanfold.record import versions
from fanfold.stores.coding import Coding
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
