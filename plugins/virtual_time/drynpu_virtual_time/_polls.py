"""``selectors`` and ``select``: timeouts are virtual, and what has come is looked for whenever threads take turns."""

from __future__ import annotations

import select
import selectors
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from drynpu_virtual_time._clock import TURN_NS, VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

Events = TypeVar("Events")

_NS = 1_000_000_000
_SELECTORS = ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector", "KqueueSelector")


def patch_polls(clock: VirtualClock, replaced: Replaced) -> None:
    """Let ``select`` and the selectors of event loops wait on *clock*."""
    for name in _SELECTORS:
        kind = getattr(selectors, name, None)
        if kind is not None:
            kind.select = _selecting(clock, kind.select)
    really_select = select.select

    def select_files(
        rlist: Iterable[FileDescriptorLike],
        wlist: Iterable[FileDescriptorLike],
        xlist: Iterable[FileDescriptorLike],
        timeout: float | None = None,
    ) -> tuple[list[FileDescriptorLike], list[FileDescriptorLike], list[FileDescriptorLike]]:
        if is_ours(sys._getframe(1)) or clock.is_guest:
            return really_select(rlist, wlist, xlist, timeout)
        rlist, wlist, xlist = list(rlist), list(wlist), list(xlist)
        return _polled(clock, lambda: really_select(rlist, wlist, xlist, 0), any, timeout)

    replaced.put(select, "select", select_files)
    for name in ("poll", "epoll"):
        if hasattr(select, name):
            replaced.put(select, name, _polling(clock, getattr(select, name)))


def _selecting(clock: VirtualClock, select_events: Callable[..., object]) -> Callable[..., object]:
    def selected(self: object, timeout: float | None = None) -> object:
        if is_ours(sys._getframe(1)) or clock.is_guest:
            return select_events(self, timeout)
        return _polled(clock, lambda: select_events(self, 0), bool, timeout)

    return selected


def _polling(clock: VirtualClock, kind: type[Any]) -> Callable[..., object]:
    def make(*arguments: object, **options: object) -> object:
        really = kind(*arguments, **options)
        # The selectors of Python have their own wait, and get the machine's.
        if is_ours(sys._getframe(1)) or sys._getframe(1).f_globals.get("__name__") == "selectors":
            return really
        return _Poll(clock, really, milliseconds=kind.__name__ == "poll")

    for name in ("fromfd",):
        if hasattr(kind, name):
            setattr(make, name, getattr(kind, name))
    return make


class _Poll:
    """A poll object of ``select`` whose timeouts are virtual."""

    def __init__(self, clock: VirtualClock, really: Any, *, milliseconds: bool) -> None:
        self._clock, self._really, self._unit_s = clock, really, 1e-3 if milliseconds else 1.0

    def poll(self, timeout: float | None = None, *most: int) -> object:
        if self._clock.is_guest:
            return self._really.poll(timeout, *most)
        seconds = None if timeout is None or timeout < 0 else timeout * self._unit_s
        return _polled(self._clock, lambda: self._really.poll(0, *most), bool, seconds)

    def __getattr__(self, name: str) -> object:
        return getattr(self._really, name)

    def __enter__(self) -> _Poll:
        return self

    def __exit__(self, *error: object) -> None:
        self._really.close()


def _polled(
    clock: VirtualClock, look: Callable[[], Events], has_come: Callable[[Events], bool], timeout: float | None
) -> Events:
    """Return what *look* sees, as soon as something has come; each call is a turn of a loop."""
    clock.spend(TURN_NS)
    events = look()
    if has_come(events) or (timeout is not None and timeout <= 0):
        if not has_come(events):
            clock.let_others_run()
            return look()
        return events
    clock.wait(lambda: has_come(look()), None if timeout is None else round(timeout * _NS))
    return look()
