"""Call stacks and Python frames as the vendor shows them, none of our own among them."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from drynpu.arrays import I64
from drynpu.simulate import PythonFrames

_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?P<function>.*)")
_OWN = re.compile(r"drynpu_torch[./]")
"""Our files, and methods that attrs wrote for our classes."""
_MODULE_PREFIX, _MODULE_MARK = "nn.Module: ", "######"


def shown_stacks(stacks: Iterable[object]) -> tuple[str, ...]:
    """
    Return Kineto's stacks (frames joined by ``;``, innermost first) with every file's whole path.

    Kineto cuts the import paths off file names. They are put back by looking where a file is, in the order in
    which Python looks; a frame whose file is nowhere stays as it is. Frames of our patches are dropped: on a device
    the caller's frame comes next.
    """
    roots = _roots()
    frames: dict[str, str] = {}
    shown = []
    for stack in stacks:
        kept = []
        for frame in str(stack).split(";"):
            if frame not in frames:
                frames[frame] = _whole(frame, roots)
            if not _OWN.search(frames[frame]):
                kept.append(frames[frame])
        shown.append(";".join(kept))
    return tuple(shown)


def _roots() -> list[Path]:
    paths = [*sys.path, *site.getsitepackages(), site.getusersitepackages(), site.getuserbase()]
    return [Path(path) for path in dict.fromkeys(map(os.path.abspath, paths))]


def _whole(frame: str, roots: list[Path]) -> str:
    match = _FRAME.fullmatch(frame)
    if match is None or Path(match["file"]).is_absolute() or match["file"].startswith("<"):
        return frame
    found = next((root / match["file"] for root in roots if (root / match["file"]).is_file()), None)
    return frame if found is None else f"{found}({match['line']}): {match['function']}"


def python_frames(names: Iterable[object], *, name: I64, start_ns: I64, end_ns: I64, thread: I64) -> PythonFrames:
    """
    Return Kineto's Python events, columns of shape ``[n]``, as frames in the order of their calls.

    Frames of our patches are left out: on a device the caller calls the framework itself. A module's name
    ``nn.Module: Linear_0`` becomes the record's ``Linear######0``, from which readers number the modules again.
    """
    texts = [str(text) for text in names]
    own = np.array([bool(_OWN.search(text)) for text in texts] or [False])
    order = np.lexsort((-end_ns, start_ns))
    # Thread 0 are the open frames of threads that did nothing meanwhile, of which Kineto does not know the id.
    order = order[~own[name[order]] & (thread[order] != 0)]
    return PythonFrames(
        names=tuple(map(_record_name, texts)),
        name=name[order],
        start_ns=start_ns[order],
        end_ns=np.maximum(end_ns[order], start_ns[order]),
        thread=thread[order],
    )


def _record_name(text: str) -> str:
    if not text.startswith(_MODULE_PREFIX):
        return text
    class_name, _, number = text.removeprefix(_MODULE_PREFIX).rpartition("_")
    return f"{class_name}{_MODULE_MARK}{number}"
