"""The decorator of the surface's methods: since 2.6 a profiler ends no training run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Protocol, TypeVar

from drynpu_mindspore.profiler._generation import Generation
from drynpu_mindspore.profiler._host import UserLog

_P = ParamSpec("_P")
_R = TypeVar("_R")


class GuardedSession(Protocol):
    """
    Parts of a session that a guard needs.

    Does the release log failures, where to, how deep are calls nested, whose calls are they.
    """

    depth: int

    @property
    def generation(self) -> Generation: ...

    @property
    def user_log(self) -> UserLog: ...

    def raise_failure(self) -> None: ...

    def on_behalf_of(self, profiler: Any, /) -> AbstractContextManager[None]: ...


class _Bound(Protocol):
    @property
    def _session(self) -> GuardedSession: ...


def caught(session: GuardedSession, name: str, call: Callable[[], _R]) -> _R | None:
    """
    Return what *call* returns; what it raises is logged instead, in releases that do so.

    Not so an operator of the script's that turned out to have failed: that is raised once all is done, for MindSpore
    tells of it only once.
    """
    result: _R | None = None
    session.depth += 1
    try:
        result = call()
    except Exception as error:
        if not session.generation.is_current:
            raise
        # The script's run is worth more than its profile.
        session.user_log.error(f"Call to {name} failed. Exception: {error}")
    finally:
        session.depth -= 1
    if session.depth == 0:
        session.raise_failure()
    return result


def guarded(method: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """Have what a method of a profiler raises logged, as :func:`caught` does."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        profiler: _Bound = args[0]  # type: ignore[assignment] # a method's first argument
        # A monitor has no state of its own: the profilers that it makes have.
        with profiler._session.on_behalf_of(getattr(profiler, "_state", None)):
            return caught(profiler._session, method.__name__, lambda: method(*args, **kwargs))

    return call
