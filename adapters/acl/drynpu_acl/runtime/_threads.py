"""Threads that the vendor's utilities start."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from drynpu_acl.runtime._codes import INVALID_PARAM, SUCCESS

__all__ = ["Threads"]


class _Thread(threading.Thread):
    """
    Runs a function with one argument and keeps the text of what it raised.

    The thread stays until it is let go, as one of the operating system does that nobody has joined: its number, which
    the program holds, must not become that of another one. It keeps no process from ending.
    """

    def __init__(self, function: Callable[[Any], object], argument: Any) -> None:
        super().__init__(name=f"acl.util {getattr(function, '__name__', 'thread')}", daemon=True)
        self._function, self._argument = function, argument
        self._let_go = threading.Event()
        self.returned = threading.Event()
        self.raised = ""

    def run(self) -> None:
        try:
            self._function(self._argument)
        except BaseException:  # noqa: BLE001 - told by stop_thread, as the vendor does
            self.raised = traceback.format_exc()
        self.returned.set()
        self._let_go.wait()

    def finish(self) -> None:
        """Wait until the function has returned, and end the thread."""
        self.returned.wait()
        self._let_go.set()
        self.join()


class Threads:
    """The threads of a process that were started and not stopped."""

    def __init__(self) -> None:
        self._running: dict[int, _Thread] = {}

    def start(self, function: Callable[[Any], object], argument: list[Any]) -> tuple[int, int]:
        """Return ``(thread, code)``: the function runs with the list as its one argument."""
        if not callable(function) or not isinstance(argument, list):
            raise TypeError("acl.util.start_thread args parse failed")
        thread = _Thread(function, argument)
        thread.start()
        number = thread.ident or 0
        self._running[number] = thread
        return number, SUCCESS

    def stop(self, number: int) -> int:
        """
        Wait for the end of a thread.

        Raises
        ------
        RuntimeError
            The function raised; the text is its traceback.
        """
        thread = self._running.get(number)
        if thread is None or thread is threading.current_thread():
            return INVALID_PARAM
        self._running.pop(number, None)
        thread.finish()
        if thread.raised:
            raise RuntimeError(thread.raised)
        return SUCCESS
