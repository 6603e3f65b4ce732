"""Signatures that only this server can make: HMAC over a small payload, printed as base64."""

import base64
import binascii
import hashlib
import hmac
import json
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
        raw = _decoded(text)
        mac, body = raw[len(MARK) : len(MARK) + 16], raw[len(MARK) + 16 :]
        if not raw.startswith(MARK) or not hmac.compare_digest(mac, self._mac(body)):
            return None
        payload: dict[str, Any] = json.loads(body)
        return payload

    def foreign(self, text: str) -> bool:
        """Whether the text does not even claim to come from such a server."""
        return not _decoded(text).startswith(MARK)

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self.key, body, hashlib.sha256).digest()[:16]


def _decoded(text: str) -> bytes:
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def fingerprint(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
