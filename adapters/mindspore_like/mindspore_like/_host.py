"""The package as the host of the profiler's surface."""

from __future__ import annotations

from attrs import frozen

from drynpu_mindspore.profiler import Log
from mindspore_like import log
from mindspore_like._callback import Callback
from mindspore_like._context import Context

__all__ = ["LikeHost", "Stream", "TextLog", "__version__"]

__version__ = "2.7.2"
"""The release of MindSpore whose surface this is; what ``profiler_info`` shows as its version."""


class Stream:
    """A stream of the device, for marks; operators here are reported in order, whatever the stream."""


@frozen
class TextLog:
    """The log for complete texts, in which a percent sign is one."""

    def debug(self, message: str) -> None:
        """Log at debug level."""
        log.debug("%s", message)

    def info(self, message: str) -> None:
        """Log at info level."""
        log.info("%s", message)

    def warning(self, message: str) -> None:
        """Log at warning level."""
        log.warning("%s", message)

    def error(self, message: str) -> None:
        """Log at error level."""
        log.error("%s", message)


@frozen
class LikeHost:
    """See ``drynpu_mindspore.profiler.Host``."""

    context: Context
    log: Log

    @property
    def callback_base(self) -> type:
        """``mindspore.train.Callback``."""
        return Callback

    @property
    def stream_class(self) -> type:
        """The class of streams that marks take."""
        return Stream

    @property
    def version(self) -> str:
        """The release whose surface this is."""
        return __version__

    def device_target(self) -> str:
        """Return the device that the script chose."""
        return self.context.target

    def device_id(self) -> int:
        """Return the device's number."""
        return self.context.device_id

    def jit_level(self) -> str:
        """Return the level that the script set."""
        return self.context.jit_level

    def synchronize(self) -> None:
        """Do nothing: NumPy has computed when it returns."""
