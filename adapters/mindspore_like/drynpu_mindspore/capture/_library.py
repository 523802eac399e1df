"""
Functions of MindSpore's library ``libmindspore_profiler`` that its Python does not offer.

Every build of MindSpore can record its own host side in C++, but only the profiler of the Ascend build switches that
on. The library exports the functions under the linker's names (MindSpore 2.7 to 2.10 for Linux).
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from attrs import frozen

from drynpu_mindspore.inside import ALWAYS, find_symbol, new_table, new_text, read_functions
from drynpu_mindspore.target import ASCEND, CPU

# N6, docs/tricks.md
_FILE = "lib/libmindspore_profiler.so"
_PROFILER = "_ZN9mindspore8profiler"
_DUMPER = f"{_PROFILER}6ascend19ProfilingDataDumper"
_SYMBOLS = {
    "dumper": f"{_DUMPER}11GetInstanceEv",
    "dumper_init": f"{_DUMPER}4InitERKSsm",
    "dumper_start": f"{_DUMPER}5StartEv",
    "dumper_stop": f"{_DUMPER}4StopEv",
    "dumper_clear": f"{_DUMPER}6UnInitEv",
    "counter": f"{_PROFILER}14GetClockSyscntEv",
    "python_tracer": f"{_PROFILER}12PythonTracer4callENS0_7CommandEj",
    "profiler": f"{_PROFILER}8Profiler11GetInstanceERKSs",
    "register": f"{_PROFILER}8Profiler8RegisterERKSsRKSt10shared_ptrIS1_E",
}
_SHAPES_ASKED = f"{_PROFILER}8Profiler18EnableRecordShapesEv"
_CAPACITY = 1 << 20
"""Events that the library buffers until its own thread has written them."""
# Values of ``PythonTracer::Command`` in MindSpore's sources.
_TRACE_ALL, _TRACE_STOP, _TRACE_CLEAR = 1, 2, 3


@frozen(eq=False)
class ProfilerLibrary:
    """The functions of the library that recording needs."""

    _functions: dict[str, Any]
    _dumper: int

    def counter(self) -> int:
        """Return the counter of the host by which events are timed."""
        return int(self._functions["counter"]())

    # N5, docs/tricks.md
    def enable_shapes(self) -> bool:
        """
        Have the shapes and types of the inputs of operators recorded as well, in ``mindspore.record_shapes``.

        Operators that belong to no compiled graph report them to the profiler of the device Ascend if there is one that
        wants them. So the CPU's profiler gets that name, too, and a table of virtual functions in which this question
        is answered with yes. Each operator looks for the profiler when it runs for the first time in the process.

        Returns
        -------
        enabled
            False where the profiler does not look as it does in MindSpore 2.7; nothing is changed then.
        """
        shared = (ctypes.c_void_p * 2)()
        self._functions["profiler"](ctypes.addressof(shared), new_text(CPU))
        if shared[0] is None:
            return False
        table = ctypes.c_void_p.from_address(shared[0])
        functions = read_functions(table.value or 0)
        names = [find_symbol(function) for function in functions]
        if ALWAYS in functions:
            return True
        if names.count(_SHAPES_ASKED) != 1:
            return False
        functions[names.index(_SHAPES_ASKED)] = ALWAYS
        table.value = new_table(table.value or 0, functions)
        self._functions["register"](new_text(ASCEND), ctypes.addressof(shared))
        return True

    def record_into(self, folder: Path) -> None:
        """Write events into ``<folder>/mindspore.op_range`` from now on; one recording at a time."""
        self._functions["dumper_init"](self._dumper, new_text(str(folder)), _CAPACITY)
        self._functions["dumper_start"](self._dumper)

    def stop_recording(self) -> None:
        """Write what is left, and end the recording; no thread may report events any more."""
        self._functions["dumper_stop"](self._dumper)
        self._functions["dumper_clear"](self._dumper)

    def trace_python(self) -> None:
        """Record calls of Python functions in all threads from now on."""
        self._functions["python_tracer"](_TRACE_ALL, 0)

    def stop_tracing(self) -> None:
        """Hand the calls over to the recording, which has to run."""
        self._functions["python_tracer"](_TRACE_STOP, 0)
        self._functions["python_tracer"](_TRACE_CLEAR, 0)


def load_library(package: Path) -> ProfilerLibrary | None:
    """
    Return the library of the MindSpore in the folder *package*; ``None`` if it lacks a function or is not there.

    From now on operators report their shapes, see :meth:`ProfilerLibrary.enable_shapes`.
    """
    path = package / _FILE
    try:
        library, interpreted = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        functions: dict[str, Any] = {name: library[symbol] for name, symbol in _SYMBOLS.items()}
    except (OSError, AttributeError):
        return None
    # The tracer works on Python's threads and needs the interpreter's lock.
    functions["python_tracer"] = interpreted[_SYMBOLS["python_tracer"]]
    address, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, arguments in (
        ("dumper", address, []),
        ("dumper_init", None, [address, address, size]),
        ("dumper_start", None, [address]),
        ("dumper_stop", None, [address]),
        ("dumper_clear", None, [address]),
        ("counter", ctypes.c_uint64, []),
        ("python_tracer", None, [ctypes.c_int, ctypes.c_uint]),
        ("profiler", None, [address, address]),
        ("register", None, [address, address]),
    ):
        functions[name].restype, functions[name].argtypes = result, arguments
    profiler = ProfilerLibrary(functions, functions["dumper"]())
    profiler.enable_shapes()
    return profiler
