"""Plug-ins: what other packages offer by entry points, so that nobody has to touch the core (systems.md B6).

[project.entry-points."fanfold.strategies"]
minutes = "my_package:minutes"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Literal

import msgspec

from fanfold.core.errors import BadSetting, FanfoldError

Kind = Literal["strategies", "dialects", "stores", "scorers", "filters"]
KINDS: tuple[Kind, ...] = ("strategies", "dialects", "stores", "scorers", "filters")
OLD_GROUPS: dict[Kind, str] = {"dialects": "codecs", "filters": "passes"}
"""What 0.1 called them: packages made for it are still found."""
NEEDED = {"strategies": "__call__", "filters": "__call__", "stores": "tenant", "dialects": "encode"}
"""What a thing of a kind has at least; a scorer is not made, but used as it is."""


class Plugin(msgspec.Struct, frozen=True):
    """Something that an installed package offers."""

    kind: Kind
    name: str
    place: str
    """Module and object, as the package declares them."""
    package: str
    """The package and its version."""

    def load(self) -> Any:
        """The thing itself; `BadSetting` names the plug-in where its package cannot give it."""
        from importlib.metadata import EntryPoint

        try:
            found = EntryPoint(self.name, self.place, f"fanfold.{self.kind}").load()
        except (
            Exception,
            SystemExit,
        ) as error:  # a module of others may raise anything while it is imported
            raise self._wrong(f"cannot be loaded: {type(error).__name__}: {error}") from error
        if not callable(found):
            raise self._wrong(f"cannot be loaded: it is of type {type(found).__name__}, not a function")
        return found if self.kind == "scorers" else self._making(found)

    def _making(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """The same maker; where it fails, or makes something else, the plug-in is named."""

        @wraps(make)
        def made(*args: Any, **kwargs: Any) -> Any:
            try:
                thing = make(*args, **kwargs)
            except FanfoldError:
                raise
            except (Exception, SystemExit) as error:
                raise self._wrong(f"failed: {type(error).__name__}: {error}") from error
            if not hasattr(thing, NEEDED[self.kind]):
                raise self._wrong(f"made nothing of use, but something of type {type(thing).__name__}")
            return thing

        return made

    def _wrong(self, what: str) -> BadSetting:
        return BadSetting(
            f"The plug-in {self.name!r} ({self.place} of {self.package}) {what}. Fix or remove that package."
        )


def installed(kind: Kind | None = None) -> Iterator[Plugin]:
    """The plug-ins of all installed packages; nothing of them is imported yet."""
    from importlib.metadata import entry_points  # late: most programs use what is built in

    for one in KINDS if kind is None else (kind,):
        found: dict[Plugin, None] = {}  # a package may name a thing in both groups, to serve 0.1 too
        for group in filter(None, (one, OLD_GROUPS.get(one))):
            for entry in entry_points(group=f"fanfold.{group}"):
                dist = entry.dist
                package = f"{dist.name} {dist.version}" if dist else "an unnamed package"
                found[Plugin(one, entry.name, entry.value, package)] = None
        yield from found


def plugin(kind: Kind, name: str) -> Any | None:
    """What a package offers under this name, or None where none does. Two that offer it are an error."""
    found = [one for one in installed(kind) if one.name == name]
    if len(found) > 1:
        offered = ", ".join(f"{one.package} ({one.place})" for one in found)
        raise BadSetting(f"Several packages offer {name!r} among {kind}: {offered}. Remove all but one.")
    return found[0].load() if found else None


def names(kind: Kind) -> tuple[str, ...]:
    """The names of the plug-ins of a kind."""
    return tuple(sorted({one.name for one in installed(kind)}))
