"""Collections of Python's garbage collector while a recording runs."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["garbage_collections"]


@contextlib.contextmanager
def garbage_collections(threshold_ms: float) -> Iterator[list[tuple[int, int]]]:
    """Give a list that is filled with start and end (Unix ns) of every collection of at least *threshold_ms*."""
    found: list[tuple[int, int]] = []
    begun_ns = 0

    def notice(phase: str, _: dict[str, Any]) -> None:
        nonlocal begun_ns
        if phase == "start":
            begun_ns = time.time_ns()
        elif begun_ns:
            end_ns = time.time_ns()
            if end_ns - begun_ns >= threshold_ms * 1e6:
                found.append((begun_ns, end_ns))
            begun_ns = 0

    gc.callbacks.append(notice)
    try:
        yield found
    finally:
        gc.callbacks.remove(notice)
