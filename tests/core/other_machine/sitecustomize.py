"""
Makes this machine look like another one to drynpu, in every Python that starts with this folder on its path.

``PRETENDED`` is system and processor: ``Darwin arm64``. Packages with compiled parts chose by the genuine system when
they were installed, so they are imported first. psutil has counters on every system, so it may go on reading Linux'.
"""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import platform
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy  # noqa: F401, ICN001
import polars  # noqa: F401, ICN001
import psutil  # noqa: F401

SYSTEM, MACHINE = os.environ["PRETENDED"].split()
# A run of all tests may have its folders in /dev/shm, which then is there.
LINUX_ALONE = ("/proc",) if str(Path.cwd()).startswith("/dev/shm") else ("/proc", "/dev/shm")
ABSENT = (
    (os, ("fork", "forkpty", "eventfd", "pidfd_open", "sched_getaffinity", "sched_setaffinity", "memfd_create")),
    (time, ("CLOCK_MONOTONIC_RAW",)),
    (socket, ("SO_PEERCRED",)),
)
FUNCTIONS_OF_LINUX = {"malloc_trim", "prctl"}


def hidden(call: Callable[..., Any]) -> Callable[..., Any]:
    def find(path: Any = ".", *arguments: Any, **named: Any) -> Any:
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        reader = sys._getframe(1).f_globals.get("__name__", "")
        if text.startswith(LINUX_ALONE) and not reader.startswith("psutil"):
            raise FileNotFoundError(2, "No such file or directory", text)
        return call(path, *arguments, **named)

    return find


class Library(ctypes.CDLL):
    """A library of a system whose C library lacks what Linux' has."""

    def __getattr__(self, name: str) -> Any:
        if name in FUNCTIONS_OF_LINUX:
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


if SYSTEM != "Linux":
    for module, names in ABSENT:
        for each in names:
            if hasattr(module, each):
                delattr(module, each)
    for each in ("stat", "lstat", "scandir", "listdir", "open", "access"):
        setattr(os, each, hidden(getattr(os, each)))
    builtins.open = io.open = hidden(io.open)
    ctypes.CDLL = Library
    sys.platform = SYSTEM.lower()
name = os.uname()
os.uname = lambda: os.uname_result((SYSTEM, name.nodename, name.release, name.version, MACHINE))
platform._uname_cache = None
