"""Signatures that only this server can make, and ids that follow from the request alone."""

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any

MARK = b"scripted:"


@dataclass(frozen=True)
class Seal:
    """Closes payloads into opaque texts and opens its own again."""

    key: bytes = b"scripted provider"

    def close(self, **payload: Any) -> str:
        """The payload as an opaque, signed text."""
        body = json.dumps(payload, sort_keys=True).encode()
        return base64.b64encode(MARK + self._mac(body) + body).decode()

    def open(self, text: str) -> dict[str, Any] | None:
        """The payload of a text this seal closed; nothing for a forged or foreign one."""
        raw = _decode(text)
        mac, body = raw[len(MARK) : len(MARK) + 16], raw[len(MARK) + 16 :]
        if not raw.startswith(MARK) or not hmac.compare_digest(mac, self._mac(body)):
            return None
        payload: dict[str, Any] = json.loads(body)
        return payload

    def foreign(self, text: str) -> bool:
        """Whether the text does not even claim to come from such a server."""
        return not _decode(text).startswith(MARK)

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self.key, body, hashlib.sha256).digest()[:16]


def _decode(text: str) -> bytes:
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def fingerprint(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


BOUND = re.compile(r"(?:fc|msg|ctc)_fa([0-9a-f]{22})[0-9a-f]{2}([0-9a-f]{2})")


@dataclass(frozen=True)
class Name:
    """The name of one reply, from which all of its ids are made."""

    digest: str

    def reply(self, prefix: str) -> str:
        """The reply's own id."""
        return prefix + self.digest[:24]

    def call(self, prefix: str, nth: int) -> str:
        """The id of one of its calls."""
        return f"{prefix}{self.digest[:20]}{nth:02x}"

    def item(self, prefix: str, place: int, reasoning: int | None = None) -> str:
        """The id of an output item; it tells which reasoning item it was made after."""
        bound = "ff" if reasoning is None else f"{reasoning:02x}"
        return f"{prefix}_fa{self.digest[:22]}{place:02x}{bound}"


def required_reasoning(item: str) -> str | None:
    """The id of the reasoning item that an item was made after; nothing for a free or foreign one."""
    match = BOUND.fullmatch(item)
    if match is None or match[2] == "ff":
        return None
    return f"rs_fa{match[1]}{match[2]}ff"
