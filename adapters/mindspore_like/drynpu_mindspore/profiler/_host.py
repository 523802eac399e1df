"""The framework that the profiler's surface serves, and the log in which users of the profiler read messages."""

from __future__ import annotations

import sys
import warnings
from typing import Protocol

from attrs import frozen

_PACKAGE = f"{__name__.partition('.')[0]}."


class Log(Protocol):
    """The framework's log, as ``mindspore.log`` is: a function takes a format and what is filled into it."""

    def info(self, msg: str, *args: object) -> None:
        """Log at info level."""

    def warning(self, msg: str, *args: object) -> None:
        """Log at warning level."""

    def error(self, msg: str, *args: object) -> None:
        """Log at error level."""


class Host(Protocol):
    """A framework with MindSpore's profiler: real MindSpore, or the package that looks like it."""

    @property
    def log(self) -> Log:
        """The framework's log."""

    @property
    def callback_base(self) -> type:
        """The class that callbacks of a training run derive from."""

    @property
    def stream_class(self) -> type:
        """The class of the streams that ``mstx`` takes."""

    @property
    def version(self) -> str:
        """The framework's version."""

    def device_target(self) -> str:
        """Return the device that the script chose: ``Ascend``, ``GPU`` or ``CPU``."""

    def device_id(self) -> int:
        """Return the number of the device, ``DEVICE_ID`` where the script chose none."""

    def jit_level(self) -> str:
        """Return ``O0``, ``O1``, ``O2``, or an empty text where none is set."""

    def synchronize(self) -> None:
        """Wait until every operator that was called has run."""


@frozen
class UserLog:
    """Write messages for the user into the framework's log or as Python warnings; a percent sign stays one."""

    log: Log

    def warning(self, text: str) -> None:
        """Write a warning into the framework's log."""
        self.log.warning("%s", text)

    def error(self, text: str) -> None:
        """Write an error into the framework's log."""
        self.log.error("%s", text)

    def info(self, text: str) -> None:
        """Write a note into the framework's log."""
        self.log.info("%s", text)

    def warn(self, text: str) -> None:
        """Issue a Python warning; it goes through the script's filters and names its line."""
        depth, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            depth, frame = depth + 1, frame.f_back
        warnings.warn(text, stacklevel=depth)
