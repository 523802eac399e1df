"""
Functions of C++ that MindSpore calls around each launch.

Of what belongs to no compiled graph MindSpore's CPU profiler knows only name and time. All launches of the CPU go
through two virtual functions: ``LaunchKernel`` of ``KernelExecutor`` (device_context.h), and for operators of no graph
``LaunchKernelWithProfiler`` of ``PyboostKernelExtraFunc`` (pyboost_kernel_extra_func.h). Ours
(``native/launches.cpp``), compiled on this machine when a script is recorded for the first time, stand in their places
and write down inputs and results.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu import CommandError
from drynpu.arrays import I64
from drynpu_mindspore.inside import (
    CORE,
    HARDWARE,
    KNOWN,
    WORD_BYTES,
    Inside,
    UnknownInside,
    address_of,
    change_table,
    compiled_library,
    find_symbol,
    function,
    read_functions,
    read_word,
    require,
)

_SOURCE = Path(__file__).parents[1] / "native" / "launches.cpp"
_FLAGS = (
    "-O2",
    "-DNDEBUG",
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-w",
    "-D_GLIBCXX_USE_CXX11_ABI=0",
)
"""MindSpore's own texts and lists have the layout of GNU C++ before C++11."""
_PYBOOST = "lib/libmindspore_pyboost.so"
_FACTORY = "_ZN9mindspore6kernel7pyboost29PyboostKernelExtraFuncFactory11GetInstanceEv"
_TIMED = "PyboostCPUKernelExtraFunc24LaunchKernelWithProfiler"
_TENSOR, _ADDRESS = "9mindspore6kernel12KernelTensor", "_ZNK9mindspore6device13DeviceAddress"
_MANAGER = "_ZN9mindspore6device20DeviceContextManager"
_CPU_0 = 1, 0
"""``DeviceContextKey``: ``DeviceType::kCPU`` and the number of the device."""
_EXECUTOR_AT = 4 * WORD_BYTES
"""Where a ``DeviceContext`` keeps its executor: behind its table, its key, its memory manager and a flag."""
_BEFORE, _BEHIND = "KernelExecutor19CreateEventForCache", "KernelExecutor13AddMindIRPass"
"""The functions of an executor around ``LaunchKernel`` and ``LaunchKernelHP``, which calls the former."""
_FUNCTIONS = (
    (CORE, "_ZN9mindspore5CNode19fullname_with_scopeEv"),
    (HARDWARE, f"_ZNK{_TENSOR}14device_addressEv"),
    (HARDWARE, f"_ZNK{_TENSOR}7GetTypeEv"),
    (HARDWARE, f"_ZN{_TENSOR}11GetValuePtrEv"),
    (CORE, f"{_ADDRESS}7type_idEv"),
    (CORE, f"{_ADDRESS}14GetShapeVectorEv"),
    (CORE, f"{_ADDRESS}6GetPtrEv"),
    (CORE, f"{_ADDRESS}7GetSizeEv"),
)
"""File and linker's name, in the order of ``Functions`` in the source behind the two that launch."""
_TYPE_TABLE, _OBJECT_TYPE = "_ZTVN9mindspore10TensorTypeE", "_ZNK9mindspore6Object11object_typeEv"
_TABLE_HEAD_BYTES = 2 * WORD_BYTES
# A hash map (robin_hood.h): nodes of a number and a shared pointer; a byte for each node says whether it is there.
_NODES_AT, _BYTES_AT, _NODE_BYTES, _OBJECT_AT = WORD_BYTES, 2 * WORD_BYTES, 3 * WORD_BYTES, WORD_BYTES
_MOST_NODES = 64
_COLUMNS = 3


@frozen(eq=False)
class SeenLaunches:
    """
    Launches as they were seen from inside.

    ``rows`` has begin, end (Unix ns) and number of the call, int64 ``[n, 3]``; ``calls`` are the distinct ones, each in
    the bytes of ``native/launches.cpp``.
    """

    rows: I64 = field(factory=lambda: np.empty((0, _COLUMNS), np.int64))
    calls: tuple[bytes, ...] = ()


@define(eq=False)
class LaunchHook:
    """The functions in place; they live as long as the process and record while they are switched on."""

    _library: ctypes.CDLL

    def record(self, *, on: bool) -> SeenLaunches:
        """Begin or end a recording; return what was seen since the last call."""
        part = self._library.drynpu_record(on)
        if not part:
            return SeenLaunches()
        rows = self._read(self._library.drynpu_rows, part)
        calls = self._read(self._library.drynpu_calls, part)
        self._library.drynpu_drop(part)
        numbers = np.frombuffer(rows, np.int64).reshape(-1, _COLUMNS)
        return SeenLaunches(numbers, tuple(_split(calls)))

    def _read(self, function: Any, part: int) -> bytes:
        count = ctypes.c_size_t()
        place = function(part, ctypes.byref(count))
        size = count.value * (_COLUMNS * 8 if function is self._library.drynpu_rows else 1)
        return ctypes.string_at(place, size) if size else b""


def _split(text: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(text):
        (size,) = struct.unpack_from("<q", text, at)
        yield text[at + 8 : at + 8 + size]
        at += 8 + size


def load_hook(package: Path) -> LaunchHook | None:
    """
    Put the functions in place in the MindSpore in the folder *package*; compile them where that was not done before.

    Returns
    -------
    hook
        ``None`` without a compiler, or where the inside of MindSpore's libraries is not known.
    """
    with suppress(OSError, AttributeError, CommandError, UnknownInside):
        return _put_in_place(package)
    return None


# N1, docs/tricks.md
def _put_in_place(package: Path) -> LaunchHook | None:
    require(KNOWN[Inside.LAUNCHES])
    libraries = {file: ctypes.CDLL(str(package / file)) for file in (CORE, HARDWARE, _PYBOOST)}
    words = [address_of(libraries[file], name) for file, name in _FUNCTIONS]
    names = [find_symbol(each) for each in read_functions(address_of(libraries[CORE], _TYPE_TABLE) + _TABLE_HEAD_BYTES)]
    timer, executor = _find_timer(libraries[_PYBOOST]), _find_executor(libraries[HARDWARE])
    timing, launching = _places(timer, (_TIMED,)), _places(executor, (_BEFORE, _BEHIND))
    # Between the two neighbours there have to be exactly the two that launch.
    if len(timing) != 1 or np.diff(launching).tolist() != [3] or names.count(_OBJECT_TYPE) != 1:
        return None
    path = compiled_library(_SOURCE, _FLAGS)
    if path is None:
        return None
    library = _functions_of(path)
    launch = launching[0] + 1
    replaced = (read_functions(read_word(timer))[timing[0]], read_functions(read_word(executor))[launch])
    pointers = (ctypes.c_size_t * (len(words) + 3))(*replaced, *words, names.index(_OBJECT_TYPE))
    library.drynpu_prepare(pointers)
    timed, launched = address_of(library, "drynpu_timed"), address_of(library, "drynpu_launch")
    change_table(read_word(timer), {timing[0]: timed})
    change_table(read_word(executor), {launch: launched, launch + 1: launched})
    return LaunchHook(library)


def _functions_of(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    pointer, count = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)
    for name, result, arguments in (
        ("drynpu_prepare", None, [pointer]),
        ("drynpu_record", pointer, [ctypes.c_bool]),
        ("drynpu_rows", pointer, [pointer, count]),
        ("drynpu_calls", pointer, [pointer, count]),
        ("drynpu_drop", None, [pointer]),
    ):
        each = getattr(library, name)
        each.restype, each.argtypes = result, arguments
    return library


def _places(address: int, parts: tuple[str, ...]) -> list[int]:
    """Return the places of virtual functions of the object at *address* whose names hold one of *parts*."""
    functions = read_functions(read_word(address)) if address else []
    names = [find_symbol(each) for each in functions]
    return [place for place, name in enumerate(names) if any(part in name for part in parts)]


# N3, docs/tricks.md
def _find_timer(library: ctypes.CDLL) -> int:
    """Return the address of the object that times launches of the CPU, 0 if it is not found."""
    factory = function(library, _FACTORY, ctypes.c_void_p)()
    nodes, there = read_word(factory + _NODES_AT), read_word(factory + _BYTES_AT)
    count = (there - nodes) // _NODE_BYTES
    for number in range(count if 0 < count < _MOST_NODES else 0):
        if ctypes.c_ubyte.from_address(there + number).value:
            timer = read_word(nodes + number * _NODE_BYTES + _OBJECT_AT)
            if _places(timer, (_TIMED,)):
                return timer
    return 0


# N4, docs/tricks.md
def _find_executor(hardware: ctypes.CDLL) -> int:
    """
    Return the address of one of the objects that launch kernels on the CPU, 0 if there is none.

    Each number of a device has its own; they share a table. MindSpore itself asks for the one of device 0 wherever
    it needs the host. The number that the script has set is not asked for: it could not be set again.
    """
    word = ctypes.c_void_p
    manager = function(hardware, f"{_MANAGER}11GetInstanceEv", word)()
    create = function(hardware, f"{_MANAGER}24GetOrCreateDeviceContextERKNS0_16DeviceContextKeyE", word, word, word)
    context = create(manager, (ctypes.c_uint32 * 2)(*_CPU_0))
    return read_word(context + _EXECUTOR_AT) if context else 0
