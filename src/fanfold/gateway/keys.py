"""Whose request it is: virtual keys, each with its tenant. Keys are compared by hash and never kept in clear."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.dialects.dialect import LIMITS
from fanfold.dialects.registry import request_fields
from fanfold.gateway.headers import Headers, key_of, with_key
from fanfold.gateway.safety import Refused
from fanfold.gateway.settings import ModelSettings, ServeSettings, VirtualKey, secret, strategy_of

UNSAID = frozenset({"context"})
"""Parameters that would be taken for the verb's own."""
_NOT_GIVEN = request_fields() | UNSAID


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever sends a request, and what holds for it."""

    tenant: str = "default"
    window: int | None = None
    strategy: Any = None
    defer: bool = False
    """Whether the client's tools wait until the model needs them."""
    elsewhere: frozenset[str] = frozenset()
    """The dialects that are answered by an upstream of another one."""
    models: dict[str, str] = {}
    """The models of those upstreams, by patterns of the names that clients use."""
    own_keys: bool = False
    """Whether the provider's key is put in the place of the client's."""
    secrets: dict[str, str] = {}
    """The providers' keys; a holder is never printed."""
    shared: frozenset[str] = frozenset()
    """The providers that take another tenant for the same customer, because both have one key there."""
    per_model: tuple[tuple[str, Holder], ...] = ()
    """The same holder with what holds for some models, by patterns of their names."""

    def sign(self, headers: Headers, provider: str) -> Headers:
        """The headers with the key that the provider is to get."""
        key = self.secret(provider)
        return headers if key is None else with_key(headers, provider, key)

    def model_for(self, dialect: str, model: str | None) -> str | None:
        """The model that answers: where the upstream speaks another dialect, the first whose pattern fits the name."""
        if dialect not in self.elsewhere or model is None:
            return model
        return next((there for pattern, there in self.models.items() if fnmatchcase(model, pattern)), model)

    def for_model(self, model: str | None) -> Holder:
        """The holder as it is for a model: always the same one."""
        if not self.per_model or model is None:
            return self
        return next((one for pattern, one in self.per_model if fnmatchcase(model, pattern)), self)

    def budgeted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters as a budget is to see them: a reply as long as the window would leave no room for anything else.

        Claude Code asks for 32,000 tokens, whatever window the gateway was given. What is sent has the client's limit.
        """
        most = self.window // 4 if self.window else None
        return {
            key: min(value, most) if most and key in LIMITS and type(value) is int else value
            for key, value in params.items()
            if key not in _NOT_GIVEN
        }

    def secret(self, provider: str) -> str | None:
        """The provider's key that stands for the client's, if one does."""
        if self.own_keys and provider not in self.secrets:
            raise Refused(403, f"There is no key for {provider} behind the key that was given.")
        return self.secrets.get(provider)

    def __repr__(self) -> str:
        return f"Holder(tenant={self.tenant!r})"


class Keys:
    """The keys that clients may bring."""

    def __init__(self, settings: ServeSettings) -> None:
        self._anybody = Holder(
            window=settings.window,
            strategy=strategy_of(settings),
            defer=settings.defer,
            elsewhere=settings.elsewhere,
            models=settings.models,
        )
        own = self._anybody
        self._anybody = replace(own, per_model=_per_model(own, settings.per_model))
        self._holders = {
            _hash(secret(key.key, f"serve.keys.{name}.key")): self._holder(name, key, settings.per_model)
            for name, key in settings.keys.items()
        }
        self._share()

    def _holder(self, name: str, key: VirtualKey, per_model: dict[str, ModelSettings]) -> Holder:
        told = {"openai": key.openai, "anthropic": key.anthropic, "gemini": key.gemini}
        own = Holder(
            tenant=key.tenant,
            window=key.window or self._anybody.window,
            strategy=strategy_of(key) or self._anybody.strategy,
            defer=self._anybody.defer if key.defer is None else key.defer,
            elsewhere=self._anybody.elsewhere,
            models=self._anybody.models,
            own_keys=True,
            secrets={
                provider: secret(text, f"serve.keys.{name}.{provider}")
                for provider, text in told.items()
                if text
            },
        )
        # What a key says of a model comes first, then what it says of all, then what holds for the model elsewhere.
        said = {
            pattern: ModelSettings(
                window=chosen.window if key.window is None else None,
                strategy=strategy_of(chosen) if strategy_of(key) is None else None,
                defer=chosen.defer if key.defer is None else None,
            )
            for pattern, chosen in per_model.items()
        }
        return replace(own, per_model=(*_per_model(own, key.per_model), *_per_model(own, said)))

    def _share(self) -> None:
        """Note which providers take several tenants for one customer."""
        tenants: dict[tuple[str, str], set[str]] = {}
        for holder in self._holders.values():
            for one in holder.secrets.items():
                tenants.setdefault(one, set()).add(holder.tenant)
        for key, holder in self._holders.items():
            shared = frozenset(one[0] for one in holder.secrets.items() if len(tenants[one]) > 1)
            self._holders[key] = replace(holder, shared=shared)

    @property
    def needed(self) -> bool:
        """Whether a request needs a key that is known here."""
        return bool(self._holders)

    def find(self, headers: Headers, query: str) -> Holder:
        """Whose request this is; without virtual keys there is one tenant, and keys are the providers' business."""
        if not self._holders:
            return self._anybody
        given = key_of(headers, query)
        found = self._holders.get(_hash(given)) if given else None
        if found is None:
            raise Refused(401, "This key is not known here.")
        return found


def _per_model(own: Holder, told: Mapping[str, ModelSettings]) -> tuple[tuple[str, Holder], ...]:
    """A holder with what holds for some models."""
    return tuple(
        (
            pattern,
            replace(
                own,
                window=chosen.window or own.window,
                strategy=strategy_of(chosen) or own.strategy,
                defer=own.defer if chosen.defer is None else chosen.defer,
            ),
        )
        for pattern, chosen in told.items()
    )


def _hash(key: str) -> bytes:
    """Looking up a hash tells nobody by its timing how much of a key was right."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
