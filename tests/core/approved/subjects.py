"""What is approved: each subject, with its parts and what yields the lines of a part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from approved import RECORDED
from archives import unpack
from attrs import define, field
from of_profiles import PARTS, WITH_FOLDER, joined, predicted

from drynpu.products import load_profile
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


@define
class Subjects:
    """The subjects, with a folder for what is made on the way. What was loaded once is kept."""

    folder: Path
    _loaded: dict[str, Profile] = field(factory=dict, init=False)

    def profile(self, name: str) -> Profile:
        """Return the profile of a recorded run."""
        if name not in self._loaded:
            self._loaded[name] = load_profile(unpack(RECORDED / f"{name}.tar.xz", self.folder / "recorded"))
        return self._loaded[name]

    def lines(self, subject: str, part: str) -> Iterator[str]:
        """Return what yields the lines of a part."""
        if part == "joined":
            return joined([self.profile(name) for name in RANKS])
        if part == "predicted":
            return predicted(self.profile(subject), CHIPS[subject])
        if part in WITH_FOLDER:
            folder = self.folder / f"{subject}.{part}"
            folder.mkdir()
            return PARTS[part](self.profile(subject), folder)
        return PARTS[part](self.profile(subject))


def all_parts() -> list[tuple[str, str]]:
    """Return every subject with each of its parts."""
    return [
        *((subject, part) for part in PARTS for subject in RECORDED_RUNS),
        *((subject, "predicted") for subject in RECORDED_RUNS),
        ("torch_ranks", "joined"),
    ]
