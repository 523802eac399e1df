"""The current stream, and waiting for the device."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._state import DeviceLike, state
from drynpu_torch.device._streams import Event, ExternalEvent, Stream, must_not_capture
from drynpu_torch.device.npu._devices import init

__all__ = [
    "Event",
    "ExternalEvent",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "SyncLaunchStream",
    "current_stream",
    "default_stream",
    "is_current_stream_capturing",
    "set_stream",
    "stream",
    "synchronize",
]


class SyncLaunchStream(Stream):
    """A stream whose launches are done when their calls return, as all are here."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **kwargs: Any) -> Self:
        """Take the next stream id of the process."""
        return super().__new__(cls, device, priority, **{**kwargs, "is_sync_launch": True})


class ExternalStream(Stream):
    """The stream of a handle that a script has got elsewhere: of ``Stream.npu_stream``, or of pyACL."""

    def __new__(cls, stream_ptr: int, device: DeviceLike = None, **kwargs: Any) -> Self:
        """
        Take the stream with that handle.

        Raises
        ------
        RuntimeError
            A priority or ``is_sync_launch`` is given, which only the maker of a stream can.
        """
        if kwargs.pop("priority", 0) or kwargs.pop("is_sync_launch", 0):
            raise RuntimeError(
                "ExternalStream takes no priority and no is_sync_launch: the stream has them" + pta_error(ErrCode.PARAM)
            )
        return super().__new__(cls, device, stream_id=int(stream_ptr), **kwargs)


def raw_stream(device_index: int) -> int:
    """Return the handle of this thread's stream on a device."""
    return current_stream(device_index).npu_stream


def synchronize(device: DeviceLike = None) -> None:
    """Make the host wait until the device is drained."""
    init()
    state().device_index(device)  # raises for a device that is not there
    must_not_capture("npuSynchronizeDevice")
    state().trace.device_synchronization.fire()
    recorder = state().recorder
    if recorder is not None:
        recorder.on_synchronize(None)


def current_stream(device: DeviceLike = None) -> Stream:
    """Return this thread's stream on *device*."""
    index = state().device_index(device)
    current = state().selected_stream(index)
    if current is None:
        return Stream(index, stream_id=0)
    return current if isinstance(current, Stream) else Stream(index, stream_id=current.stream_id)


def default_stream(device: DeviceLike = None) -> Stream:
    """Return the stream on which every thread begins on *device*."""
    return Stream(device, stream_id=0)


def set_stream(stream: Stream | None) -> None:
    """Make *stream* and its device current in this thread; ``None`` changes nothing."""
    if stream is not None:
        state().select_stream(stream)


class StreamContext:
    """Context manager in which *stream* is current; ``None`` changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._device_before = -1
        self._streams_before: tuple[Stream, ...] = ()

    def __enter__(self) -> None:
        """Select the stream, and its device."""
        if self.stream is not None:
            self._device_before = state().current_device
            self._streams_before = (current_stream(self.stream.device_index), current_stream())
            state().select_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        """Select the previous device and streams."""
        for before in dict.fromkeys(self._streams_before):
            state().select_stream(before)
        state().select_device(self._device_before)


def stream(stream: Stream | None) -> StreamContext:
    """Return the context manager in which *stream* is current."""
    return StreamContext(stream)


def is_current_stream_capturing() -> bool:
    """Return whether this thread's stream is the one that captures a graph."""
    capture = state().capture
    return capture is not None and capture.covers() and current_stream() == capture.stream
