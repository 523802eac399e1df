"""The built device as Python calls it: the functions of ``interface.h``, by ctypes."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType
from typing import TypedDict

import numpy as np
import torch
from attrs import define, field

from drynpu.arrays import I64
from drynpu_torch.device._recorded import RecordedOperators, divided, pointer_to, read_recording

_SNAPSHOT_COLUMNS = 8
_CALL_COLUMNS = 5
_MARK_COLUMNS = 3
_COUNTERS = 2
"""Numbers behind the statistics: retries and failures."""
_POOLS, _VALUES = 3, 4


class Frame(TypedDict):
    """A frame of a stack, as snapshots of PyTorch list it."""

    filename: str
    name: str
    line: int


@define(eq=False)
class Library:
    """The loaded library. Devices are indices; streams and events are numbers that are unique in the process."""

    path: Path
    generators: tuple[torch.Generator, ...] = field(default=(), init=False)
    """The default generator of each device."""
    computes: bool = field(default=True, init=False)
    """Whether operators compute values; without, they run on shapes alone."""
    _functions: ctypes.CDLL = field(init=False)
    _timer: object = field(default=None, init=False)
    """The function that C++ calls, which has to live as long."""
    _locked: ctypes.PyDLL = field(init=False)
    """The same functions, called with Python's lock."""

    def __attrs_post_init__(self) -> None:
        torch.ops.load_library(str(self.path))  # type: ignore[no-untyped-call]  # runs its registrations
        functions = ctypes.CDLL(str(self.path))
        for name in ("current_stream", "next_stream", "next_event", "memory_snapshot", "take_calls"):
            getattr(functions, f"drynpu_{name}").restype = ctypes.c_int64
        functions.drynpu_max_split_size.restype = ctypes.c_int64
        functions.drynpu_take_marks.restype = ctypes.c_int64
        functions.drynpu_operator_name.restype = ctypes.c_char_p
        functions.drynpu_type_name.restype = ctypes.c_char_p
        self._functions = functions
        self._locked = ctypes.PyDLL(str(self.path))

    def configure(self, devices: int, memory_bytes: int, *, only_warn: bool) -> None:
        """Set the number of devices and their memory; ``only_warn`` goes on when that is full."""
        self._functions.drynpu_configure(devices, ctypes.c_int64(memory_bytes), int(only_warn))
        self.generators = tuple(torch.Generator(torch.device("npu", index)) for index in range(devices))
        for index, generator in enumerate(self.generators):
            generator.manual_seed(torch.initial_seed())  # as PyTorch seeds a device at its first use
            torch.ops.drynpu.set_default_generator(generator, index)

    def finish_backward(self, longest_s: float = 10.0) -> bool:
        """
        Wait until the threads of the backward pass hold no Python objects; return whether that was so in time.

        A thread that releases such an object while the interpreter ends would end the process.
        """
        return bool(self._functions.drynpu_finish_backward(ctypes.c_double(longest_s)))

    def compute_nothing(self, stand_in: float, most_bytes: int) -> None:
        """
        Run operators on shapes alone; called before the first tensor is made.

        Where the script reads a floating-point value it gets *stand_in*. Tensors of up to *most_bytes* are computed if
        their values follow from the host's.
        """
        self._functions.drynpu_compute_nothing(ctypes.c_double(stand_in), ctypes.c_int64(most_bytes))
        self.computes = False

    def stand_ins(self) -> tuple[int, int, int]:
        """Return how many numbers, copies and sizes the script was given stand-ins for."""
        counts = np.zeros(3, np.int64)
        self._functions.drynpu_stand_ins(counts.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(counts)))
        numbers, copies, sizes = map(int, counts)
        return numbers, copies, sizes

    def use_device(self) -> bool:
        """Note that the process uses the device; return False where it cannot, as a fork of one that had used it."""
        return not self._functions.drynpu_use_device()

    @property
    def is_refused(self) -> bool:
        """Whether the process is a fork of one that had used the device."""
        return bool(self._functions.drynpu_is_refused())

    @property
    def current_device(self) -> int:
        """The device of this thread."""
        return int(self._functions.drynpu_current_device())

    @current_device.setter
    def current_device(self, index: int) -> None:
        self._functions.drynpu_select_device(index)

    def current_stream(self, device: int) -> int:
        """Return this thread's stream on *device*."""
        return int(self._functions.drynpu_current_stream(device))

    def select_stream(self, device: int, stream: int) -> None:
        """Make *stream* this thread's on *device*."""
        self._functions.drynpu_select_stream(device, ctypes.c_int64(stream))

    def next_stream(self) -> int:
        """Return a new stream's number."""
        return int(self._functions.drynpu_next_stream())

    def next_event(self) -> int:
        """Return a new event's number."""
        return int(self._functions.drynpu_next_event())

    def time_events(self, ask: Callable[[int, int, int], float]) -> None:
        """
        Let *ask* time the events of PyTorch itself until the process ends.

        It gets an action (``TimerAction`` in ``guard.h``) and two events, and returns ms, NaN where it knows none.
        """
        self._timer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)(ask)
        self._functions.drynpu_time_events(self._timer)
        atexit.register(self._functions.drynpu_time_events, None)

    def memory_statistics(self, device: int) -> tuple[I64, int, int]:
        """Return ``[statistic, pool, value]`` (see ``_memory_statistics``), the retries and the failures."""
        rows = self._functions.drynpu_statistics_rows()
        numbers = np.empty(rows * _POOLS * _VALUES + _COUNTERS, np.int64)
        self._functions.drynpu_memory_statistics(device, numbers.ctypes.data_as(ctypes.c_void_p))
        table = numbers[:-_COUNTERS].reshape(rows, _POOLS, _VALUES)
        return table, int(numbers[-2]), int(numbers[-1])

    def memory_snapshot(self, device: int) -> I64:
        """
        Return the blocks in the order of addresses, ``[block, 8]``.

        The columns are segment, address, size, requested, state, small, stream, expandable.
        """
        rows = self._functions.drynpu_memory_snapshot(device, None, ctypes.c_int64(0))
        table = np.empty((rows, _SNAPSHOT_COLUMNS), np.int64)
        pointer = table.ctypes.data_as(ctypes.c_void_p)
        count = self._functions.drynpu_memory_snapshot(device, pointer, ctypes.c_int64(rows))
        return table[:count]

    def record_memory_history(self, *, wanted: bool, context: int, native_stacks: bool, most: int) -> None:
        """Begin or end to record what the allocators do; *context* counts as :data:`_memory_history.CONTEXTS`."""
        torch.ops.drynpu.record_memory_history(wanted, context, native_stacks, most)

    def memory_history(self, device: int) -> tuple[I64, I64, list[Frame], list[list[int]]]:
        """
        Return what was recorded of a device.

        These are events ``[event, 5]``: action, address, size, stream, stack; blocks ``[block, 10]``: the columns of
        :meth:`memory_snapshot`, the stack of the block and of its segment; all frames; and of each stack its frames,
        innermost first. A stack of -1 is none.
        """
        events, blocks, files, names, lines, stacks = torch.ops.drynpu.memory_history(device)
        frames = [
            Frame(filename=file, name=name, line=line) for file, name, line in zip(files, names, lines, strict=True)
        ]
        return events.numpy(), blocks.numpy(), frames, stacks

    @property
    def max_split_size(self) -> int:
        """The setting ``max_split_size_mb`` in bytes, -1 without a limit."""
        return int(self._functions.drynpu_max_split_size())

    def count_memory(self, *, counted: bool) -> None:
        """Let what this thread allocates from now on take blocks of the allocator, or none."""
        self._functions.drynpu_count_memory(int(counted))

    def empty_cache(self) -> None:
        """Give back the segments of which nothing is used."""
        self._functions.drynpu_memory_empty_cache()

    def reset_peaks(self, device: int) -> None:
        """Set the peaks to the present values."""
        self._functions.drynpu_memory_reset_peaks(device)

    def reset_accumulated(self, device: int) -> None:
        """Set the sums of all that was allocated and freed to 0."""
        self._functions.drynpu_memory_reset_accumulated(device)

    def limit_memory(self, device: int, size_bytes: int) -> None:
        """Let *device* reserve no more than that."""
        self._functions.drynpu_memory_limit(device, ctypes.c_int64(size_bytes))

    def note_marks(self, *, wanted: bool) -> None:
        """Begin or end to note which operators run on the device."""
        self._functions.drynpu_note_marks(int(wanted))

    def take_marks(self) -> tuple[I64, list[str]]:
        """Return and forget the marks, ``[mark, 3]``: time_ns, thread, operator; and the names of the operators."""
        tables = []
        left = 1 << 14  # a first guess
        while left:
            table = np.full((left, _MARK_COLUMNS), -1, np.int64)
            pointer = table.ctypes.data_as(ctypes.c_void_p)
            left = self._functions.drynpu_take_marks(pointer, ctypes.c_int64(len(table)))
            tables.append(table[table[:, 0] >= 0])
        names = map(self._functions.drynpu_operator_name, map(ctypes.c_int64, itertools.count()))
        return np.concatenate(tables), [name.decode() for name in itertools.takewhile(bool, names)]

    def start_recording(self, *, memory: bool = False) -> bool:
        """
        Begin to record the operators of all threads; return whether that was possible: there is one recorder.

        With *memory* it records what they allocate and release on the device, too.
        """
        return bool(self._functions.drynpu_start_recording(int(memory)))

    def watch_this_thread(self) -> None:
        """
        Count what this thread waits for a processor as delays of those that record, and record no more of its frames.

        It writes what they recorded and may hold Python's lock meanwhile.
        """
        self._functions.drynpu_watch_this_thread()

    def note_collection(self, cost_ns: int) -> None:
        """
        Count a collection of garbage in this thread as a delay.

        It delays this thread, and others as far as they waited for Python's lock meanwhile.
        """
        self._functions.drynpu_note_collection(ctypes.c_int64(cost_ns))

    @property
    def is_recording(self) -> bool:
        """Whether the recorder records."""
        return bool(self._functions.drynpu_is_recording())

    @property
    def has_recorded(self) -> bool:
        """Whether the recorder has operators or calls that nobody has taken yet."""
        return bool(self._functions.drynpu_has_recorded())

    def stop_recording(self) -> RecordedOperators:
        """End the recording and return the operators since its begin."""
        return read_recording(self._functions)

    @property
    def follows_python(self) -> bool:
        """Whether the recorder can record the frames of this Python."""
        has_lock = not sysconfig.get_config_var("Py_GIL_DISABLED")
        return has_lock and bool(self._locked.drynpu_can_follow(ctypes.py_object(len), b"len"))

    def start_frames(self, module_call: CodeType, folders: Iterable[tuple[int, str]], *, fresh: bool) -> None:
        """
        Record the frames of all threads, too, until the recording ends.

        Threads that have a profile function of the script are left to that. *module_call* is the code by which modules
        are called. *folders* says whose the code below them is, the first that fits: 0 the script's or a framework's, 1
        drynpu's, 2 what drynpu uses, too. ``fresh`` forgets the names of recordings before.
        """
        lines = "\n".join(f"{owner}{folder}" for owner, folder in folders)
        marker, code = ctypes.py_object(self.follow_thread), ctypes.py_object(module_call)
        self._locked.drynpu_start_frames(marker, code, os.fsencode(lines), int(fresh))

    def follow_thread(self, *_event: object) -> bool:
        """
        Record the frames of this thread again; return False where it has a profile function of the script.

        Python calls this at an event of a script that puts back as its profile function what it saw before.
        """
        return bool(self._locked.drynpu_follow_thread())

    def frame_names(self) -> list[str]:
        """
        Return the names of frames, parts divided by zeros.

        These are file, line and name of a function; the text of a function in C; and of a module ``nn.Module``, its
        class and its address.
        """
        sizes = np.zeros(2, np.int64)
        texts, ends = np.empty(0, np.uint8), np.empty(0, np.int64)
        for _ in range(2):  # how many there are, then all
            texts, ends = np.empty(sizes[0], np.uint8), np.empty(sizes[1], np.int64)
            self._locked.drynpu_frame_names(*map(pointer_to, (texts, ends, sizes)))
        return [text.decode(errors="replace") for text in divided(texts.tobytes(), ends)]

    def type_name(self, number: int) -> str:
        """Return the C++ name of an element type by PyTorch's number, as Kineto shows it."""
        name: bytes = self._functions.drynpu_type_name(number)
        return name.decode()

    def note_calls(self, *, wanted: bool) -> None:
        """Begin or end to keep the calls of streams and events that PyTorch makes itself; drops those kept before."""
        self._functions.drynpu_note_calls(int(wanted))

    def take_calls(self) -> I64:
        """Return and forget the calls kept: ``[call, 5]``: time_ns, thread, kind, stream, event."""
        rows = self._functions.drynpu_take_calls(None, ctypes.c_int64(-1))
        while True:
            table = np.empty((rows, _CALL_COLUMNS), np.int64)
            pointer = table.ctypes.data_as(ctypes.c_void_p)
            count = self._functions.drynpu_take_calls(pointer, ctypes.c_int64(rows))
            if count <= rows:
                return table[:count]
            rows = count
