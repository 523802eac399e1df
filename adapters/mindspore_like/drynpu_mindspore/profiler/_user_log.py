"""The log that users of the profiler read: the framework's own, and Python's warnings."""

from __future__ import annotations

import sys
import warnings

from attrs import frozen

from drynpu_mindspore.profiler._host import Log

_OURS = f"{__name__.partition('.')[0]}."


@frozen
class UserLog:
    """Write messages for the user into the framework's log or as Python warnings."""

    log: Log

    def warning(self, text: str) -> None:
        """Write a warning into the framework's log."""
        self.log.warning(text)

    def error(self, text: str) -> None:
        """Write an error into the framework's log."""
        self.log.error(text)

    def info(self, text: str) -> None:
        """Write a note into the framework's log."""
        self.log.info(text)

    def warn(self, text: str) -> None:
        """Issue a Python warning; it goes through the script's filters and names its line."""
        depth, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
            depth, frame = depth + 1, frame.f_back
        warnings.warn(text, stacklevel=depth)
