"""
Every error that drynpu raises on purpose.

::

    DrynpuError
     ├── OptionError      what the user asked for cannot be: carries every problem of the document
     ├── ChipError        unknown or unreadable chip description
     ├── PluginError      a plugin that cannot be loaded, or a misspelt hook
     ├── CaptureError     the framework's tracer could not be started, stopped or read
     ├── RawFormatError   records on disk that do not follow their layout
     ├── OutputError      a directory or file that cannot be written, or that is not a profile
     └── CommandError     a command line that cannot be carried out; carries the exit code

Vendor message texts do not live here: they belong to the facade that shows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu._printable import printable


class DrynpuError(Exception):
    """Base class of all errors that drynpu raises on purpose. Their text has no control characters for a terminal."""

    def __str__(self) -> str:
        return printable(super().__str__())


class OptionError(DrynpuError):
    """
    What the user asked for cannot be.

    Attributes
    ----------
    problems:
        One readable line per problem, each starting with its path in the document.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__("\n".join(self.problems))


class ChipError(DrynpuError):
    """Unknown chip name, or a chip description that cannot be read."""


class PluginError(DrynpuError):
    """A plugin that cannot be loaded, or that implements a hook that does not exist."""


class CaptureError(DrynpuError):
    """The framework's own tracer could not be started, stopped or read."""


class RawFormatError(DrynpuError):
    """Records on disk that do not follow their layout."""


class OutputError(DrynpuError):
    """A directory or file that cannot be written, or that holds no profile."""


class CommandError(DrynpuError):
    """
    A command line that cannot be carried out.

    Attributes
    ----------
    exit_code:
        The status the process ends with.
    """

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        self.exit_code = exit_code
        super().__init__(message)
