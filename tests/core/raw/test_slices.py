"""Which files are slices of a stem. The names are those that the toolkit's parser takes (its file_name_manager)."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from drynpu.layouts.graph import TS_TRACK_STEP
from drynpu.layouts.schedulers import TS_TRACK_STATE
from drynpu.raw.slices import find_slices, read_records


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


def _scheduled(tag: int, size: int, task: int) -> bytes:
    return struct.pack("<BBHIHHHH", 0, tag, size, 0, 0, 2, 1, task) + bytes(size - 16)


def test_records_that_say_their_size(tmp_path: Path) -> None:
    """On the 310 records of 32 and of 40 bytes share a file (create_runtime_db.py: offset += bufsize)."""
    data = b"".join(_scheduled(*of) for of in ((3, 32, 5), (10, 40, 0), (3, 32, 6), (3, 32, 7), (10, 40, 0)))
    # A record may end in the next slice.
    for number, part in enumerate((data[:50], data[50:])):
        (tmp_path / f"ts_track.data.0.slice_{number}").write_bytes(part)
    notes: list[str] = []
    assert read_records(tmp_path, TS_TRACK_STATE, notes)["task_id"].tolist() == [5, 6, 7]
    assert len(read_records(tmp_path, TS_TRACK_STEP, notes)) == 2
    assert not [note for note in notes if "left out" in note]
    (tmp_path / "ts_track.data.0.slice_1").write_bytes(data[50:-3])
    read_records(tmp_path, TS_TRACK_STATE, notes)
    assert [note for note in notes if "left out" in note]
