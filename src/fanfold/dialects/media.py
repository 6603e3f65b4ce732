"""Pictures and files: their addresses, and the note that stands where a dialect has no form for one."""

from __future__ import annotations

from fanfold.core.message import Document, Image, Opaque, Part


def unpack(address: str) -> tuple[str, str] | None:
    """The media type and the base64 of a `data:` address; None for any other text."""
    head, found, data = address.partition(";base64,")
    return (head[5:], data) if found and head.startswith("data:") else None


def pack(media: str, data: str) -> str:
    """The `data:` address of some base64; one that is an address already stays as it is."""
    return data if data.startswith("data:") else f"data:{media};base64,{data}"


def is_web(address: str) -> bool:
    """Whether a provider can fetch what stands there; a file's id, or a place in its own cloud, is none."""
    return address.startswith(("https://", "http://"))


def note(part: Part) -> str:
    """The short text that stands for a part that a dialect has no form for."""
    name, url = None, None
    match part:
        case Image():
            what, name, url = "an image", part.media, part.url
        case Document():
            what, name, url = "a document", part.name or part.media, part.url
        case Opaque(body={"type": "tool_reference", "tool_name": str(tool)}):
            return f"[the tool {tool} was loaded]"
        case Opaque():
            what = f"a block of {part.dialect}"
        case _:
            what = "a part"
    known = ", ".join(filter(None, (name, url if url and is_web(url) else None)))
    return f"[{what} that cannot be shown here{f': {known}' if known else ''}]"
