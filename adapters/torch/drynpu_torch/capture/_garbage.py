"""Python's garbage collector: its collections while a recording runs, and none while ours is being worked on."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any


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


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """
    Have Python make no garbage collections.

    Working on a recording makes many objects and no garbage that needs a collector. They would set off collections
    of everything, which take longer the more the script has, and longer than the work on a small recording.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
