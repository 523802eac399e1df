"""What is approved: each subject, with its parts and what yields the lines of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import of_kernels
import of_operators
import of_recordings
from approved import RECORDED
from archives import unpack
from attrs import define, field
from of_profiles import PARTS, WITH_FOLDER, joined, predicted

from drynpu.products import load_profile
from drynpu.recorder import Outcome
from drynpu.tables import Profile

CHIPS = {
    **dict.fromkeys(("torch_rank0", "torch_rank1"), "Ascend910B2"),
    "torch_stacks": "Ascend950PR",
    "tensorflow": "Ascend910A",
    "mindspore_eager": "Ascend910_93",
    "mindspore_graph": "Ascend910B4",
    "pyacl": "Ascend910A",
}
"""Recorded runs and their chips."""
RECORDED_RUNS = tuple(name for name in CHIPS if name != "torch_rank1")
RANKS = ("torch_rank0", "torch_rank1")
CASES = {case.name: case for case in of_recordings.CASES}
"""Recordings made by hand."""
OF_KERNELS: Mapping[str, Mapping[str, Callable[[], Iterator[str]]]] = {
    "kernels": {
        "work": of_kernels.work,
        "fitted": of_kernels.fitted,
        "recalibrated": of_kernels.recalibrated,
        "asked": of_kernels.asked,
    },
    "operators": {"made_by_hand": of_operators.made_by_hand},
    **{
        f"kernels_{chip}": {"costs": partial(of_kernels.costs, chip), "counters": partial(of_kernels.counters, chip)}
        for chip in of_kernels.CHIPS
    },
    **{
        f"operators_{framework}": {"launched": partial(of_operators.launched, framework)}
        for framework in ("torch", "tf", "mindspore", "onnx")
    },
}
"""Kernels and operators: what yields the lines, by subject and part."""


@define
class Subjects:
    """The subjects, with a folder for what is made on the way. What was written or loaded once is kept."""

    folder: Path
    _loaded: dict[str, Profile] = field(factory=dict, init=False)
    _written: dict[str, Outcome] = field(factory=dict, init=False)

    def written(self, name: str) -> Outcome:
        """Return what a recording made by hand left."""
        if name not in self._written:
            self._written[name] = CASES[name].write(self.folder / "written")
        return self._written[name]

    def profile(self, name: str) -> Profile:
        """Return the profile of a recorded run or of a recording made by hand."""
        if name not in self._loaded:
            if name in CASES:
                path = self.written(name).directory
            else:
                path = unpack(RECORDED / f"{name}.tar.xz", self.folder / "recorded")
            self._loaded[name] = load_profile(path)
        return self._loaded[name]

    def lines(self, subject: str, part: str) -> Iterator[str]:
        """Return what yields the lines of a part."""
        if subject in OF_KERNELS:
            return OF_KERNELS[subject][part]()
        if part == "joined":
            return joined([self.profile(name) for name in RANKS])
        if part == "predicted":
            return predicted(self.profile(subject), CHIPS[subject])
        if part == "simulated":
            return of_recordings.simulated(CASES[subject])
        if part == "records":
            return of_recordings.records(self.written(subject))
        if part in WITH_FOLDER:
            folder = self.folder / f"{subject}.{part}"
            folder.mkdir()
            return PARTS[part](self.profile(subject), folder)
        return PARTS[part](self.profile(subject))


def subjects_of(part: str) -> list[str]:
    """Return the subjects that have a part."""
    if part == "joined":
        return ["torch_ranks"]
    if part == "predicted":
        return list(RECORDED_RUNS)
    if part in ("simulated", "records"):
        return list(CASES)
    if part in PARTS:
        # What these show of two chips differs less than the time that it takes.
        cases = list(CASES) if part in ("tables", "derived", "text_files") else list(CASES)[1::2]
        return [*RECORDED_RUNS, *cases]
    return [subject for subject, parts in OF_KERNELS.items() if part in parts]


def all_parts() -> list[tuple[str, str]]:
    """Return every subject with each of its parts."""
    of_kernels = dict.fromkeys(part for parts in OF_KERNELS.values() for part in parts)
    parts = (*PARTS, "predicted", "joined", "simulated", "records", *of_kernels)
    return [(subject, part) for part in parts for subject in subjects_of(part)]
