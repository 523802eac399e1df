"""The log files of dynamic profiling (torch_npu_profiler.md 1.9)."""

from __future__ import annotations

import logging
import os
import socket
from logging.handlers import RotatingFileHandler
from pathlib import Path

from drynpu_torch.profiler._result import rank_id

_MAX_BYTES = 200 * 1024
_BACKUPS = 1
_UNKNOWN_RANK = -1


def rank_number() -> int:
    """Return this process's rank, -1 where it is not known."""
    rank = rank_id()
    try:
        return _UNKNOWN_RANK if rank is None else int(rank)
    except ValueError:
        return _UNKNOWN_RANK


def open_log(directory: Path, prefix: str, source: str) -> logging.Logger:
    """
    Return a log of its own, ``<directory>/log/<prefix>dp_<host>_<pid>_rank_<rank>.log``, mode 0640 less the umask.

    *source* stands in every line where the vendor has the name of its file.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    folder = directory / "log"
    folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    path = folder / f"{prefix}dp_{socket.gethostname()}_{os.getpid()}_rank_{rank_number()}.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o640))
    handler = RotatingFileHandler(path, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8")
    handler.setFormatter(logging.Formatter(f"%(asctime)s [%(levelname)s] [%(process)d] {source}: %(message)s"))
    log = logging.Logger(source, logging.DEBUG)  # noqa: LOG001 - outside the tree: not for the script's own handlers
    log.addHandler(handler)
    return log
