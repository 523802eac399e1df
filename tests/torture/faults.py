"""The shared library that makes file calls fail, and the state by which a case arms it."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

from attrs import frozen

SOURCE = Path(__file__).with_name("faults.c")
KILL = -1
"""Instead of an errno: the process group is killed."""
FAULTS = {"kill": KILL, **{name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EACCES", "EMFILE")}}

_STATE = struct.Struct("=5q1024s1024s")
"""calls, nth, action, lasting, hits, directory, place: ``struct state`` of faults.c."""


def build_library(folder: Path) -> Path | None:
    """Compile the library into *folder*; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    library = folder / "faults.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


@frozen
class FaultState:
    """The file that all processes of a case map; one case at a time."""

    path: Path

    def arm(self, directory: Path, nth: int = 0, action: int = 0, *, lasting: bool = False) -> None:
        """Let call *nth* below *directory* fail with *action*, an errno or ``KILL``; with 0 calls are only counted."""
        data = _STATE.pack(0, nth, action, lasting, 0, os.fsencode(directory.resolve()), b"")
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.truncate(_STATE.size)
            # Through a map: processes that have it mapped see the whole change, not a file that is cut short.
            with mmap.mmap(file.fileno(), _STATE.size) as state:
                state[:] = data

    def read(self) -> tuple[int, int, str]:
        """Return the calls counted, how many of them failed, and the first that did, as ``call path``."""
        calls, _, _, _, hits, _, place = _STATE.unpack(self.path.read_bytes())
        return calls, hits, place.rstrip(b"\0").decode(errors="replace")
