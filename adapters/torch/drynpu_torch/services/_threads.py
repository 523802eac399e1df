"""On which cores of the host the calling thread runs."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu import say_once
from drynpu.host import move_thread, thread_processors

_everywhere: set[int] = set()


def set_thread_affinity(core_range: Sequence[int] | Sequence[Sequence[int]]) -> None:
    """
    Let the calling thread run on cores ``[first, last]``, or on several such ranges.

    Raises
    ------
    ValueError
        *core_range* is no such range, or has no core of this machine.
    """
    ranges = [core_range] if core_range and isinstance(core_range[0], int) else core_range
    cores: set[int] = set()
    for each in ranges:
        pair = list(each) if isinstance(each, (list, tuple)) else []
        if len(pair) != 2 or not 0 <= pair[0] <= pair[1]:
            raise ValueError(f"Invalid core range: {core_range}")
        cores.update(range(pair[0], pair[1] + 1))
    allowed = thread_processors()
    if not allowed:
        say_once("set_thread_affinity does nothing: this system chooses the cores of threads by itself")
        return
    _everywhere.update(allowed)
    if not cores & _everywhere:
        raise ValueError(f"Invalid core range: {core_range}")
    move_thread(cores & _everywhere)


def reset_thread_affinity() -> None:
    """Let the calling thread run on every core that it could use at first."""
    if _everywhere:
        move_thread(_everywhere)
