"""`data:` addresses: a picture or a file written into its own address."""

from __future__ import annotations


def unpacked(address: str) -> tuple[str, str] | None:
    """The media type and the base64 of a `data:` address; None for any other text."""
    head, found, data = address.partition(";base64,")
    return (head[5:], data) if found and head.startswith("data:") else None
