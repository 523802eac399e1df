"""
Calls of functions on the main thread, between two of its bytecodes.

PyTorch's tracer records the thread that started it and the threads that this one starts. So a recording that is
started from outside has to be started on the thread that trains. The interpreter's pending calls do that without a
signal, which the application may use itself. A main thread that waits in C runs them when it comes back to Python.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import TypeVar

from attrs import define, field

T = TypeVar("T")

_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_RETRY_S = 0.001  # short against a training step, long against a bytecode
_PACKAGES = ("drynpu", "drynpu_torch", "torch_npu")
_AROUND = "drynpu.cli"
"""The only package of drynpu that may be on the stack: ``drynpu run`` is below every frame of the script."""


def on_main_thread(work: Callable[[], T], timeout_s: float | None = None) -> T:
    """
    Call *work* on the main thread and return its result; its errors are raised here.

    Ctrl-C and errors of signal handlers interrupt the work; they are raised again where the main thread was.

    *work* does not run inside calls of the simulated device or of a profiler, where an operator is half done.

    Raises
    ------
    TimeoutError
        The main thread did not run the call in time; *work* will not run any more.
    InterruptedError
        The application was interrupted meanwhile.
    """
    if threading.current_thread() is threading.main_thread():
        return work()
    done: Future[T] = Future()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        call = _PendingCall(lambda: _attempt(work, done))
        pending = _PENDING(call.run)  # held here until it has run: the interpreter holds no reference
        while ctypes.pythonapi.Py_AddPendingCall(pending, None) != 0:
            time.sleep(_RETRY_S)  # the interpreter's list of pending calls is full
        if not call.ended.wait(None if deadline is None else max(deadline - time.monotonic(), 0)) and done.cancel():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(pending))  # it will still be called, and do nothing
            raise TimeoutError
        if call.interruption is not None:
            _raise_again(call.interruption)
        if done.running() or done.done():
            return done.result()
        time.sleep(_RETRY_S)


@define
class _PendingCall:
    """One pending call, the event of its end, and the error that interrupted it."""

    work: Callable[[], None]
    ended: threading.Event = field(factory=threading.Event)
    interruption: BaseException | None = None

    def run(self, _: object) -> int:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - no error can leave a pending call
            self.interruption = error
        self.ended.set()
        return 0


def _attempt(work: Callable[[], T], done: Future[T]) -> None:
    """Do the work, unless the main thread is inside drynpu's code or the caller no longer waits."""
    if _is_inside(sys._getframe()) or not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(work())
    except Exception as error:  # noqa: BLE001 - the error is the caller's, not the application's
        done.set_exception(error)
    except BaseException:
        done.set_exception(InterruptedError())
        raise


def _raise_again(error: BaseException) -> None:
    """Raise *error* on the main thread once it has left the pending call."""
    main, kind, arguments = threading.main_thread().ident or 0, type(error), error.args
    while any(frame.f_code is _PendingCall.run.__code__ for frame in _frames(sys._current_frames().get(main))):
        time.sleep(_RETRY_S)

    # PyThreadState_SetAsyncExc raises a class, which it calls without arguments.
    def fill(self: BaseException) -> None:
        kind.__init__(self, *arguments)

    again = type(kind.__name__, (kind,), {"__init__": fill, "__module__": kind.__module__})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(again))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_inside(frame: FrameType) -> bool:
    """Return whether the main thread, whose pending call has this *frame*, is inside drynpu's code."""
    below = (outer for outer in _frames(frame) if outer.f_code.co_filename != __file__)
    modules = (str(outer.f_globals.get("__name__", "")) for outer in below)
    return any(module.partition(".")[0] in _PACKAGES and not module.startswith(_AROUND) for module in modules)
