"""``threading``: threads take turns, and what waits for a lock waits on the virtual clock."""

from __future__ import annotations

import _thread
import queue
import sys
import threading
from collections.abc import Iterable
from types import ModuleType

from drynpu import CommandError
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours
from drynpu_virtual_time._turns import Turn, all_finished

_NS = 1_000_000_000
_TURN = "_drynpu_turn"
_INNER_NAMES: tuple[tuple[ModuleType | type, tuple[str, ...]], ...] = (
    (threading, ("Lock", "_allocate_lock", "_PyRLock", "_shutdown")),
    (threading.Thread, ("_bootstrap",)),
    (queue, ("_PySimpleQueue",)),
)


def patch_threads(clock: VirtualClock, replaced: Replaced) -> None:
    """Let threads and locks that are made from now on live on *clock*, but for drynpu's."""
    # N33, docs/tricks.md
    must_have_names(_INNER_NAMES)
    lock_class = _lock_class(clock)
    really_allocate = _thread.allocate_lock
    really_reentrant = threading.RLock

    def allocate_lock() -> object:
        return really_allocate() if is_ours(sys._getframe(1)) else lock_class()

    def reentrant_lock(*arguments: object, **options: object) -> object:
        if is_ours(sys._getframe(1)):
            return really_reentrant(*arguments, **options)
        return threading._PyRLock()  # type: ignore[attr-defined]

    for name in ("Lock", "_allocate_lock"):
        setattr(threading, name, allocate_lock)
    replaced.put(threading, "RLock", reentrant_lock)
    replaced.put(queue, "SimpleQueue", queue._PySimpleQueue)  # type: ignore[attr-defined]
    _patch_starts(clock)


def must_have_names(inner: Iterable[tuple[ModuleType | type, tuple[str, ...]]]) -> None:
    """Raise `CommandError` where Python lacks one of the names."""
    missing = [f"{owner.__name__}.{name}" for owner, names in inner for name in names if not hasattr(owner, name)]
    if missing:
        raise CommandError(f"--time virtual needs names of Python that this one has not: {', '.join(missing)}")


def _lock_class(clock: VirtualClock) -> type:
    really_allocate = _thread.allocate_lock

    class Lock:
        """A lock whose waits pass virtual time."""

        __slots__ = ("__weakref__", "_lock")

        def __init__(self) -> None:
            self._lock = really_allocate()

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if self._lock.acquire(False):
                return True
            if not blocking:
                if timeout != -1:
                    raise ValueError("can't specify a timeout for a non-blocking call")
                return False
            if timeout < 0 and timeout != -1:
                raise ValueError("timeout value must be a non-negative number")
            # One that is not there within years is awaited for ever.
            limit_ns = None if timeout == -1 or timeout > threading.TIMEOUT_MAX / 2 else round(timeout * _NS)
            return clock.wait(lambda: self._lock.acquire(False), limit_ns)

        def release(self) -> None:
            self._lock.release()

        def locked(self) -> bool:
            return self._lock.locked()

        def _at_fork_reinit(self) -> None:
            self._lock = really_allocate()

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *error: object) -> None:
            self._lock.release()

    return Lock


def _patch_starts(clock: VirtualClock) -> None:
    start, run, join = threading.Thread.start, threading.Thread._bootstrap, threading.Thread.join  # type: ignore[attr-defined]
    shutdown = threading._shutdown  # type: ignore[attr-defined]
    turns: list[tuple[threading.Thread, Turn]] = []

    def start_thread(thread: threading.Thread) -> None:
        if is_ours(sys._getframe(1)) or clock.is_guest:
            start(thread)
            return
        clock.settle()
        turn = clock.register()
        setattr(thread, _TURN, turn)
        try:
            start(thread)
        except RuntimeError:
            clock.drop(turn)
            raise
        turns.append((thread, turn))

    def bootstrap(thread: threading.Thread) -> None:
        turn = getattr(thread, _TURN, None)
        if turn is None:
            run(thread)
            return
        clock.enter(turn)
        try:
            run(thread)
        finally:
            turns[:] = [(other, each) for other, each in turns if each is not turn]
            clock.leave()

    def join_thread(thread: threading.Thread, timeout: float | None = None) -> None:
        turn = getattr(thread, _TURN, None)
        if turn is not None and thread is not threading.current_thread() and not clock.is_guest:
            limit_ns = None if timeout is None else round(max(timeout, 0) * _NS)
            if not clock.wait(lambda: turn.finished, limit_ns):
                return
            timeout = None
        join(thread, timeout)

    def end_threads() -> None:
        awaited = [turn for thread, turn in turns if not thread.daemon]
        if not clock.is_guest:
            clock.wait(lambda: all_finished(awaited))
        shutdown()

    threading.Thread.start = start_thread  # type: ignore[method-assign,assignment]
    threading.Thread._bootstrap = bootstrap  # type: ignore[attr-defined]
    threading.Thread.join = join_thread  # type: ignore[method-assign,assignment]
    threading._shutdown = end_threads  # type: ignore[attr-defined]
