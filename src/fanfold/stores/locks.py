"""A lock that Ctrl-C cannot leave taken.

Python heeds a signal when a function in Python begins and when one in C has ended. So `lock.acquire()` can be broken
off when the lock is taken and nobody knows it yet. Up to Python 3.13 a `with` block is safe from that; 3.14 heeds
signals between taking the lock and entering the block. No signal is heeded when a function in Python ends. So `take`
can see to it: either its caller knows that the lock is taken, or it is not.
"""

from __future__ import annotations

import sys
from _thread import RLock


class ThreadLock(RLock):  # type: ignore[misc]  # typeshed says that it is final, and it is not
    """An `RLock` to be used with `with`, or with `take`. It is left in C, in one step that no signal divides."""

    __slots__ = ()

    def take(self, blocking: bool = True) -> bool:
        """Take it, if it is free or may be waited for; where this raises, it is not taken."""
        try:
            return self.acquire(blocking)
        except BaseException:
            # Whoever has it already gets it again without waiting. So it is this thread's now, or others have it.
            try:  # noqa: SIM105 `suppress` would be a function in Python, which may be broken off
                self.release()
            except RuntimeError:
                pass
            raise

    if sys.version_info >= (3, 14):

        def __enter__(self) -> bool:
            # The same as `take`: without an argument it costs a twentieth more than an `RLock`, with one a half.
            try:
                return self.acquire()
            except BaseException:
                try:  # noqa: SIM105
                    self.release()
                except RuntimeError:
                    pass
                raise
