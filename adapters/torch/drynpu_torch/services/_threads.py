"""On which cores of the host the calling thread runs, and files that a thread writes while the training goes on."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import torch

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


def save_async(obj: object, f: str | Path | IO[bytes], *arguments: Any, **options: Any) -> None:
    """
    Save like ``torch.save``, writing the file in a thread; Python ends when it is written.

    The values are taken at once, at the call. *model* among the options is accepted without effect.
    """
    options.pop("model", None)
    content = io.BytesIO()
    torch.save(obj, content, *arguments, **options)
    threading.Thread(target=_write, args=(f, content.getvalue())).start()


def _write(file: str | Path | IO[bytes], content: bytes) -> None:
    if isinstance(file, (str, Path)):
        Path(file).write_bytes(content)
    else:
        file.write(content)
