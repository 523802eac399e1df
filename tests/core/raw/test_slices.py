"""Which files are slices of a stem. The names are those that the toolkit's parser takes (its file_name_manager)."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu.raw._slices import find_slices


@pytest.mark.parametrize(
    ("stem", "names"),
    [
        ("hbm.data", ["hbm.data.0.slice_0", "hbm.data.0.slice_2", "hbm.data.0.slice_11"]),
        (
            "hbm.data",
            ["hbm.data.45.dev.profiler_default_tag.0.slice_0", "hbm.data.45.dev.profiler_default_tag.0.slice_1"],
        ),
        ("nic.data", ["nic.data.45.host.profiler_default_tag.0.slice_0"]),
        ("hwts.log.data", ["hwts.log.data.45.dev.profiler_default_tag.0.slice_0"]),
        ("Memory.data", ["Memory.data.dev.profiler_default_tag.0.slice_3"]),
        ("unaging.compact.task_track", ["unaging.compact.task_track.slice_0", "aging.compact.task_track.slice_0"]),
    ],
)
def test_names(tmp_path: Path, stem: str, names: list[str]) -> None:
    others = (
        f"{names[0]}.done",
        f"{names[0]}.complete",
        f".{names[0]}",
        f"other.{names[0]}",
        names[0].partition("slice")[0],
    )
    for name in (*reversed(names), *others):
        (tmp_path / name).touch()
    assert [part.path.name for part in find_slices(tmp_path, stem)] == names


def test_a_longer_stem_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "hbm.data.0.dev.slice_0").touch()
    (tmp_path / "hbm.data.more.0.slice_0").touch()
    assert find_slices(tmp_path, "hbm.data") == []
    assert find_slices(tmp_path / "absent", "hbm.data") == []
