"""The log ``ME``, on stderr from the level of ``GLOG_v`` on (default 2: warnings), formatted much as MindSpore's."""

from __future__ import annotations

import logging
import os
import sys

_LEVELS = {
    "0": logging.DEBUG,
    "1": logging.INFO,
    "2": logging.WARNING,
    "3": logging.ERROR,
    "4": logging.CRITICAL,
}
_VARIABLE, _DEFAULT = "GLOG_v", "2"
_FORMAT = "[%(levelname)s] ME(%(process)d,%(processName)s):%(asctime)s %(message)s"


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what ``sys.stderr`` is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _make_logger() -> logging.Logger:
    logger = logging.getLogger("mindspore_like")
    logger.setLevel(_LEVELS.get(os.environ.get(_VARIABLE, _DEFAULT), _LEVELS[_DEFAULT]))
    logger.propagate = False
    handler = _Stderr()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    return logger


_LOGGER = _make_logger()


def debug(msg: str, *args: object) -> None:
    """Log at debug level; *args* fill the places of the format."""
    _LOGGER.debug(msg, *args)


def info(msg: str, *args: object) -> None:
    """Log at info level."""
    _LOGGER.info(msg, *args)


def warning(msg: str, *args: object) -> None:
    """Log at warning level."""
    _LOGGER.warning(msg, *args)


def error(msg: str, *args: object) -> None:
    """Log at error level."""
    _LOGGER.error(msg, *args)


def critical(msg: str, *args: object) -> None:
    """Log at critical level."""
    _LOGGER.critical(msg, *args)
