"""Call stacks and Python frames as the vendor shows them, without the frames of drynpu."""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import drynpu
from drynpu.arrays import I64, Bools
from drynpu.device import nest
from drynpu.layouts.framework_torch import MODULE_MARK, MODULE_PREFIX
from drynpu.simulate import PythonFrames
from drynpu_torch.capture._chunk import rows_named
from drynpu_torch.capture._tracer import Tracer

_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?P<function>.*)")
_ADAPTER = Path(__file__).parents[1]
_RECORDING = tuple(
    f"{folder}{os.sep}" for folder in (Path(drynpu.__file__).parent, _ADAPTER / "profiler", _ADAPTER / "capture")
)
"""Folders of what records. Other files of the adapter are patches, which call the framework for the script."""

_OUR_MODULE = re.compile(r"_?drynpu(_\w+)?")
_OUR_OBJECT = re.compile(r"<.*\bdrynpu(_torch)?\.")
"""Frames without a file: methods that attrs generates for drynpu's classes, built-in methods of its objects."""

_LIBRARY = Path(sysconfig.get_path("stdlib"))
_USED_PACKAGES = ("attr", "attrs", "cattr", "cattrs", "numpy", "orjson", "pluggy", "polars", "psutil", "yaml")
USED_FILES = (*(f"{package}{os.sep}" for package in _USED_PACKAGES), "typing_extensions.py")
"""How files of packages begin that drynpu works with while it records."""


def shown_stacks(stacks: Iterable[object]) -> tuple[str, ...]:
    """
    Return Kineto's stacks (frames joined by ``;``, innermost first) with every file's whole path.

    Kineto cuts the import paths off file names. They are put back by looking for the file, in the order in which
    Python looks; a frame whose file is not found stays as it is. Frames of drynpu's patches are dropped, because on a
    device the caller's frame comes next.
    """
    paths, ours = roots(), our_places()
    frames: dict[str, tuple[str, ...]] = {}
    shown = []
    for stack in stacks:
        kept: list[str] = []
        for frame in str(stack).split(";"):
            if frame not in frames:
                whole = _whole(frame, paths)
                frames[frame] = () if _is_ours(whole, ours) else (whole,)
            kept += frames[frame]
        shown.append(";".join(kept))
    return tuple(shown)


def stack_columns(tracer: Tracer, stack: I64, of_engine: Bools) -> dict[str, Any]:
    """
    Return the columns of stacks; those that *stack* has, in the order of their numbers.

    Operators *of_engine* have none.
    """
    if not tracer.stack:
        return without_stacks(len(stack))
    (nothing,) = tracer.stacks.index([""], 1).tolist()
    used, number = np.unique(np.where(of_engine, nothing, stack), return_inverse=True)
    values = tracer.stacks.values
    return {"stack": number.astype(np.int32), "stacks": shown_stacks([values[row] for row in used.tolist()])}


def without_stacks(count: int) -> dict[str, Any]:
    """Return the columns of *count* operators without stacks."""
    return {"stack": np.full(count, -1, np.int32), "stacks": ()}


def no_frames() -> PythonFrames:
    """Return no frames."""
    nothing = np.empty(0, np.int64)
    return python_frames([], name=nothing, start_ns=nothing, end_ns=nothing, thread=nothing)


def roots() -> list[Path]:
    """Return the folders in which Python looks for code, in that order, then the folders of installed packages."""
    paths = [*sys.path, *site.getsitepackages(), site.getusersitepackages(), site.getuserbase()]
    return [Path(path) for path in dict.fromkeys(map(os.path.abspath, paths))]


def _whole(frame: str, roots: list[Path]) -> str:
    match = _FRAME.fullmatch(frame)
    if match is None or match["file"].startswith(("<", os.sep)):
        return frame
    path = next((root / match["file"] for root in roots if (root / match["file"]).is_file()), None)
    return frame if path is None else f"{path}({match['line']}): {match['function']}"


def our_places() -> tuple[str, ...]:
    """Return how the files of drynpu's packages and modules begin that are imported: plugins and finders, too."""
    files = {
        Path(str(module.__file__))
        for name, module in list(sys.modules.items())
        if "drynpu" in name and _OUR_MODULE.fullmatch(name) and getattr(module, "__file__", None)
    }
    return tuple(sorted(f"{file.parent}{os.sep}" if file.name == "__init__.py" else str(file) for file in files))


def _is_ours(frame: str, places: tuple[str, ...]) -> bool:
    """Return whether a frame with its whole path is drynpu's."""
    return frame.startswith(places) or _OUR_OBJECT.match(frame) is not None


def _is_library(frame: str) -> bool:
    """Return whether a frame is of Python itself: a built-in function, or a file of the standard library."""
    file = Path(frame.partition("(")[0])
    return frame.startswith("<") or (not file.is_absolute() and (_LIBRARY / file).is_file())


def _is_used(frame: str) -> bool:
    """Return whether a frame is of a package that drynpu works with."""
    return frame.startswith(USED_FILES)


def python_frames(
    names: Iterable[object], *, name: I64, start_ns: I64, end_ns: I64, thread: I64, has_ours: bool = True
) -> PythonFrames:
    """
    Return recorded calls of Python functions, columns of shape ``[n]``, as frames in the order of their calls.

    Where a recorder *has_ours*, frames of drynpu are left out, because on a device the caller calls the framework
    itself, and with those that record goes what they call of Python itself. The name of a module,
    ``nn.Module: Linear_0``, becomes the record's ``Linear######7``, from which readers number modules again: the number
    is the object's number among all.
    """
    texts = [str(text) for text in names]
    order = np.lexsort((-end_ns, start_ns))
    # Kineto gives thread 0 to the open frames of threads that did nothing meanwhile, whose id it does not know.
    order = order[thread[order] != 0]
    if has_ours and len(order):
        _, parent = nest(start_ns[order], end_ns[order], thread[order])
        order = order[~_left_out(texts, name[order], parent)]
    return PythonFrames(
        names=tuple(_record_name(text, number) for number, text in enumerate(texts)),
        name=name[order],
        start_ns=start_ns[order],
        end_ns=np.maximum(end_ns[order], start_ns[order]),
        thread=thread[order],
    )


def engine_threads(thread: I64, fwd_thread: I64) -> I64:
    """
    Return the threads of PyTorch's autograd engine: those with backward operators of another thread's forward ones.

    The vendor's profiler asks Python for the stack and the frames of the thread itself, and there is no Python on these
    (Ascend/pytorch torch_npu/csrc/profiler/npu_profiler.cpp; in genuine runs none of 544 operators of such a thread has
    a stack). Kineto gives them the frames of the call of the backward pass, and sees what drynpu calls there.
    """
    return np.asarray(np.unique(thread[(fwd_thread != 0) & (fwd_thread != thread)]), np.int64)


def _left_out(texts: list[str], name: I64, parent: I64) -> Bools:
    """Return which frames are drynpu's or only work for it; columns of shape ``[n]``."""
    paths = roots()
    whole = {text: _whole(text, paths) for text in texts if "drynpu" in text}
    places = our_places()
    ours = rows_named(texts, name, lambda text: text in whole and _is_ours(whole[text], places))
    records = rows_named(texts, name, lambda text: text in whole and _is_ours(whole[text], _RECORDING))
    used = rows_named(texts, name, _is_used)
    # Patches call the framework for the script, so of Python's own they may call what the framework calls.
    ours |= _below(ours, used, parent)
    helping = rows_named(texts, name, lambda text: _is_library(text) or _is_used(text)) | ours
    return ours | records | _below(records, helping, parent)


def _below(outer: Bools, rows: Bools, parent: I64) -> Bools:
    """Return which of *rows* lie in one of *outer*, or in one of *rows* that does."""
    reached, waiting = outer.copy(), np.flatnonzero(rows & ~outer & (parent >= 0))
    while True:
        inside = reached[parent[waiting]]
        if not inside.any():
            return reached & rows
        reached[waiting[inside]] = True
        waiting = waiting[~inside]


def _record_name(text: str, number: int) -> str:
    """Return the record's name of a frame; *number* stands for the object, because Kineto counts in each class."""
    if not text.startswith(MODULE_PREFIX):
        return text
    return f"{text.removeprefix(MODULE_PREFIX).rpartition('_')[0]}{MODULE_MARK}{number}"
