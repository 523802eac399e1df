"""Reading memory at an address that a script hands in, without trusting it."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

_PIECE = 4096
"""What a pipe takes at once without blocking."""
_MOST = 1 << 26
"""64 MiB: more than any buffer of records a script reads; a wild length is none."""


@functools.cache
def _write() -> Callable[[int, int, int], int]:
    """Return the C library's ``write``, which takes an address."""
    write = ctypes.CDLL(None).write
    write.argtypes, write.restype = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_ssize_t
    found: Callable[[int, int, int], int] = write
    return found


def read_memory(address: int, size: int) -> bytes | None:
    """
    Return *size* bytes at *address*, ``None`` where this process has no such memory.

    The kernel reads for us: ``write`` answers EFAULT for a bad address, where following it would end the process.
    """
    if address <= 0 or not 0 < size <= _MOST or address + size >= 2**64:
        return None
    write = _write()
    source, sink = os.pipe()
    try:
        pieces = []
        for offset in range(0, size, _PIECE):
            length = min(_PIECE, size - offset)
            if write(sink, address + offset, length) != length:
                return None
            pieces.append(os.read(source, length))
        return b"".join(pieces)
    finally:
        os.close(source)
        os.close(sink)
