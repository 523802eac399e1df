"""Collections of Python's garbage in a recording."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def garbage_collections(threshold_ms: float) -> Iterator[list[tuple[int, int]]]:
    """Yield a list to which start and end (Unix ns) of every collection of at least *threshold_ms* are added."""
    spans: list[tuple[int, int]] = []
    begun_ns = 0  # 0 outside a collection: it may have begun before the recording

    def notice(phase: str, _: dict[str, Any]) -> None:
        nonlocal begun_ns
        if phase == "start":
            begun_ns = time.time_ns()
        elif begun_ns:
            end_ns = time.time_ns()
            if end_ns - begun_ns >= threshold_ms * 1e6:
                spans.append((begun_ns, end_ns))
            begun_ns = 0

    gc.callbacks.append(notice)
    try:
        yield spans
    finally:
        gc.callbacks.remove(notice)


_LEAST_COST_NS = 1_000_000
"""Shorter collections count as nothing: gaps of the host that are no longer than this are modelled anyway."""


@contextlib.contextmanager
def collection_costs(note: Callable[[int], None]) -> Iterator[None]:
    """
    Call *note* at the end of every collection, in the thread that collected, with the processor time that it took, ns.

    How long one takes says how many objects this process holds, most of them PyTorch's, and which step it falls into is
    chance: a full one takes 0.1 s.
    """
    begun_ns = 0

    def notice(phase: str, _: dict[str, Any]) -> None:
        nonlocal begun_ns
        if phase == "start":
            begun_ns = time.thread_time_ns()
        elif begun_ns:
            cost_ns, begun_ns = time.thread_time_ns() - begun_ns, 0
            if cost_ns >= _LEAST_COST_NS:
                note(cost_ns)

    gc.callbacks.append(notice)
    try:
        yield
    finally:
        gc.callbacks.remove(notice)
