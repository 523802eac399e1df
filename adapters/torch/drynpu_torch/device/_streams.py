"""
Streams and events of the npu device.

Work runs on the CPU at the time of the call. So a stream is always drained, and an event has happened as soon as it is
recorded. Streams and events order the work of the simulated device, to which the recorder reports them.
"""

from __future__ import annotations

import contextlib
import ctypes
import time

import torch
from torch.autograd.profiler import record_function
from typing_extensions import Self

from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._objects import address_of
from drynpu_torch.device._state import DEVICE_TYPE, DeviceLike, state

_NS_PER_MS = 1_000_000


class Stream(torch.Stream):
    """
    A queue of the device.

    Parameters
    ----------
    device:
        Where the stream lives; the current device if not given.
    priority:
        Kept as an attribute; the simulated device serves all streams alike.
    stream_id:
        Id of an existing stream, by default the next free one. 0 is the device's default stream.
    device_index, device_type:
        The same device as PyTorch's streams name it.
    is_sync_launch:
        Kept as an attribute: every launch is done when the call returns.
    """

    priority: int
    is_sync_launch: bool
    _outer: list[torch.Stream]

    def __new__(
        cls,
        device: DeviceLike = None,
        priority: int = 0,
        *,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
        is_sync_launch: bool = False,
    ) -> Self:
        """Take the next stream id of the process, unless one is given."""
        del device_type  # the number of the only kind that there is
        device = device_index if device is None else device
        number = next(state().stream_ids) if stream_id is None else stream_id
        stream = super().__new__(
            cls,
            stream_id=number,
            device_index=state().device_index(device),
            device_type=torch._C._autograd.DeviceType.PrivateUse1.value,
        )
        stream.priority, stream.is_sync_launch = priority, bool(is_sync_launch)
        stream._outer = []
        if stream_id is None:
            state().trace.stream_creation.fire(number)
        return stream

    @property
    def npu_stream(self) -> int:
        """The stream's handle; here, its id."""
        return self.stream_id

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.stream_id)

    def query(self) -> bool:
        """Return whether the stream is drained, which it is as soon as a call has returned."""
        return True

    def synchronize(self) -> None:
        """Make the host wait for the stream."""
        must_not_capture("synchronize")
        state().trace.stream_synchronization.fire(self.stream_id)
        recorder = state().recorder
        if recorder is not None:
            recorder.on_synchronize(self.stream_id)

    def record_event(self, event: Event | None = None) -> Event:  # type: ignore[override]
        """Record *event*, or a new one, on this stream and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:  # type: ignore[override]
        """Let later work of this stream wait for *event*."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:  # type: ignore[override]
        """Let later work of this stream wait for the present work of *stream*."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Self:
        """Make this the current stream of the thread."""
        before = state().selected_stream(self.device_index)
        self._outer.append(before or Stream(self.device_index, stream_id=0))
        state().select_stream(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Make the stream before the current one again."""
        state().select_stream(self._outer.pop())

    def __repr__(self) -> str:
        """Return the form that the vendor's streams have."""
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.stream_id:#x}>"


class Event(torch.Event):
    """
    A mark on a stream.

    Parameters
    ----------
    enable_timing:
        Whether :meth:`elapsed_time` may be called.
    blocking:
        Accepted without effect: it changes how a real driver waits, and here is no driver.
    interprocess:
        Whether other processes may have it; the plugin torch_sharing gives it a handle then.
    """

    _id: int
    _timed: bool
    interprocess: bool
    _stream_id: int
    _recorded_ns: int | None

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Self:
        """Take the next event id of the process."""
        event = super().__new__(
            cls, device=DEVICE_TYPE, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
        )
        event._id = next(state().event_ids)
        event._timed = enable_timing
        event.interprocess = interprocess
        event._stream_id = 0
        event._recorded_ns = None
        state().trace.event_creation.fire(event._id)
        return event

    @property
    def npu_event(self) -> int:
        """The event's handle; here, its id."""
        return self._id

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._id)

    def record(self, stream: Stream | None = None) -> None:  # type: ignore[override]
        """Record the event on *stream*, or on the current one."""
        timer = state().timer if self._timed and state().capture is None else None
        if timer is not None:
            timer.on_record(self._id)
        with _shown("record"):
            self._stream_id = _stream_id(stream)
            self._recorded_ns = time.perf_counter_ns()
            self._report("record", self._stream_id)
        state().trace.event_record.fire(self._id, self._stream_id)

    def wait(self, stream: Stream | None = None) -> None:  # type: ignore[override]
        """Let later work of *stream*, or of the current one, wait for the event."""
        number = _stream_id(stream)
        with _shown("wait"):
            self._report("wait", number)
        state().trace.event_wait.fire(self._id, number)

    def query(self) -> bool:
        """Return whether the event has happened; work runs at the call, so it always has."""
        with _shown("query"):
            self._report("query", self._stream_id)
        return True

    def synchronize(self) -> None:
        """Make the host wait for the event."""
        must_not_capture("synchronize")
        with _shown("synchronize"):
            self._report("synchronize", self._stream_id)
        state().trace.event_synchronization.fire(self._id)

    def elapsed_time(self, end_event: Event) -> float:  # type: ignore[override]
        """
        Return the time between the two records in milliseconds, as the simulated device reaches them.

        It is the host's time instead on the sink, and where a recording cannot be cut.

        Raises
        ------
        RuntimeError
            One of the events was created without ``enable_timing=True`` or has not been recorded.
        """
        for event in (self, end_event):
            if not event._timed:
                raise RuntimeError("elapsed_time needs events created with enable_timing=True")
            if event._recorded_ns is None:
                raise RuntimeError("elapsed_time needs both events recorded before it is asked")
        assert self._recorded_ns is not None and end_event._recorded_ns is not None  # noqa: PT018
        timer = state().timer
        modelled_ns = None if timer is None else timer.times_ns(self._id, end_event._id)
        begin_ns, end_ns = modelled_ns or (self._recorded_ns, end_event._recorded_ns)
        with _shown("elapsed_time"):
            return (end_ns - begin_ns) / _NS_PER_MS

    def recorded_time(self) -> int:
        """
        Return when the device reaches the record, in us; the time is as good as :meth:`elapsed_time`.

        Raises
        ------
        RuntimeError
            It was created without ``enable_timing=True`` or has not been recorded.
        """
        if not self._timed or self._recorded_ns is None:
            raise RuntimeError("recorded_time needs an event created with enable_timing=True and recorded")
        timer = state().timer
        (time_ns,) = (timer and timer.times_ns(self._id)) or (self._recorded_ns,)
        return time_ns // 1000

    def __del__(self) -> None:
        """Let the timer, and whoever follows events, forget the event."""
        with contextlib.suppress(Exception):  # the interpreter may be ending
            state().trace.event_deletion.fire(self._id)
            if self._timed and self._recorded_ns is not None and (timer := state().timer) is not None:
                timer.forget(self._id)

    def _report(self, action: str, stream_id: int) -> None:
        capture = state().capture
        if capture is not None and capture.covers():
            on = capture.stream_number(stream_id)
            capture.note(lambda: self._report(action, on))
            return
        recorder = state().recorder
        if recorder is not None:
            recorder.on_event(self._id, stream_id, action)

    def __repr__(self) -> str:
        """Return the form that the vendor's events have."""
        return f"<torch_npu.npu.Event {self._id:#x}>"


class ExternalEvent(Event):
    """
    An event that a captured graph waits for and that is recorded outside of it, also later than the wait.

    Work runs at the call, so that whatever the graph waits for has happened when it is replayed.
    """

    def __new__(cls) -> Self:
        """Take the next event id of the process."""
        return super().__new__(cls)

    def reset(self, stream: Stream | None = None) -> None:
        """Let the event be as if it had not been recorded."""
        del stream
        self._recorded_ns = None

    def __repr__(self) -> str:
        """Return the form that the vendor's events have."""
        return f"<torch_npu.npu.ExternalEvent {self._id:#x}>"


def erase_stream(tensor: torch.Tensor, stream: Stream) -> None:
    """Forget that memory is kept for *stream*, for which nothing has been kept: work runs at the call."""
    state().trace.erase_stream.fire(address_of(tensor), stream.stream_id)


def must_not_capture(call: str) -> None:
    """
    Refuse to let the host wait while a graph is captured.

    Raises
    ------
    RuntimeError
        With the words of the vendor's runtime.
    """
    capture = state().capture
    if capture is None or not capture.covers(waits=True):
        return
    synchronize = "c10_npu::acl::AclrtSynchronizeStreamWithTimeout(copy_stream)"
    raise RuntimeError(
        f"{call} NPU function error: {synchronize}, error code is 107027{pta_error(ErrCode.ACL)}\n"
        f"EE9999: Inner Error!\nEE9999: Not allow to synchronize captured-stream, stream_id={capture.stream.stream_id}."
    )


def _shown(call: str) -> contextlib.AbstractContextManager[object]:
    """Show a call as an operator in a recording, as the vendor's profiler does (torch_npu_profiler.md 1.5)."""
    return record_function(f"Event::{call}") if state().recorder is not None else contextlib.nullcontext()


def _stream_id(stream: Stream | None) -> int:
    if stream is not None:
        return stream.stream_id
    current = state().selected_stream(state().current_device)
    return 0 if current is None else current.stream_id
