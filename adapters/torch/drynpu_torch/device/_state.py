"""The state of the device: current device and stream of every thread, options, and the recording that listens."""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from attrs import define, field

from drynpu.options import Settings
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import Plugins, from_plugins
from drynpu_torch.device._errors import ACL_FAILED, INVALID_VALUE, tagged
from drynpu_torch.device._library import Library
from drynpu_torch.device._outlines import stand_in_note
from drynpu_torch.device._script_marks import ScriptMarks
from drynpu_torch.device._trace import DeviceTrace
from drynpu_torch.extension.choice import Choice

DEVICE_TYPE = "npu"
_NS_PER_MS = 1_000_000
# TimerAction of adapters/torch/native/guard.h; the other one is a record.
_TIMER_ELAPSED, _TIMER_FORGET = 1, 2
_DEVICE_KIND = torch._C._autograd.DeviceType.PrivateUse1.value

DeviceLike = torch.device | str | int | None


class DeviceListener(Protocol):
    """Receives the calls that concern the device while a recording runs, on their thread and before they return."""

    def on_stream(self, stream_id: int) -> None:
        """Note that this thread issues to another stream from now on; 0 is the default stream."""

    def on_synchronize(self, stream_id: int | None) -> None:
        """Note that the host waits for one stream, or for the whole device when ``stream_id`` is None."""

    def on_event(self, event_id: int, stream_id: int, action: str) -> None:
        """Note what was done to an event: ``record``, ``wait``, ``query`` or ``synchronize``."""

    def on_capture(self, graph: GraphStreams, begin_ns: int) -> None:
        """Note that a graph has been captured since *begin_ns*, Unix ns."""

    def on_replay(self, graph: GraphStreams, stream_id: int, *, end: bool) -> None:
        """Note that a replay of a graph begins, or with *end* ends, on a stream of the script."""


@define(eq=False)
class GraphStreams:
    """
    A captured graph as the runtime numbers it.

    ``streams`` says on which stream it runs what was captured on which stream; the first is the one that captured.
    ``begin_event`` and ``end_event`` order its replays among the work of the stream that they are launched on.
    """

    number: int
    begin_event: int
    end_event: int
    streams: dict[int, int] = field(factory=dict)


class Capturing(Protocol):
    """The capture of a graph, as the functions of streams and events see it."""

    stream: torch.Stream

    def covers(self, *, waits: bool = False) -> bool:
        """Return whether a call of this thread belongs to the capture, or, if it *waits*, breaks it."""

    def note(self, function: Callable[[], object]) -> None:
        """Note something that happens whenever the graph runs."""

    def stream_number(self, stream_id: int) -> int:
        """Return the stream on which the graph runs what is captured from a stream."""


class EventTimer(Protocol):
    """Tells when the simulated device reaches events."""

    def on_record(self, event_id: int) -> None:
        """Note that an event with timing is about to be recorded."""

    def times_ns(self, *event_ids: int) -> tuple[int, ...] | None:
        """Return when the device reaches the last records of events; ``None`` where that is not known of one."""

    def forget(self, event_id: int) -> None:
        """Forget an event that is no more."""

    def settle(self) -> None:
        """Stop recording, because a profiler is about to start; or use its recording, which is about to stop."""


class _ThreadLocals(threading.local):
    """Every thread starts on device 0 and its default stream, as with any accelerator of PyTorch."""

    def __init__(self) -> None:
        self.device = 0
        self._streams: dict[int, torch.Stream] = {}

    def stream(self, device: int) -> torch.Stream | None:
        return self._streams.get(device)

    def select_stream(self, stream: torch.Stream) -> None:
        self._streams[stream.device_index] = stream


class _NativeLocals:
    """What PyTorch's own threads know: the device and streams of every thread, in C++."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._objects = threading.local()

    @property
    def device(self) -> int:
        return self._library.current_device

    @device.setter
    def device(self, index: int) -> None:
        self._library.current_device = index

    def stream(self, device: int) -> torch.Stream | None:
        number = self._library.current_stream(device)
        selected: torch.Stream | None = getattr(self._objects, str(device), None)
        if selected is not None and selected.stream_id == number:
            return selected
        # PyTorch itself selected it, or another object with its number
        return torch.Stream(stream_id=number, device_index=device, device_type=_DEVICE_KIND) if number else None

    def select_stream(self, stream: torch.Stream) -> None:
        self._library.select_stream(stream.device_index, stream.stream_id)
        setattr(self._objects, str(stream.device_index), stream)


@define(eq=False)
class DeviceState:
    """
    The state of the npu device in this process.

    Attributes
    ----------
    device_count:
        Number of devices, ids ``0 .. device_count - 1``.
    recorder:
        Receives calls of streams, events and synchronisation; ``None`` while nothing records.
    script_marks:
        Keeps the marks of ``torch.npu.mstx``; ``None`` while no recording asks for them.
    last_device:
        The device that any thread selected last; measured memory is counted as its memory.
    library:
        The native device; ``None`` where the sink serves.
    choice:
        Which of the two serves and why; ``None`` before the device is registered.
    capture:
        The capture of a graph that has begun and not ended; ``None`` without one.
    new_timer:
        Makes the timer of events when the first one with timing is recorded.
    new_operators:
        Registers the operators of torch_npu when one of them is looked up; a plugin sets it.
    trace:
        Functions that are called when something happens to streams, events and memory.
    options:
        Values set by ``torch.npu.set_option`` and its relatives, by option name.
    """

    device_count: int
    chip_name: str
    recorder: DeviceListener | None = None
    script_marks: ScriptMarks | None = None
    last_device: int = 0
    library: Library | None = None
    choice: Choice | None = None
    capture: Capturing | None = None
    new_timer: Callable[[], EventTimer] | None = None
    new_operators: Callable[[], None] | None = None
    _timer: EventTimer | None = field(default=None, init=False)
    trace: DeviceTrace = field(factory=DeviceTrace)
    options: dict[str, str] = field(factory=dict)
    stream_ids: Iterator[int] = field(factory=lambda: itertools.count(1))
    event_ids: Iterator[int] = field(factory=lambda: itertools.count(1))
    range_ids: Iterator[int] = field(factory=lambda: itertools.count(1))
    _local: _ThreadLocals | _NativeLocals = field(factory=_ThreadLocals)

    @property
    def timer(self) -> EventTimer | None:
        """The timer of events; ``None`` before the device is installed."""
        if self._timer is None and self.new_timer is not None:
            self._timer = self.new_timer()
        return self._timer

    def time_event(self, action: int, event: int, end: int) -> float:
        """Let the timer serve an event of PyTorch itself, as ``Library.time_events`` says."""
        timer = self.timer
        if timer is None:
            return math.nan
        if action == _TIMER_ELAPSED:
            times_ns = timer.times_ns(event, end)
            return math.nan if times_ns is None else (times_ns[1] - times_ns[0]) / _NS_PER_MS
        if action == _TIMER_FORGET:
            timer.forget(event)
        elif self.capture is None:
            timer.on_record(event)
        return 0.0

    def settle_timer(self) -> None:
        """Let the timer of events end its stretch, because a profiler is about to start or to stop."""
        if self._timer is not None:
            self._timer.settle()

    @classmethod
    def from_environment(cls) -> DeviceState:
        """Read ``DRYNPU_DEVICES`` (8), ``ASCEND_RT_VISIBLE_DEVICES`` (all) and ``DRYNPU_CHIP`` (Ascend910B2)."""
        settings = Settings.from_environ(os.environ)
        return cls(_visible(settings.devices, os.environ.get("ASCEND_RT_VISIBLE_DEVICES")), settings.chip)

    def use(self, library: Library, *, only_warn: bool) -> None:
        """Let the native device serve from now on; ``only_warn``: it goes on when its memory is full."""
        library.configure(self.device_count, self.chip.memory_bytes, only_warn=only_warn)
        self.library, self._local = library, _NativeLocals(library)
        library.time_events(self.time_event)
        self.stream_ids = iter(library.next_stream, None)
        self.event_ids = iter(library.next_event, None)

    @property
    def computes(self) -> bool:
        """Whether operators compute values; without, they run on shapes alone."""
        return self.library is None or self.library.computes

    @property
    def served_by(self) -> str:
        """What serves the npu, as profiles name it; empty before the device is registered."""
        return "" if self.choice is None else f"{self.choice.device.value} device"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the readers of a profile have to know of the device."""
        if self.library is not None:
            return () if self.computes else (stand_in_note(*self.library.stand_ins()),)
        # Who chose the sink knows that; who has it for want of the other one may not know that there is another.
        if self.choice is None or self.choice.is_asked:
            return ()
        return (f"tensors of the npu say cpu: {self.choice.sentence}",)

    @property
    def chip(self) -> Chip:
        """
        The chip that all devices are.

        Raises
        ------
        ChipError
            ``DRYNPU_CHIP`` names no known chip.
        """
        return load_chip(self.chip_name, extra_files=from_plugins(Plugins.chip_files))

    @property
    def current_device(self) -> int:
        """The device of this thread."""
        return self._local.device

    def select_device(self, index: int) -> int:
        """Make *index* (checked) the device of this thread and return the one before."""
        before = self._local.device
        if index >= self.device_count:
            raise RuntimeError(self.out_of_range(index))
        if index >= 0:
            self._local.device = self.last_device = index
        return before

    def selected_stream(self, device: int) -> torch.Stream | None:
        """Return the stream that this thread selected on *device*, or None for its default stream."""
        return self._local.stream(device)

    def select_stream(self, stream: torch.Stream) -> None:
        """Make *stream* the stream of this thread on its device, and that device current."""
        self.select_device(stream.device_index)
        self._local.select_stream(stream)
        if self.recorder is not None:
            self.recorder.on_stream(stream.stream_id)

    def device_index(self, device: DeviceLike) -> int:
        """
        Return the index of a device: ``None`` and ``"npu"`` are the current one.

        Raises
        ------
        ValueError
            The device is of another type, or text that is neither a number nor a device.
        RuntimeError
            There is no device of that index.
        """
        if device is None:
            return self.current_device
        if isinstance(device, str):
            device = int(device) if device.isdigit() else _parse(device)
        if isinstance(device, torch.device):
            if device.type != DEVICE_TYPE:
                raise ValueError(
                    tagged(f"Expected a npu device, but got: {device}; give 'npu', 'npu:N' or a number", INVALID_VALUE)
                )
            device = self.current_device if device.index is None else device.index
        if not 0 <= device < self.device_count:
            raise RuntimeError(self.out_of_range(device))
        return device

    def out_of_range(self, index: int) -> str:
        """Return the message for a device that is not there."""
        call = "ExchangeDevice:drynpu NPU function error: c10_npu::SetDevice(device), error code is 107001"
        return (
            f"{tagged(call, ACL_FAILED)}\n[Error]: Invalid device ID.\n"
            "        Check whether the device ID is valid.\n"
            f"        EE1001: Set device failed, invalid device, set device={index}, {self.valid_range}"
        )

    @property
    def valid_range(self) -> str:
        """Which devices there are, in words."""
        return f"valid device range is [0, {self.device_count}). DRYNPU_DEVICES sets how many devices there are."


def _parse(text: str) -> torch.device:
    try:
        return torch.device(text)
    except RuntimeError:
        raise ValueError(f"{text!r} is not a device; give 'npu', 'npu:N' or a number") from None


def _visible(count: int, listed: str | None) -> int:
    """
    Return how many of *count* devices the vendor's variable leaves.

    The runtime reads ascending ids separated by commas up to the first other character, and stops at the first id
    that does not exist; a list that is not ascending leaves none.
    """
    if listed is None:
        return count
    digits = "".join(itertools.takewhile(lambda c: c.isdigit() or c == ",", listed))
    ids = [int(part) for part in itertools.takewhile(bool, digits.split(","))]
    seen = -1
    for position, index in enumerate(ids):
        if index <= seen:
            return 0
        if index >= count:
            return position
        seen = index
    return len(ids)


@functools.cache
def state() -> DeviceState:
    """
    Return the state of this process; the first call reads the environment.

    Raises
    ------
    OptionError
        ``DRYNPU_DEVICES`` cannot be used.
    """
    return DeviceState.from_environment()
