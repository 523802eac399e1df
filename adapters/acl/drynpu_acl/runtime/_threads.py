"""Threads that the vendor's utilities start."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable

from drynpu_acl.constants import ReturnCode


class _Thread(threading.Thread):
    """
    Runs a function with one argument, none for ``None``, and keeps the text of what it raised.

    The thread stays until it is let go, as one of the operating system does that nobody has joined: its number, which
    the program holds, must not be given to another one. It keeps no process from ending.
    """

    def __init__(self, function: Callable[..., object], argument: object) -> None:
        super().__init__(name=f"acl.util {getattr(function, '__name__', 'thread')}", daemon=True)
        self._function, self._argument = function, argument
        self._let_go = threading.Event()
        self.returned = threading.Event()
        self.raised = ""

    def run(self) -> None:
        try:
            self._function(*(() if self._argument is None else (self._argument,)))
        except BaseException as error:  # noqa: BLE001 - shown now and told by stop_thread, as the vendor does
            text = traceback.format_exc()
            sys.stderr.write(text)
            self.raised = f"exception={type(error).__name__},msg=thread call failed;\n{text}"
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

    def start(self, function: Callable[..., object], argument: object) -> tuple[int, int]:
        """
        Return ``(thread, code)``: the function runs with *argument*, commonly a list, as its one argument.

        Raises
        ------
        TypeError
            The first argument cannot be called.
        """
        if not callable(function):
            raise TypeError("parameter must be callable")
        thread = _Thread(function, argument)
        thread.start()
        number = thread.ident or 0
        self._running[number] = thread
        return number, ReturnCode.SUCCESS

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
            return ReturnCode.INVALID_PARAM
        self._running.pop(number, None)
        thread.finish()
        if thread.raised:
            raise RuntimeError(thread.raised)
        return ReturnCode.SUCCESS
