"""
What this machine has: every question whose answer differs between Linux, macOS and kinds of processors.

The rest of drynpu asks here and nowhere else (``tests/test_house.py``), and goes on without what a machine lacks
(docs/install.md).
"""

from __future__ import annotations

import os
import platform
import signal
import struct
import time
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from socket import socket

__all__ = [
    "NEW_FILE_FLAGS",
    "SHARED_LIBRARY_FLAGS",
    "counters_folder",
    "end_with_parent",
    "is_superuser",
    "machine",
    "memory_maps",
    "move_thread",
    "open_files_folder",
    "peer_user",
    "processors",
    "raw_monotonic_ns",
    "return_freed_memory",
    "shared_memory_folder",
    "system",
    "thread_processors",
    "tick_hz",
    "waited_ns",
]

_MACHINES: Final = {"arm64": "aarch64", "AMD64": "x86_64"}
"""Names of processors that a system spells in its own way."""
_COUNTERS, _SHARED_MEMORY = Path("/proc"), Path("/dev/shm")
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the other side (Linux, ``struct ucred``)."""
_PARENT_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux."""

NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags that open a new file; where there is one, or a link, it fails."""


def system() -> str:
    """Return the name of the system: ``Linux``, ``Darwin``."""
    return platform.system()


def machine() -> str:
    """Return the kind of processor as Linux names it: ``x86_64``, ``aarch64``."""
    name = platform.machine()
    return _MACHINES.get(name, name)


SHARED_LIBRARY_FLAGS: Final = ("-shared", *(("-undefined", "dynamic_lookup") if system() == "Darwin" else ()))
"""Flags that make a library of a module: what the process has loaded already need not be named."""


def processors() -> int:
    """Return how many processors this process may use."""
    chosen = thread_processors()
    return len(chosen) if chosen else os.cpu_count() or 1


def thread_processors() -> frozenset[int]:
    """Return the processors that the calling thread may use; empty where the system lets nobody choose (macOS)."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def move_thread(chosen: Iterable[int]) -> None:
    """Let the calling thread run on these processors alone; nothing where the system lets nobody choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, chosen)


def counters_folder() -> Path | None:
    """Return the folder in which the system counts what processes use, with Linux' files; ``None`` without one."""
    return _COUNTERS if (_COUNTERS / "self" / "stat").exists() else None


def waited_ns() -> int:
    """Return how long the calling thread was ready to run without a processor so far, ns; 0 where nothing counts it."""
    try:
        with FileIO("/proc/thread-self/schedstat") as counts:  # a third of Path's time, and no open() of a script's
            return int(counts.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def tick_hz() -> int:
    """Return the rate of the clock in which the system counts time of processors, 0 where it has none."""
    return os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0


def shared_memory_folder() -> Path | None:
    """Return a folder whose files take no disk; ``None`` without one."""
    return _SHARED_MEMORY if _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK) else None


def open_files_folder() -> Path | None:
    """Return the folder with this process's open files by number, directories among them; ``None`` without one."""
    folder = _COUNTERS / "self" / "fd"
    return folder if folder.is_dir() else None


def memory_maps() -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and permissions (``r-xp``) of each part of this process's memory; nothing where none tells."""
    try:
        text = (_COUNTERS / "self" / "maps").read_text(encoding="ascii", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        span, permissions = line.split(maxsplit=2)[:2]
        begin, end = (int(word, 16) for word in span.split("-"))
        yield begin, end, permissions


def peer_user(connection: socket) -> int | None:
    """Return the user of the other side of a Unix socket; ``None`` where the system does not tell."""
    import socket

    kind = getattr(socket, "SO_PEERCRED", None)
    if kind is None:
        return None
    _, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, kind, _CREDENTIALS.size))
    return int(user)


def is_superuser() -> bool:
    """Return whether this process belongs to the user root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def raw_monotonic_ns() -> int:
    """Return the time of the raw monotonic clock, which nobody sets; of the monotonic one where there is none."""
    clock = getattr(time, "CLOCK_MONOTONIC_RAW", None)
    return time.monotonic_ns() if clock is None else time.clock_gettime_ns(clock)


def return_freed_memory() -> None:
    """Return freed memory to the system, which glibc keeps otherwise; nothing with other C libraries."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def end_with_parent() -> None:
    """Have this process end when its parent does, however that ends; nothing where the system offers no such thing."""
    import ctypes

    control = getattr(ctypes.CDLL(None), "prctl", None)
    if control is not None:
        control(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
