"""
Running something on the main thread between two of its bytecodes.

PyTorch's tracer records the thread that started it and those that descend from it, so a recording that is started
from outside has to be started on the thread that trains. The interpreter's pending calls do that without a signal,
which the application may have uses of its own for. A main thread that waits in C runs them when it comes back.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import FrameType
from typing import TypeVar

__all__ = ["on_main_thread"]

T = TypeVar("T")

_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_RETRY_S = 0.001
_OWN = ("drynpu", "drynpu_torch", "torch_npu")
_AROUND = "drynpu.cli"
"""``drynpu run`` is below every frame of the script that it runs."""


def on_main_thread(work: Callable[[], T], timeout_s: float | None = None) -> T:
    """
    Run *work* on the main thread and return what it returns; errors come back too.

    It does not run inside calls of the simulated device or of a profiler: an operator there is half done.

    Raises
    ------
    TimeoutError
        The main thread did not come by in time; *work* will not run any more.
    """
    if threading.current_thread() is threading.main_thread():
        return work()
    done: Future[T] = Future()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        came = threading.Event()

        def call(_: object, came: threading.Event = came) -> int:
            if not _is_inside(sys._getframe()) and done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:  # noqa: BLE001 - it belongs to the caller, not to the application
                    done.set_exception(error)
            came.set()
            return 0

        pending = _PENDING(call)  # held here until it has run: the interpreter holds no reference
        while ctypes.pythonapi.Py_AddPendingCall(pending, None) != 0:
            time.sleep(_RETRY_S)  # all of the interpreter's slots are taken
        if not came.wait(None if deadline is None else max(deadline - time.monotonic(), 0)) and done.cancel():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(pending))  # it is still to be called, to do nothing
            raise TimeoutError
        if done.running() or done.done():
            return done.result()
        time.sleep(_RETRY_S)


def _is_inside(frame: FrameType | None) -> bool:
    """Whether the main thread is inside our own code."""
    frame = None if frame is None else frame.f_back  # the pending call itself
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _OWN and not module.startswith(_AROUND):
            return True
        frame = frame.f_back
    return False
