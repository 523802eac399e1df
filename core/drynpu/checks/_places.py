"""The line of the user's script that is behind what happens now."""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
from pathlib import Path
from traceback import walk_tb
from types import FrameType, ModuleType, TracebackType

from attrs import frozen

import drynpu
from drynpu.checks._observed import Place

_LIBRARIES = ("site-packages", "dist-packages")


@frozen
class Places:
    """
    Distinguishes lines of the script from lines of libraries: installed ones, Python's, drynpu's.

    ``folders`` are drynpu's: of the core, of an adapter with its facades, and of the plugins.
    """

    folders: tuple[Path, ...]

    @classmethod
    def beside(cls, adapter: ModuleType) -> Places:
        """Return the places of a process with *adapter*; in a checkout facades and plugins stand beside it."""
        ours = [Path(module.__file__).parent for module in (drynpu, adapter) if module.__file__]
        plugins = ours[0].parents[1] / "plugins"  # in a wheel there is no such folder: all is in site-packages
        return cls((*ours, *(folder.parent / "vendor" for folder in ours), plugins))

    def find(self) -> Place | None:
        """
        Return the innermost line that belongs to no library, ``None`` if there is none.

        A thread of a framework has no lines; what it does belongs to the line that the main thread waits at.
        """
        place = self._innermost(sys._getframe(1))
        if place is None and threading.current_thread() is not threading.main_thread():
            place = self._innermost(sys._current_frames().get(threading.main_thread().ident or 0))
        return place

    def failed(self, traceback: TracebackType | None) -> Place | None:
        """Return the innermost line of a traceback that belongs to no library."""
        place = None
        for frame, line in walk_tb(traceback):
            if _is_users(frame.f_code.co_filename, self.folders):
                place = Place(frame.f_code.co_filename, line)
        return place

    def _innermost(self, frame: FrameType | None) -> Place | None:
        while frame is not None:
            if _is_users(frame.f_code.co_filename, self.folders):
                return Place(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None


@functools.cache
def _is_users(file: str, ours: tuple[Path, ...]) -> bool:
    if file.startswith("<"):
        return False
    path = Path(file)
    return not any(name in path.parts for name in _LIBRARIES) and not any(
        path.is_relative_to(folder) for folder in (*_standard(), *ours)
    )


@functools.cache
def _standard() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})
