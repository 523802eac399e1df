"""What a process of a checked script leaves is read as it was noted."""

from __future__ import annotations

from pathlib import Path

import attrs

from drynpu.checks import (
    Observation,
    ObservedFailure,
    ObservedOutput,
    ObservedProfiler,
    Place,
    read_observations,
)
from drynpu.options import ProfilingRequest, to_mapping

PLACE = Place("/nowhere/train.py", 7)


def test_what_a_process_noted_comes_back_from_its_file(tmp_path: Path) -> None:
    noted = Observation(
        pid=12,
        profilers=(
            ObservedProfiler(
                place=PLACE,
                request=dict(to_mapping(ProfilingRequest())),
                schedule={"wait": 1, "warmup": 1, "active": 3, "repeat": 1},
                has_schedule=True,
                handler="tensorboard",
            ),
        ),
        outputs=(ObservedOutput(kind="file", path="t.json", place=PLACE),),
        failure=ObservedFailure(text="ValueError: no", place=None),
    )
    noted.write(tmp_path)
    attrs.evolve(noted, pid=9, failure=None).write(tmp_path)
    assert [each.pid for each in read_observations(tmp_path)] == [9, 12]
    assert read_observations(tmp_path)[1] == noted
