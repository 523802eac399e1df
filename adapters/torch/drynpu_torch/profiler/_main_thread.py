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
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import TypeVar

from attrs import define, field

T = TypeVar("T")

_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_RETRY_S = 0.001
_PACKAGES = ("drynpu", "drynpu_torch", "torch_npu")
_AROUND = "drynpu.cli"
"""``drynpu run`` is below every frame of the script that it runs."""


def on_main_thread(work: Callable[[], T], timeout_s: float | None = None) -> T:
    """
    Run *work* on the main thread and return what it returns; errors come back too.

    Ctrl-C, and what a handler of a signal raises, interrupts the work and is raised again where the main thread was.

    It does not run inside calls of the simulated device or of a profiler: an operator there is half done.

    Raises
    ------
    TimeoutError
        The main thread did not come by in time; *work* will not run any more.
    InterruptedError
        The application was interrupted meanwhile.
    """
    if threading.current_thread() is threading.main_thread():
        return work()
    done: Future[T] = Future()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        turn = _Turn(lambda: _attempt(work, done))
        pending = _PENDING(turn.run)  # held here until it has run: the interpreter holds no reference
        while ctypes.pythonapi.Py_AddPendingCall(pending, None) != 0:
            time.sleep(_RETRY_S)  # all of the interpreter's slots are taken
        if not turn.came.wait(None if deadline is None else max(deadline - time.monotonic(), 0)) and done.cancel():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(pending))  # it is still to be called, to do nothing
            raise TimeoutError
        if turn.interrupted is not None:
            _raise_again(turn.interrupted)
        if done.running() or done.done():
            return done.result()
        time.sleep(_RETRY_S)


@define
class _Turn:
    """One pending call."""

    work: Callable[[], None]
    came: threading.Event = field(factory=threading.Event)
    interrupted: BaseException | None = None

    def run(self, _: object) -> int:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - no error can leave a pending call
            self.interrupted = error
        self.came.set()
        return 0


def _attempt(work: Callable[[], T], done: Future[T]) -> None:
    """Do the work, unless the main thread is in our own code or nobody waits any more."""
    if _is_inside(sys._getframe()) or not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(work())
    except Exception as error:  # noqa: BLE001 - it belongs to the caller, not to the application
        done.set_exception(error)
    except BaseException:
        done.set_exception(InterruptedError())
        raise


def _raise_again(error: BaseException) -> None:
    """Raise *error* on the main thread once it has left the pending call."""
    main, kind, arguments = threading.main_thread().ident or 0, type(error), error.args
    while any(frame.f_code is _Turn.run.__code__ for frame in _frames(sys._current_frames().get(main))):
        time.sleep(_RETRY_S)

    # The interpreter takes a class and calls it without arguments.
    def fill(self: BaseException) -> None:
        kind.__init__(self, *arguments)

    again = type(kind.__name__, (kind,), {"__init__": fill, "__module__": kind.__module__})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(again))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_inside(own: FrameType) -> bool:
    """Whether the main thread, in a pending call, is inside our own code; *own* is the frame that asks."""
    below = (frame for frame in _frames(own) if frame.f_code.co_filename != __file__)
    modules = (str(frame.f_globals.get("__name__", "")) for frame in below)
    return any(module.partition(".")[0] in _PACKAGES and not module.startswith(_AROUND) for module in modules)
