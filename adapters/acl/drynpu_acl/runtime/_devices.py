"""
Devices, contexts, streams and events.

Work runs on the CPU at the time of the call, so a stream is drained as soon as a call has returned; what streams and
events order is the simulated device, through the recording. What a stream can still hold are callbacks, which run in
the thread that reports are subscribed to.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from attrs import define, field

from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles
from drynpu_acl.runtime._listener import EventTimer

_NS_PER_MS = 1_000_000


@define(eq=False)
class Callback:
    """A function that a stream holds until its subscribed thread runs it."""

    function: Callable[[Any], object]
    argument: Any
    blocks: bool


@define(eq=False)
class Stream:
    """A queue of a context. ``number`` is what listeners get: 0 for the default stream."""

    number: int
    context: Context
    error: int = ReturnCode.SUCCESS
    """Code of a run that failed on the stream, until somebody waits for it."""
    subscriber: int | None = None
    callbacks: deque[Callback] = field(factory=deque)
    unfinished: int = 0
    """Blocking callbacks that have not returned."""


@define(eq=False)
class Context:
    """A context of a device, with its default stream."""

    device_id: int
    default_stream: Stream = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.default_stream = Stream(0, self)


@define(eq=False)
class Event:
    """A mark on a stream, with the host time at which it was reached."""

    recorded_ns: int | None = None


class Devices:
    """
    What a process holds of its devices.

    Parameters
    ----------
    device_count:
        Number of devices; the library sets it when it begins.
    numbers:
        Where handles come from.
    """

    def __init__(self, device_count: int, numbers: Iterator[int]) -> None:
        self.count = device_count
        self.timer: EventTimer | None = None
        self.contexts: Handles[Context] = Handles(numbers)
        self.streams: Handles[Stream] = Handles(numbers)
        self.events: Handles[Event] = Handles(numbers)
        self._default: dict[int, int] = {}
        self._current = threading.local()
        self._stream_numbers = count(1)
        self._lock = threading.RLock()

    # Devices and contexts ---------------------------------------------------------------------------------------

    def set_device(self, device_id: int) -> int:
        """Make the device's default context current in this thread."""
        if not 0 <= device_id < self.count:
            return ReturnCode.INVALID_DEVICE
        with self._lock:
            if device_id not in self._default:
                self._default[device_id] = self.contexts.add(Context(device_id))
            self._current.handle = self._default[device_id]
        return ReturnCode.SUCCESS

    def reset_device(self, device_id: int) -> int:
        """Give up the device's contexts with all that is in them; nothing for one that is not in use."""
        if not 0 <= device_id < self.count:
            return ReturnCode.INVALID_DEVICE
        with self._lock:
            self._default.pop(device_id, None)
            for handle, context in self.contexts.items():
                if context.device_id == device_id:
                    self._drop_context(handle)
        return ReturnCode.SUCCESS

    def create_context(self, device_id: int) -> tuple[int, int]:
        """Return ``(context, code)``; the new context is current in this thread."""
        if not 0 <= device_id < self.count:
            return 0, ReturnCode.INVALID_DEVICE
        self._current.handle = self.contexts.add(Context(device_id))
        return self._current.handle, ReturnCode.SUCCESS

    def destroy_context(self, handle: int) -> int:
        """Give up a context that was created."""
        if handle == 0:
            return ReturnCode.INVALID_PARAM
        with self._lock:
            if self.contexts.get(handle) is None or handle in self._default.values():
                return ReturnCode.INVALID_HANDLE
            self._drop_context(handle)
        return ReturnCode.SUCCESS

    def _drop_context(self, handle: int) -> None:
        context = self.contexts.remove(handle)
        for number, stream in self.streams.items():
            if stream.context is context:
                self.streams.remove(number)

    def set_context(self, handle: int) -> int:
        """Make a context current in this thread."""
        code, context = self.contexts.look_up(handle)
        if context is not None:
            self._current.handle = handle
        return code

    def get_context(self) -> tuple[int, int]:
        """Return ``(context, code)`` of this thread."""
        return (0, ReturnCode.CONTEXT_NULL) if self.current is None else (self._current.handle, ReturnCode.SUCCESS)

    def get_device(self) -> tuple[int, int]:
        """Return ``(device, code)`` of this thread's context."""
        context = self.current
        return (0, ReturnCode.CONTEXT_NULL) if context is None else (context.device_id, ReturnCode.SUCCESS)

    @property
    def current(self) -> Context | None:
        """The thread's context; ``None`` for none and for one that was destroyed."""
        return self.contexts.get(getattr(self._current, "handle", 0))

    # Streams ----------------------------------------------------------------------------------------------------

    def create_stream(self) -> tuple[int, int]:
        """Return ``(stream, code)`` of this thread's context."""
        context = self.current
        if context is None:
            return 0, ReturnCode.CONTEXT_NULL
        return self.streams.add(Stream(next(self._stream_numbers), context)), ReturnCode.SUCCESS

    def destroy_stream(self, handle: int) -> int:
        """Give up a stream; what it holds is dropped."""
        if handle == 0:
            return ReturnCode.INVALID_PARAM
        code, _ = self.stream(handle)
        if code == ReturnCode.SUCCESS:
            self.streams.remove(handle)
        return code

    def stream(self, handle: int) -> tuple[int, Stream | None]:
        """Return ``(code, stream)``; 0 is the default stream of this thread's context."""
        context = self.current
        if context is None:
            return ReturnCode.CONTEXT_NULL, None
        if handle == 0:
            return ReturnCode.SUCCESS, context.default_stream
        stream = self.streams.get(handle)
        if stream is None:
            return ReturnCode.INVALID_HANDLE, None
        return (ReturnCode.SUCCESS, stream) if stream.context is context else (ReturnCode.STREAM_CONTEXT, None)

    def streams_of(self, context: Context) -> list[Stream]:
        """Return all streams of a context, the default one first."""
        return [context.default_stream, *(s for s in self.streams.values() if s.context is context)]

    # Events -----------------------------------------------------------------------------------------------------

    def create_event(self) -> tuple[int, int]:
        """Return ``(event, code)``."""
        return (0, ReturnCode.CONTEXT_NULL) if self.current is None else (self.events.add(Event()), ReturnCode.SUCCESS)

    def destroy_event(self, handle: int) -> int:
        """Give up an event."""
        code, _ = self.events.look_up(handle)
        self.events.remove(handle)
        if self.timer is not None:
            self.timer.forget(handle)
        return code

    def record_event(self, handle: int, stream: int) -> int:
        """Put an event on a stream, which has reached it at once."""
        code, event = self._event(handle, stream)
        if event is not None:
            if self.timer is not None:
                self.timer.on_record(handle)
            event.recorded_ns = time.time_ns()
        return code

    def reset_event(self, handle: int, stream: int) -> int:
        """Make an event one that nothing has reached."""
        code, event = self._event(handle, stream)
        if event is not None:
            event.recorded_ns = None
        return code

    def stream_wait_event(self, stream: int, handle: int) -> int:
        """Let a stream wait for an event, which has happened already."""
        return self._event(handle, stream)[0]

    def _event(self, handle: int, stream: int) -> tuple[int, Event | None]:
        code, event = self.events.look_up(handle)
        if event is not None:
            code, _ = self.stream(stream)
        return code, event if code == ReturnCode.SUCCESS else None

    def synchronize_event(self, handle: int) -> int:
        """Wait for an event; nothing has to be waited for, recorded or not."""
        return self.events.look_up(handle)[0]

    def event_elapsed_time(self, first: int, second: int) -> tuple[float, int]:
        """Return ``(milliseconds, code)`` between two events; without a timer the time is this CPU's."""
        if 0 in (first, second):
            return 0.0, ReturnCode.INVALID_PARAM
        one, other = self.events.get(first), self.events.get(second)
        if one is None or other is None:
            return 0.0, ReturnCode.INVALID_HANDLE
        if one.recorded_ns is None or other.recorded_ns is None:
            return 0.0, ReturnCode.EVENT_TIMESTAMP_INVALID
        modelled = None if self.timer is None else self.timer.times_ns(first, second)
        begin_ns, end_ns = modelled or (one.recorded_ns, other.recorded_ns)
        elapsed_ns = end_ns - begin_ns
        return (
            (elapsed_ns / _NS_PER_MS, ReturnCode.SUCCESS)
            if elapsed_ns >= 0
            else (0.0, ReturnCode.EVENT_TIMESTAMP_REVERSAL)
        )

    def clear(self) -> None:
        """Give up everything."""
        with self._lock:
            self._default.clear()
            self.contexts.clear()
            self.streams.clear()
            self.events.clear()
