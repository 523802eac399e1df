"""What the surface needs of the framework that it serves: :class:`Host`."""

from __future__ import annotations

from typing import Protocol


class Log(Protocol):
    """The framework's log; messages are complete texts."""

    def debug(self, message: str) -> None:
        """Log at debug level."""
        ...

    def info(self, message: str) -> None:
        """Log at info level."""
        ...

    def warning(self, message: str) -> None:
        """Log at warning level."""
        ...

    def error(self, message: str) -> None:
        """Log at error level."""
        ...


class Host(Protocol):
    """A framework with MindSpore's profiler: real MindSpore, or the package that looks like it."""

    @property
    def log(self) -> Log:
        """Where the surface's messages go."""
        ...

    @property
    def callback_base(self) -> type:
        """The class that callbacks of a training run derive from."""
        ...

    @property
    def stream_class(self) -> type:
        """The class of the streams that ``mstx`` takes."""
        ...

    @property
    def version(self) -> str:
        """The framework's version."""
        ...

    def device_target(self) -> str:
        """Return the device that the script chose: ``Ascend``, ``GPU`` or ``CPU``."""
        ...

    def device_id(self) -> int:
        """Return the number of the device, that of ``DEVICE_ID`` where the script chose none."""
        ...

    def jit_level(self) -> str:
        """Return ``O0``, ``O1``, ``O2``, or an empty text where none is set."""
        ...

    def synchronize(self) -> None:
        """Wait until every operator that was called has run."""
        ...
