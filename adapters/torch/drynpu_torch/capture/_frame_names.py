"""Names of the Python frames that the native device's recorder keeps, and whose code they are of."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterable, Iterator, Sequence

import torch
from attrs import evolve, field, frozen

from drynpu.arrays import I32
from drynpu.layouts.framework_torch import MODULE_PREFIX
from drynpu_torch.capture._stacks import USED_FILES, our_places, roots
from drynpu_torch.device import Library

_SCRIPT, _OURS, _HELPER = range(3)
"""Owners of code, as `Library.start_frames` counts them."""
_PARTS = "\0"


@frozen(eq=False)
class FrameNames:
    """
    Names of frames by their numbers: as records have them, and as call stacks do.

    Stacks have whole paths. Records leave out the folder of the search path that a file lies in, as Kineto does.
    """

    in_records: Sequence[str] = ()
    _whole: Sequence[str] = ()
    _modules: dict[tuple[str, str], str] = field(factory=dict)
    """The name of each module by its class and its address."""
    _is_fresh: bool = True

    def start(self, library: Library) -> FrameNames:
        """Have *library* record frames; return the names; the next stretch of a recording adds to them."""
        module_call = torch.nn.Module.__call__.__code__
        library.start_frames(module_call, code_owners(), fresh=self._is_fresh)
        return evolve(self, is_fresh=False)

    def read(self, library: Library) -> FrameNames:
        """Return the names of all frames that *library* has recorded."""
        places = sorted((f"{root}{os.sep}" for root in roots()), reverse=True)
        records, whole = [], []
        for name in library.frame_names():
            parts = name.split(_PARTS)
            if len(parts) == 1:
                records.append(name)
                whole.append(name)
            elif f"{parts[0]}: " == MODULE_PREFIX:
                shown = self._module(parts[1], parts[2])
                records.append(shown)
                whole.append(shown)
            else:
                file, line, function = parts
                place = next(filter(file.startswith, places), "")
                records.append(f"{file.removeprefix(place)}({line}): {function}")
                whole.append(f"{file}({line}): {function}")
        return evolve(self, in_records=records, whole=whole)

    def in_stacks(self, stacks: I32, numbers: Iterable[int]) -> list[str]:
        """Return the frames of stacks, innermost first, joined by ``;``; *stacks* as `RecordedOperators` has them."""
        pairs = stacks.tolist()

        def frames(number: int) -> Iterator[str]:
            while number >= 0:
                number, name = pairs[number]
                yield self._whole[name]

        return [";".join(frames(number)) for number in numbers]

    def _module(self, class_name: str, address: str) -> str:
        names, key = self._modules, (class_name, address)
        if key not in names:
            names[key] = f"{MODULE_PREFIX}{class_name}_{sum(known == class_name for known, _ in names)}"
        return names[key]


def code_owners() -> list[tuple[int, str]]:
    """Return owners of code and their folders; a folder inside another one comes before it."""
    used = {f"{root}{os.sep}{file}" for root in roots() for file in USED_FILES}
    packages = {f"{folder}{os.sep}" for folder in (*site.getsitepackages(), site.getusersitepackages())}
    library = {f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")}
    ranked = ((_OURS, our_places()), (_HELPER, used), (_SCRIPT, packages), (_HELPER, library))
    return [(owner, place) for owner, places in ranked for place in sorted(places)]
