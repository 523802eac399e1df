"""Collections of Python's garbage in a recording."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def garbage_collections(threshold_ms: float) -> Iterator[list[tuple[int, int]]]:
    """Yield a list to which start and end (Unix ns) of every collection of at least *threshold_ms* are added."""
    found: list[tuple[int, int]] = []
    begun_ns = 0  # 0 outside a collection: it may have begun before the recording

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
