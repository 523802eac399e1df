"""Call stacks as the vendor shows them: innermost frame first, whole paths, none of our own frames."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["shown_stacks"]

_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?P<function>.*)")
_OWN = "drynpu_torch/"


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
            if _OWN not in frames[frame]:
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
