"""Everything fanfold raises, as one tree.

FanfoldError
├── BadInput (ValueError)      what was handed in is not what it should be
│   ├── BadMessage             a message that is no message
│   ├── BadArguments           a call's arguments are no JSON object
│   ├── BadBudget              limits that contradict each other
│   ├── BadEdit                an edit that cannot be made
│   │   ├── PartlyCovered      it would cut a row, a part or a block in two
│   │   └── Covered            a later edit stands on top of it
│   └── BadSetting             a setting nobody knows, or a value it cannot have
├── NotFound (LookupError)     no such entry, edit, reference, session, request
├── UnknownModel (LookupError) no limits are known for this model
├── DoesNotFit                 the window cannot hold what must be shown
├── BrokenGrammar              the provider would answer 400
├── AskFailed                  the model that was asked gave no usable answer
├── Moved                      somebody else wrote first
├── StoreFailed                nothing could be written or read
│   ├── Full                   there is no room left
│   ├── Busy                   somebody else holds it
│   ├── Corrupt                what is there is damaged
│   └── Sealed                 it is sealed with another key
├── Gone                       the content was erased on purpose
├── Closed                     the session is closed
├── TooSlow (TimeoutError)     a search took longer than it may
└── MissingExtra (ImportError) an optional package is not installed

A class's docstring is its default message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanfold.text.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


class FanfoldError(Exception):
    """Something went wrong in fanfold."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or ""))


class BadInput(FanfoldError, ValueError):
    """What was handed in is not what it should be."""


class BadMessage(BadInput):
    """This is no message: give a dict with a role and content, or an SDK object."""


class BadArguments(BadInput):
    """The arguments of this call are no JSON object."""


class BadBudget(BadInput):
    """These limits contradict each other."""


class BadEdit(BadInput):
    """This edit cannot be made."""


class PartlyCovered(BadEdit):
    """An edit covers whole rows (or whole parts) of the present view, nothing else."""


class Covered(BadEdit):
    """A later edit stands on top of this one; undo that first, or say `through=True`."""


class BadSetting(BadInput):
    """There is no such setting."""

    def __init__(self, message: str = "", key: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        """The key at which the mistake stands, where it is one."""


class NotFound(FanfoldError, LookupError):
    """There is no such thing here."""


class UnknownModel(FanfoldError, LookupError):
    """No limits are known for this model: give `window=`, or register it."""


class DoesNotFit(FanfoldError):
    """The window cannot hold what must be shown."""


class BrokenGrammar(FanfoldError):
    """The provider would refuse this request."""


class AskFailed(FanfoldError):
    """The model that was asked gave no usable answer."""


class Moved(FanfoldError):
    """Somebody else wrote to this session first; look again and repeat."""


class StoreFailed(FanfoldError):
    """The store could not be read or written; the session in memory is as it was, so try again."""


class Full(StoreFailed):
    """There is no room left where the store writes; make some, and try again."""


class Busy(StoreFailed):
    """Somebody else holds the store for too long; try again."""


class Corrupt(StoreFailed):
    """What the store holds is damaged; `fanfold.doctor` says what, and repairs what can be repaired."""


class Sealed(StoreFailed):
    """The store is sealed with another key, or with none; give the key that it was made with."""


class Gone(FanfoldError):
    """This content was erased on purpose; only its id is left."""

    def __init__(self, message: str = "", stubs: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.stubs = stubs
        """What is left of it, where a store met it."""


class Closed(FanfoldError):
    """This session is closed; open it again to go on."""


class TooSlow(FanfoldError, TimeoutError):
    """This search took too long and was stopped; search for a simpler pattern, or in one output only."""


class MissingExtra(FanfoldError, ImportError):
    """An optional package is not installed."""


def unknown(what: str, name: str, known: Iterable[str]) -> BadSetting:
    """The error for a name that nobody knows."""
    listed = list(known)
    near = nearest(name, listed)
    meant = f" Did you mean {near!r}?" if near else ""
    return BadSetting(
        f"There is no {what} {name!r}.{meant} Known are: {', '.join(listed) or 'none'}.", key=name
    )
