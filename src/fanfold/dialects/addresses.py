"""Addresses of pictures and files: on the web, or with their bytes written into them (`data:`)."""

from __future__ import annotations


def unpacked(address: str) -> tuple[str, str] | None:
    """The media type and the base64 of a `data:` address; None for any other text."""
    head, found, data = address.partition(";base64,")
    return (head[5:], data) if found and head.startswith("data:") else None


def packed(media: str, data: str) -> str:
    """The `data:` address of some base64; one that is an address already stays as it is."""
    return data if data.startswith("data:") else f"data:{media};base64,{data}"


def is_web(address: str) -> bool:
    """Whether a provider can fetch what stands there; a file's id, or a place in its own cloud, is none."""
    return address.startswith(("https://", "http://"))
