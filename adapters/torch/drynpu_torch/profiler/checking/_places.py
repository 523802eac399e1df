"""The line of the user's script that is behind what happens now."""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType

import drynpu
import drynpu_torch
from drynpu.checks import Place

_LIBRARIES = ("site-packages", "dist-packages")


def find_place() -> Place | None:
    """
    Return the innermost line that belongs to no library, ``None`` if there is none.

    A thread of autograd has no lines; what it does belongs to the line that the main thread waits at.
    """
    frame: FrameType | None = sys._getframe(1)
    place = _innermost(frame)
    if place is None and threading.current_thread() is not threading.main_thread():
        place = _innermost(sys._current_frames().get(threading.main_thread().ident or 0))
    return place


def failed_place(traceback: TracebackType | None) -> Place | None:
    """Return the innermost line of a traceback that belongs to no library."""
    found = None
    for frame, line in walk_tb(traceback):
        if _is_users(frame.f_code.co_filename):
            found = Place(frame.f_code.co_filename, line)
    return found


def _innermost(frame: FrameType | None) -> Place | None:
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


@functools.cache
def _is_users(file: str) -> bool:
    if file.startswith("<"):
        return False
    path = Path(file)
    return not any(name in path.parts for name in _LIBRARIES) and not any(
        path.is_relative_to(folder) for folder in _library_folders()
    )


@functools.cache
def _library_folders() -> tuple[Path, ...]:
    """Return the folders of Python itself and of drynpu, in a checkout the adapters' with their facades."""
    standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    ours = {Path(module.__file__).parent for module in (drynpu, drynpu_torch) if module.__file__}
    facades = {folder.parent / "vendor" for folder in ours}
    return (*standard, *ours, *facades)
