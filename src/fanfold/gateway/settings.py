"""What the gateway is started with: `[serve]` of the settings file, and what the command line says beside it.

[serve]
port = 4141
window = 64_000

[serve.upstreams]
anthropic = "https://api.anthropic.com"

[serve.keys.alice]
key = "env:ALICE_KEY"
tenant = "alice"
anthropic = "env:ANTHROPIC_API_KEY"
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from fanfold.config.options import value_of
from fanfold.config.settings import with_settings
from fanfold.config.settings_file import File, read_file, register
from fanfold.core.errors import BadInput, BadSetting, unknown
from fanfold.dialects.registry import DIALECTS, DialectName
from fanfold.gateway.mistakes import Mistake, misread
from fanfold.gateway.safety import LOOPBACK
from fanfold.text.sizes import with_numbers

PROVIDERS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""The providers' own addresses."""
STORE = "sqlite:agent.db"
"""Where the other commands look, too."""
_MOST_BODY = 40 << 20
_MEMORY = 128 << 20
_LEAST_WINDOW = 1_000
"""Fewer tokens are no conversation: the k was forgotten."""
_LEAST_KEY = 16
"""Characters of a virtual key."""
_SENDABLE = re.compile(r"[!-~]+")


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for some models: what is not said here is as for all others."""

    window: int | None = None
    thrift: float | None = None
    strategy: Any = None
    defer: bool | None = None


class VirtualKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that clients bring instead of a provider's: whose it is, and what holds for its requests."""

    key: str
    """The key itself, or `env:NAME`."""
    tenant: str
    openai: str | None = None
    anthropic: str | None = None
    gemini: str | None = None
    """The provider's key, or `env:NAME`; without one the provider cannot be asked with this key."""
    window: int | None = None
    thrift: float | None = None
    strategy: Any = None
    defer: bool | None = None
    per_model: dict[str, ModelSettings] = {}
    """What holds for some models, by patterns of their names: before what holds for the key."""


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for the whole gateway."""

    host: str = "127.0.0.1"
    port: int = 4141
    store: str = STORE
    upstreams: dict[str, str] = {}
    window: int | None = None
    """The window to keep every conversation in; without it, that of each request's model."""
    thrift: float | None = None
    strategy: Any = None
    manage: bool = True
    """Whether conversations are managed at all."""
    hosts: tuple[str, ...] = ()
    """Further names under which the gateway may be called."""
    max_body: int = _MOST_BODY
    memory: int = _MEMORY
    """About so many bytes live sessions may take; those that were not used for longest are closed first."""
    inspector: Literal["write", "read", "off"] = "write"
    """Whether a browser finds the inspector at `/`, and whether it may change something."""
    models: dict[str, str] = {}
    """Models of an upstream that speaks another dialect, by patterns of the names that clients use."""
    defer: bool = False
    """Whether clients' tools wait until the model needs them."""
    journal: str | None = None
    """The file with a line for each request; by default beside the store, nowhere if it is empty."""
    per_model: dict[str, ModelSettings] = {}
    """What holds for some models, by patterns of their names; the first that fits. What a key says comes first."""
    keys: dict[str, VirtualKey] = {}

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names under which it may be called."""
        own = () if self.host in ("0.0.0.0", "::") else (self.host,)
        return frozenset(name.lower() for name in (*LOOPBACK, *own, *self.hosts))

    @property
    def url(self) -> str:
        """The address that clients on this machine are given; one that stands for all of its addresses is none."""
        everywhere = self.host in ("0.0.0.0", "::")
        host = next(iter(self.hosts), "127.0.0.1") if everywhere else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def address(self, provider: str) -> str:
        """Where a provider is."""
        return split_upstream(self.upstreams.get(provider, PROVIDERS[provider]))[1].rstrip("/")

    def speaks(self, provider: str) -> DialectName | None:
        """The dialect of a provider's upstream, where that is said."""
        return split_upstream(self.upstreams.get(provider, ""))[0]

    @property
    def elsewhere(self) -> frozenset[str]:
        """The dialects that are answered by an upstream of another one."""
        spoken = {name: self.speaks(name.partition(".")[0]) for name in DIALECTS}
        return frozenset(name for name, told in spoken.items() if told is not None and told != name)


def split_upstream(text: str) -> tuple[DialectName | None, str]:
    """An upstream as it is written: its address, behind the dialect that it speaks if that is another one."""
    told, plus, address = text.partition("+")
    found = next((name for name in DIALECTS if name == told), None) if plus else None
    return (found, address) if found else (None, text)


def read_settings(given: Mapping[str, Any] | None = None) -> ServeSettings:
    """The settings of the file, with those that are given in their place; checked."""
    file = read_file()
    usual = with_settings({}).get("store")
    written = with_numbers(file.table("serve")) if file else {}
    if file:
        register(file)
        refuse(misread(written, ServeSettings, ("serve",)), file)
    settings = msgspec.convert({**({"store": usual} if usual else {}), **written}, ServeSettings)
    chosen = {name: value for name, value in (given or {}).items() if value not in (None, {}, ())}
    if "FANFOLD_STORE" in os.environ and usual:
        chosen.setdefault("store", usual)  # the environment goes before the file
    if "upstreams" in chosen:
        chosen["upstreams"] = {**settings.upstreams, **chosen["upstreams"]}
    settings = replace(settings, **chosen)
    refuse(impossible(settings), file, chosen)
    return settings


def check_usable(settings: ServeSettings, given: Mapping[str, Any]) -> None:
    """Raise `BadSetting` for what settings name on this machine and what cannot be used."""
    from fanfold.gateway.places import unusable  # late: it opens sessions

    chosen = [name for name, value in given.items() if value not in (None, {}, ())]
    refuse(unusable(settings), read_file(), chosen)


def check_settings(settings: ServeSettings) -> None:
    """Raise `BadSetting` for what cannot work, or would not be safe."""
    refuse(impossible(settings), None)


def refuse(mistakes: Iterable[Mistake], file: File | None, chosen: Container[str] = ()) -> None:
    """Raise an error that names all mistakes, if there are any: in the file with their lines, unless `chosen` since."""
    told = [
        str(file.wrong(one.sentence, *one.place)) if file and _is_told(file, one, chosen) else one.sentence
        for one in mistakes
    ]
    if told:
        raise BadSetting("\n".join(dict.fromkeys(told)))


def _is_told(file: File, mistake: Mistake, chosen: Container[str]) -> bool:
    """Whether the file says what is wrong, or leaves something out there."""
    table, *names = mistake.place
    return bool(names) and names[0] in file.table(table) and names[0] not in chosen


def impossible(settings: ServeSettings) -> Iterator[Mistake]:
    """What cannot work, or would not be safe."""
    for provider, address in settings.upstreams.items():
        here = ("serve", "upstreams", provider)
        if provider not in PROVIDERS:
            yield Mistake(here, str(unknown("upstream", provider, tuple(PROVIDERS))))
        elif not _is_address(split_upstream(address)[1]):
            yield Mistake(
                here,
                f"The upstream {provider} has no address that can be asked. Write one such as {PROVIDERS[provider]}; "
                "if it speaks another dialect, with that before it: openai.chat+http://127.0.0.1:8000/v1.",
            )
    if not settings.is_local and not settings.keys:
        yield Mistake(
            ("serve", "host"),
            f"The gateway would listen on {settings.host}, where others can reach it, and there is no key. Add "
            "[serve.keys] to fanfold.toml, or listen on 127.0.0.1.",
        )
    if not 0 <= settings.port <= 65_535:
        yield Mistake(("serve", "port"), f"A port is a number up to 65535, not {settings.port}.")
    for name in ("max_body", "memory"):
        if getattr(settings, name) < 1:
            yield Mistake(("serve", name), f"{name} is a number of bytes above zero.")
    yield from _impossible_holder(settings, ("serve",))
    secrets: dict[str, str] = {}
    for name, key in settings.keys.items():
        yield from _impossible_key(key, name, secrets)


def _impossible_key(key: VirtualKey, name: str, secrets: dict[str, str]) -> Iterator[Mistake]:
    """What is wrong with a virtual key; `secrets` are the earlier ones, by what they are."""
    here, title = ("serve", "keys", name), f"[serve.keys.{name}]"
    if not key.tenant:
        yield Mistake((*here, "tenant"), f"The tenant of {title} has no name: give it one.")
    elif not key.tenant.isprintable():
        yield Mistake(
            (*here, "tenant"),
            f"The tenant of {title} has a sign in its name that cannot be printed: take it out.",
        )
    for field in ("key", *PROVIDERS):
        written = getattr(key, field)
        try:
            told = secret(written, f"serve.keys.{name}.{field}") if written else None
        except BadSetting as error:
            yield Mistake((*here, field), str(error))
            continue
        if told is not None and not _SENDABLE.fullmatch(told):
            yield Mistake(
                (*here, field),
                f"{field} of {title} has a sign that no header can carry: use letters, digits and signs of ASCII, "
                "without blanks or a line end.",
            )
        elif field == "key" and len(told or "") < _LEAST_KEY:
            yield Mistake((*here, "key"), f"The key of {title} is too short: use 16 characters or more.")
        elif field == "key" and secrets.setdefault(str(told), title) != title:
            first = secrets[str(told)]
            yield Mistake((*here, "key"), f"{title} has the same key as {first}: give each its own.")
    yield from _impossible_holder(key, here)


def _impossible_holder(
    holder: ServeSettings | VirtualKey | ModelSettings, place: tuple[str, ...]
) -> Iterator[Mistake]:
    """What is wrong with what holds for all requests, for a key or for some models."""
    if holder.window is not None and holder.window < 1:
        yield Mistake((*place, "window"), "A window is a number of tokens above zero.")
    elif holder.window is not None and holder.window < _LEAST_WINDOW:
        told = f"A window of {holder.window} tokens holds no conversation. Did you mean {holder.window}k?"
        yield Mistake((*place, "window"), told)
    try:
        strategy_of(holder)
    except BadSetting as error:
        yield Mistake((*place, "thrift" if holder.strategy is None else "strategy"), str(error))
    if not isinstance(holder, ModelSettings):
        for pattern, one in holder.per_model.items():
            yield from _impossible_holder(one, (*place, "per_model", pattern))


def _is_address(text: str) -> bool:
    """Whether this is the address of a server, without anything that only a request has."""
    try:
        parts = urlsplit(text)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:  # no such port
        return False
    return named and parts.scheme in ("http", "https") and not {"?", "@", "#"}.intersection(text)


def strategy_of(holder: ServeSettings | VirtualKey | ModelSettings) -> Any:
    """The strategy that was chosen, checked; None for the usual one."""
    chosen = holder.strategy
    if chosen is None and holder.thrift is not None:
        chosen = {"name": "auto", "thrift": holder.thrift}
    if chosen is None:
        return None
    try:
        value_of("strategy", chosen)
    except BadInput as error:
        raise BadSetting(str(error)) from error
    return chosen


def secret(text: str, where: str) -> str:
    """A secret as it is written, or from the environment (`env:NAME`)."""
    if not text.startswith("env:"):
        return text
    found = os.environ.get(text.removeprefix("env:"))
    if not found:
        raise BadSetting(f"{where} names the variable {text.removeprefix('env:')}, which is not set.")
    return found
